/*
 * The readers of a peer's XML on any bytes: fed whole and in pieces they
 * must say the same, and what we escape must come back as it was.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "err.h"
#include "log.h"
#include "s3xml.h"
#include "xml.h"

/* Small, so that the limits are reached. */
#define DOC_MAX  4096
#define TEXT_MAX 256
#define SEEN_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The length of the next piece: depends on the bytes, to vary. */
static size_t
piece(const uint8_t *data, size_t off, size_t size)
{
	size_t n;

	n = 1 + (data[off] ^ (off * 7)) % 61;
	return n < size - off ? n : size - off;
}

static int
note_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	if (strcmp(e->name, "refuse") == 0)
		return xml_refuse(x, "no %s", e->path);
	buf_addf(arg, "+%s %d\n", e->path, e->depth);
	return 0;
}

static int
note_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	(void)x;
	if (strlen(e->text) != e->len || !xml_can_carry(e->text, e->len))
		qo_bug("a text that is no XML text");
	buf_addf(arg, "-%s %d %s\n", e->path, e->leaf, e->text);
	return 0;
}

static const struct xml_ops ops = { note_open, note_close };

static void
read_xml(const uint8_t *data, size_t size, bool whole, struct buf *seen)
{
	struct qo_err err;
	struct xml *x;
	size_t n, off = 0;

	qo_err_reset(&err);
	x = xml_new(DOC_MAX, TEXT_MAX, &ops, seen);
	while (off < size) {
		n = whole ? size : piece(data, off, size);
		if (xml_feed(x, data + off, n, &err) == -1)
			break;
		off += n;
	}
	xml_end(x, &err);
	buf_addf(seen, "%d %s\n", (int)xml_fail(x), err.msg);
	xml_free(x);
}

static void
note_results(const struct qo_s3xml *p, struct buf *seen)
{
	const struct qo_s3_list *l = qo_s3xml_list(p);
	const struct qo_s3_delete *d = qo_s3xml_delete(p);
	const struct qo_s3_error *e = qo_s3xml_error(p);
	size_t i;

	for (i = 0; i < l->n; i++)
		buf_addf(seen, "%s %s %s %lld %lld %d %d\n", l->entries[i].key,
		    l->entries[i].version_id, l->entries[i].etag,
		    (long long)l->entries[i].size,
		    (long long)l->entries[i].last_modified.us,
		    l->entries[i].is_latest, l->entries[i].is_marker);
	for (i = 0; i < l->nprefixes; i++)
		buf_addf(seen, "%s\n", l->prefixes[i]);
	buf_addf(seen, "%zu %d %s %s %s\n", l->skipped, l->truncated,
	    l->next_token, l->next_marker, l->next_version);
	for (i = 0; i < d->n; i++)
		buf_addf(seen, "%s %s %s %s\n", d->errors[i].key,
		    d->errors[i].version_id, d->errors[i].code,
		    d->errors[i].message);
	buf_addf(seen, "%zu %d %s\n", d->deleted, (int)qo_s3xml_versioning(p),
	    qo_s3xml_location(p));
	buf_addf(seen, "%s %s %s %s %s %s %d %lld\n", e->code, e->message,
	    e->request_id, e->region, e->endpoint, e->bucket,
	    e->has_server_time, (long long)e->server_time.us);
}

static void
read_s3(struct qo_s3xml *p, enum qo_s3xml_doc want, const uint8_t *data,
    size_t size, bool whole, struct buf *seen)
{
	enum qo_s3xml_kind kind;
	struct qo_err err;
	size_t n, off = 0;

	qo_err_reset(&err);
	qo_s3xml_begin(p, want);
	while (off < size) {
		n = whole ? size : piece(data, off, size);
		if (qo_s3xml_feed(p, data + off, n) == -1)
			break;
		off += n;
	}
	kind = qo_s3xml_end(p, &err);
	if (kind != QO_S3XML_OK && err.msg[0] == '\0')
		qo_bug("a failure without a message");
	if (strchr(err.msg, '\n') != NULL)
		qo_bug("a message of two lines");
	buf_addf(seen, "%s %s %s %s\n", qo_s3xml_kind_name(kind), err.msg,
	    err.s3_code, err.request_id);
	note_results(p, seen);
}

static void
must_agree(struct buf *a, struct buf *b)
{
	if (buf_failed(a) || buf_failed(b))
		qo_bug("results larger than they can be");
	if (a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
		qo_bug("whole:\n%s\npieces:\n%s", a->data, b->data);
	buf_reset(a);
	buf_reset(b);
}

/* Text in, escaped, read: the same text out. */
static int
check_text(struct xml *x, const struct xml_elem *e, void *arg)
{
	const struct buf *want = arg;

	(void)x;
	if (e->len != want->len || memcmp(e->text, want->data, e->len) != 0)
		qo_bug("an escaped text came back changed");
	return 0;
}

static void
round_trip(const uint8_t *data, size_t size)
{
	static const struct xml_ops check = { NULL, check_text };
	struct buf doc, text;
	struct xml *x;

	if (!xml_can_carry((const char *)data, size))
		return;
	buf_init(&doc, SEEN_MAX);
	buf_init(&text, SEEN_MAX);
	buf_add(&text, data, size);
	xml_add(&doc, "t", text.data);
	x = xml_new(SEEN_MAX, SEEN_MAX, &check, &text);
	if (xml_parse(x, doc.data, doc.len, NULL) == -1)
		qo_bug("an escaped text is not XML");
	xml_free(x);
	buf_fini(&doc);
	buf_fini(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qo_s3xml *p;
	struct buf a, b;
	int want;

	buf_init(&a, SEEN_MAX);
	buf_init(&b, SEEN_MAX);
	read_xml(data, size, true, &a);
	read_xml(data, size, false, &b);
	must_agree(&a, &b);
	p = qo_s3xml_new();
	for (want = QO_S3XML_DOC_ERROR; want <= QO_S3XML_DOC_LOCATION; want++) {
		read_s3(p, (enum qo_s3xml_doc)want, data, size, true, &a);
		read_s3(p, (enum qo_s3xml_doc)want, data, size, false, &b);
		must_agree(&a, &b);
	}
	qo_s3xml_free(p);
	round_trip(data, size);
	buf_fini(&a);
	buf_fini(&b);
	return 0;
}
