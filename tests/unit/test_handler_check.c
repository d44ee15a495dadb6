#include <check.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handler_check.h"
#include "run_suite.h"

static char dir[160];
static struct buf text, said;
static unsigned warnings;

static void
make(const char *name, mode_t mode)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void
setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/qo-check-XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	buf_init(&text, 65536);
	buf_init(&said, 65536);
	buf_adds(&text, "[store]\ndata = /nonexistent\n");
	warnings = 0;
	make("good", 0755);
	make("plain", 0644);
}

static void
teardown(void)
{
	char path[200];

	buf_fini(&text);
	buf_fini(&said);
	snprintf(path, sizeof(path), "%s/good", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/plain", dir);
	unlink(path);
	rmdir(dir);
}

static void
report(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	(void)arg;
	if (level == CONF_WARNING) {
		warnings++;
		return;
	}
	conf_add_report(&said, level, place, msg);
	buf_addc(&said, '\n');
}

static struct conf *
load(void)
{
	struct conf_opts opts = { CONF_NO_FILES | CONF_TRUSTED, NULL, NULL, 0,
		NULL, NULL };
	struct conf *c;

	c = conf_parse_text(text.data, text.len, "f", &opts);
	ck_assert_ptr_nonnull(c);
	return c;
}

START_TEST(test_check)
{
	struct conf *c;
	char *want;

	buf_addf(&text, "[handler a]\ntype = a\ncommand = %s/good x\n", dir);
	buf_addf(&text, "[handler b]\ntype = b\ncommand = %s/none\n", dir);
	buf_addf(&text, "[handler c]\ntype = c\ncommand = %s/plain\n", dir);
	buf_addf(&text, "[handler d]\ntype = d\ncommand = %s\n", dir);
	buf_addf(&text,
	    "[handler e]\ntype = e\ncommand = sh\n"
	    "user = no-such-user\n");
	buf_addf(&text,
	    "[handler f]\ntype = f\ncommand = no-such-program\n"
	    "group = no-such-group\ncwd = %s/none\n",
	    dir);
	buf_addf(&text, "[handler g]\ntype = g\ncommand = sh\ncwd = %s/good\n",
	    dir);
	buf_addf(&text,
	    "[handler h]\ntype = h\ncommand = good\n"
	    "env.PATH = /none:%s\n",
	    dir);
	c = load();
	ck_assert_uint_eq(handler_check(c, report, NULL), 8);
	ck_assert_int_ne(
	    asprintf(&want,
		"f:8: [handler b] command: there is no program \"%s/none\"\n"
		"f:11: [handler c] command: \"%s/plain\" can not be "
		"executed: chmod +x?\n"
		"f:14: [handler d] command: \"%s\" is not a file\n"
		"f:18: [handler e] user: there is no user \"no-such-user\" "
		"here\n"
		"f:21: [handler f] command: there is no program "
		"\"no-such-program\" in PATH\n"
		"f:22: [handler f] group: there is no group "
		"\"no-such-group\" here\n"
		"f:23: [handler f] cwd: \"%s/none\": No such file or "
		"directory\n"
		"f:27: [handler g] cwd: \"%s/good\" is not a directory\n",
		dir, dir, dir, dir, dir),
	    -1);
	ck_assert_str_eq(said.data, want);
	free(want);
	ck_assert_uint_eq(handler_check(c, NULL, NULL), 8);
	conf_free(c);
}
END_TEST

START_TEST(test_program)
{
	struct qo_err err;
	char *p, path[400], cwd[160];

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	snprintf(path, sizeof(path), "/none::%s/plain:%s:", dir, dir);
	p = handler_program("good", path, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert_str_eq(p + strlen(dir), "/good");
	free(p);
	/* Never from the current directory, unless it is asked for. */
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_ptr_null(handler_program("good", "::", &err));
	ck_assert_ptr_null(handler_program("good", "", &err));
	p = handler_program("./good", path, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(p[0], '/');
	ck_assert_int_eq(chdir(cwd), 0);
	ck_assert_int_eq(access(p, X_OK), 0);
	free(p);
	ck_assert_ptr_null(handler_program("plain", path, &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "Permission denied"));
}
END_TEST

START_TEST(test_account)
{
	const struct passwd *pw;
	struct handler_account a;
	struct conf_handler h;
	struct qo_err err;
	const char *name, *other;

	memset(&h, 0, sizeof(h));
	ck_assert_int_eq(handler_account(&h, &a, &err), 0);
	ck_assert(!a.change);
	ck_assert_uint_eq(a.uid, geteuid());
	ck_assert_ptr_nonnull(a.home);
	handler_account_fini(&a);
	pw = getpwuid(geteuid());
	ck_assert_ptr_nonnull(pw);
	name = strdup(pw->pw_name);
	h.user = (char *)(uintptr_t)name;
	ck_assert_int_eq(handler_account(&h, &a, &err), 0);
	ck_assert(!a.change); /* it is us */
	handler_account_fini(&a);
	free(h.user);
	/* Everybody has these. */
	other = geteuid() == 0 ? "daemon" : "root";
	h.user = (char *)(uintptr_t)other;
	ck_assert_int_eq(handler_account(&h, &a, &err), 0);
	ck_assert(a.change);
	ck_assert_uint_ne(a.uid, geteuid());
	ck_assert_str_eq(a.name, other);
	ck_assert_uint_ge(a.ngroups, 1);
	ck_assert_uint_eq(a.groups[0], a.gid);
	handler_account_fini(&a);
	h.group = (char *)(uintptr_t) "tty";
	ck_assert_int_eq(handler_account(&h, &a, &err), 0);
	ck_assert_uint_eq(a.gid, getgrnam("tty")->gr_gid);
	handler_account_fini(&a);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("handler_check");
	TCase *tc = tcase_create("handler_check");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_check);
	tcase_add_test(tc, test_program);
	tcase_add_test(tc, test_account);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
