#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "rfc3339.h"
#include "s3xml.h"
#include "s3xml_int.h"
#include "xalloc.h"
#include "xml.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

#define BIT(f) (1U << (f))

struct s3xml_field {
	const char *name; /* NULL ends a table */
	enum field_id id;
};

/* An element of depth 2 that holds fields and may come many times. */
struct s3xml_section {
	enum qo_s3xml_doc doc;
	const char *name;
	const struct s3xml_field *fields;
	unsigned need; /* BIT of each field that must be there */
	int (*done)(struct qo_s3xml *p);
};

static int add_object(struct qo_s3xml *p);
static int add_marker(struct qo_s3xml *p);
static int add_undeleted(struct qo_s3xml *p);
static int count_deleted(struct qo_s3xml *p);

static const struct s3xml_field error_fields[] = {
	{ "Code", F_CODE },
	{ "Message", F_MESSAGE },
	{ "RequestId", F_REQUEST_ID },
	{ "RequestID", F_REQUEST_ID },
	{ "Region", F_REGION },
	{ "Endpoint", F_ENDPOINT },
	{ "BucketName", F_BUCKET },
	{ "ServerTime", F_SERVER_TIME },
	{ NULL, F_MAX },
};

static const struct s3xml_field list_fields[] = {
	{ "IsTruncated", F_TRUNCATED },
	{ "EncodingType", F_ENCODING },
	{ "NextContinuationToken", F_TOKEN },
	{ "NextMarker", F_MARKER },
	{ NULL, F_MAX },
};

static const struct s3xml_field versions_fields[] = {
	{ "IsTruncated", F_TRUNCATED },
	{ "EncodingType", F_ENCODING },
	{ "NextKeyMarker", F_MARKER },
	{ "NextVersionIdMarker", F_VERSION_MARKER },
	{ NULL, F_MAX },
};

static const struct s3xml_field versioning_fields[] = {
	{ "Status", F_STATUS },
	{ NULL, F_MAX },
};

static const struct s3xml_field no_fields[] = {
	{ NULL, F_MAX },
};

static const struct s3xml_field entry_fields[] = {
	{ "Key", F_KEY },
	{ "LastModified", F_LAST_MODIFIED },
	{ "ETag", F_ETAG },
	{ "Size", F_SIZE },
	{ NULL, F_MAX },
};

static const struct s3xml_field version_fields[] = {
	{ "Key", F_KEY },
	{ "VersionId", F_VERSION_ID },
	{ "IsLatest", F_IS_LATEST },
	{ "LastModified", F_LAST_MODIFIED },
	{ "ETag", F_ETAG },
	{ "Size", F_SIZE },
	{ NULL, F_MAX },
};

static const struct s3xml_field prefix_fields[] = {
	{ "Prefix", F_PREFIX },
	{ NULL, F_MAX },
};

static const struct s3xml_field undeleted_fields[] = {
	{ "Key", F_KEY },
	{ "VersionId", F_VERSION_ID },
	{ "Code", F_CODE },
	{ "Message", F_MESSAGE },
	{ NULL, F_MAX },
};

#define NEED_MARKER  (BIT(F_KEY) | BIT(F_LAST_MODIFIED))
#define NEED_OBJECT  (NEED_MARKER | BIT(F_ETAG) | BIT(F_SIZE))
#define NEED_VERSION (BIT(F_VERSION_ID) | BIT(F_IS_LATEST))

static const struct s3xml_section sections[] = {
	{ QO_S3XML_DOC_LIST, "Contents", entry_fields, NEED_OBJECT,
	    add_object },
	{ QO_S3XML_DOC_LIST, "CommonPrefixes", prefix_fields, 0, NULL },
	{ QO_S3XML_DOC_VERSIONS, "Version", version_fields,
	    NEED_OBJECT | NEED_VERSION, add_object },
	{ QO_S3XML_DOC_VERSIONS, "DeleteMarker", version_fields,
	    NEED_MARKER | NEED_VERSION, add_marker },
	{ QO_S3XML_DOC_VERSIONS, "CommonPrefixes", prefix_fields, 0, NULL },
	{ QO_S3XML_DOC_DELETE, "Error", undeleted_fields,
	    BIT(F_KEY) | BIT(F_CODE), add_undeleted },
	{ QO_S3XML_DOC_DELETE, "Deleted", no_fields, 0, count_deleted },
};

