/*
 * versions.c - ListObjectVersions.
 */
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "wait.h"
#include "xml.h"
#include "xmlout.h"

#define LIST_KEYS_MAX 1000
#define LIST_DOC_MAX  (16 << 20)

struct versions {
	struct request *r;
	struct db_list q;
	const char *key_marker, *version_marker;
	int64_t max;
	bool url;
	struct buf prefixes;
	struct buf xml;
};

static void
on_version(const struct db_obj *o, void *arg)
{
	struct versions *v = arg;
	struct buf *b = &v->xml;
	const char *name;

	name = o->marker ? "DeleteMarker" : "Version";
	xmlout_open(b, name);
	xmlout_key(b, "Key", o->key, v->url);
	xml_add(b, "VersionId", o->version_id);
	xmlout_bool(b, "IsLatest", o->latest);
	xmlout_time(b, "LastModified", o->mtime_us);
	if (!o->marker) {
		xmlout_etag(b, o->etag);
		xml_add_int(b, "Size", o->size);
	}
	xmlout_owner(b, "Owner",
	    o->meta.owner != NULL && *o->meta.owner != '\0'
		? o->meta.owner
		: v->r->bucket->b.owner);
	if (!o->marker)
		xml_add(b, "StorageClass", "STANDARD");
	xmlout_close(b, name);
}

static void
on_prefix(const char *prefix, void *arg)
{
	struct versions *v = arg;

	buf_adds(&v->prefixes, "<CommonPrefixes>");
	xmlout_key(&v->prefixes, "Prefix", prefix, v->url);
	buf_adds(&v->prefixes, "</CommonPrefixes>");
}

static enum s3_err
versions_params(struct versions *v)
{
	struct request *r = v->r;
	const char *p;
	enum s3_err e;

	v->q.prefix = request_param(r, "prefix");
	if (v->q.prefix == NULL)
		v->q.prefix = "";
	v->q.delimiter = request_param(r, "delimiter");
	if (v->q.delimiter != NULL && *v->q.delimiter == '\0')
		v->q.delimiter = NULL;
	e = request_param_int(r, "max-keys", LIST_KEYS_MAX, LIST_KEYS_MAX,
	    &v->max);
	if (e != S3_OK)
		return e;
	v->q.max = (size_t)v->max;
	if ((p = request_param(r, "encoding-type")) != NULL) {
		if (strcmp(p, "url") != 0)
			return S3_INVALID_ARGUMENT;
		v->url = true;
	}
	v->key_marker = request_param(r, "key-marker");
	v->version_marker = request_param(r, "version-id-marker");
	if (v->version_marker != NULL && *v->version_marker == '\0')
		v->version_marker = NULL;
	if (v->key_marker != NULL && *v->key_marker != '\0')
		v->q.after = v->key_marker;
	else if (v->version_marker != NULL)
		return S3_INVALID_ARGUMENT;
	v->q.after_version = v->version_marker;
	return S3_OK;
}

static void
add_echo(struct versions *v)
{
	struct buf *b = &v->xml;

	xml_add(b, "Name", v->r->bucket_name);
	xmlout_key(b, "Prefix", v->q.prefix, v->url);
	xmlout_key(b, "Delimiter", v->q.delimiter, v->url);
	xmlout_key(b, "KeyMarker", v->key_marker != NULL ? v->key_marker : "",
	    v->url);
	xml_add(b, "VersionIdMarker",
	    v->version_marker != NULL ? v->version_marker : "");
	xml_add_int(b, "MaxKeys", v->max);
	if (v->url)
		xml_add(b, "EncodingType", "url");
}

static enum db_rc
add_entries(struct versions *v)
{
	struct request *r = v->r;
	struct db_list_cb cb = { on_version, on_prefix, v };
	enum db_rc rc = DB_OK;
	char *next = NULL, *next_version = NULL;
	bool more = false;

	if (v->q.max > 0)
		rc = db_list_versions(r->srv->db, r->bucket->b.id, &v->q, &cb,
		    &more, &next, &next_version);
	buf_add(&v->xml, v->prefixes.data, v->prefixes.len);
	xmlout_bool(&v->xml, "IsTruncated", more);
	if (more) {
		xmlout_key(&v->xml, "NextKeyMarker", next, v->url);
		xmlout_key(&v->xml, "NextVersionIdMarker", next_version, false);
	}
	free(next);
	free(next_version);
	return buf_failed(&v->prefixes) ? DB_ERROR : rc;
}

void
op_list_versions(struct request *r)
{
	struct versions *v;
	enum s3_err e;
	enum db_rc rc;
	int64_t seq;

	v = pool_calloc(&r->mem, 1, sizeof(*v));
	v->r = r;
	if ((e = versions_params(v)) != S3_OK) {
		reply_error(r, e);
		return;
	}
	seq = wait_seq(r->srv->wait);
	buf_init(&v->xml, LIST_DOC_MAX);
	buf_init(&v->prefixes, LIST_DOC_MAX);
	xmlout_root(&v->xml, "ListVersionsResult");
	add_echo(v);
	rc = add_entries(v);
	buf_fini(&v->prefixes);
	if (rc != DB_OK) {
		buf_fini(&v->xml);
		reply_db(r, rc);
		return;
	}
	xmlout_close(&v->xml, "ListVersionsResult");
	httpd_header_addf(r->http, "x-qo-seq", "%lld", (long long)seq);
	reply_xml(r, 200, &v->xml);
}
