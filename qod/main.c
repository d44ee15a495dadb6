/*
 * qod - the master: reads the configuration, keeps the roles running.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "check.h"
#include "command.h"
#include "envkeys.h"
#include "earlier.h"
#include "generation.h"
#include "ini.h"
#include "io.h"
#include "log.h"
#include "lost.h"
#include "notify.h"
#include "options.h"
#include "pidfile.h"
#include "priv.h"
#include "proc.h"
#include "reload.h"
#include "sig.h"
#include "signals.h"
#include "sockets.h"
#include "title.h"
#include "upgrade.h"
#include "watch.h"
#include "xalloc.h"

#define WATCHDOG_MIN_MS 1000 /* an idle qod does not wake up more often */

/* The binary that SIGUSR2 runs: under the name that this one was called by,
 * so that a link that was changed is followed. */
static char *
own_program(const char *argv0)
{
	char *path;

	path = strchr(argv0, '/') != NULL ? realpath(argv0, NULL) : NULL;
	if (path != NULL && argv0[0] == '/') {
		free(path);
		return xstrdup(argv0);
	}
	if (path == NULL)
		path = realpath("/proc/self/exe", NULL);
	return path != NULL ? path : xstrdup("/proc/self/exe");
}

static char **
copy_words(int argc, char **argv)
{
	char **copy;
	int i;

	copy = xcalloc((size_t)argc + 1, sizeof(*copy));
	for (i = 0; i < argc; i++)
		copy[i] = xstrdup(argv[i]);
	return copy;
}

static void
free_words(char **words)
{
	size_t i;

	for (i = 0; words[i] != NULL; i++)
		free(words[i]);
	free(words);
}

static int
start_log(const struct qod *q, const struct conf *c)
{
	if (log_init("qod", c->qod.log, (enum log_format)c->qod.log_format,
		q->verbose ? LOG_LVL_DEBUG
			   : (enum log_level)c->qod.log_level) == 0)
		return 0;
	log_error("[qod] log: %s", c->qod.log);
	return -1;
}

/* The roles open it, too, under their own account. */
static void
share_log(const struct conf *c, const struct account *account)
{
	if (!account->change || strchr(c->qod.log, '/') == NULL)
		return;
	if (chown(c->qod.log, account->uid, account->gid) == -1)
		log_warn("%s: can not be given to user %u", c->qod.log,
		    (unsigned)account->uid);
}

/* The first image: everything is made. */
static int
make_all(struct qod *q, struct conf *conf, struct account *account)
{
	struct qo_err err = { 0 };
	struct check k = { 0 };

	q->started = qo_wall_local();
	if (!check_data(&k, conf, account))
		return -1;
	if ((conf->qod.pidfile != NULL &&
		(q->pidfile = pidfile_take(conf->qod.pidfile, &err)) == -1) ||
	    earlier_wait(q, conf, &err) == -1 ||
	    sockets_open(q, conf, account, &err) == -1 ||
	    (q->board = board_create(&err)) == NULL ||
	    command_open(q, conf, account, &err) == -1) {
		if (!q->stopping)
			log_errorx("%s", err.msg);
		return -1;
	}
	share_log(conf, account);
	q->gen = generation_new(1, conf, account, &err);
	if (q->gen == NULL) {
		log_errorx("%s", err.msg);
		return -1;
	}
	q->last_generation = 1;
	return 0;
}

/* With another layout of the board its areas mean nothing to us: what dies
 * then is found by its lease. */
static void
adopt_board(struct qod *q, int fd)
{
	struct qo_err err = { 0 };
	struct child *c;

	q->board = board_open(fd, true, &err);
	if (q->board != NULL)
		return;
	log_warnx("upgrade: %s: a new scoreboard is made", err.msg);
	q->board = board_create(&err);
	if (q->board == NULL)
		fatalx("%s", err.msg);
	TAILQ_FOREACH (c, &q->children, entry)
		c->area = -1;
}

