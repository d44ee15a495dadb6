/*
 * confkeys.h - the table of all configuration keys.
 *
 * A row says how the text of a key becomes a member of struct conf (or of
 * struct conf_handler) and back.  Rows of a section stand together.
 */
#ifndef CONFKEYS_H
#define CONFKEYS_H

#include "conf.h"

struct conf_key;

/* A value as it stands somewhere. */
struct conf_text {
	const char *key; /* as written */
	const char *value;
	const char *dir; /* where relative paths start; NULL: as they are */
	struct conf_place place;
};

struct conf_type {
	const char *name;
	size_t size;
	/* Replaces the member; -1 with *err and the member as it was. */
	int (*parse)(const struct conf_key *key, const struct conf_text *text,
	    void *member, struct qo_err *err);
	void (*print)(const struct conf_key *key, const void *member,
	    struct buf *b);
	bool (*equal)(const void *a, const void *b); /* NULL: same bytes */
	void (*free)(void *member);                  /* NULL: nothing to do */
};

struct conf_key {
	const char *section;
	const char *key; /* with a dot at its end: a family, env.NAME */
	const struct conf_type *type;
	size_t off;
	int64_t min;
	int64_t max;
	const char *const *names; /* of an enumeration */
	int (*check)(const char *value, struct qo_err *err); /* of a string */
	const char *def; /* NULL: none, or it depends on other keys */
	const char *help;
};

extern const struct conf_key conf_keys[];
extern const size_t conf_nkeys;
extern const struct conf_key conf_handler_keys[];
extern const size_t conf_nhandler_keys;

extern const struct conf_type conf_type_env;    /* a family */
extern const struct conf_type conf_type_secret; /* never shown */

static inline void *
conf_member(const struct conf_key *k, void *base)
{
	return (char *)base + k->off;
}

static inline const void *
conf_member_const(const struct conf_key *k, const void *base)
{
	return (const char *)base + k->off;
}

/* NULL when there is none.  section "handler" is the handlers' table. */
const struct conf_key *conf_key_find(const char *section, const char *key);
/* The place of "section.key"; the key exists. */
const struct conf_place *conf_key_place(const struct conf *c,
    const char *section, const char *key);

#endif
