#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "buf.h"
#include "err.h"
#include "run_suite.h"
#include "xml.h"

#define DOC_MAX  65536
#define TEXT_MAX 1024

/* What the handlers saw, as text: "+path" and "-path=text". */
static struct buf seen;
static const char *refused; /* element that the handler refuses */

static int
note_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	ck_assert_ptr_eq(arg, &seen);
	ck_assert_str_eq(e->text, "");
	if (refused != NULL && strcmp(refused, e->name) == 0)
		return xml_refuse(x, "no %s here", e->name);
	buf_addf(&seen, "+%s;", e->path);
	return 0;
}

static int
note_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	const char *slash;

	(void)x;
	(void)arg;
	ck_assert_uint_eq(strlen(e->text), e->len);
	slash = strrchr(e->path, '/');
	ck_assert_str_eq(e->name, slash != NULL ? slash + 1 : e->path);
	buf_addf(&seen, "-%s=%s%d;", e->path, e->text, e->depth);
	return 0;
}

static const struct xml_ops ops = { note_open, note_close };

static void
setup(void)
{
	buf_init(&seen, 1 << 20);
	refused = NULL;
}

static void
teardown(void)
{
	buf_fini(&seen);
}

/* Feeds doc in pieces of at most step bytes. */
static enum xml_fail
feed(const char *doc, size_t len, size_t step, struct qo_err *err)
{
	enum xml_fail fail;
	struct xml *x;
	size_t off, n;
	int rv = 0;

	buf_reset(&seen);
	qo_err_reset(err);
	x = xml_new(DOC_MAX, TEXT_MAX, &ops, &seen);
	for (off = 0; rv == 0 && off < len; off += n) {
		n = len - off < step ? len - off : step;
		rv = xml_feed(x, doc + off, n, err);
	}
	if (rv == 0)
		rv = xml_end(x, err);
	fail = xml_fail(x);
	ck_assert_int_eq(rv, fail == XML_FAIL_NONE ? 0 : -1);
	xml_free(x);
	return fail;
}

static enum xml_fail
whole(const char *doc, struct qo_err *err)
{
	return feed(doc, strlen(doc), SIZE_MAX, err);
}

static const char good[] =
    "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!-- a comment --><s3:Delete xmlns:s3=\"http://x/y\" a='b'>\n"
    "  <Quiet>true</Quiet>\n"
    "  <?pi x?><s3:Object><Key> a&amp;b&#xD;\n\xc3\xbc<![CDATA[<z>]]></Key>"
    "<E/></s3:Object>\n</s3:Delete>\n";
static const char good_seen[] =
    "+Delete;+Delete/Quiet;-Delete/Quiet=true2;"
    "+Delete/Object;+Delete/Object/Key;"
    "-Delete/Object/Key= a&b\r\n\xc3\xbc<z>3;"
    "+Delete/Object/E;-Delete/Object/E=3;-Delete/Object=2;-Delete=1;";

START_TEST(test_good)
{
	struct qo_err err;

	ck_assert_int_eq(whole(good, &err), XML_FAIL_NONE);
	ck_assert_str_eq(seen.data, good_seen);
}
END_TEST

START_TEST(test_every_step)
{
	struct qo_err err;
	size_t step;

	for (step = 1; step < sizeof(good); step++) {
		ck_assert_int_eq(feed(good, sizeof(good) - 1, step, &err),
		    XML_FAIL_NONE);
		ck_assert_str_eq(seen.data, good_seen);
	}
}
END_TEST

