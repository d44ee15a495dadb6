/*
 * access.h - who may do what.  Pure decisions, no I/O.
 *
 * Three questions, all of which must be answered with yes: does the key's
 * own policy allow it (read, write, administration, key prefixes); does the
 * bucket, by its owner or its ACL; and, for reads in other owners' buckets,
 * does the object's ACL.  Anonymous clients may GET and HEAD objects under
 * the configured public prefixes and nothing else.
 */
#ifndef ACCESS_H
#define ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "db.h"

struct prefix_set {
	char **list; /* owned by whoever made the set */
	size_t n;
};

/* Who asks; all borrowed. */
struct access_id {
	bool anonymous;
	bool session; /* temporary credentials */
	bool may_read, may_write, may_admin;
	const char *owner;
	const struct prefix_set *prefixes; /* NULL: any key */
};

enum access_kind {
	ACCESS_NONE = 0,     /* open to all: preflight */
	ACCESS_ANY,          /* any valid key */
	ACCESS_CREATE,       /* a bucket that is not there yet */
	ACCESS_BUCKET_LOOK,  /* existence, location, versioning state */
	ACCESS_BUCKET_READ,  /* its configuration */
	ACCESS_BUCKET_ADMIN, /* delete it, change its configuration */
	ACCESS_LIST,         /* keys under a prefix */
	ACCESS_GET,          /* an object */
	ACCESS_PUT,          /* write or delete an object */
	ACCESS_DELETE_MANY   /* each key is asked for with ACCESS_PUT */
};

/* name is the key, or the prefix of a list.  b may be NULL only for
 * ACCESS_NONE, ACCESS_ANY and ACCESS_CREATE. */
bool access_bucket(const struct access_id *who, enum access_kind kind,
    const struct db_bucket *b, const char *name,
    const struct prefix_set *public_prefixes);
/* After access_bucket said yes to ACCESS_GET: may this object be read? */
bool access_object(const struct access_id *who, const struct db_bucket *b,
    const struct db_meta *meta);
/* May the asker know that a key is absent (404) or must it be 403? */
bool access_may_know(const struct access_id *who, const struct db_bucket *b);

bool prefix_set_has(const struct prefix_set *set, const char *name);

#endif
