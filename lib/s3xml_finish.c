#include <string.h>
#include <strings.h>

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "rfc3339.h"
#include "s3xml.h"
#include "s3xml_int.h"
#include "uri.h"
#include "utf8.h"

int
s3xml_parse_bool(const char *s, bool *out)
{
	*out = strcasecmp(s, "true") == 0;
	return *out || strcasecmp(s, "false") == 0 ? 0 : -1;
}

/* Names that may go into a signature's scope. */
static bool
region_valid(const char *s)
{
	size_t n;

	n = strspn(s,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789-._");
	return n < 64 && s[n] == '\0';
}

/*
 * Takes the url encoding off.  *s becomes NULL when the result is no usable
 * text; -1 when it is not encoded as it should be.
 */
static int
decode(struct qo_s3xml *p, const char **s)
{
	size_t len;

	if (strpbrk(*s, "%+") == NULL)
		return 0;
	len = strlen(*s);
	buf_reset(&p->scratch);
	if (uri_decode(&p->scratch, *s, len, URI_PLUS_SPACE) == -1)
		return -1;
	if (memchr(p->scratch.data, '\0', p->scratch.len) != NULL ||
	    !utf8_valid(p->scratch.data, p->scratch.len))
		*s = NULL;
	else
		*s = arena_dup(&p->arena, p->scratch.data, p->scratch.len);
	return 0;
}

static int
decode_entries(struct qo_s3xml *p)
{
	struct qo_s3_list *l = &p->list;
	size_t i, n = 0;

	for (i = 0; i < l->n; i++) {
		if (decode(p, &l->entries[i].key) == -1)
			return -1;
		if (l->entries[i].key != NULL)
			l->entries[n++] = l->entries[i];
	}
	l->skipped += l->n - n;
	l->n = n;
	return 0;
}

static int
decode_prefixes(struct qo_s3xml *p)
{
	struct qo_s3_list *l = &p->list;
	size_t i, n = 0;

	for (i = 0; i < l->nprefixes; i++) {
		if (decode(p, &l->prefixes[i]) == -1)
			return -1;
		if (l->prefixes[i] != NULL)
			l->prefixes[n++] = l->prefixes[i];
	}
	l->skipped += l->nprefixes - n;
	l->nprefixes = n;
	return 0;
}

/* Ceph leaves the marker as it is and encodes the keys alone: when it is the
 * last key already, to decode it would go back and list for ever. */
static int
decode_marker(struct qo_s3xml *p)
{
	struct qo_s3_list *l = &p->list;

	if (l->n > 0 && strcmp(l->next_marker, l->entries[l->n - 1].key) == 0)
		return 0;
	return decode(p, &l->next_marker);
}

/* The encoding is known only now: servers name it before or after the keys. */
static int
decode_list(struct qo_s3xml *p, struct qo_err *err)
{
	const char *how = s3xml_or_empty(p->top[F_ENCODING]);

	if (how[0] == '\0')
		return 0;
	if (strcmp(how, "url") != 0) {
		qo_err_set(err, "unknown EncodingType");
		return -1;
	}
	if (decode_entries(p) == -1 || decode_prefixes(p) == -1 ||
	    decode_marker(p) == -1) {
		qo_err_set(err, "a key is not encoded as EncodingType says");
		return -1;
	}
	/* A marker that is no text is none. */
	p->list.next_marker = s3xml_or_empty(p->list.next_marker);
	return 0;
}

/* Version 1 without a delimiter names no next marker: it is the last key. */
static void
guess_marker(struct qo_s3_list *l)
{
	const char *last = "";

	if (l->skipped > 0)
		return;
	if (l->n > 0)
		last = l->entries[l->n - 1].key;
	if (l->nprefixes > 0 && strcmp(l->prefixes[l->nprefixes - 1], last) > 0)
		last = l->prefixes[l->nprefixes - 1];
	l->next_marker = last;
}

static int
finish_list(struct qo_s3xml *p, struct qo_err *err)
{
	struct qo_s3_list *l = &p->list;

	l->next_token = s3xml_or_empty(p->top[F_TOKEN]);
	l->next_marker = s3xml_or_empty(p->top[F_MARKER]);
	l->next_version = s3xml_or_empty(p->top[F_VERSION_MARKER]);
	if (p->top[F_TRUNCATED] == NULL ||
	    s3xml_parse_bool(p->top[F_TRUNCATED], &l->truncated) == -1) {
		qo_err_set(err, "IsTruncated is neither true nor false");
		return -1;
	}
	if (decode_list(p, err) == -1)
		return -1;
	if (l->truncated && l->next_token[0] == '\0' &&
	    l->next_marker[0] == '\0' && p->want == QO_S3XML_DOC_LIST)
		guess_marker(l);
	if (l->truncated && l->next_token[0] == '\0' &&
	    l->next_marker[0] == '\0') {
		qo_err_set(err,
		    "a truncated list that does not say where to "
		    "go on");
		return -1;
	}
	return 0;
}

static int
finish_versioning(struct qo_s3xml *p, struct qo_err *err)
{
	const char *status = s3xml_or_empty(p->top[F_STATUS]);

	if (status[0] == '\0')
		p->versioning = QO_S3_VERSIONING_OFF;
	else if (strcmp(status, "Enabled") == 0)
		p->versioning = QO_S3_VERSIONING_ENABLED;
	else if (strcmp(status, "Suspended") == 0)
		p->versioning = QO_S3_VERSIONING_SUSPENDED;
	else {
		qo_err_set(err, "unknown versioning status");
		return -1;
	}
	return 0;
}

static int
finish_location(struct qo_s3xml *p, struct qo_err *err)
{
	if (!region_valid(p->location)) {
		qo_err_set(err, "the location is not a region's name");
		return -1;
	}
	/* The two names from the time before regions had names. */
	if (p->location[0] == '\0')
		p->location = "us-east-1";
	else if (strcmp(p->location, "EU") == 0)
		p->location = "eu-west-1";
	return 0;
}

void
s3xml_finish_error(struct qo_s3xml *p)
{
	const char *when = s3xml_or_empty(p->top[F_SERVER_TIME]);
	struct qo_s3_error *e = &p->error;

	e->code = s3xml_or_empty(p->top[F_CODE]);
	e->message = s3xml_or_empty(p->top[F_MESSAGE]);
	e->request_id = s3xml_or_empty(p->top[F_REQUEST_ID]);
	e->region = s3xml_or_empty(p->top[F_REGION]);
	if (!region_valid(e->region))
		e->region = "";
	e->endpoint = s3xml_or_empty(p->top[F_ENDPOINT]);
	e->bucket = s3xml_or_empty(p->top[F_BUCKET]);
	e->has_server_time = qo_rfc3339_parse(when, strlen(when),
				 &e->server_time) == 0;
}

int
s3xml_finish(struct qo_s3xml *p, struct qo_err *err)
{
	switch (p->want) {
	case QO_S3XML_DOC_LIST:
	case QO_S3XML_DOC_VERSIONS:
		return finish_list(p, err);
	case QO_S3XML_DOC_VERSIONING:
		return finish_versioning(p, err);
	case QO_S3XML_DOC_LOCATION:
		return finish_location(p, err);
	case QO_S3XML_DOC_ERROR:
	case QO_S3XML_DOC_DELETE:
		break;
	}
	return 0;
}

void
s3xml_clear(struct qo_s3xml *p)
{
	struct qo_s3_list *l = &p->list;

	l->n = l->nprefixes = l->skipped = 0;
	l->truncated = false;
	l->next_token = l->next_marker = l->next_version = "";
	p->del.n = p->del.deleted = 0;
	p->versioning = QO_S3_VERSIONING_OFF;
	p->location = "";
	memset(&p->error, 0, sizeof(p->error));
	p->error.code = p->error.message = p->error.request_id = "";
	p->error.region = p->error.endpoint = p->error.bucket = "";
}

/* The server's words on one line. */
static void
tell_error(const struct qo_s3_error *e, struct qo_err *err)
{
	char *s;

	if (err == NULL)
		return;
	strlcpy(err->s3_code, e->code, sizeof(err->s3_code));
	strlcpy(err->request_id, e->request_id, sizeof(err->request_id));
	qo_err_set(err, "%s: %s", e->code[0] != '\0' ? e->code : "no code",
	    e->message[0] != '\0' ? e->message : "no message");
	for (s = err->msg; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20)
			*s = ' ';
}

/* why: what the XML reader or finish() said. */
void
s3xml_tell(const struct qo_s3xml *p, enum qo_s3xml_kind kind, const char *why,
    struct qo_err *err)
{
	switch (kind) {
	case QO_S3XML_OK:
		break;
	case QO_S3XML_ERROR:
		tell_error(&p->error, err);
		break;
	case QO_S3XML_EMPTY:
		qo_err_set(err, "an answer without a body");
		break;
	case QO_S3XML_HTML:
		qo_err_set(err,
		    "a proxy answered with an HTML page, not S3 "
		    "with XML");
		break;
	case QO_S3XML_NOT_XML:
		qo_err_set(err,
		    "the answer is not XML: not an S3 server, or "
		    "a proxy answered");
		break;
	case QO_S3XML_TRUNCATED:
		qo_err_set(err, "the answer was cut off: %s", why);
		break;
	case QO_S3XML_WRONG_ROOT:
		qo_err_set(err, "an answer of another kind: %s", why);
		break;
	case QO_S3XML_INVALID:
		qo_err_set(err, "an invalid answer: %s", why);
		break;
	}
}
