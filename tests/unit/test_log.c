#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "json.h"
#include "log.h"
#include "run_suite.h"
#include "utf8.h"

static char dir[64];
static char path[128], moved[128];
static struct buf out;

static void
setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/qo-test-log.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	snprintf(moved, sizeof(moved), "%s/log.1", dir);
	buf_init(&out, 1 << 20);
	umask(022);
}

static void
teardown(void)
{
	buf_fini(&out);
	unlink(path);
	unlink(moved);
	ck_assert_int_eq(rmdir(dir), 0);
}

/* What the log holds; it is emptied. */
static const char *
taken(const char *name)
{
	struct qo_err err;

	buf_reset(&out);
	ck_assert_msg(io_read_file(name, &out, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(truncate(name, 0), 0);
	return out.data;
}

static size_t
lines(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += *s == '\n';
	return n;
}

START_TEST(test_kv)
{
	const char *s;

	ck_assert_int_eq(log_init("tester", path, LOG_FMT_KV, LOG_LVL_INFO), 0);
	log_info("hello %d", 7);
	s = taken(path);
	ck_assert_int_eq(strncmp(s, "time=2", 6), 0);
	ck_assert_ptr_nonnull(strstr(s, " level=info role=tester pid="));
	ck_assert_ptr_nonnull(strstr(s, " msg=\"hello 7\"\n"));
	ck_assert_uint_eq(lines(s), 1);
	log_event(LOG_LVL_WARN, "claimed", "task", "t-1", "none",
	    (const char *)NULL, "empty", "", "odd", "a=b \"c\"\\", NULL);
	s = taken(path);
	ck_assert_ptr_nonnull(strstr(s, "level=warn role=tester"));
	ck_assert_ptr_nonnull(strstr(s,
	    "msg=claimed task=t-1 empty=\"\" odd=\"a=b \\\"c\\\"\\\\\"\n"));
	ck_assert_ptr_null(strstr(s, "none"));
	log_event(LOG_LVL_INFO, "n", "a", LOG_NUM(0), "b", LOG_NUM(INT64_MIN),
	    "c", LOG_NUM((size_t)7), NULL);
	ck_assert_ptr_nonnull(strstr(taken(path),
	    "msg=n a=0 b=-9223372036854775808 c=7\n"));
}
END_TEST

START_TEST(test_errno)
{
	const char *s;

	ck_assert_int_eq(log_init("t", path, LOG_FMT_KV, LOG_LVL_DEBUG), 0);
	errno = ENOENT;
	log_warn("open %s", "x");
	ck_assert_int_eq(errno, ENOENT);
	log_error("again");
	log_warnx("plain");
	log_errorx("plain");
	log_debug("plain");
	ck_assert_int_eq(errno, ENOENT);
	s = taken(path);
	ck_assert_ptr_nonnull(strstr(s,
	    "msg=\"open x: No such file or directory\""));
	ck_assert_ptr_nonnull(strstr(s, "level=error role=t pid="));
	ck_assert_ptr_nonnull(strstr(s, "again: No such file"));
	ck_assert_ptr_nonnull(strstr(s, "msg=plain\n"));
	ck_assert_uint_eq(lines(s), 5);
}
END_TEST

START_TEST(test_levels)
{
	enum log_level level;
	enum log_format format;

	ck_assert_int_eq(log_init("t", path, LOG_FMT_KV, LOG_LVL_WARN), 0);
	log_debug("no");
	log_info("no");
	log_event(LOG_LVL_INFO, "no", NULL);
	ck_assert(!log_wants(LOG_LVL_INFO));
	ck_assert(log_wants(LOG_LVL_WARN));
	log_warnx("yes");
	log_errorx("yes");
	log_set_level(LOG_LVL_ERROR);
	log_warnx("no");
	ck_assert_uint_eq(lines(taken(path)), 2);
	ck_assert_int_eq(log_level_parse("debug", &level), 0);
	ck_assert_int_eq(level, LOG_LVL_DEBUG);
	ck_assert_int_eq(log_level_parse("error", &level), 0);
	ck_assert_int_eq(level, LOG_LVL_ERROR);
	ck_assert_int_eq(log_level_parse("loud", &level), -1);
	ck_assert_int_eq(log_format_parse("json", &format), 0);
	ck_assert_int_eq(format, LOG_FMT_JSON);
	ck_assert_int_eq(log_format_parse("kv", &format), 0);
	ck_assert_int_eq(log_format_parse("xml", &format), -1);
}
END_TEST

/* One event is one line of valid UTF-8 (and valid JSON), whatever it holds. */
static void
ck_line(const char *s, enum log_format format)
{
	static const struct qo_json_limits limits = { 1 << 16, 2, true };
	struct qo_err err;
	size_t i;

	ck_assert_uint_eq(lines(s), 1);
	ck_assert_uint_le(strlen(s), 8192);
	ck_assert(utf8_valid(s, strlen(s)));
	for (i = 0; i + 1 < strlen(s); i++)
		ck_assert((unsigned char)s[i] >= 0x20 && s[i] != 0x7f);
	ck_assert_ptr_null(strstr(s, "\xc2\x9b")); /* C1's escape */
	if (format == LOG_FMT_JSON)
		ck_assert_msg(qo_json_check(s, strlen(s), &limits, &err) == 0,
		    "%s: %s", err.msg, s);
}

START_TEST(test_hostile)
{
	enum log_format format = _i == 0 ? LOG_FMT_KV : LOG_FMT_JSON;
	static const char *const texts[] = { "", "two\nlines", "\r\n",
		"\x1b[31mred\x1b[0m", "\xff\xfe",
		"\xc2\x9b"
		"31m",
		"\"}\n{", "\\", "\\\"", "caf\xc3\xa9", "\xf0\x9f\x98\x80",
		"\xe2\x82", "tab\there", "\x7f", "\x01\x02" };
	static char big[3][20000];
	size_t i;
	char c[2] = "";

	ck_assert_int_eq(log_init("t", path, format, LOG_LVL_INFO), 0);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		log_event(LOG_LVL_INFO, texts[i], "v", texts[i], NULL);
		ck_line(taken(path), format);
		log_info("%s", texts[i]);
		ck_line(taken(path), format);
	}
	for (i = 1; i < 256; i++) {
		c[0] = (char)i;
		log_event(LOG_LVL_INFO, "byte", "v", c, NULL);
		ck_line(taken(path), format);
	}
	memset(big[0], 'x', sizeof(big[0]) - 1);
	memset(big[1], '\n', sizeof(big[1]) - 1);
	memset(big[2], 0xff, sizeof(big[2]) - 1);
	for (i = 0; i < 3; i++) {
		log_info("%s", big[i]);
		ck_line(taken(path), format);
		log_event(LOG_LVL_INFO, big[i], "a", big[i], "b", big[i], "c",
		    big[i], "d", big[i], NULL);
		ck_line(taken(path), format);
	}
}
END_TEST

START_TEST(test_reopen)
{
	const char *s;
	struct stat st;

	ck_assert_int_eq(log_init("t", path, LOG_FMT_KV, LOG_LVL_INFO), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
	log_info("first");
	ck_assert_int_eq(rename(path, moved), 0);
	log_info("second");
	log_reopen();
	log_info("third");
	s = taken(moved);
	ck_assert_ptr_nonnull(strstr(s, "first"));
	ck_assert_ptr_nonnull(strstr(s, "second"));
	s = taken(path);
	ck_assert_uint_eq(lines(s), 1);
	ck_assert_ptr_nonnull(strstr(s, "third"));
	/* A name that can not be opened leaves the log where it was. */
	ck_assert_int_eq(unlink(moved), 0);
	ck_assert_int_eq(rename(path, moved), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	log_reopen();
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_ptr_nonnull(strstr(taken(moved), "can not reopen"));
	ck_assert_int_eq(log_init("t", "/no/such/dir/x", LOG_FMT_KV,
			     LOG_LVL_INFO),
	    -1);
	ck_assert_int_eq(errno, ENOENT);
	log_info("still here");
	ck_assert_ptr_nonnull(strstr(taken(moved), "still here"));
}
END_TEST

/* In a child whose stderr is the file. */
static int
in_child(void (*fn)(void))
{
	int fd, status;
	pid_t pid;

	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (fd == -1 || dup2(fd, STDERR_FILENO) == -1)
			_exit(99);
		fn();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void
before_init(void)
{
	log_info("at a terminal\n");
	log_event(LOG_LVL_WARN, "event", "k", "v", NULL);
}

static void
die_fatal(void)
{
	errno = EACCES;
	fatal("can not %s", "go on");
}

static void
die_fatalx(void)
{
	fatalx("can not go on");
}

static void
die_bug(void)
{
	qo_bug("two and two is %d", 5);
}

static void
to_journal(void)
{
	struct stat st;
	char env[64];

	fstat(STDERR_FILENO, &st);
	snprintf(env, sizeof(env), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", env, 1);
	log_init("t", NULL, LOG_FMT_KV, LOG_LVL_DEBUG);
	log_errorx("bad");
	log_debug("fine");
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_init("t", "stderr", LOG_FMT_JSON, LOG_LVL_DEBUG);
	log_info("not the journal");
}

START_TEST(test_stderr)
{
	const char *s;
	int status;

	ck_assert_int_eq(in_child(before_init), 0);
	ck_assert_str_eq(taken(path),
	    "qo: at a terminal\\x0a\nqo: event k=v\n");
	status = in_child(die_fatal);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	ck_assert_str_eq(taken(path), "qo: can not go on: Permission denied\n");
	status = in_child(die_fatalx);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	ck_assert_str_eq(taken(path), "qo: can not go on\n");
	status = in_child(die_bug);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	ck_assert_str_eq(taken(path), "qo: two and two is 5\n");
	ck_assert_int_eq(in_child(to_journal), 0);
	s = taken(path);
	ck_assert_int_eq(strncmp(s, "<3>time=", 8), 0);
	ck_assert_ptr_nonnull(strstr(s, "\n<7>time="));
	ck_assert_ptr_nonnull(strstr(s, "\n{\"time\":\""));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("log");
	TCase *tc = tcase_create("log");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	/* First: without fork, the others leave the log initialised. */
	tcase_add_test(tc, test_stderr);
	tcase_add_test(tc, test_kv);
	tcase_add_test(tc, test_errno);
	tcase_add_test(tc, test_levels);
	tcase_add_loop_test(tc, test_hostile, 0, 2);
	tcase_add_test(tc, test_reopen);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
