#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <expat.h>

#include "buf.h"
#include "err.h"
#include "log.h"
#include "utf8.h"
#include "xalloc.h"
#include "xml.h"

#define XML_PATH_MAX 1024
/* The first bytes are kept back until so many are there: whether they are
 * XML at all is then decided alike however they arrive. */
#define XML_HEAD 512

#define XML_SPACE " \t\r\n"

struct xml {
	XML_Parser expat;
	const struct xml_ops *ops;
	void *arg;
	size_t doc_max;
	size_t total;        /* bytes of the document so far */
	size_t skipped_line; /* line feeds dropped before the document */
	enum xml_fail fail;
	bool started; /* the head went to expat */
	bool running; /* inside expat: there is a line and a column */
	bool ended;
	bool leaf; /* the innermost open element had none inside yet */
	int depth;
	size_t end[XML_DEPTH_MAX + 1]; /* length of path at each depth */
	struct buf path;
	struct buf text;
	char head[XML_HEAD + 1];
	size_t head_len;
	char msg[256];
};

static int __attribute__((format(printf, 3, 0)))
xml_vfail(struct xml *x, enum xml_fail fail, const char *fmt, va_list ap)
{
	unsigned long line, col;
	int n = 0;

	if (x->fail != XML_FAIL_NONE)
		return -1;
	x->fail = fail;
	/* Text comes from expat in pieces: where it hits a limit would depend
	 * on how the document was fed. */
	if (x->running && fail != XML_FAIL_LIMIT) {
		line = (unsigned long)XML_GetCurrentLineNumber(x->expat);
		col = (unsigned long)XML_GetCurrentColumnNumber(x->expat) + 1;
		n = snprintf(x->msg, sizeof(x->msg), "line %lu column %lu: ",
		    line + (unsigned long)x->skipped_line, col);
	}
	vsnprintf(x->msg + n, sizeof(x->msg) - (size_t)n, fmt, ap);
	return -1;
}

/* Notes the first failure; always -1. */
static int __attribute__((format(printf, 3, 4)))
xml_set_fail(struct xml *x, enum xml_fail fail, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xml_vfail(x, fail, fmt, ap);
	va_end(ap);
	return -1;
}

int
xml_refuse(struct xml *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xml_vfail(x, XML_FAIL_REFUSED, fmt, ap);
	va_end(ap);
	return -1;
}

/* From inside a handler of expat. */
static void __attribute__((format(printf, 3, 4)))
xml_stop(struct xml *x, enum xml_fail fail, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xml_vfail(x, fail, fmt, ap);
	va_end(ap);
	XML_StopParser(x->expat, XML_FALSE);
}

static int
xml_call(struct xml *x,
    int (*cb)(struct xml *x, const struct xml_elem *e, void *arg), bool leaf)
{
	struct xml_elem e;
	size_t start;

	if (cb == NULL)
		return 0;
	start = x->depth > 1 ? x->end[x->depth - 1] + 1 : 0;
	e.path = x->path.data;
	e.name = x->path.data + start;
	e.depth = x->depth;
	e.leaf = leaf;
	e.text = leaf ? x->text.data : "";
	e.len = leaf ? x->text.len : 0;
	return cb(x, &e, x->arg);
}

static bool
xml_blank(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (s[i] == '\0' || strchr(XML_SPACE, s[i]) == NULL)
			return false;
	return true;
}

