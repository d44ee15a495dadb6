#include <string.h>
#include <strings.h>

#include "httpparse.h"

/* Classes of bytes, RFC 9110 section 5.6.2 and 5.5, RFC 3986. */
enum {
	TOKEN = 1,
	VALUE = 2,  /* in a field value; obs-text is for UTF-8 metadata */
	TARGET = 4, /* printable and not # */
	HOST = 8,
	HEX = 16
};

#define VT  (VALUE | TARGET)
#define VTH (VALUE | TARGET | HOST)
#define ALL (TOKEN | VALUE | TARGET | HOST)

static const unsigned char class[256] = {
	['\t'] = VALUE,
	[' '] = VALUE,
	['!'] = ALL,
	['"'] = VT,
	['#'] = TOKEN | VALUE,
	['$' ... '\''] = ALL,
	['(' ... ')'] = VTH,
	['*' ... '+'] = ALL,
	[','] = VT,
	['-' ... '.'] = ALL,
	['/'] = VT,
	['0' ... '9'] = ALL | HEX,
	[':' ... ';'] = VTH,
	['<'] = VT,
	['='] = VTH,
	['>' ... '@'] = VT,
	['A' ... 'F'] = ALL | HEX,
	['G' ... 'Z'] = ALL,
	['['] = VTH,
	['\\'] = VT,
	[']'] = VTH,
	['^'] = TOKEN | VT,
	['_'] = ALL,
	['`'] = TOKEN | VT,
	['a' ... 'f'] = ALL | HEX,
	['g' ... 'z'] = ALL,
	['{'] = VT,
	['|'] = TOKEN | VT,
	['}'] = VT,
	['~'] = ALL,
	[0x80 ... 0xff] = VALUE,
};

static inline bool
is(char c, unsigned char what)
{
	return (class[(unsigned char)c] & what) != 0;
}

static inline char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* The first byte from p on that is not of the class. */
static inline char *
span(char *p, const char *end, unsigned char what)
{
	while (p < end && is(*p, what))
		p++;
	return p;
}

static enum httpparse_rc
bad(struct httpparse *p, int status, const char *reason)
{
	p->status = status;
	p->reason = reason;
	return HTTPPARSE_BAD;
}

void
httpparse_init(struct httpparse *p, size_t head_max, size_t uri_max)
{
	/* Not the fields: nfields says how many there are. */
	memset(p, 0, offsetof(struct httpparse, fields));
	p->head_max = head_max;
	p->uri_max = uri_max;
}

/* The request line */

/* http://host:port/path; that it agrees with Host is checked at the end. */
static enum httpparse_rc
absolute_form(struct httpparse *p, char *data, char *target, char *end)
{
	char *auth, *s;

	if (end - target < 7 || strncasecmp(target, "http://", 7) != 0)
		return bad(p, 400, "the request target is not a path");
	auth = target + 7;
	s = span(auth, end, HOST);
	if (s == auth || (s < end && *s != '/' && *s != '?'))
		return bad(p, 400, "bad host in the request target");
	p->auth = (uint32_t)(auth - data);
	p->auth_len = (uint32_t)(s - auth);
	p->path = (uint32_t)(s - data);
	return HTTPPARSE_MORE;
}

static enum httpparse_rc
target_forms(struct httpparse *p, char *data, char *target, char *end)
{
	const char *method = data + p->method;
	char *q;

	if (strcmp(method, "CONNECT") == 0)
		return bad(p, 501, "CONNECT is not supported");
	p->path = (uint32_t)(target - data);
	if (*target == '*') {
		if (end != target + 1 || strcmp(method, "OPTIONS") != 0)
			return bad(p, 400, "the request target is not a path");
	} else if (*target != '/' &&
	    absolute_form(p, data, target, end) == HTTPPARSE_BAD)
		return HTTPPARSE_BAD;
	q = memchr(data + p->path, '?', (size_t)(end - data) - p->path);
	if (q != NULL)
		*q++ = '\0';
	else
		q = end;
	p->query = (uint32_t)(q - data);
	*end = '\0';
	return HTTPPARSE_MORE;
}

