/*
 * record.h - records as JSON objects, by table: one table per record type
 * says how every member is read and written.
 *
 * Written: members in the order of the table, then those that were read and
 * that the table does not know, as they were.  Read: in any order; wrong
 * types, numbers out of range, missing and double members are refused with a
 * message that names the member.
 *
 * A record is a plain struct with a struct qo_record as its first member.
 * What is read is owned by the record: the strings and the qo_json in it
 * point there and live until qo_record_fini.  A caller may set such a member
 * to anything that lives at least as long (qo_record_dup makes such a copy).
 */
#ifndef QO_RECORD_H
#define QO_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "json.h"

struct yyjson_doc;
struct yyjson_val;

struct qo_record {
	char *text; /* as it was read */
	struct yyjson_doc *doc;
	struct qo_json *unknown; /* "name":value, each as it was */
	size_t nunknown;
	char **owned; /* copies made for the caller */
	size_t nowned;
};

enum qo_member_kind {
	QO_MEMBER_STR = 0, /* const char *, NULL: absent; holds no NUL */
	QO_MEMBER_INT,     /* int64_t in min to max */
	QO_MEMBER_BOOL,    /* bool */
	QO_MEMBER_TIME,    /* struct qo_wall, QO_WALL_NONE: absent */
	QO_MEMBER_ENUM,    /* an enum (int), its value the index in names; the
			    * name "" stands for absent */
	QO_MEMBER_JSON,    /* struct qo_json, any value; null is absent */
	QO_MEMBER_CUSTOM   /* by the two functions */
};

/* How it is written when it is absent (or, an INT, BOOL or ENUM, when it has
 * its default); null is read as absent in either case. */
enum qo_member_rule {
	QO_MEMBER_NULL = 0, /* null; numbers, words: always written */
	QO_MEMBER_OMIT,     /* left out */
	QO_MEMBER_REQUIRED  /* must be there when read, and not null */
};

struct qo_member {
	const char *name; /* needs no escaping in JSON */
	size_t name_len;
	enum qo_member_kind kind;
	enum qo_member_rule rule;
	size_t offset;            /* in the record's struct */
	int64_t min, max;         /* INT: the range; STR: max bytes, 0: any */
	int64_t def;              /* INT, BOOL, ENUM: when not there */
	const char *const *names; /* ENUM: NULL-terminated */
	/* STR, JSON: is this one acceptable?  May be NULL. */
	bool (*check)(const char *s, size_t len);
	/* CUSTOM: rec has its defaults already; v is not null.  -1 with a
	 * message that does not repeat the member's name. */
	int (*read)(void *rec, const struct yyjson_val *v,
	    const struct qo_json *text, struct qo_err *err);
	/* CUSTOM: adds the value; false (and nothing added): absent. */
	bool (*write)(const void *rec, struct buf *out);
};

struct qo_record_type {
	const char *noun; /* "task", for messages */
	const struct qo_member *members;
	size_t nmembers; /* at most 64 */
	size_t max_len;  /* of the text */
	unsigned max_depth;
};

/* Sets every member of the table to absent or its default, and the
 * qo_record to empty. */
void qo_record_init(const struct qo_record_type *type, void *rec);
/* Initialises *rec and reads into it.  0, or -1 with *err and *rec empty. */
int qo_record_decode(const struct qo_record_type *type, void *rec,
    const char *text, size_t len, struct qo_err *err);
/* Adds the record's text to out.  -1 with *err when a required member is
 * absent or out's limit is reached; out then holds part of it. */
int qo_record_encode(const struct qo_record_type *type, const void *rec,
    struct buf *out, struct qo_err *err);
/* Frees what the record owns; harmless twice. */
void qo_record_fini(struct qo_record *r);
/* Copies that live as long as the record. */
const char *qo_record_dup(struct qo_record *r, const char *s);
struct qo_json qo_record_dup_json(struct qo_record *r, const char *text,
    size_t len);

#endif