/* By enum qo_s3xml_doc. */
static const struct root {
	const char *name;
	const struct s3xml_field *fields;
} roots[] = {
	{ "Error", error_fields },
	{ "ListBucketResult", list_fields },
	{ "ListVersionsResult", versions_fields },
	{ "DeleteResult", no_fields },
	{ "VersioningConfiguration", versioning_fields },
	{ "LocationConstraint", no_fields },
};

static enum field_id
field_find(const struct s3xml_field *f, const char *name)
{
	for (; f->name != NULL; f++)
		if (strcmp(f->name, name) == 0)
			return f->id;
	return F_MAX;
}

/* Room for one more of n; -1 when there are too many. */
static int
grow(void **array, size_t *cap, size_t n, size_t size)
{
	if (n >= QO_S3XML_ENTRIES_MAX)
		return -1;
	if (n < *cap)
		return 0;
	*cap = *cap == 0 ? 64 : *cap * 2;
	*array = xreallocarray(*array, *cap, size);
	return 0;
}

/* Digits and nothing else; 18 of them fit in any case. */
static int
parse_size(const char *s, int64_t *out)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; s[i] >= '0' && s[i] <= '9' && i < 18; i++)
		n = n * 10 + (s[i] - '0');
	if (i == 0 || s[i] != '\0')
		return -1;
	*out = n;
	return 0;
}

static int
add_entry(struct qo_s3xml *p, bool is_marker)
{
	struct qo_s3_list *l = &p->list;
	struct qo_s3_entry *e;
	void *array = l->entries;

	if (grow(&array, &p->list_cap, l->n, sizeof(*e)) == -1)
		return xml_refuse(p->xml, "too many entries");
	l->entries = array;
	e = &l->entries[l->n];
	memset(e, 0, sizeof(*e));
	e->key = p->rec[F_KEY];
	e->version_id = s3xml_or_empty(p->rec[F_VERSION_ID]);
	e->etag = s3xml_or_empty(p->rec[F_ETAG]);
	e->is_latest = true;
	e->is_marker = is_marker;
	if (e->key[0] == '\0')
		return xml_refuse(p->xml, "an empty Key");
	if (qo_rfc3339_parse(p->rec[F_LAST_MODIFIED],
		strlen(p->rec[F_LAST_MODIFIED]), &e->last_modified) == -1)
		return xml_refuse(p->xml, "LastModified is not a date");
	if (p->rec[F_SIZE] != NULL && !is_marker &&
	    parse_size(p->rec[F_SIZE], &e->size) == -1)
		return xml_refuse(p->xml, "Size is not a size");
	if (p->rec[F_IS_LATEST] != NULL &&
	    s3xml_parse_bool(p->rec[F_IS_LATEST], &e->is_latest) == -1)
		return xml_refuse(p->xml, "IsLatest is neither true nor false");
	l->n++;
	return 0;
}

static int
add_object(struct qo_s3xml *p)
{
	return add_entry(p, false);
}

static int
add_marker(struct qo_s3xml *p)
{
	return add_entry(p, true);
}

static int
add_prefix(struct qo_s3xml *p, const struct xml_elem *e)
{
	struct qo_s3_list *l = &p->list;
	void *array = l->prefixes;

	if (grow(&array, &p->prefix_cap, l->nprefixes, sizeof(*l->prefixes)) ==
	    -1)
		return xml_refuse(p->xml, "too many prefixes");
	l->prefixes = array;
	l->prefixes[l->nprefixes++] = arena_dup(&p->arena, e->text, e->len);
	return 0;
}