static enum httpparse_rc
version(struct httpparse *p, const char *v, const char *end)
{
	if (end - v != 8 || memcmp(v, "HTTP/", 5) != 0 || v[5] < '0' ||
	    v[5] > '9' || v[6] != '.' || v[7] < '0' || v[7] > '9')
		return bad(p, 400, "malformed request line");
	if (v[5] != '1' || v[7] > '1')
		return bad(p, 505, "only HTTP/1.1 and HTTP/1.0 are spoken");
	p->http10 = v[7] == '0';
	return HTTPPARSE_MORE;
}

static enum httpparse_rc
request_line(struct httpparse *p, char *data, char *line, char *end)
{
	char *sp, *target;

	sp = span(line, end, TOKEN);
	if (sp == line || sp - line > HTTPPARSE_METHOD_MAX || sp == end ||
	    *sp != ' ')
		return bad(p, 400, "malformed method");
	*sp = '\0';
	p->method = (uint32_t)(line - data);
	target = sp + 1;
	sp = span(target, end, TARGET);
	if (sp == target || sp == end || *sp != ' ')
		return bad(p, 400, "malformed request target");
	if ((size_t)(sp - target) > p->uri_max)
		return bad(p, 414, "the request target is too long");
	if (version(p, sp + 1, end) == HTTPPARSE_BAD)
		return HTTPPARSE_BAD;
	return target_forms(p, data, target, sp);
}

/* Header fields */

static enum httpparse_rc
content_length(struct httpparse *p, const char *v)
{
	int64_t n = 0;

	if (p->has_length)
		return bad(p, 400, "two Content-Length headers");
	p->has_length = true;
	if (*v == '\0')
		return bad(p, 400, "malformed Content-Length");
	for (; *v != '\0'; v++) {
		if (*v < '0' || *v > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *v - '0', &n))
			return bad(p, 400, "malformed Content-Length");
	}
	p->content_length = n;
	return HTTPPARSE_MORE;
}

static enum httpparse_rc
transfer_encoding(struct httpparse *p, const char *v)
{
	if (p->has_te)
		return bad(p, 400, "two Transfer-Encoding headers");
	if (*v == '\0')
		return bad(p, 400, "empty Transfer-Encoding");
	p->has_te = true;
	p->te_chunked = strcasecmp(v, "chunked") == 0;
	return HTTPPARSE_MORE;
}

static enum httpparse_rc
host(struct httpparse *p, char *data, char *v, char *end)
{
	if (p->host != 0)
		return bad(p, 400, "two Host headers");
	if (span(v, end, HOST) != end)
		return bad(p, 400, "malformed Host");
	p->host = (uint32_t)(v - data);
	return HTTPPARSE_MORE;
}

static void
connection(struct httpparse *p, const char *v)
{
	size_t len;

	for (; *v != '\0'; v += len) {
		v += strspn(v, ", \t");
		len = strcspn(v, ", \t");
		if (len == 5 && strncasecmp(v, "close", 5) == 0)
			p->close = true;
	}
}

/* The headers that frame the request; told apart by length first. */
static enum httpparse_rc
known_field(struct httpparse *p, char *data, const char *name, char *v,
    char *end)
{
	switch (strlen(name)) {
	case 4:
		if (memcmp(name, "host", 4) == 0)
			return host(p, data, v, end);
		break;
	case 6:
		if (memcmp(name, "expect", 6) != 0)
			break;
		if (strcasecmp(v, "100-continue") == 0)
			p->expect_continue = true;
		else
			p->expect_other = true;
		break;
	case 10:
		if (memcmp(name, "connection", 10) == 0)
			connection(p, v);
		break;
	case 14:
		if (memcmp(name, "content-length", 14) == 0)
			return content_length(p, v);
		break;
	case 17:
		if (memcmp(name, "transfer-encoding", 17) == 0)
			return transfer_encoding(p, v);
		break;
	}
	return HTTPPARSE_MORE;
}