START_TEST(test_every_truncation)
{
	struct qo_err err;
	enum xml_fail fail;
	size_t end, len;

	end = (size_t)(strstr(good, "</s3:Delete>") - good) +
	    strlen("</s3:Delete>");
	for (len = 0; len < sizeof(good); len++) {
		fail = feed(good, len, SIZE_MAX, &err);
		if (len >= end) {
			ck_assert_int_eq(fail, XML_FAIL_NONE);
			continue;
		}
		/* One or two bytes of the BOM are not yet a beginning. */
		if (len == 0 || len == 3)
			ck_assert_int_eq(fail, XML_FAIL_EMPTY);
		else if (len < 3)
			ck_assert_int_eq(fail, XML_FAIL_NOT_XML);
		else
			ck_assert_int_eq(fail, XML_FAIL_TRUNCATED);
		ck_assert_int_ne(err.msg[0], '\0');
	}
}
END_TEST

static const struct bad {
	const char *doc;
	enum xml_fail fail;
	const char *msg; /* part of the message */
} bads[] = {
	{ "", XML_FAIL_EMPTY, "empty" },
	{ " \r\n\t ", XML_FAIL_EMPTY, "empty" },
	{ "upstream connect error", XML_FAIL_NOT_XML, "not an XML" },
	{ "{\"a\":1}", XML_FAIL_NOT_XML, "not an XML" },
	{ "\n\n<html><body>x", XML_FAIL_HTML, "HTML" },
	{ "<HTML>\n<p>", XML_FAIL_HTML, "HTML" },
	{ "<!doctype html>\n<p>", XML_FAIL_HTML, "HTML" },
	{ "<!-- x --><!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">",
	    XML_FAIL_HTML, "HTML" },
	{ "<?xml version='1.0'?><!DOCTYPE html [<!ENTITY a 'b'>]><html/>",
	    XML_FAIL_HTML, "HTML" },
	{ "<x:html xmlns:x='y'/>", XML_FAIL_HTML, "HTML" },
	{ "<!DOCTYPE a><a/>", XML_FAIL_DTD, "line 1 column 12: a DOCTYPE" },
	{ "\n\n<?xml version='1.0'?>\n<a>\n <b></c>", XML_FAIL_SYNTAX,
	    "line 5 column 7: mismatched tag" },
	{ "<a>&nbsp;</a>", XML_FAIL_SYNTAX, "entity" },
	{ "<a>&#0;</a>", XML_FAIL_SYNTAX, "character number" },
	{ "<a>\x01</a>", XML_FAIL_SYNTAX, "token" },
	{ "<a>\xff</a>", XML_FAIL_SYNTAX, "token" },
	{ "<a>\xc0\x80</a>", XML_FAIL_SYNTAX, "token" },
	{ "<a>\xed\xa0\x80</a>", XML_FAIL_SYNTAX, "token" },
	{ "<?xml version='1.0' encoding='ISO-8859-1'?><a/>", XML_FAIL_SYNTAX,
	    "not UTF-8" },
	{ "<a/><b/>", XML_FAIL_SYNTAX, "junk after" },
	{ "<a/>text", XML_FAIL_SYNTAX, "junk after" },
	{ "<a>x<b/></a>", XML_FAIL_SYNTAX, "text beside" },
	{ "<a><b/>x</a>", XML_FAIL_SYNTAX, "text beside" },
	{ "<a x='1' x='2'/>", XML_FAIL_SYNTAX, "duplicate" },
	{ "<a", XML_FAIL_TRUNCATED, "ends too early" },
	{ "<!-- x", XML_FAIL_TRUNCATED, "ends too early" },
	{ "<?xml version='1.0'?>", XML_FAIL_TRUNCATED, "ends too early" },
};

START_TEST(test_bad)
{
	const struct bad *b = &bads[_i];
	char first[sizeof(((struct qo_err *)NULL)->msg)];
	struct qo_err err;

	ck_assert_int_eq(whole(b->doc, &err), b->fail);
	ck_assert_msg(strstr(err.msg, b->msg) != NULL, "%s: %s", b->doc,
	    err.msg);
	memcpy(first, err.msg, sizeof(first));
	ck_assert_int_eq(feed(b->doc, strlen(b->doc), 1, &err), b->fail);
	ck_assert_str_eq(err.msg, first);
}
END_TEST

