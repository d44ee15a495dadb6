/*
 * top.h - what `qo top` shows: one look at the workers and their tasks, where
 * it comes from, and how it is drawn.
 *
 * A look is a plain value: sources fill it, top_rates compares it with the
 * one before, top_draw and top_json print it.
 */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "ctlcall.h"
#include "out.h"
#include "session.h"

#define TOP_MESSAGES 8

struct top_worker {
	char name[160]; /* "worker 0", or the worker's id */
	char state[24];
	enum out_style style;
	char note[320];
	bool works; /* a worker, not another role */
	int64_t pid;
	int64_t uptime_ms;                  /* -1: does not run */
	int64_t restarts;                   /* -1 here and below: not known */
	int64_t running, slots;             /* of a worker */
	int64_t completed, failed, retried; /* since it started */
	int64_t requests;
	double rate; /* completed, a second; -1: not known */
};

struct top_task {
	char id[40];
	char type[136];      /* "": not known */
	int64_t attempt;     /* 0: not known */
	int64_t age_ms;      /* -1: being claimed, or not known */
	int64_t handler_pid; /* 0: none, or not known */
	char worker[160];
};

/* -1: not known. */
struct top_rate {
	double completed, failed, retried, requests;
};

struct top_look {
	const char *source; /* "qod" or "bucket" */
	char title[512];
	struct qo_wall at;
	struct qo_mono taken;
	int64_t ready, oldest_ms, failed_tasks; /* -1: not known */
	struct top_rate rate;
	struct top_worker *workers;
	size_t nworkers;
	struct top_task *tasks;
	size_t ntasks;
	int64_t omitted; /* tasks that are not in the list */
	char messages[TOP_MESSAGES][400];
	size_t nmessages;
};

enum top_sort {
	TOP_BY_AGE = 0,
	TOP_BY_TYPE,
	TOP_BY_WORKER,
	TOP_SORTS
};

/* How to draw it. */
struct top_style {
	size_t rows, cols; /* 0: no limit */
	bool coloured;
	bool keys; /* a line that tells them */
	bool paused;
	enum top_sort sort;
	size_t scroll; /* lines of the lists that are above the screen */
};

void top_look_init(struct top_look *l, const char *source);
void top_look_fini(struct top_look *l); /* harmless twice */
struct top_worker *top_add_worker(struct top_look *l);
struct top_task *top_add_task(struct top_look *l);
void top_say(struct top_look *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Fills in the rates, by what was counted since the look before. */
void top_rates(struct top_look *l, const struct top_look *before);
void top_sort_tasks(struct top_look *l, enum top_sort by);

/* The sources, which run the loop; *stop ends them before.  EXIT_OK, or a
 * code with *err. */
enum exit_code top_from_qod(struct top_look *l, struct ctlcall *c,
    const char *path, const bool *stop, struct qo_err *err);
enum exit_code top_from_bucket(struct top_look *l, struct session *s,
    const bool *stop, struct qo_err *err);

/* Lines, at most style->rows of them; scroll is brought into its range. */
void top_draw(const struct top_look *l, struct top_style *style, struct buf *b);
void top_json(const struct top_look *l, struct buf *b);

#endif