static enum httpparse_rc
field_line(struct httpparse *p, char *data, char *line, char *end)
{
	struct httpparse_field *f;
	char *v, *s;

	if (*line == ' ' || *line == '\t')
		return bad(p, 400, "folded header line");
	for (s = line; s < end && is(*s, TOKEN); s++)
		*s = lower(*s);
	if (s == line || s == end || *s != ':')
		return bad(p, 400, "malformed header name");
	*s = '\0';
	for (v = s + 1; v < end && (*v == ' ' || *v == '\t'); v++)
		continue;
	if (span(v, end, VALUE) != end)
		return bad(p, 400, "control character in a header");
	while (end > v && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	if (p->nfields == HTTPPARSE_FIELDS)
		return bad(p, 431, "too many headers");
	f = &p->fields[p->nfields++];
	f->name = (uint32_t)(line - data);
	f->value = (uint32_t)(v - data);
	return known_field(p, data, line, v, end);
}

/* The whole head */

static enum httpparse_rc
check_framing(struct httpparse *p)
{
	if (p->has_te && p->has_length)
		return bad(p, 400, "Content-Length with Transfer-Encoding");
	if (p->has_te && p->http10)
		return bad(p, 400, "Transfer-Encoding in HTTP/1.0");
	if (p->has_te && !p->te_chunked)
		return bad(p, 501, "only the chunked coding is supported");
	if (p->has_te)
		p->content_length = -1;
	/* RFC 9110 section 10.1.1: not from a 1.0 client. */
	if (p->http10)
		p->expect_continue = false;
	if (p->expect_other && !p->http10)
		return bad(p, 417, "only 100-continue can be expected");
	return HTTPPARSE_DONE;
}

static enum httpparse_rc
head_end(struct httpparse *p, char *data)
{
	if (p->host == 0 && !p->http10)
		return bad(p, 400, "no Host header");
	if (p->auth != 0) {
		if (p->host != 0 &&
		    (strlen(data + p->host) != p->auth_len ||
			strncasecmp(data + p->host, data + p->auth,
			    p->auth_len) != 0))
			return bad(p, 400, "Host and request target differ");
		/* "http://host?query": the path is /, and the authority has a
		 * byte to spare for it now. */
		if (data[p->path] == '\0')
			data[--p->path] = '/';
	}
	return check_framing(p);
}

/* How far the line that begins at p->line may reach. */
static size_t
line_limit(const struct httpparse *p)
{
	size_t max;

	if (p->started)
		return p->head_max;
	/* METHOD SP target SP HTTP/1.1 CR LF */
	max = p->line + HTTPPARSE_METHOD_MAX + 1 + p->uri_max + 1 + 8 + 2;
	return max < p->head_max ? max : p->head_max;
}

/* No LF where one must be, or not yet. */
static enum httpparse_rc
no_line(struct httpparse *p, const char *data, size_t len, size_t limit)
{
	/* What begins with such a byte is no HTTP (TLS, say): do not wait. */
	if (!p->started && len > p->line && !is(data[p->line], TOKEN) &&
	    (data[p->line] != '\r' || len >= limit))
		return bad(p, 400, "malformed method");
	if (len < limit)
		return HTTPPARSE_MORE;
	if (!p->started && limit < p->head_max)
		return bad(p, 414, "the request line is too long");
	return bad(p, 431, "the head is too long");
}

static enum httpparse_rc
one_line(struct httpparse *p, char *data, char *lf)
{
	char *line = data + p->line;

	if (lf == line || lf[-1] != '\r')
		return bad(p, 400, "line feed without carriage return");
	p->line = p->scanned = (size_t)(lf - data) + 1;
	if (lf - 1 > line) {
		if (p->started)
			return field_line(p, data, line, lf - 1);
		p->started = true;
		return request_line(p, data, line, lf - 1);
	}
	if (!p->started) {
		/* RFC 9112 section 2.2: one empty line is forgiven. */
		if (p->skipped)
			return bad(p, 400, "malformed method");
		p->skipped = true;
		return HTTPPARSE_MORE;
	}
	p->head_len = p->line;
	return head_end(p, data);
}

enum httpparse_rc
httpparse_head(struct httpparse *p, char *data, size_t len)
{
	enum httpparse_rc rc;
	size_t limit, n;
	char *lf;

	do {
		limit = line_limit(p);
		n = len < limit ? len : limit;
		lf = NULL;
		if (p->scanned < n)
			lf = memchr(data + p->scanned, '\n', n - p->scanned);
		if (lf == NULL) {
			p->scanned = n;
			return no_line(p, data, n, limit);
		}
		rc = one_line(p, data, lf);
	} while (rc == HTTPPARSE_MORE);
	return rc;
}

/* The chunked coding */

#define SIZE_DIGITS 16
#define TRAILER_MAX 8192

enum {
	C_SIZE = 0,
	C_SIZE_LF,
	C_DATA,
	C_DATA_CR,
	C_DATA_LF,
	C_TRAILER, /* at the begin of a line */
	C_NAME,
	C_VALUE,
	C_VALUE_LF,
	C_END_LF,
	C_DONE,
	C_BAD
};

void
httpchunk_init(struct httpchunk *d)
{
	memset(d, 0, sizeof(*d));
}

static int
chunk_bad(struct httpchunk *d, const char *reason)
{
	d->reason = reason;
	return C_BAD;
}

static int
chunk_size(struct httpchunk *d, char c)
{
	unsigned v;

	if (c == '\r' && d->digits > 0)
		return C_SIZE_LF;
	if (!is(c, HEX) || d->digits == SIZE_DIGITS)
		return chunk_bad(d, "malformed chunk size");
	v = c <= '9' ? (unsigned)(c - '0') : (unsigned)(lower(c) - 'a' + 10);
	d->left = d->left << 4 | v;
	d->digits++;
	return C_SIZE;
}

static bool
forbidden_trailer(const struct httpchunk *d)
{
	static const char *const names[] = { "content-length", "host",
		"authorization", "transfer-encoding", "content-encoding",
		"content-type", "content-range", "connection", "trailer",
		"expect" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == d->name_len &&
		    memcmp(names[i], d->name, d->name_len) == 0)
			return true;
	return false;
}

static int
trailer_name(struct httpchunk *d, char c)
{
	if (c == ':' && d->name_len > 0) {
		if (forbidden_trailer(d))
			return chunk_bad(d, "forbidden trailer");
		return C_VALUE;
	}
	if (!is(c, TOKEN))
		return chunk_bad(d, "malformed trailer");
	/* A longer name is none of the forbidden ones. */
	if (d->name_len < sizeof(d->name))
		d->name[d->name_len++] = lower(c);
	return C_NAME;
}

static int
expect_lf(struct httpchunk *d, char c, int next)
{
	return c == '\n' ? next : chunk_bad(d, "carriage return alone");
}

/* One byte of framing, whatever is not data. */
static int
chunk_byte(struct httpchunk *d, char c)
{
	if (d->state >= C_TRAILER && ++d->trailer_len > TRAILER_MAX)
		return chunk_bad(d, "the trailers are too long");
	switch (d->state) {
	case C_SIZE:
		return chunk_size(d, c);
	case C_SIZE_LF:
		if (d->left > INT64_MAX)
			return chunk_bad(d, "absurd chunk size");
		return expect_lf(d, c, d->left > 0 ? C_DATA : C_TRAILER);
	case C_DATA_CR:
		return c == '\r' ? C_DATA_LF
				 : chunk_bad(d, "chunk longer than its size");
	case C_DATA_LF:
		d->digits = 0;
		return expect_lf(d, c, C_SIZE);
	case C_TRAILER:
		d->name_len = 0;
		return c == '\r' ? C_END_LF : trailer_name(d, c);
	case C_NAME:
		return trailer_name(d, c);
	case C_VALUE:
		if (c == '\r')
			return C_VALUE_LF;
		return is(c, VALUE) ? C_VALUE
				    : chunk_bad(d, "malformed trailer");
	case C_VALUE_LF:
		return expect_lf(d, c, C_TRAILER);
	case C_END_LF:
		return expect_lf(d, c, C_DONE);
	}
	return C_BAD;
}

enum httpparse_rc
httpchunk_next(struct httpchunk *d, const char *p, size_t len, size_t *used,
    const char **data, size_t *data_len)
{
	size_t i = 0, n;

	while (i < len && d->state != C_DONE && d->state != C_BAD) {
		if (d->state != C_DATA) {
			d->state = chunk_byte(d, p[i++]);
			continue;
		}
		n = len - i < d->left ? len - i : (size_t)d->left;
		*data = p + i;
		*data_len = n;
		*used = i + n;
		d->left -= n;
		if (d->left == 0)
			d->state = C_DATA_CR;
		return HTTPPARSE_DATA;
	}
	*used = i;
	if (d->state == C_DONE)
		return HTTPPARSE_DONE;
	return d->state == C_BAD ? HTTPPARSE_BAD : HTTPPARSE_MORE;
}
