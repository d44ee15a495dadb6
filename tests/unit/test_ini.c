#include <sys/stat.h>
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "ini.h"
#include "io.h"
#include "run_suite.h"
#include "xalloc.h"

/* Every item as a line of text, which is what the tests compare. */
static struct buf seen;
static const char *skip_type; /* sections of this type are not wanted */
static unsigned stop_after;   /* items, 0: never */
static unsigned items;

static enum ini_verdict
collect(void *arg, const struct ini_item *it)
{
	const char *base;

	(void)arg;
	base = strrchr(it->file, '/');
	base = base == NULL ? it->file : base + 1;
	items++;
	switch (it->kind) {
	case INI_SECTION:
		buf_addf(&seen, "%s:%u [%s|%s]\n", base, it->line, it->type,
		    it->name);
		if (skip_type != NULL && strcmp(skip_type, it->type) == 0)
			return INI_SKIP;
		break;
	case INI_KEY:
		buf_addf(&seen, "%s:%u %s|%s %s%s%s=<%s>\n", base, it->line,
		    it->type, it->name, it->parent == NULL ? "" : it->parent,
		    it->parent == NULL ? "" : ".", it->key, it->value);
		break;
	case INI_ERROR:
		buf_addf(&seen, "%s:%u ! %s\n", base, it->line, it->msg);
		break;
	}
	return stop_after != 0 && items >= stop_after ? INI_STOP : INI_GO;
}

static void
setup(void)
{
	buf_init(&seen, 1 << 24);
	skip_type = NULL;
	stop_after = 0;
	items = 0;
}

static void
teardown(void)
{
	buf_fini(&seen);
}

static int
parse_n(const char *text, size_t len, unsigned flags)
{
	buf_reset(&seen);
	return ini_parse(text, len, "t", flags, collect, NULL);
}

static int
parse(const char *text)
{
	return parse_n(text, strlen(text), 0);
}

START_TEST(sections_and_keys)
{
	ck_assert_int_eq(parse("top = 1\n"
			       "; comment\n"
			       "  # comment\n"
			       "\n"
			       "[worker]\n"
			       "lease=60s\n"
			       "  poll.min  =  50ms  \n"
			       "[ handler  a/b:c ] ; why\n"
			       "env.PATH = /bin:/usr/bin"),
	    0);
	ck_assert_str_eq(seen.data,
	    "t:1 | top=<1>\n"
	    "t:5 [worker|]\n"
	    "t:6 worker| lease=<60s>\n"
	    "t:7 worker| poll.min=<50ms>\n"
	    "t:8 [handler|a/b:c]\n"
	    "t:9 handler|a/b:c env.PATH=</bin:/usr/bin>\n");
}
END_TEST

struct value_case {
	const char *text;
	const char *want; /* NULL: an error */
};

static const struct value_case value_cases[] = {
	{ "k = a b", "a b" },
	{ "k =", "" },
	{ "k =   ", "" },
	{ "k = ; c", "" },
	{ "k =;c", "" },
	{ "k = a;b", "a;b" },
	{ "k = a ;b", "a" },
	{ "k = a\t; b ; c", "a" },
	{ "k = a # b", "a # b" },
	{ "k = a = b", "a = b" },
	{ "k = \\d \\\\", "\\d \\\\" },
	{ "k = it's \"so\"", "it's \"so\"" },
	{ "k = \"  a ; b  \"", "  a ; b  " },
	{ "k = \"\"", "" },
	{ "k = \"a\" ; c", "a" },
	{ "k = \"a\" # c", "a" },
	{ "k = \"a\"   ", "a" },
	{ "k = \"say \\\"x\\\" \\\\ y\"", "say \"x\" \\ y" },
	{ "k = \xc3\xbc \xe2\x82\xac", "\xc3\xbc \xe2\x82\xac" },
	{ "k = a\tb", "a\tb" },
	{ "k = [x]", "[x]" },
	{ "k = \"a", NULL },
	{ "k = \"a\\\"", NULL },
	{ "k = \"a\\n\"", NULL },
	{ "k = \"a\" b", NULL },
	{ "k = \"a\"b", NULL },
	{ "k = \"a\";b", NULL },
	{ "= a", NULL },
	{ "k", NULL },
	{ "k x = a", NULL },
	{ "k\xc3\xbc = a", NULL },
	{ "k = a\x01", NULL },
	{ "k = a\x7f", NULL },
	{ "k = a\rb", NULL },
	{ "k = \xff", NULL },
	{ "k = \xc0\xaf", NULL },
	{ "k = \xed\xa0\x80", NULL },
	{ "; \xff even in a comment", NULL },
	{ "[a", NULL },
	{ "[]", NULL },
	{ "[ ]", NULL },
	{ "[a b c]", NULL },
	{ "[a] b", NULL },
	{ "[a]]", NULL },
	{ "[a!]", NULL },
};

