/*
 * conflist.h - values of the configuration that hold several.
 *
 * As in confval.h: 0 and *out set, or -1 with err->msg and *out untouched.
 */
#ifndef CONFLIST_H
#define CONFLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

/*
 * A command line without a shell: words at blanks; '...' is literal, in
 * "..." and outside a \ takes the next character as it is.  *words ends with
 * NULL and is freed with conflist_words_free; there is at least one.
 */
int conflist_words(const char *s, char ***words, struct qo_err *err);
/* Items at commas or blanks, none empty; *words may have no items at all. */
int conflist_list(const char *s, char ***words, struct qo_err *err);
void conflist_words_free(char **words); /* NULL is fine */

/* A set of bytes: exit codes, shards. */
struct conflist_set {
	uint8_t bits[32];
};

static inline bool
conflist_set_has(const struct conflist_set *set, unsigned n)
{
	return n < 256 && (set->bits[n / 8] >> (n % 8) & 1) != 0;
}

static inline void
conflist_set_add(struct conflist_set *set, unsigned n)
{
	set->bits[n / 8] |= (uint8_t)(1U << (n % 8));
}

/* Exit codes 1 to 255, as a list; "" is the empty set. */
int conflist_codes(const char *s, struct conflist_set *out, struct qo_err *err);
/*
 * "all", or a list of shards and ranges: 0-7, a, c0-cf.  One digit d stands
 * for d0 to df; a bucket with one-digit shards has shard d in it when all of
 * those are in the set.
 */
int conflist_shards(const char *s, struct conflist_set *out,
    struct qo_err *err);

/* Written so that reading gives the same set again. */
void conflist_add_codes(struct buf *b, const struct conflist_set *set);

#endif