static int
add_undeleted(struct qo_s3xml *p)
{
	struct qo_s3_undeleted *u;
	void *array = p->del.errors;

	if (grow(&array, &p->del_cap, p->del.n, sizeof(*u)) == -1)
		return xml_refuse(p->xml, "too many errors");
	p->del.errors = array;
	u = &p->del.errors[p->del.n++];
	u->key = p->rec[F_KEY];
	u->version_id = s3xml_or_empty(p->rec[F_VERSION_ID]);
	u->code = p->rec[F_CODE];
	u->message = s3xml_or_empty(p->rec[F_MESSAGE]);
	return 0;
}

static int
count_deleted(struct qo_s3xml *p)
{
	p->del.deleted++;
	return 0;
}

static int
open_root(struct qo_s3xml *p, const struct xml_elem *e)
{
	if (strcmp(e->name, "Error") == 0) {
		p->is_error = true;
		p->fields = error_fields;
		return 0;
	}
	if (p->want == QO_S3XML_DOC_ERROR ||
	    strcmp(e->name, roots[p->want].name) != 0) {
		p->refused = QO_S3XML_WRONG_ROOT;
		return xml_refuse(p->xml, "%.64s instead of %s", e->name,
		    roots[p->want].name);
	}
	p->fields = roots[p->want].fields;
	return 0;
}

static int
on_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct qo_s3xml *p = arg;
	size_t i;

	(void)x;
	if (e->depth == 1)
		return open_root(p, e);
	if (e->depth != 2 || p->is_error)
		return 0;
	for (i = 0; i < nitems(sections); i++)
		if (sections[i].doc == p->want &&
		    strcmp(sections[i].name, e->name) == 0) {
			p->sect = &sections[i];
			memset(p->rec, 0, sizeof(p->rec));
			return 0;
		}
	return 0;
}

/* A leaf may be one of the fields: keep its text. */
static int
take_field(struct qo_s3xml *p, const struct s3xml_field *fields,
    const char **into, const struct xml_elem *e)
{
	enum field_id id;

	if ((id = field_find(fields, e->name)) == F_MAX)
		return 0;
	if (!e->leaf)
		return xml_refuse(p->xml, "%s holds elements", e->name);
	if (id == F_PREFIX)
		return add_prefix(p, e);
	if (into[id] != NULL && p->is_error)
		return 0; /* an error stays one, however odd */
	if (into[id] != NULL)
		return xml_refuse(p->xml, "%s is there twice", e->name);
	into[id] = arena_dup(&p->arena, e->text, e->len);
	return 0;
}

static int
close_section(struct qo_s3xml *p, const struct xml_elem *e)
{
	const struct s3xml_section *sect = p->sect;
	const struct s3xml_field *f;

	p->sect = NULL;
	for (f = sect->fields; f->name != NULL; f++)
		if ((sect->need & BIT(f->id)) != 0 && p->rec[f->id] == NULL)
			return xml_refuse(p->xml, "%s without %s", e->name,
			    f->name);
	return sect->done != NULL ? sect->done(p) : 0;
}

static int
on_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct qo_s3xml *p = arg;

	(void)x;
	if (e->depth == 3 && p->sect != NULL)
		return take_field(p, p->sect->fields, p->rec, e);
	if (e->depth == 2 && p->sect != NULL)
		return close_section(p, e);
	if (e->depth == 2)
		return take_field(p, p->fields, p->top, e);
	if (e->depth == 1 && p->want == QO_S3XML_DOC_LOCATION)
		p->location = arena_dup(&p->arena, e->text, e->len);
	return 0;
}

static const struct xml_ops ops = { on_open, on_close };

struct qo_s3xml *
qo_s3xml_new(void)
{
	struct qo_s3xml *p;

	p = xcalloc(1, sizeof(*p));
	p->xml = xml_new(QO_S3XML_DOC_MAX, S3XML_TEXT_MAX, &ops, p);
	arena_init(&p->arena);
	buf_init(&p->scratch, S3XML_TEXT_MAX);
	s3xml_clear(p);
	return p;
}