START_TEST(values)
{
	const struct value_case *c = &value_cases[_i];
	char *want;

	if (c->want == NULL) {
		ck_assert_msg(parse(c->text) == -1, "%s: %s", c->text,
		    seen.data);
		ck_assert_ptr_nonnull(strstr(seen.data, "t:1 ! "));
		return;
	}
	ck_assert_msg(parse(c->text) == 0, "%s: %s", c->text, seen.data);
	want = xasprintf("t:1 | k=<%s>\n", c->want);
	ck_assert_str_eq(seen.data, want);
	free(want);
}
END_TEST

START_TEST(all_errors_are_told)
{
	ck_assert_int_eq(parse("nonsense\n[a\nlost = 1\n[b]\nx = 1\n= 2\n"),
	    -1);
	ck_assert_str_eq(seen.data,
	    "t:1 ! neither [section] nor key = value nor a comment\n"
	    "t:2 ! a section needs a closing ]\n"
	    "t:4 [b|]\n"
	    "t:5 b| x=<1>\n"
	    "t:6 ! there is no key before the =\n");
}
END_TEST

START_TEST(line_ends)
{
	static const char nul[] = "a = 1\0\nb = 2\n";

	ck_assert_int_eq(parse("a = 1\r\n\r\n[s]\r\nb = \"x\"\r\nc = 2\r"), 0);
	ck_assert_str_eq(seen.data,
	    "t:1 | a=<1>\nt:3 [s|]\nt:4 s| b=<x>\nt:5 s| c=<2>\n");
	ck_assert_int_eq(parse_n(nul, sizeof(nul) - 1, 0), -1);
	ck_assert_str_eq(seen.data, "t:1 ! a NUL byte\nt:2 | b=<2>\n");
	ck_assert_int_eq(parse("\xef\xbb\xbf"
			       "a = 1\n"),
	    -1);
	ck_assert_str_eq(seen.data,
	    "t:1 ! begins with a byte order mark: save it without\n"
	    "t:1 | a=<1>\n");
	ck_assert_int_eq(parse(""), 0);
	ck_assert_int_eq(parse("\n\n"), 0);
	ck_assert_str_eq(seen.data, "");
}
END_TEST

START_TEST(long_line)
{
	size_t n = 1 << 20;
	char *text = xmalloc(n + 8);

	memset(text, 'x', n + 8);
	memcpy(text, "k = ", 4);
	ck_assert_int_eq(parse_n(text, n, 0), 0);
	ck_assert_uint_eq(seen.len, strlen("t:1 | k=<>\n") + n - 4);
	free(text);
}
END_TEST

START_TEST(too_large)
{
	char *text = xcalloc(1, INI_MAX + 1);

	memset(text, '\n', INI_MAX + 1);
	ck_assert_int_eq(parse_n(text, INI_MAX, 0), 0);
	ck_assert_int_eq(parse_n(text, INI_MAX + 1, 0), -1);
	ck_assert_str_eq(seen.data, "t:0 ! larger than 8 MiB\n");
	free(text);
}
END_TEST

