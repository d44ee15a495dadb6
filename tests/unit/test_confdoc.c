/*
 * The shipped configuration and the manual page say what the table says.
 * Run from the top of the tree.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "conf.h"
#include "confkeys.h"
#include "conftypes.h"
#include "confval.h"
#include "io.h"
#include "run_suite.h"
#include "xalloc.h"

static struct buf page;
static struct buf said;

static void
collect(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	(void)arg;
	if (level == CONF_WARNING)
		return;
	conf_add_report(&said, level, place, msg);
	buf_addc(&said, '\n');
}

static void
read_page(const char *path)
{
	struct qo_err err;

	ck_assert_msg(io_read_file(path, &page, &err) == 0, "%s", err.msg);
}

static void
setup(void)
{
	buf_init(&page, 1 << 20);
	buf_init(&said, 1 << 20);
}

static void
teardown(void)
{
	buf_fini(&page);
	buf_fini(&said);
}

static void
must_parse(const char *text)
{
	struct conf_opts o = { .how = CONF_NO_FILES | CONF_TRUSTED,
		.report = collect };
	struct conf *c;

	buf_reset(&said);
	c = conf_parse_text(text, strlen(text), "text", &o);
	ck_assert_msg(c != NULL, "%s\nin:\n%s", said.data, text);
	conf_free(c);
}

START_TEST(shipped_file_loads)
{
	struct conf_opts o = { .report = collect };
	struct conf *c, *d;

	c = conf_load("conf/qod.conf", &o);
	ck_assert_msg(c != NULL, "%s", said.data);
	d = conf_load(NULL, NULL);
	/* The one thing that root has to say. */
	d->qod.user = xstrdup("qo");
	ck_assert_msg(conf_equal(c, d), "it changes a default");
	conf_free(c);
	conf_free(d);
}
END_TEST

/* Adds the line without its mark when it is a setting that is commented
 * out: ;key = value, while prose has a blank after the semicolon. */
static void
add_uncommented(struct buf *b, const char *line, size_t len)
{
	if (len >= 7 && memcmp(line, "include", 7) == 0)
		return;
	if (len > 1 && line[0] == ';' && line[1] != ' ') {
		line++;
		len--;
	}
	buf_add(b, line, len);
	buf_addc(b, '\n');
}

START_TEST(shipped_file_uncommented)
{
	const char *p, *nl;
	struct buf b;

	read_page("conf/qod.conf");
	buf_init(&b, 1 << 20);
	for (p = page.data; (nl = strchr(p, '\n')) != NULL; p = nl + 1)
		add_uncommented(&b, p, (size_t)(nl - p));
	ck_assert_ptr_nonnull(strstr(b.data, "\nendpoint = https://"));
	ck_assert_ptr_nonnull(strstr(b.data, "\n[handler resize]\n"));
	must_parse(b.data);
	buf_fini(&b);
}
END_TEST

/* The part of the page between two lines, as a string in b. */
static void
cut(struct buf *b, const char *from, const char *const *ends)
{
	const char *start, *end, *e;

	buf_reset(b);
	start = strstr(page.data, from);
	ck_assert_msg(start != NULL, "the page has no \"%s\"", from);
	start += strlen(from);
	end = page.data + page.len;
	for (; *ends != NULL; ends++) {
		e = strstr(start, *ends);
		if (e != NULL && e < end)
			end = e;
	}
	buf_add(b, start, (size_t)(end - start));
}

static void
add_range(struct buf *b, const struct conf_key *k)
{
	size_t i;

	if (k->names != NULL) {
		buf_adds(b, "One of: ");
		for (i = 0; k->names[i] != NULL; i++)
			buf_addf(b, "%s%s", i == 0 ? "" : ", ", k->names[i]);
	} else if (k->max == 0) {
		return;
	} else if (k->type == &conf_type_msec ||
	    k->type == &conf_type_msec_off) {
		buf_adds(b, "Range: ");
		confval_add_duration(b, k->min);
		buf_adds(b, " to ");
		confval_add_duration(b, k->max);
	} else if (k->type == &conf_type_size) {
		buf_adds(b, "Range: ");
		confval_add_size(b, k->min);
		buf_adds(b, " to ");
		confval_add_size(b, k->max);
	} else {
		buf_addf(b, "Range: %lld to %lld", (long long)k->min,
		    (long long)k->max);
	}
	buf_adds(b, ".\n");
}

/* What an example needs beside it. */
static const struct {
	const char *section, *key, *text;
} beside[] = {
	{ "s3", "access_key", "secret_key = 0123456789\n" },
	{ "s3", "secret_key", "access_key = AKIDEXAMPLE\n" },
	{ "handler", "max_tasks", "mode = serve\n" },
	{ "store", "enabled", "[s3]\nbucket = my-queue\n" },
	{ "s3", "endpoint", "bucket = my-queue\n" },
};