static void XMLCALL
on_open(void *arg, const XML_Char *qname, const XML_Char **atts)
{
	struct xml *x = arg;
	const char *colon;

	(void)atts;
	if (x->fail != XML_FAIL_NONE)
		return;
	if (!xml_blank(x->text.data, x->text.len)) {
		xml_stop(x, XML_FAIL_SYNTAX, "text beside an element");
		return;
	}
	if (x->depth == XML_DEPTH_MAX) {
		xml_stop(x, XML_FAIL_LIMIT, "more than %d elements deep",
		    XML_DEPTH_MAX);
		return;
	}
	colon = strrchr(qname, ':');
	if (x->depth > 0)
		buf_addc(&x->path, '/');
	buf_adds(&x->path, colon != NULL ? colon + 1 : qname);
	if (buf_failed(&x->path)) {
		xml_stop(x, XML_FAIL_LIMIT, "element names too long");
		return;
	}
	x->end[++x->depth] = x->path.len;
	x->leaf = true;
	buf_reset(&x->text);
	if (x->depth == 1 && strcasecmp(x->path.data, "html") == 0)
		xml_stop(x, XML_FAIL_HTML, "an HTML page");
	else if (xml_call(x, x->ops->open, false) == -1)
		xml_stop(x, XML_FAIL_REFUSED, "refused");
}

static void XMLCALL
on_close(void *arg, const XML_Char *qname)
{
	struct xml *x = arg;

	(void)qname;
	if (x->fail != XML_FAIL_NONE)
		return;
	if (!x->leaf && !xml_blank(x->text.data, x->text.len)) {
		xml_stop(x, XML_FAIL_SYNTAX, "text beside an element");
		return;
	}
	if (xml_call(x, x->ops->close, x->leaf) == -1) {
		xml_stop(x, XML_FAIL_REFUSED, "refused");
		return;
	}
	x->depth--;
	x->leaf = false;
	buf_truncate(&x->path, x->end[x->depth]);
	buf_reset(&x->text);
}

static void XMLCALL
on_text(void *arg, const XML_Char *s, int len)
{
	struct xml *x = arg;

	if (x->fail != XML_FAIL_NONE)
		return;
	if (buf_add(&x->text, s, (size_t)len) == -1)
		xml_stop(x, XML_FAIL_LIMIT, "%s: text longer than %zu bytes",
		    x->path.data, x->text.max);
}

static void XMLCALL
on_doctype(void *arg, const XML_Char *name, const XML_Char *sysid,
    const XML_Char *pubid, int internal)
{
	struct xml *x = arg;

	(void)sysid;
	(void)pubid;
	(void)internal;
	if (strcasecmp(name, "html") == 0)
		xml_stop(x, XML_FAIL_HTML, "an HTML page");
	else
		xml_stop(x, XML_FAIL_DTD, "a DOCTYPE is not accepted");
}

static void XMLCALL
on_decl(void *arg, const XML_Char *version, const XML_Char *encoding,
    int standalone)
{
	struct xml *x = arg;

	(void)version;
	(void)standalone;
	if (encoding != NULL && strcasecmp(encoding, "UTF-8") != 0 &&
	    strcasecmp(encoding, "US-ASCII") != 0)
		xml_stop(x, XML_FAIL_SYNTAX, "the encoding is not UTF-8");
}

static void
xml_setup(struct xml *x)
{
	XML_SetUserData(x->expat, x);
	XML_SetElementHandler(x->expat, on_open, on_close);
	XML_SetCharacterDataHandler(x->expat, on_text);
	XML_SetStartDoctypeDeclHandler(x->expat, on_doctype);
	XML_SetXmlDeclHandler(x->expat, on_decl);
	x->total = 0;
	x->skipped_line = 0;
	x->fail = XML_FAIL_NONE;
	x->started = false;
	x->running = false;
	x->ended = false;
	x->leaf = false;
	x->depth = 0;
	x->head_len = 0;
	x->msg[0] = '\0';
	buf_reset(&x->path);
	buf_reset(&x->text);
}

struct xml *
xml_new(size_t doc_max, size_t text_max, const struct xml_ops *ops, void *arg)
{
	struct xml *x;

	x = xcalloc(1, sizeof(*x));
	/* Named here, the encoding can not be changed by the document. */
	if ((x->expat = XML_ParserCreate("UTF-8")) == NULL)
		fatalx("out of memory");
	x->ops = ops;
	x->arg = arg;
	x->doc_max = doc_max;
	buf_init(&x->path, XML_PATH_MAX);
	buf_init(&x->text, text_max);
	xml_setup(x);
	return x;
}