void
qo_s3xml_free(struct qo_s3xml *p)
{
	if (p == NULL)
		return;
	xml_free(p->xml);
	arena_fini(&p->arena);
	buf_fini(&p->scratch);
	free(p->list.entries);
	free(p->list.prefixes);
	free(p->del.errors);
	free(p);
}

void
qo_s3xml_begin(struct qo_s3xml *p, enum qo_s3xml_doc want)
{
	xml_reset(p->xml);
	arena_reset(&p->arena);
	s3xml_clear(p);
	p->want = want;
	p->refused = QO_S3XML_INVALID;
	p->is_error = false;
	p->fields = no_fields;
	p->sect = NULL;
	memset(p->top, 0, sizeof(p->top));
}

int
qo_s3xml_feed(struct qo_s3xml *p, const void *data, size_t len)
{
	return xml_feed(p->xml, data, len, NULL);
}

static enum qo_s3xml_kind
kind_of(const struct qo_s3xml *p)
{
	switch (xml_fail(p->xml)) {
	case XML_FAIL_NONE:
		return p->is_error ? QO_S3XML_ERROR : QO_S3XML_OK;
	case XML_FAIL_EMPTY:
		return QO_S3XML_EMPTY;
	case XML_FAIL_NOT_XML:
		return QO_S3XML_NOT_XML;
	case XML_FAIL_HTML:
		return QO_S3XML_HTML;
	case XML_FAIL_TRUNCATED:
		return QO_S3XML_TRUNCATED;
	case XML_FAIL_REFUSED:
		return p->refused;
	case XML_FAIL_SYNTAX:
	case XML_FAIL_DTD:
	case XML_FAIL_LIMIT:
		break;
	}
	return QO_S3XML_INVALID;
}

enum qo_s3xml_kind
qo_s3xml_end(struct qo_s3xml *p, struct qo_err *err)
{
	enum qo_s3xml_kind kind;
	struct qo_err why;

	qo_err_reset(&why);
	xml_end(p->xml, &why);
	kind = kind_of(p);
	if (kind == QO_S3XML_OK && s3xml_finish(p, &why) == -1)
		kind = QO_S3XML_INVALID;
	if (kind != QO_S3XML_OK)
		s3xml_clear(p);
	if (kind == QO_S3XML_ERROR)
		s3xml_finish_error(p);
	s3xml_tell(p, kind, why.msg, err);
	return kind;
}

enum qo_s3xml_kind
qo_s3xml_parse(struct qo_s3xml *p, enum qo_s3xml_doc want, const void *data,
    size_t len, struct qo_err *err)
{
	qo_s3xml_begin(p, want);
	qo_s3xml_feed(p, data, len);
	return qo_s3xml_end(p, err);
}

const char *
qo_s3xml_kind_name(enum qo_s3xml_kind kind)
{
	switch (kind) {
	case QO_S3XML_OK:
		return "ok";
	case QO_S3XML_ERROR:
		return "error";
	case QO_S3XML_EMPTY:
		return "empty";
	case QO_S3XML_HTML:
		return "html";
	case QO_S3XML_NOT_XML:
		return "not-xml";
	case QO_S3XML_TRUNCATED:
		return "truncated";
	case QO_S3XML_WRONG_ROOT:
		return "wrong-root";
	case QO_S3XML_INVALID:
		return "invalid";
	}
	return "?";
}

const struct qo_s3_list *
qo_s3xml_list(const struct qo_s3xml *p)
{
	return &p->list;
}

const struct qo_s3_delete *
qo_s3xml_delete(const struct qo_s3xml *p)
{
	return &p->del;
}

enum qo_s3_versioning
qo_s3xml_versioning(const struct qo_s3xml *p)
{
	return p->versioning;
}

const char *
qo_s3xml_location(const struct qo_s3xml *p)
{
	return p->location;
}

const struct qo_s3_error *
qo_s3xml_error(const struct qo_s3xml *p)
{
	return &p->error;
}