START_TEST(skip_and_stop)
{
	skip_type = "b";
	ck_assert_int_eq(parse("[a]\nx=1\n[b]\ny=2\n!\n[c]\nz=3\n"), -1);
	ck_assert_str_eq(seen.data,
	    "t:1 [a|]\nt:2 a| x=<1>\nt:3 [b|]\n"
	    "t:5 ! neither [section] nor key = value nor a comment\n"
	    "t:6 [c|]\nt:7 c| z=<3>\n");
	skip_type = NULL;
	items = 0;
	stop_after = 2;
	ck_assert_int_eq(parse("[a]\nx=1\ny=2\n"), -1);
	ck_assert_str_eq(seen.data, "t:1 [a|]\nt:2 a| x=<1>\n");
}
END_TEST

START_TEST(aws_files)
{
	static const char text[] = "[default]\n"
				   "aws_access_key_id = AKIDEXAMPLE # mine\n"
				   "aws_secret_access_key=a/b+c=\"d\n"
				   "[profile my team]\n"
				   "s3 =\n"
				   "  max_concurrent_requests = 20\n"
				   "\taddressing_style=path\n"
				   "  continued\n"
				   "region = eu-west-1\n"
				   "[sso-session x@y]\n"
				   "  Key With Space = 1\n";

	ck_assert_int_eq(parse_n(text, sizeof(text) - 1, INI_LOOSE), 0);
	ck_assert_str_eq(seen.data,
	    "t:1 [default|]\n"
	    "t:2 default| aws_access_key_id=<AKIDEXAMPLE>\n"
	    "t:3 default| aws_secret_access_key=<a/b+c=\"d>\n"
	    "t:4 [profile|my team]\n"
	    "t:5 profile|my team s3=<>\n"
	    "t:6 profile|my team s3.max_concurrent_requests=<20>\n"
	    "t:7 profile|my team s3.addressing_style=<path>\n"
	    "t:9 profile|my team region=<eu-west-1>\n"
	    "t:10 [sso-session|x@y]\n"
	    "t:11 sso-session|x@y Key With Space=<1>\n");
}
END_TEST

START_TEST(written_values_come_back)
{
	const struct value_case *c = &value_cases[_i];
	struct buf b;
	char *want;

	if (c->want == NULL)
		return;
	buf_init(&b, 4096);
	buf_adds(&b, "k = ");
	ini_add_value(&b, c->want);
	buf_addc(&b, '\n');
	ck_assert_int_eq(parse(b.data), 0);
	want = xasprintf("t:1 | k=<%s>\n", c->want);
	ck_assert_str_eq(seen.data, want);
	free(want);
	buf_fini(&b);
}
END_TEST

/* A directory of our own for the tests with files. */
static char dir[64];

static void
dir_setup(void)
{
	setup();
	strlcpy(dir, "/tmp/qo_[ini]XXXXXX", sizeof(dir));
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
dir_teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf -- '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
	teardown();
}

static void
put(const char *name, const char *text)
{
	struct qo_err err;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(io_write_file(path, text, strlen(text), 0600, &err),
	    0);
}

static int
load(const char *name)
{
	char path[128];

	buf_reset(&seen);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return ini_load(path, INI_INCLUDE, collect, NULL);
}