void
xml_free(struct xml *x)
{
	if (x == NULL)
		return;
	XML_ParserFree(x->expat);
	buf_fini(&x->path);
	buf_fini(&x->text);
	free(x);
}

void
xml_reset(struct xml *x)
{
	XML_ParserReset(x->expat, "UTF-8");
	xml_setup(x);
}

enum xml_fail
xml_fail(const struct xml *x)
{
	return x->fail;
}

/* Expat gives these only when the last piece was fed. */
static bool
xml_ends_early(enum XML_Error code)
{
	return code == XML_ERROR_NO_ELEMENTS ||
	    code == XML_ERROR_UNCLOSED_TOKEN ||
	    code == XML_ERROR_PARTIAL_CHAR ||
	    code == XML_ERROR_UNCLOSED_CDATA_SECTION;
}

static void
xml_expat_failed(struct xml *x)
{
	enum XML_Error code;

	code = XML_GetErrorCode(x->expat);
	if (code == XML_ERROR_NO_MEMORY)
		fatalx("out of memory");
	if (xml_ends_early(code))
		xml_set_fail(x, XML_FAIL_TRUNCATED,
		    "the document ends too early");
	else
		xml_set_fail(x, XML_FAIL_SYNTAX, "%s", XML_ErrorString(code));
}

static void
xml_run(struct xml *x, const char *p, size_t len, bool last)
{
	int n;

	x->running = true;
	do {
		n = len > INT_MAX ? INT_MAX : (int)len;
		len -= (size_t)n;
		if (XML_Parse(x->expat, p, n, last) != XML_STATUS_OK)
			xml_expat_failed(x);
		p += n;
	} while (len > 0 && x->fail == XML_FAIL_NONE);
	x->running = false;
}

/* Behind s, when it begins with open: what follows shut; else NULL. */
static const char *
xml_past(const char *s, const char *open, const char *shut)
{
	if (strncmp(s, open, strlen(open)) != 0)
		return NULL;
	if ((s = strstr(s + strlen(open), shut)) == NULL)
		return NULL;
	return s + strlen(shut);
}

/* HTML is seldom XML: most pages are told by their first tag. */
static bool
xml_head_is_html(const char *s)
{
	const char *p;

	for (;;) {
		s += strspn(s, XML_SPACE);
		if ((p = xml_past(s, "<!--", "-->")) == NULL &&
		    (p = xml_past(s, "<?", "?>")) == NULL)
			break;
		s = p;
	}
	if (strncasecmp(s, "<!doctype", 9) == 0) {
		s += 9;
		s += strspn(s, XML_SPACE);
		return strncasecmp(s, "html", 4) == 0;
	}
	return strncasecmp(s, "<html", 5) == 0 && s[5] != '\0' &&
	    strchr(XML_SPACE ">/", s[5]) != NULL;
}

/* The head is as long as it will be: judge it and give it to expat. */
static void
xml_start(struct xml *x)
{
	const char *s = x->head;

	x->head[x->head_len] = '\0';
	if (strncmp(s, "\xef\xbb\xbf", 3) == 0)
		s += 3;
	s += strspn(s, XML_SPACE);
	if (*s == '\0' && s == x->head + x->head_len)
		xml_set_fail(x, XML_FAIL_EMPTY, "an empty document");
	else if (*s != '<')
		xml_set_fail(x, XML_FAIL_NOT_XML, "not an XML document");
	else if (xml_head_is_html(s))
		xml_set_fail(x, XML_FAIL_HTML, "an HTML page");
	if (x->fail != XML_FAIL_NONE)
		return;
	x->started = true;
	xml_run(x, x->head, x->head_len, false);
}

