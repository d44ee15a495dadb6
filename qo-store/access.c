#include "access.h"

bool
prefix_set_has(const struct prefix_set *set, const char *name)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (strncmp(name, set->list[i], strlen(set->list[i])) == 0)
			return true;
	return false;
}

/* Is the key's own policy about names satisfied? */
static bool
within(const struct access_id *who, const char *name)
{
	return who->prefixes == NULL || prefix_set_has(who->prefixes, name);
}

static bool
owns(const struct access_id *who, const struct db_bucket *b)
{
	return !who->anonymous && strcmp(who->owner, b->owner) == 0;
}

static bool
acl_reads(enum db_acl acl)
{
	switch (acl) {
	case DB_ACL_PRIVATE:
		return false;
	case DB_ACL_PUBLIC_READ:
	case DB_ACL_PUBLIC_READ_WRITE:
	case DB_ACL_AUTHENTICATED_READ:
		return true;
	}
	return false;
}

bool
access_bucket(const struct access_id *who, enum access_kind kind,
    const struct db_bucket *b, const char *name,
    const struct prefix_set *public_prefixes)
{
	if (kind == ACCESS_NONE)
		return true;
	if (who->anonymous)
		return kind == ACCESS_GET &&
		    prefix_set_has(public_prefixes, name);
	switch (kind) {
	case ACCESS_NONE:
	case ACCESS_ANY:
		return true;
	case ACCESS_CREATE:
		return who->may_admin;
	case ACCESS_BUCKET_LOOK:
		return owns(who, b) || acl_reads(b->acl);
	case ACCESS_BUCKET_READ:
		return who->may_read && owns(who, b) &&
		    (*name == '\0' || within(who, name));
	case ACCESS_BUCKET_ADMIN:
		return who->may_admin && owns(who, b);
	case ACCESS_LIST:
		return who->may_read && within(who, name) &&
		    (owns(who, b) || acl_reads(b->acl));
	case ACCESS_GET:
		return who->may_read && within(who, name);
	case ACCESS_PUT:
		return who->may_write && within(who, name) &&
		    (owns(who, b) || b->acl == DB_ACL_PUBLIC_READ_WRITE);
	case ACCESS_DELETE_MANY:
		return who->may_write &&
		    (owns(who, b) || b->acl == DB_ACL_PUBLIC_READ_WRITE);
	}
	return false;
}

bool
access_object(const struct access_id *who, const struct db_bucket *b,
    const struct db_meta *meta)
{
	if (who->anonymous) /* the public prefix has opened it */
		return true;
	if (owns(who, b))
		return true;
	if (meta->owner != NULL && strcmp(meta->owner, who->owner) == 0)
		return true;
	return acl_reads(meta->acl);
}

bool
access_may_know(const struct access_id *who, const struct db_bucket *b)
{
	if (who->anonymous)
		return true;
	return owns(who, b) || acl_reads(b->acl);
}
