#include <stdbool.h>

#include "acl.h"
#include "xml.h"
#include "xmlout.h"

#define ACL_MAX    (64 * 1024)
#define ALL_USERS  "http://acs.amazonaws.com/groups/global/AllUsers"
#define AUTH_USERS "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"
#define XSI        "http://www.w3.org/2001/XMLSchema-instance"

enum s3_err
acl_parse_canned(const char *word, enum db_acl *out)
{
	static const struct {
		const char *word;
		enum db_acl acl;
	} words[] = {
		{ "private", DB_ACL_PRIVATE },
		{ "public-read", DB_ACL_PUBLIC_READ },
		{ "public-read-write", DB_ACL_PUBLIC_READ_WRITE },
		{ "authenticated-read", DB_ACL_AUTHENTICATED_READ },
		/* The bucket's owner can always read here. */
		{ "bucket-owner-read", DB_ACL_PRIVATE },
		{ "bucket-owner-full-control", DB_ACL_PRIVATE },
	};
	size_t i;

	*out = DB_ACL_PRIVATE;
	if (word == NULL)
		return S3_OK;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i].word) == 0) {
			*out = words[i].acl;
			return S3_OK;
		}
	}
	if (strcmp(word, "aws-exec-read") == 0 ||
	    strcmp(word, "log-delivery-write") == 0)
		return S3_NOT_IMPLEMENTED;
	return S3_INVALID_ARGUMENT;
}

struct grants {
	const char *owner;
	/* Of the grant that is being read. */
	bool to_all, to_auth, to_owner;
	/* What was granted. */
	bool all_read, all_write, auth_read, other;
};

static void
grant_apply(struct grants *g, const char *permission)
{
	bool read, write;

	read = strcmp(permission, "READ") == 0;
	write = strcmp(permission, "WRITE") == 0;
	if (g->to_owner)
		return; /* the owner has everything anyway */
	if (g->to_all && read)
		g->all_read = true;
	else if (g->to_all && write)
		g->all_write = true;
	else if (g->to_auth && read)
		g->auth_read = true;
	else
		g->other = true;
}

static int
on_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct grants *g = arg;

	if (e->depth == 1 && strcmp(e->name, "AccessControlPolicy") != 0)
		return xml_refuse(x, "not an AccessControlPolicy");
	if (e->depth == 3 && strcmp(e->name, "Grant") == 0)
		g->to_all = g->to_auth = g->to_owner = false;
	return 0;
}

static int
on_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	static const char base[] = "AccessControlPolicy/AccessControlList/"
				   "Grant/";
	struct grants *g = arg;
	const char *p;

	(void)x;
	if (strncmp(e->path, base, sizeof(base) - 1) != 0)
		return 0;
	p = e->path + sizeof(base) - 1;
	if (strcmp(p, "Grantee/ID") == 0)
		g->to_owner = strcmp(e->text, g->owner) == 0;
	else if (strcmp(p, "Grantee/URI") == 0) {
		g->to_all = strcmp(e->text, ALL_USERS) == 0;
		g->to_auth = strcmp(e->text, AUTH_USERS) == 0;
	} else if (strcmp(p, "Permission") == 0)
		grant_apply(g, e->text);
	return 0;
}

enum s3_err
acl_parse_xml(const char *text, size_t len, const char *owner, enum db_acl *out)
{
	static const struct xml_ops ops = { on_open, on_close };
	struct grants g = { .owner = owner };
	struct xml *x;
	int rc;

	x = xml_new(ACL_MAX, 4096, &ops, &g);
	rc = xml_parse(x, text, len, NULL);
	xml_free(x);
	if (rc == -1)
		return S3_MALFORMED_ACL;
	if (g.other || (g.all_write && !g.all_read) ||
	    (g.auth_read && g.all_read))
		return S3_NOT_IMPLEMENTED;
	if (g.all_write)
		*out = DB_ACL_PUBLIC_READ_WRITE;
	else if (g.all_read)
		*out = DB_ACL_PUBLIC_READ;
	else if (g.auth_read)
		*out = DB_ACL_AUTHENTICATED_READ;
	else
		*out = DB_ACL_PRIVATE;
	return S3_OK;
}

static void
group_grant(struct buf *b, const char *uri, const char *permission)
{
	buf_addf(b,
	    "<Grant><Grantee xmlns:xsi=\"" XSI "\" xsi:type=\"Group\">"
	    "<URI>%s</URI></Grantee><Permission>%s</Permission></Grant>",
	    uri, permission);
}

void
acl_encode(struct buf *b, const char *owner, enum db_acl acl)
{
	xmlout_root(b, "AccessControlPolicy");
	xmlout_owner(b, "Owner", owner);
	buf_adds(b,
	    "<AccessControlList><Grant><Grantee xmlns:xsi=\"" XSI
	    "\" xsi:type=\"CanonicalUser\">");
	xml_add(b, "ID", owner);
	xml_add(b, "DisplayName", owner);
	buf_adds(b, "</Grantee><Permission>FULL_CONTROL</Permission></Grant>");
	switch (acl) {
	case DB_ACL_PRIVATE:
		break;
	case DB_ACL_PUBLIC_READ_WRITE:
		group_grant(b, ALL_USERS, "READ");
		group_grant(b, ALL_USERS, "WRITE");
		break;
	case DB_ACL_PUBLIC_READ:
		group_grant(b, ALL_USERS, "READ");
		break;
	case DB_ACL_AUTHENTICATED_READ:
		group_grant(b, AUTH_USERS, "READ");
		break;
	}
	buf_adds(b, "</AccessControlList></AccessControlPolicy>");
}
