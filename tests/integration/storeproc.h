/*
 * storeproc.h - a real qo-store, started and ended by a test or a benchmark.
 *
 * It listens on a port of its own and on a Unix socket in its directory, and
 * dies with the process that started it.
 */
#ifndef STOREPROC_H
#define STOREPROC_H

#include <sys/types.h>

#define STOREPROC_ACCESS "QOTESTKEYQOTESTKEY01"
#define STOREPROC_SECRET "bGl2ZS10ZXN0cy1vbmx5LW5vdC1hLXNlY3JldA"

struct storeproc {
	const char *binary; /* set by the caller, and these: */
	const char *dir;    /* exists */
	const char *max_body;

	pid_t pid; /* 0: not running */
	int port;
	char url[64];
	char socket[128];
};

/* Waits until it is ready; the process ends when it does not start. */
void storeproc_start(struct storeproc *s);
/* SIGKILL or SIGTERM; waits for the end and returns its status. */
int storeproc_end(struct storeproc *s, int signo);
/* The exit status of qo-store --check. */
int storeproc_check(const struct storeproc *s);

/* A new directory under $TMPDIR, and the end of one with all in it. */
void storeproc_mkdir(char *path, size_t size);
void storeproc_rmdir(const char *path);

#endif