static void
make_dir(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

START_TEST(includes)
{
	make_dir("d");
	put("main",
	    "include = d/*.conf\n[a]\nx = 1\ninclude = sub\ny = 2\n"
	    "include = none.d/*\ninclude = nothing*\n");
	put("d/20.conf", "[b]\nk = 20\n");
	put("d/10.conf", "[b]\nk = 10\n");
	put("d/10.conf~", "broken");
	put("sub", "t = 1\n[c]\nz = 1\n");
	ck_assert_msg(load("main") == 0, "%s", seen.data);
	ck_assert_str_eq(seen.data,
	    "10.conf:1 [b|]\n10.conf:2 b| k=<10>\n"
	    "20.conf:1 [b|]\n20.conf:2 b| k=<20>\n"
	    "main:2 [a|]\nmain:3 a| x=<1>\n"
	    "sub:1 | t=<1>\nsub:2 [c|]\nsub:3 c| z=<1>\n"
	    "main:5 a| y=<2>\n");
}
END_TEST

START_TEST(include_errors)
{
	make_dir("d");
	put("loop", "include = loop2\n");
	put("loop2", "include = loop\n");
	put("twice", "include = one\ninclude = o*e\n[z]\n");
	put("one", "");
	put("gone", "include = nothere\ninclude =\ninclude = d\n[z]\n");
	put("broken", "\n!\n");
	put("deep", "include = broken\n");

	ck_assert_int_eq(load("loop"), -1);
	ck_assert_ptr_nonnull(strstr(seen.data, "loop2:1 ! include: "));
	ck_assert_ptr_nonnull(strstr(seen.data, "/loop includes itself\n"));
	ck_assert_int_eq(load("twice"), -1);
	ck_assert_ptr_nonnull(strstr(seen.data, "/one is included twice\n"));
	ck_assert_ptr_nonnull(strstr(seen.data, "twice:3 [z|]\n"));
	ck_assert_int_eq(load("gone"), -1);
	ck_assert_ptr_nonnull(strstr(seen.data,
	    "/nothere: No such file or directory\n"));
	ck_assert_ptr_nonnull(strstr(seen.data, "gone:2 ! include: needs"));
	ck_assert_ptr_nonnull(strstr(seen.data, "/d: not a regular file\n"));
	ck_assert_ptr_nonnull(strstr(seen.data, "gone:4 [z|]\n"));
	ck_assert_int_eq(load("deep"), -1);
	ck_assert_ptr_nonnull(strstr(seen.data, "broken:2 ! neither"));
	ck_assert_int_eq(load("missing"), -1);
	ck_assert_str_eq(seen.data, "missing:0 ! No such file or directory\n");
}
END_TEST

START_TEST(include_depth)
{
	char name[16], text[64];
	int i;

	for (i = 0; i < INI_DEPTH_MAX + 1; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		snprintf(text, sizeof(text), "include = f%d\n", i + 1);
		put(name, i == INI_DEPTH_MAX ? "" : text);
	}
	ck_assert_int_eq(load("f0"), -1);
	ck_assert_str_eq(seen.data, "f7:1 ! include: more than 8 files deep\n");
	ck_assert_int_eq(load("f1"), 0);
}
END_TEST

START_TEST(odd_files)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(load("fifo"), -1);
	ck_assert_str_eq(seen.data, "fifo:0 ! not a regular file\n");
	snprintf(path, sizeof(path), "%s/big", dir);
	ck_assert_int_eq(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	ck_assert_int_eq(truncate(path, (off_t)INI_MAX + 1), 0);
	ck_assert_int_eq(load("big"), -1);
	ck_assert_str_eq(seen.data, "big:0 ! larger than 8 MiB\n");
}
END_TEST

START_TEST(include_is_a_key_elsewhere)
{
	ck_assert_int_eq(parse("include = x\n"), 0);
	ck_assert_str_eq(seen.data, "t:1 | include=<x>\n");
}
END_TEST

static Suite *
ini_suite(void)
{
	const int nvalues = (int)(sizeof(value_cases) / sizeof(*value_cases));
	Suite *s = suite_create("ini");
	TCase *tc = tcase_create("text"), *tf = tcase_create("files");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, sections_and_keys);
	tcase_add_loop_test(tc, values, 0, nvalues);
	tcase_add_loop_test(tc, written_values_come_back, 0, nvalues);
	tcase_add_test(tc, all_errors_are_told);
	tcase_add_test(tc, line_ends);
	tcase_add_test(tc, long_line);
	tcase_add_test(tc, too_large);
	tcase_add_test(tc, skip_and_stop);
	tcase_add_test(tc, aws_files);
	tcase_add_test(tc, include_is_a_key_elsewhere);
	suite_add_tcase(s, tc);
	tcase_set_timeout(tf, 60);
	tcase_add_checked_fixture(tf, dir_setup, dir_teardown);
	tcase_add_test(tf, includes);
	tcase_add_test(tf, include_errors);
	tcase_add_test(tf, include_depth);
	tcase_add_test(tf, odd_files);
	suite_add_tcase(s, tf);
	return s;
}

int
main(void)
{
	return run_suite(ini_suite());
}
