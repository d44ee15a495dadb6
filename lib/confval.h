/*
 * confval.h - the words of the configuration and of the command line.
 *
 * Each function takes the whole string (NUL-terminated, no blanks around it)
 * or refuses it: 0 and *out set, or -1 with err->msg, which quotes the value
 * and says what is allowed; *out is then untouched.  The text names no key:
 * the caller knows it.  Pure: no files, no locale, no state.
 *
 *	duration  500ms 30s 5m 24h 7d, whole numbers; 0 needs no unit
 *	size      512 (bytes) 64KiB 10MiB 2GiB 1TiB; KB and MB are refused,
 *		  because people mean two things by them
 *	boolean   yes no
 *	number    2, 0.25 or 25%; up to six digits after the point
 */
#ifndef CONFVAL_H
#define CONFVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

#define CONFVAL_SEC  INT64_C(1000) /* of durations, in ms */
#define CONFVAL_MIN  (60 * CONFVAL_SEC)
#define CONFVAL_HOUR (60 * CONFVAL_MIN)
#define CONFVAL_DAY  (24 * CONFVAL_HOUR)

int confval_int(const char *s, int64_t min, int64_t max, int64_t *out,
    struct qo_err *err);
int confval_duration(const char *s, int64_t min_ms, int64_t max_ms, int64_t *ms,
    struct qo_err *err);
int confval_size(const char *s, int64_t min, int64_t max, int64_t *bytes,
    struct qo_err *err);
int confval_bool(const char *s, bool *out, struct qo_err *err);
int confval_number(const char *s, double min, double max, double *out,
    struct qo_err *err);
/* names ends with NULL; *out is the index. */
int confval_enum(const char *s, const char *const *names, int *out,
    struct qo_err *err);

/* Written so that reading gives the same value again. */
void confval_add_duration(struct buf *b, int64_t ms);
void confval_add_size(struct buf *b, int64_t bytes);
void confval_add_number(struct buf *b, double n);

/* s for an error message: cut where it is long, at a character's end. */
const char *confval_shown(const char *s, char *out, size_t size);
#define CONFVAL_SHOWN 48

/* The name that is most like s, or NULL when none is near; names ends with
 * NULL.  For "did you mean". */
const char *confval_nearest(const char *s, const char *const *names);

#endif
