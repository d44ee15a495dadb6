/*
 * multipart_list.c - ListParts and ListMultipartUploads.
 */
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "xml.h"
#include "xmlout.h"

#define PAGE    1000
#define DOC_MAX (16 << 20)

struct parts {
	struct buf xml;
	int last;
};

static void
on_part(const struct db_part *p, void *arg)
{
	struct parts *ps = arg;

	xmlout_open(&ps->xml, "Part");
	xml_add_int(&ps->xml, "PartNumber", p->number);
	xmlout_time(&ps->xml, "LastModified", p->mtime_us);
	xmlout_etag(&ps->xml, p->etag);
	xml_add_int(&ps->xml, "Size", p->size);
	xmlout_close(&ps->xml, "Part");
	ps->last = p->number;
}

static void
parts_echo(struct request *r, struct buf *b, const struct db_upload *u,
    int64_t marker, int64_t max)
{
	const char *owner;

	owner = u->meta.owner != NULL ? u->meta.owner : r->bucket->b.owner;
	xml_add(b, "Bucket", r->bucket_name);
	xml_add(b, "Key", r->key);
	xml_add(b, "UploadId", u->id);
	xmlout_owner(b, "Initiator", owner);
	xmlout_owner(b, "Owner", owner);
	xml_add(b, "StorageClass", "STANDARD");
	xml_add_int(b, "PartNumberMarker", marker);
	xml_add_int(b, "MaxParts", max);
}

void
op_list_parts(struct request *r)
{
	struct parts ps = { .last = 0 };
	struct db_upload u;
	int64_t marker, max;
	bool more = false;
	enum s3_err e;
	enum db_rc rc;

	e = request_param_int(r, "max-parts", PAGE, PAGE, &max);
	if (e == S3_OK)
		e = request_param_int(r, "part-number-marker", 0, 10000,
		    &marker);
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	memset(&u, 0, sizeof(u));
	rc = db_upload_get(r->srv->db, r->bucket->b.id, r->key,
	    request_param(r, "uploadId"), &u);
	if (rc != DB_OK) {
		reply_db(r, rc);
		return;
	}
	buf_init(&ps.xml, DOC_MAX);
	xmlout_root(&ps.xml, "ListPartsResult");
	parts_echo(r, &ps.xml, &u, marker, max);
	if (max > 0)
		rc = db_part_each(r->srv->db, u.id, (int)marker, (size_t)max,
		    &more, on_part, &ps);
	db_upload_fini(&u);
	if (rc != DB_OK) {
		buf_fini(&ps.xml);
		reply_db(r, rc);
		return;
	}
	if (more)
		xml_add_int(&ps.xml, "NextPartNumberMarker", ps.last);
	xmlout_bool(&ps.xml, "IsTruncated", more);
	xmlout_close(&ps.xml, "ListPartsResult");
	reply_xml(r, 200, &ps.xml);
}

struct uploads {
	struct request *r;
	const char *prefix, *delimiter;
	bool url;
	size_t left;    /* entries that still fit */
	size_t skipped; /* uploads that did not fit */
	/* The last upload looked at, and the last common prefix. */
	char *key;
	char id[DB_VID_MAX];
	char *common;
	struct buf xml, prefixes;
};

/* The key belongs to the common prefix that was listed last. */
static bool
in_common(const struct uploads *us, const char *key)
{
	return us->common != NULL && us->skipped == 0 &&
	    strncmp(us->common, key, strlen(us->common)) == 0;
}

/* Rolls a key up into its common prefix; false when it has none. */
static bool
roll_up(struct uploads *us, const char *key)
{
	const char *end;
	size_t len;

	if (us->delimiter == NULL)
		return false;
	end = strstr(key + strlen(us->prefix), us->delimiter);
	if (end == NULL)
		return false;
	len = (size_t)(end - key) + strlen(us->delimiter);
	us->common = pool_strndup(&us->r->mem, key, len);
	us->left--;
	buf_adds(&us->prefixes, "<CommonPrefixes>");
	xmlout_key(&us->prefixes, "Prefix", us->common, us->url);
	buf_adds(&us->prefixes, "</CommonPrefixes>");
	return true;
}