/* The next image: children and sockets are there. */
static void
adopt_all(struct qod *q, int fd)
{
	struct conf_opts opts = { .how = CONF_TRUSTED };
	struct upgrade_state s;
	struct qo_err err = { 0 };
	struct account account;
	struct conf *conf = NULL;
	struct buf text;

	buf_init(&text, (size_t)64 << 20);
	if (upgrade_read(q, fd, &s, &text, &err) == -1)
		fatalx("upgrade: %s", err.msg);
	close(fd);
	if (s.conf != -1)
		conf = conf_load_fd(s.conf, q->file, &opts);
	if (conf == NULL)
		fatalx("upgrade: the old configuration can not be read");
	account_find(conf, true, &account, NULL, NULL);
	start_log(q, conf);
	q->gen = generation_adopt(s.generation, conf, &account, s.conf);
	upgrade_children(q, text.data, q->gen);
	adopt_board(q, s.board);
	buf_fini(&text);
	q->store_up = true;
	log_info("upgrade: this is qod " QO_VERSION);
	reload_replace_all(q);
}

static void
init(struct qod *q, const struct options *o, int argc, char **argv)
{
	q->loop = loop_new();
	q->file = o->file;
	q->verbose = o->verbose;
	q->program = own_program(argv[0]);
	q->argv = copy_words(argc, argv);
	q->pidfile = q->store_tcp = q->store_unix = q->control_fd = -1;
	TAILQ_INIT(&q->children);
	TAILQ_INIT(&q->lost);
	sig_init();
	if (proc_subreaper() == -1)
		fatal("subreaper");
	q->watchdog_ms = notify_watchdog_ms();
	if (q->watchdog_ms > 0 && q->watchdog_ms < WATCHDOG_MIN_MS)
		q->watchdog_ms = WATCHDOG_MIN_MS;
}

static void
fini(struct qod *q, const struct conf *conf)
{
	lost_clear(q);
	sockets_close(q, conf);
	pidfile_drop(conf->qod.pidfile, q->pidfile);
	board_free(q->board);
	loop_free(q->loop);
	free(q->program);
	free_words(q->argv);
}

static int
run(struct qod *q)
{
	log_event(LOG_LVL_INFO, "qod " QO_VERSION, "file", q->file, NULL);
	command_begin(q);
	signals_begin(q);
	watch_begin(q);
	qod_changed(q);
	loop_run(q->loop);
	watch_end(q);
	loop_timer_del(q->loop, &q->stage_timer);
	loop_timer_del(q->loop, &q->reload_timer);
	loop_defer_del(q->loop, &q->turn);
	signals_end(q);
	command_end(q, q->gen->conf);
	log_info("ended");
	fini(q, q->gen->conf);
	generation_unref(q->gen);
	return q->exit_code;
}

static int
start(const struct options *o, int argc, char **argv)
{
	struct check k = { .start = true };
	struct account account;
	struct conf *conf;
	static struct qod q;

	conf = check_load(&k, o->file, &account);
	if (conf == NULL)
		return EX_CONFIG;
	init(&q, o, argc, argv);
	if (start_log(&q, conf) == 0 && make_all(&q, conf, &account) == 0)
		return run(&q);
	fini(&q, conf);
	account_fini(&account);
	conf_free(conf);
	return q.stopping ? 0 : EX_CONFIG;
}

static int
show(const struct options *o)
{
	struct check k = { 0 };
	struct account account;
	struct conf *conf;
	struct buf b;

	conf = check_load(&k, o->file, &account);
	if (conf == NULL)
		return EX_CONFIG;
	if (o->mode == OPTIONS_CHECK) {
		puts("configuration OK");
	} else {
		buf_init(&b, INI_MAX);
		conf_print(conf, false, &b);
		fwrite(b.data, 1, b.len, stdout);
		buf_fini(&b);
	}
	account_fini(&account);
	conf_free(conf);
	return fflush(stdout) == 0 ? 0 : 1;
}

static int
resume(const struct options *o, int argc, char **argv, int fd)
{
	static struct qod q;

	init(&q, o, argc, argv);
	adopt_all(&q, fd);
	return run(&q);
}

int
main(int argc, char **argv)
{
	struct options o;
	char **words;
	int inherited, rc;

	if (io_sanitize_stdio() == -1)
		return 1;
	umask(077);
	if (priv_hide_memory() == -1)
		fatal("no core files");
	inherited = upgrade_inherited();
	words = copy_words(argc, argv);
	envkeys_take();
	title_init(argc, argv);
	envkeys_unset();
	options_parse(&o, argc, words);
	if (o.mode != OPTIONS_RUN)
		rc = show(&o);
	else if (inherited != -1)
		rc = resume(&o, argc, words, inherited);
	else
		rc = start(&o, argc, words);
	options_fini(&o);
	free_words(words);
	return rc;
}