/* And as the line of a file that is good as a whole. */
static void
check_in_file(const struct conf_key *k, const char *line)
{
	bool handler = strcmp(k->section, "handler") == 0;
	struct buf b;
	size_t i;

	buf_init(&b, 65536);
	buf_addf(&b, "[%s%s]\n%s\n", k->section, handler ? " name" : "", line);
	if (handler && strcmp(k->key, "type") != 0)
		buf_adds(&b, "type = a.b\n");
	if (handler && strcmp(k->key, "command") != 0)
		buf_adds(&b, "command = /bin/cat\n");
	for (i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		if (strcmp(beside[i].section, k->section) == 0 &&
		    strcmp(beside[i].key, k->key) == 0)
			buf_adds(&b, beside[i].text);
	must_parse(b.data);
	buf_fini(&b);
}

/* The example of the entry, under a section, must parse by itself. */
static void
check_example(const struct conf_key *k, const char *entry)
{
	struct conf_text text = { .key = k->key };
	struct qo_err err = { 0 };
	char *line, *value, *end;
	union {
		char bytes[64];
		void *align;
	} member = { { 0 } };

	line = strstr(entry, "\n.Dl ");
	ck_assert_msg(line != NULL, "[%s] %s has no example", k->section,
	    k->key);
	line += strlen("\n.Dl ");
	end = strchr(line, '\n');
	ck_assert_ptr_nonnull(end);
	*end = '\0';
	ck_assert_int_eq(strncmp(line, k->key, strlen(k->key)), 0);
	value = strstr(line, " = ");
	ck_assert_ptr_nonnull(value);
	*value = '\0';
	text.key = line;
	text.value = value + 3;
	ck_assert_msg(k->type->parse(k, &text, &member, &err) == 0,
	    "[%s] %s: %s", k->section, line, err.msg);
	if (k->type->free != NULL)
		k->type->free(&member);
	*value = ' ';
	check_in_file(k, line);
}

static void
check_entry(const struct conf_key *k, const char *section)
{
	static const char *const next[] = { "\n.It ", "\n.El\n", NULL };
	struct buf want, entry, saved = page;
	bool family = k->key[strlen(k->key) - 1] == '.';

	buf_init(&want, 4096);
	buf_init(&entry, 65536);
	page.data = (char *)(uintptr_t)section;
	page.len = strlen(section);
	buf_addf(&want, "\n.It Ic %s%s No = Ar %s\n", k->key,
	    family ? "NAME" : "", k->type->name);
	cut(&entry, want.data, next);
	page = saved;
	buf_addc(&entry, '\n');
	buf_reset(&want);
	add_range(&want, k);
	ck_assert_msg(strstr(entry.data, want.data) != NULL,
	    "[%s] %s: no \"%s\" in the page", k->section, k->key, want.data);
	buf_reset(&want);
	buf_adds(&want, "\nDefault: ");
	if (k->def != NULL && *k->def != '\0')
		buf_addf(&want, "%s.\n", k->def);
	ck_assert_msg(strstr(entry.data, want.data) != NULL,
	    "[%s] %s: no \"%s\" in the page", k->section, k->key, want.data);
	check_example(k, entry.data);
	buf_fini(&want);
	buf_fini(&entry);
}

static void
check_keys(const struct conf_key *keys, size_t n, const char *suffix)
{
	static const char *const next[] = { "\n.Ss ", "\n.Sh ", NULL };
	struct buf section;
	char head[64];
	size_t i;

	buf_init(&section, 1 << 20);
	for (i = 0; i < n; i++) {
		snprintf(head, sizeof(head), "\n.Ss [%s%s]", keys[i].section,
		    suffix);
		cut(&section, head, next);
		check_entry(&keys[i], section.data);
	}
	buf_fini(&section);
}

START_TEST(page_has_every_key)
{
	size_t entries = 0;
	const char *p;

	read_page("man/qod.conf.5");
	check_keys(conf_keys, conf_nkeys, "");
	check_keys(conf_handler_keys, conf_nhandler_keys, " NAME");
	/* And no others. */
	for (p = page.data; (p = strstr(p, "\n.It Ic ")) != NULL; p++)
		entries++;
	ck_assert_uint_eq(entries, conf_nkeys + conf_nhandler_keys);
}
END_TEST

/* Adds what roff makes of a line of an example. */
static void
add_plain(struct buf *b, const char *line, size_t len)
{
	size_t i;

	if (len >= 7 && memcmp(line, "include", 7) == 0)
		return;
	for (i = 0; i < len; i++) {
		buf_addc(b, line[i]);
		if (line[i] == '\\' && i + 1 < len && line[i + 1] == 'e')
			i++;
	}
	buf_addc(b, '\n');
}

START_TEST(page_examples_parse)
{
	const char *p, *end, *nl, *stop;
	struct buf b;
	int blocks = 0;

	read_page("man/qod.conf.5");
	stop = strstr(page.data, "\n.Sh DIAGNOSTICS\n");
	ck_assert_ptr_nonnull(stop);
	buf_init(&b, 65536);
	for (p = page.data; (p = strstr(p, "\n.Bd -literal")) != NULL;) {
		if (p > stop)
			break;
		p = strchr(p + 1, '\n') + 1;
		end = strstr(p, ".Ed\n");
		ck_assert_ptr_nonnull(end);
		buf_reset(&b);
		for (; p < end; p = nl + 1) {
			nl = strchr(p, '\n');
			add_plain(&b, p, (size_t)(nl - p));
		}
		must_parse(b.data);
		blocks++;
	}
	ck_assert_int_ge(blocks, 3);
	buf_fini(&b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("confdoc");
	TCase *tc = tcase_create("confdoc");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, shipped_file_loads);
	tcase_add_test(tc, shipped_file_uncommented);
	tcase_add_test(tc, page_has_every_key);
	tcase_add_test(tc, page_examples_parse);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
