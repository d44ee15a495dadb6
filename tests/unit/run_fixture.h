/*
 * run_fixture.h - handlers that are real programs, run through run.h on a
 * real loop.  For the tests of qo-worker; a header because only they link its
 * modules.
 */
#ifndef RUN_FIXTURE_H
#define RUN_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "../../qo-worker/run.h"
#include "board_rows.h"
#include "sig.h"

#define FX_PATIENCE 120 /* seconds, on a busy machine */

struct fx_run {
	struct run r;
	struct qo_task task;
	int started, progressed, done;
	char progress[256]; /* the last */
};

static struct loop *fx_loop;
static struct loop_io fx_signals;
static struct conf *fx_conf;
static struct buf fx_text;
static struct handlers *fx_handlers;
static struct board_area *fx_area;
static char fx_dir[160];

/* Files */

static inline int
fx_remove_one(const char *path, const struct stat *st, int flag,
    struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void
fx_write(const char *name, const char *text, mode_t mode)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fx_dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

/* The contents of a file that a handler has written; "" when there is none. */
static inline const char *
fx_read(const char *name)
{
	static char text[8192];
	char path[256];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fx_dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd != -1) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Handlers */

/* A section NAME for the type NAME whose program is that shell script; $D in
 * it is the directory of the test.  more: further keys. */
static inline void
fx_handler(const char *name, const char *more, const char *script)
{
	char *text;

	ck_assert_int_ne(asprintf(&text, "#!/bin/sh\nexport D=%s\n%s\n", fx_dir,
			     script),
	    -1);
	fx_write(name, text, 0755);
	free(text);
	buf_addf(&fx_text, "[handler %s]\ntype = %s\ncommand = %s/%s\n%s\n",
	    name, name, fx_dir, name, more);
}

static inline void
fx_report(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	(void)arg;
	(void)place;
	if (level == CONF_ERROR)
		fprintf(stderr, "conf: %s\n", msg);
}

static inline void
fx_begin(void)
{
	struct conf_opts opts = { CONF_NO_FILES | CONF_TRUSTED, NULL, NULL, 0,
		fx_report, NULL };

	fx_conf = conf_parse_text(fx_text.data, fx_text.len, "test", &opts);
	ck_assert_ptr_nonnull(fx_conf);
	fx_area = board_private(BOARD_WORKER, 4, board_rows(fx_conf));
	fx_handlers = handlers_new(fx_loop, fx_conf, "/etc/qo/qod.conf",
	    fx_area);
}

static inline void
fx_on_signal(struct loop_io *io, uint32_t events)
{
	(void)io;
	(void)events;
	while (sig_next() != 0)
		continue;
}

static inline void
fx_setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(fx_dir, sizeof(fx_dir), "%s/qo-run-XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(fx_dir));
	ck_assert_int_eq(chmod(fx_dir, 0755), 0);
	sig_init();
	fx_loop = loop_new();
	ck_assert_int_eq(loop_io_add(fx_loop, &fx_signals, sig_fd(), EPOLLIN,
			     fx_on_signal, NULL),
	    0);
	buf_init(&fx_text, 1 << 20);
	buf_adds(&fx_text,
	    "[store]\ndata = /nonexistent\n[worker]\n"
	    "inline_max = 64KiB\noutput_max = 256KiB\n"
	    "log_max = 64KiB\n");
}

static inline void
fx_teardown(void)
{
	handlers_free(fx_handlers);
	board_private_free(fx_area);
	conf_free(fx_conf);
	buf_fini(&fx_text);
	loop_io_del(fx_loop, &fx_signals);
	loop_free(fx_loop);
	(void)nftw(fx_dir, fx_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Runs */

static inline void
fx_started(struct run *r)
{
	struct fx_run *f = r->arg;

	ck_assert_int_eq(f->done, 0);
	ck_assert_int_gt(r->pid, 0);
	f->started++;
}

static inline void
fx_progressed(struct run *r)
{
	struct fx_run *f = r->arg;

	f->progressed++;
	snprintf(f->progress, sizeof(f->progress), "%.*s", (int)r->progress.len,
	    r->progress.p);
}

static inline void
fx_done(struct run *r)
{
	struct fx_run *f = r->arg;

	ck_assert_int_eq(f->done, 0);
	f->done++;
}

/* An input of that length, a string; the caller frees it. */
static inline char *
fx_large(size_t len)
{
	char *s;

	s = malloc(len + 1);
	ck_assert_ptr_nonnull(s);
	memset(s, 'x', len);
	s[0] = s[len - 1] = '"';
	s[len] = '\0';
	return s;
}

static inline void
fx_init(struct fx_run *f, const char *type, const char *input)
{
	memset(f, 0, sizeof(*f));
	qo_task_init(&f->task);
	f->task.id = "7b1f9c5e-0000-4000-8000-000000000001";
	f->task.task_type = type;
	f->task.lease_id = "0d5c1f6a-0000-4000-8000-000000000002";
	f->task.attempt = 3;
	run_init(&f->r);
	f->r.handlers = fx_handlers;
	f->r.handler = conf_handler_find(fx_conf, type);
	ck_assert_ptr_nonnull(f->r.handler);
	f->r.task = &f->task;
	f->r.input = input;
	f->r.input_len = strlen(input);
	f->r.started = fx_started;
	f->r.progressed = fx_progressed;
	f->r.done = fx_done;
	f->r.arg = f;
}

static inline void
fx_start(struct fx_run *f)
{
	ck_assert(handlers_reserve(fx_handlers, f->r.handler));
	run_start(&f->r);
	ck_assert_int_eq(f->done + f->started, 0);
}

static inline bool
fx_late(struct qo_mono since)
{
	return qo_mono_diff_us(since, qo_mono_now()) >
	    FX_PATIENCE * QO_US_PER_SEC;
}

static inline void
fx_wait(struct fx_run *f)
{
	struct qo_mono since = qo_mono_now();

	while (f->done == 0) {
		loop_once(fx_loop, 1000);
		ck_assert_msg(!fx_late(since), "the attempt does not end");
	}
}

/* One whole attempt; to be ended with fx_fini. */
static inline void
fx_run(struct fx_run *f, const char *type, const char *input)
{
	fx_init(f, type, input);
	fx_start(f);
	fx_wait(f);
}

static inline void
fx_fini(struct fx_run *f)
{
	run_fini(&f->r);
	qo_task_fini(&f->task);
}

static inline const char *
fx_why(const struct fx_run *f)
{
	return f->r.result.why.message != NULL ? f->r.result.why.message : "";
}

/* The outcome, and that the reason has that in it; both are shown when they
 * are not what was asked for. */
#define fx_assert(f, what, kind_, text)                                   \
	do {                                                              \
		ck_assert_msg((f)->r.outcome == (what), "outcome %d: %s", \
		    (int)(f)->r.outcome, fx_why(f));                      \
		ck_assert_str_eq((f)->r.result.why.kind, kind_);          \
		ck_assert_msg(strstr(fx_why(f), text) != NULL,            \
		    "\"%s\" not in \"%s\"", text, fx_why(f));             \
	} while (0)

/* The output; NULL: null. */
static inline void
fx_assert_output(const struct fx_run *f, const char *text)
{
	const struct qo_json *out = &f->r.result.output;

	ck_assert_msg(f->r.outcome == QO_OUTCOME_COMPLETED, "outcome %d: %s",
	    (int)f->r.outcome, fx_why(f));
	if (text == NULL) {
		ck_assert_ptr_null(out->p);
		return;
	}
	ck_assert_ptr_nonnull(out->p);
	ck_assert_uint_eq(out->len, strlen(text));
	ck_assert_mem_eq(out->p, text, strlen(text));
}

/* One whole attempt, of which nothing else is of interest. */
#define fx_expect(type, input, what, kind_, text)    \
	do {                                         \
		struct fx_run run_;                  \
                                                     \
		fx_run(&run_, type, input);          \
		fx_assert(&run_, what, kind_, text); \
		fx_fini(&run_);                      \
	} while (0)

static inline void
fx_expect_output(const char *type, const char *input, const char *text)
{
	struct fx_run f;

	fx_run(&f, type, input);
	fx_assert_output(&f, text);
	fx_fini(&f);
}

/* What is there */

static inline bool
fx_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* Waits for a file that a handler writes, and gives the number in it. */
static inline int
fx_number(const char *name)
{
	struct qo_mono since = qo_mono_now();

	while (strchr(fx_read(name), '\n') == NULL) {
		loop_once(fx_loop, 5);
		ck_assert_msg(!fx_late(since), "%s is not written", name);
	}
	return (int)strtol(fx_read(name), NULL, 10);
}

/* Starts it, waits until it says that it is ready, stops it; to be ended with
 * fx_fini. */
static inline void
fx_stop(struct fx_run *f, const char *type, enum run_stop why)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/ready", fx_dir);
	unlink(path);
	fx_init(f, type, "{}");
	fx_start(f);
	(void)fx_number("ready");
	run_stop(&f->r, why);
	ck_assert_int_eq(f->done, 0); /* never from inside */
	fx_wait(f);
}

static inline void
fx_gone(pid_t pid)
{
	struct qo_mono since = qo_mono_now();

	while (fx_alive(pid)) {
		loop_once(fx_loop, 5);
		ck_assert_msg(!fx_late(since), "pid %d lives", (int)pid);
	}
}

/* Entries of a directory but . and .. */
static inline int
fx_count(const char *path)
{
	struct dirent *e;
	int n = 0;
	DIR *d;

	d = opendir(path);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static inline int
fx_descriptors(void)
{
	return fx_count("/proc/self/fd");
}

/* Children, zombies included. */
static inline int
fx_children(void)
{
	char path[64], text[4096];
	int fd, n = 0;
	ssize_t len, i;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ne(fd, -1);
	len = read(fd, text, sizeof(text));
	close(fd);
	for (i = 0; i < len; i++)
		n += text[i] == ' ';
	return n;
}

static inline void
fx_no_children(void)
{
	struct qo_mono since = qo_mono_now();

	while (fx_children() > 0) {
		loop_once(fx_loop, 5);
		ck_assert_msg(!fx_late(since), "%d children are left",
		    fx_children());
	}
}

#endif