static void
on_upload(const struct db_upload *u, void *arg)
{
	struct uploads *us = arg;
	const char *owner;

	if (in_common(us, u->key)) {
		us->key = pool_strdup(&us->r->mem, u->key);
		strlcpy(us->id, u->id, sizeof(us->id));
		return;
	}
	if (us->left == 0) {
		us->skipped++;
		return;
	}
	us->key = pool_strdup(&us->r->mem, u->key);
	strlcpy(us->id, u->id, sizeof(us->id));
	if (roll_up(us, u->key))
		return;
	us->left--;
	owner = u->meta.owner != NULL ? u->meta.owner : us->r->bucket->b.owner;
	xmlout_open(&us->xml, "Upload");
	xmlout_key(&us->xml, "Key", u->key, us->url);
	xml_add(&us->xml, "UploadId", u->id);
	xmlout_owner(&us->xml, "Initiator", owner);
	xmlout_owner(&us->xml, "Owner", owner);
	xml_add(&us->xml, "StorageClass", "STANDARD");
	xmlout_time(&us->xml, "Initiated", u->initiated_us);
	xmlout_close(&us->xml, "Upload");
}

static enum db_rc
collect_uploads(struct uploads *us, bool *truncated)
{
	struct request *r = us->r;
	const char *key, *id;
	enum db_rc rc;
	bool more = true;

	key = request_param(r, "key-marker");
	id = request_param(r, "upload-id-marker");
	if (key == NULL || *key == '\0')
		key = id = NULL;
	if (id != NULL && *id == '\0')
		id = NULL;
	while (more && us->left > 0) {
		rc = db_upload_each(r->srv->db, r->bucket->b.id, us->prefix,
		    key, id, PAGE, &more, on_upload, us);
		if (rc != DB_OK)
			return rc;
		key = us->key;
		id = us->id;
	}
	*truncated = us->skipped > 0 || (more && us->key != NULL);
	return DB_OK;
}

static void
uploads_echo(struct uploads *us, int64_t max)
{
	struct request *r = us->r;
	const char *key, *id;

	key = request_param(r, "key-marker");
	id = request_param(r, "upload-id-marker");
	xml_add(&us->xml, "Bucket", r->bucket_name);
	xmlout_key(&us->xml, "KeyMarker", key != NULL ? key : "", us->url);
	xml_add(&us->xml, "UploadIdMarker", id != NULL ? id : "");
	xmlout_key(&us->xml, "Prefix", us->prefix, us->url);
	xmlout_key(&us->xml, "Delimiter", us->delimiter, us->url);
	xml_add_int(&us->xml, "MaxUploads", max);
	if (us->url)
		xml_add(&us->xml, "EncodingType", "url");
}

void
op_list_uploads(struct request *r)
{
	struct uploads us = { .r = r };
	const char *p;
	bool truncated = false;
	int64_t max;
	enum s3_err e;
	enum db_rc rc;

	e = request_param_int(r, "max-uploads", PAGE, PAGE, &max);
	p = request_param(r, "encoding-type");
	us.url = p != NULL && strcmp(p, "url") == 0;
	if (p != NULL && !us.url)
		e = S3_INVALID_ARGUMENT;
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	us.left = (size_t)max;
	us.prefix = request_param(r, "prefix");
	if (us.prefix == NULL)
		us.prefix = "";
	us.delimiter = request_param(r, "delimiter");
	if (us.delimiter != NULL && *us.delimiter == '\0')
		us.delimiter = NULL;
	buf_init(&us.xml, DOC_MAX);
	buf_init(&us.prefixes, DOC_MAX);
	xmlout_root(&us.xml, "ListMultipartUploadsResult");
	uploads_echo(&us, max);
	rc = collect_uploads(&us, &truncated);
	if (rc == DB_OK && truncated) {
		xmlout_key(&us.xml, "NextKeyMarker", us.key, us.url);
		xml_add(&us.xml, "NextUploadIdMarker", us.id);
	}
	xmlout_bool(&us.xml, "IsTruncated", truncated);
	buf_add(&us.xml, us.prefixes.data, us.prefixes.len);
	buf_fini(&us.prefixes);
	xmlout_close(&us.xml, "ListMultipartUploadsResult");
	if (rc != DB_OK) {
		buf_fini(&us.xml);
		reply_db(r, rc);
		return;
	}
	reply_xml(r, 200, &us.xml);
}