START_TEST(test_entity_attacks)
{
	static const char laughs[] =
	    "<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY lol \"lol\">"
	    "<!ENTITY lol1 \"&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;\">"
	    "<!ENTITY lol2 \"&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;\">]>"
	    "<lolz>&lol2;</lolz>";
	static const char external[] =
	    "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>"
	    "<a>&x;</a>";
	static const char param[] =
	    "<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://127.0.0.1/\"> %p;]>"
	    "<a/>";
	struct qo_err err;

	ck_assert_int_eq(whole(laughs, &err), XML_FAIL_DTD);
	ck_assert_int_eq(whole(external, &err), XML_FAIL_DTD);
	ck_assert_int_eq(whole(param, &err), XML_FAIL_DTD);
	ck_assert_str_eq(seen.data, "");
}
END_TEST

static void
nest(struct buf *b, int depth)
{
	int i;

	buf_reset(b);
	for (i = 0; i < depth; i++)
		buf_adds(b, "<a>");
	for (i = 0; i < depth; i++)
		buf_adds(b, "</a>");
}

START_TEST(test_depth)
{
	struct qo_err err;
	struct buf b;

	buf_init(&b, DOC_MAX);
	nest(&b, XML_DEPTH_MAX);
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_NONE);
	nest(&b, XML_DEPTH_MAX + 1);
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_LIMIT);
	ck_assert_ptr_ne(strstr(err.msg, "32 elements deep"), NULL);
	nest(&b, 9000);
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_LIMIT);
	buf_fini(&b);
}
END_TEST

static void
fill(struct buf *b, const char *before, size_t n, const char *after)
{
	char *p;

	buf_reset(b);
	buf_adds(b, before);
	p = buf_reserve(b, n);
	memset(p, 'x', n);
	buf_advance(b, n);
	buf_adds(b, after);
	ck_assert(!buf_failed(b));
}

START_TEST(test_text_limit)
{
	struct qo_err err;
	struct buf b;

	buf_init(&b, DOC_MAX);
	fill(&b, "<a><b>", TEXT_MAX, "</b></a>");
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_NONE);
	fill(&b, "<a><b>", TEXT_MAX + 1, "</b></a>");
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_LIMIT);
	ck_assert_str_eq(err.msg, "a/b: text longer than 1024 bytes");
	ck_assert_int_eq(feed(b.data, b.len, 1, &err), XML_FAIL_LIMIT);
	ck_assert_str_eq(err.msg, "a/b: text longer than 1024 bytes");
	fill(&b, "<a><", 2000, "/></a>");
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_LIMIT);
	buf_fini(&b);
}
END_TEST

START_TEST(test_document_limit)
{
	struct qo_err err;
	struct buf b;

	buf_init(&b, 11 << 20);
	fill(&b, "<a><!--", DOC_MAX - 14, "--></a>");
	ck_assert_uint_eq(b.len, DOC_MAX);
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_NONE);
	buf_adds(&b, "\n");
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_LIMIT);
	ck_assert_str_eq(err.msg, "the document is larger than 65536 bytes");
	ck_assert_int_eq(feed(b.data, b.len, 1000, &err), XML_FAIL_LIMIT);
	fill(&b, "<a><!--", 10 << 20, "--></a>");
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_LIMIT);
	/* Endless white space before the document counts as well. */
	buf_reset(&b);
	while (b.len <= DOC_MAX)
		buf_addc(&b, ' ');
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_LIMIT);
	buf_fini(&b);
}
END_TEST

START_TEST(test_refuse)
{
	struct qo_err err;

	refused = "c";
	ck_assert_int_eq(whole("<a><b>1</b><c/><d/></a>", &err),
	    XML_FAIL_REFUSED);
	ck_assert_str_eq(err.msg, "line 1 column 12: no c here");
	ck_assert_str_eq(seen.data, "+a;+a/b;-a/b=12;");
}
END_TEST