/* Takes from the front of p what belongs to the head. */
static size_t
xml_take_head(struct xml *x, const char *p, size_t len)
{
	size_t n, off = 0;

	if (x->head_len == 0)
		for (; off < len && xml_blank(p + off, 1); off++)
			if (p[off] == '\n')
				x->skipped_line++;
	n = len - off;
	if (n > XML_HEAD - x->head_len)
		n = XML_HEAD - x->head_len;
	memcpy(x->head + x->head_len, p + off, n);
	x->head_len += n;
	return off + n;
}

static void
xml_take(struct xml *x, const char *p, size_t len)
{
	size_t n = 0;

	x->total += len;
	if (!x->started) {
		n = xml_take_head(x, p, len);
		if (x->head_len == XML_HEAD)
			xml_start(x);
	}
	if (n < len && x->fail == XML_FAIL_NONE)
		xml_run(x, p + n, len - n, false);
}

static int
xml_result(const struct xml *x, struct qo_err *err)
{
	if (x->fail == XML_FAIL_NONE)
		return 0;
	qo_err_set(err, "%s", x->msg);
	return -1;
}

int
xml_feed(struct xml *x, const void *p, size_t len, struct qo_err *err)
{
	bool over;

	if (x->ended)
		qo_bug("xml_feed after xml_end");
	if (x->fail != XML_FAIL_NONE || len == 0)
		return xml_result(x, err);
	/* What stands before the limit is judged first, as it would be when
	 * it came in smaller pieces. */
	over = len > x->doc_max - x->total;
	if (over)
		len = x->doc_max - x->total;
	xml_take(x, p, len);
	if (over)
		xml_set_fail(x, XML_FAIL_LIMIT,
		    "the document is larger than %zu bytes", x->doc_max);
	return xml_result(x, err);
}

int
xml_end(struct xml *x, struct qo_err *err)
{
	if (x->ended)
		return xml_result(x, err);
	x->ended = true;
	if (x->fail == XML_FAIL_NONE && !x->started)
		xml_start(x);
	if (x->fail == XML_FAIL_NONE)
		xml_run(x, "", 0, true);
	return xml_result(x, err);
}

int
xml_parse(struct xml *x, const void *p, size_t len, struct qo_err *err)
{
	if (xml_feed(x, p, len, err) == -1)
		return -1;
	return xml_end(x, err);
}

static const char *
xml_entity(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

int
xml_escape(struct buf *b, const char *s, size_t len)
{
	const char *ent;
	size_t i, from = 0;
	unsigned char c;

	for (i = 0; i < len; i++) {
		c = (unsigned char)s[i];
		ent = xml_entity(c);
		if (ent == NULL && c >= 0x20)
			continue;
		buf_add(b, s + from, i - from);
		from = i + 1;
		if (ent != NULL)
			buf_adds(b, ent);
		else
			buf_addf(b, "&#x%X;", c);
	}
	buf_add(b, s + from, len - from);
	return buf_failed(b) ? -1 : 0;
}

int
xml_add(struct buf *b, const char *name, const char *s)
{
	buf_addc(b, '<');
	buf_adds(b, name);
	buf_addc(b, '>');
	xml_escape(b, s, strlen(s));
	buf_adds(b, "</");
	buf_adds(b, name);
	return buf_addc(b, '>');
}

int
xml_add_int(struct buf *b, const char *name, int64_t n)
{
	return buf_addf(b, "<%s>%lld</%s>", name, (long long)n, name);
}

bool
xml_can_carry(const char *s, size_t len)
{
	unsigned char c;
	size_t i;

	if (!utf8_valid(s, len))
		return false;
	for (i = 0; i < len; i++) {
		c = (unsigned char)s[i];
		if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
			return false;
		/* U+FFFE and U+FFFF are EF BF BE and EF BF BF. */
		if (c == 0xef && (unsigned char)s[i + 1] == 0xbf &&
		    (unsigned char)s[i + 2] >= 0xbe)
			return false;
	}
	return true;
}
