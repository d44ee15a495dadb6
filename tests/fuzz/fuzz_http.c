/*
 * The head parser and the chunk decoder on any bytes: however these are cut
 * into pieces, the verdict, the strings and the body must be the same; and
 * what is accepted obeys the rules that keep two readers in step.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "httpparse.h"
#include "log.h"
#include "xalloc.h"

/* Small, so that the limits are reached. */
#define HEAD_MAX 1024
#define URI_MAX  128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum cut {
	CUT_WHOLE = 0,
	CUT_BYTES,
	CUT_MIXED
};

/* One request as it was read. */
struct seen {
	enum httpparse_rc head_rc, body_rc;
	struct httpparse hp;
	char *head;
	struct buf body;
	size_t used; /* by head and body */
};

static size_t
piece(enum cut cut, const uint8_t *data, size_t off, size_t size)
{
	size_t n = size - off;

	if (cut == CUT_BYTES)
		n = 1;
	else if (cut == CUT_MIXED)
		n = 1 + (data[off] ^ (off * 7)) % 61;
	return n < size - off ? n : size - off;
}

static void
read_chunked(struct seen *s, enum cut cut, const uint8_t *data, size_t off,
    size_t size)
{
	struct httpchunk d;
	const char *p = NULL;
	size_t used, len = 0, end;

	httpchunk_init(&d);
	s->body_rc = HTTPPARSE_MORE;
	for (end = off; s->body_rc == HTTPPARSE_MORE && end < size;) {
		end += piece(cut, data, end, size);
		while ((s->body_rc = httpchunk_next(&d,
			    (const char *)data + off, end - off, &used, &p,
			    &len)) == HTTPPARSE_DATA) {
			buf_add(&s->body, p, len);
			off += used;
		}
		off += used;
	}
	s->used = off;
}

static void
read_request(struct seen *s, enum cut cut, const uint8_t *data, size_t size)
{
	size_t avail = 0;

	memset(s, 0, sizeof(*s));
	s->head = xmemdup0(data, size);
	buf_init(&s->body, SIZE_MAX / 2);
	httpparse_init(&s->hp, HEAD_MAX, URI_MAX);
	s->head_rc = HTTPPARSE_MORE;
	while (s->head_rc == HTTPPARSE_MORE && avail < size) {
		avail += piece(cut, data, avail, size);
		s->head_rc = httpparse_head(&s->hp, s->head, avail);
	}
	s->used = s->hp.head_len;
	if (s->head_rc == HTTPPARSE_DONE && s->hp.content_length == -1)
		read_chunked(s, cut, data, s->hp.head_len, size);
}

static void
seen_fini(struct seen *s)
{
	free(s->head);
	buf_fini(&s->body);
}

static void
same_head(const struct seen *a, const struct seen *b)
{
	size_t i;

	if (a->hp.head_len != b->hp.head_len ||
	    memcmp(a->head, b->head, a->hp.head_len) != 0 ||
	    a->hp.method != b->hp.method || a->hp.path != b->hp.path ||
	    a->hp.query != b->hp.query || a->hp.close != b->hp.close ||
	    a->hp.content_length != b->hp.content_length ||
	    a->hp.expect_continue != b->hp.expect_continue ||
	    a->hp.nfields != b->hp.nfields)
		qo_bug("heads differ");
	for (i = 0; i < a->hp.nfields; i++)
		if (a->hp.fields[i].name != b->hp.fields[i].name ||
		    a->hp.fields[i].value != b->hp.fields[i].value)
			qo_bug("fields differ");
}

static void
same(const struct seen *a, const struct seen *b)
{
	if (a->head_rc != b->head_rc || a->hp.status != b->hp.status)
		qo_bug("verdicts on the head differ: %d %d, %d %d", a->head_rc,
		    a->hp.status, b->head_rc, b->hp.status);
	if (a->head_rc != HTTPPARSE_DONE)
		return;
	same_head(a, b);
	if (a->body_rc != b->body_rc || a->body.len != b->body.len ||
	    memcmp(a->body.data, b->body.data, a->body.len) != 0)
		qo_bug("bodies differ");
	if (a->body_rc == HTTPPARSE_DONE && a->used != b->used)
		qo_bug("ends differ");
}

static size_t
count(const struct seen *s, const char *name)
{
	size_t i, n = 0;

	for (i = 0; i < s->hp.nfields; i++)
		n += strcmp(s->head + s->hp.fields[i].name, name) == 0;
	return n;
}

/* Rules that hold for everything that is let through. */
static void
check_rules(const struct seen *s, const uint8_t *data)
{
	const char *head = s->head;
	size_t i, len = s->hp.head_len;
	bool te = count(s, "transfer-encoding") > 0;

	if (len > HEAD_MAX || strlen(head + s->hp.path) > URI_MAX ||
	    (head[s->hp.path] != '/' && strcmp(head + s->hp.path, "*") != 0))
		qo_bug("bad target passed");
	if (count(s, "host") > 1 || count(s, "content-length") > 1 ||
	    (te && count(s, "content-length") > 0) ||
	    te != (s->hp.content_length == -1))
		qo_bug("bad framing passed");
	for (i = 0; i < len; i++) {
		if (data[i] == '\0' || data[i] == 0x7f)
			qo_bug("control character passed");
		if (data[i] == '\n' && (i == 0 || data[i - 1] != '\r'))
			qo_bug("bare LF passed");
		if (data[i] == '\r' && data[i + 1] != '\n')
			qo_bug("bare CR passed");
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole, cut;

	read_request(&whole, CUT_WHOLE, data, size);
	read_request(&cut, CUT_BYTES, data, size);
	same(&whole, &cut);
	seen_fini(&cut);
	read_request(&cut, CUT_MIXED, data, size);
	same(&whole, &cut);
	seen_fini(&cut);
	if (whole.head_rc == HTTPPARSE_DONE)
		check_rules(&whole, data);
	seen_fini(&whole);
	return 0;
}
