/*
 * The command line of qo: options, operands, and what is said of mistakes.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../qo/cmd.h"
#include "run_suite.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define ARGS_MAX  16

static const struct opt table[] = {
	{ "type", 't', "TYPE", "A type.", false },
	{ "tag", 0, "KEY=VALUE", "A tag.", true },
	{ "json", 'j', NULL, "JSON.", false },
	{ "quiet", 'q', NULL, "Quiet.", false },
	CMD_OPT_END,
};

/* Splits at blanks; @ stands for an empty word. */
static int
parse(struct opts *o, const char *line, bool stop, char *msg, size_t size)
{
	static char text[256];
	static char *argv[ARGS_MAX];
	char *p = text, *word;
	int argc = 0;

	ck_assert_uint_lt(strlcpy(text, line, sizeof(text)), sizeof(text));
	while ((word = strsep(&p, " ")) != NULL)
		if (word[0] != '\0') {
			if (strcmp(word, "@") == 0)
				word[0] = '\0';
			argv[argc++] = word;
		}
	return opts_parse(o, table, argc, argv, stop, msg, size);
}

START_TEST(test_forms)
{
	static const char *const lines[] = { "-t a -j x y",
		"x --type=a y --json", "--json --type a -- x y",
		"-ta -j x -- y", "-jta x y", "-jt a x y" };
	struct opts o;
	char msg[256] = "";

	ck_assert_msg(parse(&o, lines[_i], false, msg, sizeof(msg)) == 0, "%s",
	    msg);
	ck_assert_str_eq(opts_get(&o, "type"), "a");
	ck_assert(opts_has(&o, "json"));
	ck_assert(!opts_has(&o, "quiet"));
	ck_assert_ptr_null(opts_get(&o, "tag"));
	ck_assert_int_eq(o.nargs, 2);
	ck_assert_str_eq(o.args[0], "x");
	ck_assert_str_eq(o.args[1], "y");
	ck_assert_ptr_null(o.args[2]);
	opts_fini(&o);
}
END_TEST

START_TEST(test_values)
{
	struct opts o;
	char msg[256];

	/* Many; empty values; a value that looks like an option; a lone -. */
	ck_assert_int_eq(parse(&o, "--tag a=1 --tag= --tag --json - -- -j",
			     false, msg, sizeof(msg)),
	    0);
	ck_assert_str_eq(opts_nth(&o, "tag", 0), "a=1");
	ck_assert_str_eq(opts_nth(&o, "tag", 1), "");
	ck_assert_str_eq(opts_nth(&o, "tag", 2), "--json");
	ck_assert_ptr_null(opts_nth(&o, "tag", 3));
	ck_assert_str_eq(opts_get(&o, "tag"), "--json");
	ck_assert(!opts_has(&o, "json"));
	ck_assert_int_eq(o.nargs, 2);
	ck_assert_str_eq(o.args[0], "-");
	ck_assert_str_eq(o.args[1], "-j");
	opts_fini(&o);
	/* In front of a command, options end at its name. */
	ck_assert_int_eq(parse(&o, "-j cmd -q --unknown", true, msg,
			     sizeof(msg)),
	    0);
	ck_assert_int_eq(o.nargs, 3);
	ck_assert(!opts_has(&o, "quiet"));
	opts_fini(&o);
	/* Help needs no row; not as a value. */
	ck_assert_int_eq(parse(&o, "-jh", false, msg, sizeof(msg)), 0);
	ck_assert(o.help);
	opts_fini(&o);
	ck_assert_int_eq(parse(&o, "-t -h", false, msg, sizeof(msg)), 0);
	ck_assert(!o.help);
	opts_fini(&o);
}
END_TEST

static const struct {
	const char *line, *msg;
} mistakes[] = {
	{ "--typ a", "unknown option --typ, did you mean --type?" },
	{ "--tyep=a", "unknown option --tyep=a, did you mean --type?" },
	{ "--nothing-like-it", "unknown option --nothing-like-it" },
	{ "-x", "unknown option -x" },
	{ "-jx", "unknown option -x" },
	{ "--type", "--type needs a value: TYPE" },
	{ "-j -t", "--type needs a value: TYPE" },
	{ "--json=1", "--json takes no value" },
	{ "-j --json", "--json is given twice" },
	{ "--type a -t b", "--type is given twice" },
	{ "--=a", "unknown option --=a" },
};

START_TEST(test_mistakes)
{
	struct opts o;
	char msg[256] = "";

	ck_assert_int_eq(parse(&o, mistakes[_i].line, false, msg, sizeof(msg)),
	    -1);
	ck_assert_str_eq(msg, mistakes[_i].msg);
	opts_fini(&o);
}
END_TEST

/* What help, completion and the manual take for granted. */
START_TEST(test_table)
{
	const struct cmd *c, *d;
	const struct opt *o, *p;
	size_t i, k;

	for (i = 0; (c = cmd_table[i]) != NULL; i++) {
		ck_assert_ptr_nonnull(c->run);
		ck_assert_msg(c->summary[0] >= 'a' && c->summary[0] <= 'z' &&
			c->summary[strlen(c->summary) - 1] != '.',
		    "%s: summary", c->name);
		ck_assert_msg(c->max_args == CMD_ANY ||
			c->min_args <= c->max_args,
		    "%s: operands", c->name);
		ck_assert_msg((c->args != NULL) == (c->max_args != 0),
		    "%s: operands without a name", c->name);
		for (k = 0; k < i; k++) {
			d = cmd_table[k];
			ck_assert_msg(strcmp(c->name, d->name) != 0 ||
				(c->sub != NULL && d->sub != NULL &&
				    strcmp(c->sub, d->sub) != 0),
			    "%s is there twice", c->name);
		}
		for (o = c->opts; o != NULL && o->name != NULL; o++) {
			ck_assert_msg(o->help[strlen(o->help) - 1] == '.',
			    "%s --%s: no sentence", c->name, o->name);
			for (p = c->opts; p < o; p++)
				ck_assert_msg(strcmp(p->name, o->name) != 0 &&
					(o->letter == 0 ||
					    o->letter != p->letter),
				    "%s --%s: twice", c->name, o->name);
		}
	}
}
END_TEST

START_TEST(test_exit)
{
	static const struct {
		enum qo_rc rc;
		int code;
	} map[] = { { QO_OK, 0 }, { QO_ERR, 1 }, { QO_NOENT, 3 },
		{ QO_DENIED, 4 }, { QO_LOST, 5 }, { QO_AGAIN, 7 } };
	size_t i;

	for (i = 0; i < nitems(map); i++)
		ck_assert_int_eq(exit_code_of(map[i].rc), map[i].code);
	ck_assert_int_eq(EXIT_USAGE, 2);
	ck_assert_int_eq(EXIT_TIMEOUT, 6);
	ck_assert_int_eq(EXIT_PARTLY, 8);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("qo_opt");
	TCase *tc = tcase_create("qo_opt");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_forms, 0, 6);
	tcase_add_test(tc, test_values);
	tcase_add_loop_test(tc, test_mistakes, 0, (int)nitems(mistakes));
	tcase_add_test(tc, test_table);
	tcase_add_test(tc, test_exit);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
