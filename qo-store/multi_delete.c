/*
 * multi_delete.c - DeleteObjects: up to a thousand keys in one request.
 *
 * All keys that the asker may delete go to the database as one operation;
 * the answer names each with what became of it.
 */
#include "condition.h"
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "utf8.h"
#include "xml.h"
#include "xmlout.h"

#define KEYS_MAX     1000
#define DOCUMENT_MAX (4 << 20)

struct item {
	const char *key;
	const char *version_id;
	const char *etag;
	enum s3_err err; /* not asked of the database */
};

struct multi {
	struct pool *mem;
	struct item *items;
	size_t n;
	bool quiet;
};

static int
on_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct multi *m = arg;

	if (e->depth == 1 && strcmp(e->name, "Delete") != 0)
		return xml_refuse(x, "not a Delete");
	if (strcmp(e->path, "Delete/Object") != 0)
		return 0;
	if (m->n >= KEYS_MAX)
		return xml_refuse(x, "more than %d keys", KEYS_MAX);
	m->n++;
	return 0;
}

static int
on_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct multi *m = arg;
	struct item *it;

	if (strcmp(e->path, "Delete/Quiet") == 0)
		m->quiet = strcasecmp(e->text, "true") == 0;
	if (m->n == 0)
		return 0;
	it = &m->items[m->n - 1];
	if (strcmp(e->path, "Delete/Object") == 0 && it->key == NULL)
		return xml_refuse(x, "an Object without a Key");
	if (strcmp(e->path, "Delete/Object/Key") == 0)
		it->key = pool_strdup(m->mem, e->text);
	else if (strcmp(e->path, "Delete/Object/VersionId") == 0)
		it->version_id = *e->text == '\0'
		    ? NULL
		    : pool_strdup(m->mem, e->text);
	else if (strcmp(e->path, "Delete/Object/ETag") == 0)
		it->etag = pool_strdup(m->mem, e->text);
	else if (strcmp(e->path, "Delete/Object/LastModifiedTime") == 0 ||
	    strcmp(e->path, "Delete/Object/Size") == 0)
		it->err = S3_NOT_IMPLEMENTED;
	return 0;
}

static enum s3_err
parse(struct request *r, struct multi *m)
{
	static const struct xml_ops ops = { on_open, on_close };
	struct xml *x;
	int rc;

	m->mem = &r->mem;
	m->items = pool_calloc(&r->mem, KEYS_MAX, sizeof(*m->items));
	x = xml_new(DOCUMENT_MAX, 4096, &ops, m);
	rc = xml_parse(x, r->payload.text.data, r->payload.text.len, NULL);
	xml_free(x);
	return rc == -1 || m->n == 0 ? S3_MALFORMED_XML : S3_OK;
}

static enum s3_err
judge(struct request *r, struct item *it, const char **if_match)
{
	struct condition_write c;
	enum s3_err e;

	*if_match = NULL;
	if (it->err != S3_OK)
		return it->err;
	if (*it->key == '\0')
		return S3_INVALID_ARGUMENT;
	if (strlen(it->key) > DB_KEY_MAX)
		return S3_KEY_TOO_LONG;
	if (!access_bucket(&r->who, ACCESS_PUT, &r->bucket->b, it->key,
		&r->srv->conf->public_prefixes))
		return S3_ACCESS_DENIED;
	if (it->etag == NULL)
		return S3_OK;
	e = condition_write_parse(&r->mem, it->etag, NULL, false, &c);
	*if_match = c.if_match;
	return e;
}

static void
add_error(struct buf *b, const struct item *it, enum s3_err e)
{
	xmlout_open(b, "Error");
	xml_add(b, "Key", it->key);
	if (it->version_id != NULL)
		xml_add(b, "VersionId", it->version_id);
	xml_add(b, "Code", s3err_code(e));
	xml_add(b, "Message", s3err_message(e));
	xmlout_close(b, "Error");
}

static void
add_deleted(struct buf *b, const struct item *it, const struct db_delete *d)
{
	xmlout_open(b, "Deleted");
	xml_add(b, "Key", it->key);
	if (it->version_id != NULL)
		xml_add(b, "VersionId", it->version_id);
	if (d->marker) {
		xml_add(b, "DeleteMarker", "true");
		xml_add(b, "DeleteMarkerVersionId", d->out_version);
	}
	xmlout_close(b, "Deleted");
}

static void
multi_done(struct request *r)
{
	struct multi *m = r->state;
	const struct db_delete *d = r->op.deletes;
	struct buf b;
	size_t i;

	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	buf_init(&b, 16 << 20);
	xmlout_root(&b, "DeleteResult");
	for (i = 0; i < m->n; i++) {
		if (m->items[i].err != S3_OK) {
			add_error(&b, &m->items[i], m->items[i].err);
			continue;
		}
		if (d->rc != DB_OK)
			add_error(&b, &m->items[i], reply_db_err(d->rc));
		else if (!m->quiet)
			add_deleted(&b, &m->items[i], d);
		d++;
	}
	xmlout_close(&b, "DeleteResult");
	reply_xml(r, 200, &b);
}

void
op_multi_delete(struct request *r)
{
	struct db_delete *d;
	struct multi *m;
	enum s3_err e;
	size_t i;

	m = pool_calloc(&r->mem, 1, sizeof(*m));
	if ((e = parse(r, m)) != S3_OK) {
		reply_error(r, e);
		return;
	}
	r->state = m;
	d = r->op.deletes = pool_calloc(&r->mem, m->n, sizeof(*d));
	for (i = 0; i < m->n; i++) {
		m->items[i].err = judge(r, &m->items[i], &d->if_match);
		if (m->items[i].err != S3_OK)
			continue;
		d->key = m->items[i].key;
		d->version_id = m->items[i].version_id;
		d++;
	}
	r->op.kind = DB_OP_DELETE;
	r->op.owner = r->who.owner;
	r->op.ndeletes = (size_t)(d - r->op.deletes);
	if (r->op.ndeletes == 0)
		multi_done(r);
	else
		request_submit(r, multi_done);
}