START_TEST(test_reset)
{
	struct qo_err err;
	struct xml *x;

	x = xml_new(64, 16, &ops, &seen);
	ck_assert_int_eq(xml_parse(x, "<a><b>", 6, &err), -1);
	ck_assert_int_eq(xml_fail(x), XML_FAIL_TRUNCATED);
	ck_assert_int_eq(xml_end(x, NULL), -1);
	xml_reset(x);
	buf_reset(&seen);
	ck_assert_int_eq(xml_parse(x, "<c>1</c>", 8, &err), 0);
	ck_assert_str_eq(seen.data, "+c;-c=11;");
	ck_assert_int_eq(xml_end(x, &err), 0);
	xml_free(x);
	xml_free(NULL);
}
END_TEST

START_TEST(test_escape)
{
	struct buf b;

	buf_init(&b, 128);
	ck_assert_int_eq(xml_escape(&b, "a&<>\"'\r\n\t\x01\x7f\xc3\xbcz", 14),
	    0);
	ck_assert_str_eq(b.data,
	    "a&amp;&lt;&gt;&quot;&#39;&#xD;&#xA;&#x9;&#x1;\x7f\xc3\xbcz");
	buf_reset(&b);
	ck_assert_int_eq(xml_add(&b, "Key", "a<b"), 0);
	ck_assert_int_eq(xml_add_int(&b, "Size", INT64_MIN), 0);
	ck_assert_str_eq(b.data,
	    "<Key>a&lt;b</Key><Size>-9223372036854775808</Size>");
	buf_fini(&b);
	buf_init(&b, 8);
	ck_assert_int_eq(xml_escape(&b, "<<<", 3), -1);
	buf_fini(&b);
}
END_TEST

START_TEST(test_escape_comes_back)
{
	static const char text[] =
	    "]]> &amp; <a> \"'\t\r\n\x7f \xf0\x9f\x98\x80";
	struct qo_err err;
	struct buf b, want;

	buf_init(&b, 256);
	buf_init(&want, 256);
	xml_add(&b, "a", text);
	ck_assert_int_eq(whole(b.data, &err), XML_FAIL_NONE);
	buf_addf(&want, "+a;-a=%s1;", text);
	ck_assert_str_eq(seen.data, want.data);
	buf_fini(&b);
	buf_fini(&want);
}
END_TEST

START_TEST(test_can_carry)
{
	ck_assert(xml_can_carry("", 0));
	ck_assert(xml_can_carry("a\t\r\n\x7f\xef\xbf\xbd\xf0\x9f\x98\x80", 12));
	ck_assert(!xml_can_carry("a\x01", 2));
	ck_assert(!xml_can_carry("a\0b", 3));
	ck_assert(!xml_can_carry("\x1f", 1));
	ck_assert(!xml_can_carry("\xff", 1));
	ck_assert(!xml_can_carry("\xef\xbf\xbe", 3));
	ck_assert(!xml_can_carry("x\xef\xbf\xbf", 4));
	ck_assert(!xml_can_carry("\xed\xa0\x80", 3));
	ck_assert(!xml_can_carry("\xef\xbf", 2));
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("xml");
	tc = tcase_create("xml");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_good);
	tcase_add_test(tc, test_every_step);
	tcase_add_test(tc, test_every_truncation);
	tcase_add_loop_test(tc, test_bad, 0,
	    (int)(sizeof(bads) / sizeof(bads[0])));
	tcase_add_test(tc, test_entity_attacks);
	tcase_add_test(tc, test_depth);
	tcase_add_test(tc, test_text_limit);
	tcase_add_test(tc, test_document_limit);
	tcase_add_test(tc, test_refuse);
	tcase_add_test(tc, test_reset);
	tcase_add_test(tc, test_escape);
	tcase_add_test(tc, test_escape_comes_back);
	tcase_add_test(tc, test_can_carry);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
