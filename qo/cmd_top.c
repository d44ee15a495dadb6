/*
 * top: workers and running tasks, as they are now.
 *
 * Looks are taken one after another in run_top's own loop; keys and signals
 * come in while the sources run the event loop, and only change how the last
 * look is drawn, or end it all.
 */
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "confval.h"
#include "ctlpath.h"
#include "sig.h"
#include "term.h"
#include "top.h"

#define QOD_MS    1000 /* between two looks */
#define BUCKET_MS 5000
#define DRAW_MAX  ((size_t)128 << 20)
#define COUNT_MAX 1000000000

struct top {
	struct session *s;
	struct ctlcall call;
	const char *path; /* of the control socket */
	bool bucket;      /* where the looks come from */
	char why[400];
	int64_t interval_ms; /* 0: what suits the source */
	int64_t left;        /* looks; -1: no end */
	bool live, json;
	struct top_look look;
	struct top_style style;
	struct loop_io keys, signals;
	struct loop_timer timer;
	bool stop, rested;
};

/* Drawing */

static void
draw(struct top *t)
{
	struct buf b;
	size_t len;

	if (t->look.source == NULL)
		return;
	buf_init(&b, DRAW_MAX);
	if (t->live)
		term_size(&t->style.rows, &t->style.cols);
	top_sort_tasks(&t->look, t->style.sort);
	top_draw(&t->look, &t->style, &b);
	len = b.len;
	if (t->live) {
		while (len > 0 && b.data[len - 1] == '\n')
			len--;
		term_draw(b.data, len);
	} else {
		out_raw(b.data, len);
	}
	buf_fini(&b);
}

static void
draw_json(const struct top *t)
{
	struct buf b;

	buf_init(&b, DRAW_MAX);
	top_json(&t->look, &b);
	out_json(b.data, b.len);
	buf_fini(&b);
}

/* Keys and signals */

static void
scroll(struct top *t, bool down, size_t lines)
{
	if (down)
		t->style.scroll += lines;
	else
		t->style.scroll -= lines < t->style.scroll ? lines
							   : t->style.scroll;
}

static void
press(struct top *t, enum term_key key)
{
	size_t page = t->style.rows > 12 ? t->style.rows - 8 : 4;

	switch (key) {
	case TERM_NONE:
	case TERM_OTHER:
		return;
	case TERM_UP:
	case TERM_DOWN:
		scroll(t, key == TERM_DOWN, 1);
		break;
	case TERM_PAGE_UP:
	case TERM_PAGE_DOWN:
		scroll(t, key == TERM_PAGE_DOWN, page);
		break;
	case TERM_HOME:
		t->style.scroll = 0;
		break;
	case TERM_END:
		t->style.scroll = SIZE_MAX / 2;
		break;
	case TERM_PAUSE:
		t->style.paused = !t->style.paused;
		break;
	case TERM_SORT:
		t->style.sort = (t->style.sort + 1) % TOP_SORTS;
		break;
	case TERM_QUIT:
		t->stop = true;
		return;
	}
	draw(t);
}

static void
on_keys(struct loop_io *io, uint32_t events)
{
	struct top *t = io->arg;
	enum term_key key;
	bool eof = (events & (EPOLLHUP | EPOLLERR)) != 0;

	while (!eof && !t->stop && (key = term_read_key(&eof)) != TERM_NONE)
		press(t, key);
	if (eof)
		t->stop = true; /* the terminal is gone */
}

static void
on_signal(struct loop_io *io, uint32_t events)
{
	struct top *t = io->arg;
	int signo;

	(void)events;
	while ((signo = sig_next()) != 0) {
		if (signo == SIGTSTP)
			term_suspend();
		if (signo == SIGTSTP || signo == SIGWINCH)
			draw(t);
		else
			t->stop = true;
	}
}

static enum exit_code
go_live(struct top *t)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
		SIGTSTP, SIGWINCH };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sig_catch(signals[i]);
	loop_io_add(t->s->loop, &t->signals, sig_fd(), EPOLLIN, on_signal, t);
	if (term_open() == -1) {
		exit_say("the terminal can not be used");
		return EXIT_FAILED;
	}
	if (isatty(STDIN_FILENO) == 1)
		loop_io_add(t->s->loop, &t->keys, STDIN_FILENO, EPOLLIN,
		    on_keys, t);
	return EXIT_OK;
}

/* Looks */

static enum exit_code
take(struct top *t, struct top_look *l, struct qo_err *err)
{
	if (t->bucket)
		return top_from_bucket(l, t->s, &t->stop, err);
	return top_from_qod(l, &t->call, t->path, &t->stop, err);
}

/* A look that fails ends a plain list; live, the last one stays on the screen
 * with the reason. */
static enum exit_code
look(struct top *t)
{
	static struct top_look l; /* large */
	struct qo_err err = { 0 };
	enum exit_code code;

	code = take(t, &l, &err);
	if (t->stop) {
		top_look_fini(&l);
		return EXIT_OK;
	}
	if (code != EXIT_OK && (!t->live || t->look.source == NULL)) {
		top_look_fini(&l);
		term_close();
		exit_say("%s", err.msg);
		return code;
	}
	if (code != EXIT_OK) {
		top_look_fini(&l);
		t->look.nmessages = 0;
		top_say(&t->look, "%s", err.msg);
		return EXIT_OK;
	}
	if (t->why[0] != '\0')
		top_say(&l, "%s", t->why);
	if (t->look.source != NULL)
		top_rates(&l, &t->look);
	top_look_fini(&t->look);
	t->look = l;
	memset(&l, 0, sizeof(l));
	return EXIT_OK;
}

static void
on_rested(struct loop_timer *timer)
{
	((struct top *)timer->arg)->rested = true;
}

/* Until the next look is due; a pause lasts until it is over. */
static void
rest(struct top *t)
{
	int64_t ms = t->interval_ms;

	if (ms == 0)
		ms = t->bucket ? BUCKET_MS : QOD_MS;
	t->rested = false;
	loop_timer_set_ms(t->s->loop, &t->timer, ms, on_rested, t);
	while (!t->stop && (!t->rested || t->style.paused))
		loop_once(t->s->loop, -1);
	loop_timer_del(t->s->loop, &t->timer);
}

static enum exit_code
watch(struct top *t)
{
	enum exit_code code;
	bool first = true;

	for (;;) {
		if ((code = look(t)) != EXIT_OK || t->stop)
			return code;
		if (!t->json) {
			if (!t->live && !first)
				out_raw("\n", 1);
			draw(t);
			if (!t->live)
				fflush(stdout);
		}
		first = false;
		if (t->left > 0 && --t->left == 0)
			return EXIT_OK;
		if (out_broken())
			return EXIT_OK;
		rest(t);
	}
}

/* A qod on this machine, or else the bucket. */
static enum exit_code
choose(struct top *t, bool bucket)
{
	enum exit_code code;

	t->s->loop = loop_new();
	ctlcall_init(&t->call, t->s->loop);
	if (!bucket) {
		code = ctlcall_wait(&t->call, t->path, "status", QOD_MS * 5);
		if (code == EXIT_OK)
			return EXIT_OK;
		/* That there is none here is nothing to complain of. */
		if (code != EXIT_UNREACHABLE)
			snprintf(t->why, sizeof(t->why), "%s", t->call.err.msg);
	}
	t->bucket = true;
	return session_open(t->s);
}

static enum exit_code
get_options(struct top *t, const struct opts *o)
{
	const char *interval = opts_get(o, "interval");
	const char *count = opts_get(o, "count"), *errstr;
	struct qo_err err;

	t->json = opts_has(o, "json");
	t->live = !t->json && out_is_terminal() && count == NULL;
	t->left = t->live ? -1 : 1;
	if (interval != NULL &&
	    confval_duration(interval, 100, CONFVAL_HOUR, &t->interval_ms,
		&err) == -1)
		return exit_usage("--interval: %s", err.msg);
	if (interval != NULL && count == NULL && !t->json)
		t->left = -1;
	if (count != NULL) {
		t->left = strtonum(count, 1, COUNT_MAX, &errstr);
		if (errstr != NULL)
			return exit_usage("--count: %s is not a number from 1 "
					  "to %d",
			    count, COUNT_MAX);
	}
	return EXIT_OK;
}

static enum exit_code
run_top(struct session *s, const struct opts *o)
{
	static struct top t; /* large */
	enum exit_code code;

	t.s = s;
	if ((code = get_options(&t, o)) != EXIT_OK ||
	    (!opts_has(o, "bucket") &&
		(code = ctlpath_find(s, &t.path)) != EXIT_OK))
		return code;
	if ((code = choose(&t, opts_has(o, "bucket"))) == EXIT_OK) {
		t.style.keys = t.live;
		t.style.coloured = out_is_coloured();
		if (t.live)
			code = go_live(&t);
		if (code == EXIT_OK)
			code = watch(&t);
		term_close();
		if (code == EXIT_OK && t.json)
			draw_json(&t);
	}
	loop_io_del(s->loop, &t.keys);
	loop_io_del(s->loop, &t.signals);
	ctlcall_fini(&t.call);
	top_look_fini(&t.look);
	return code;
}

static const struct opt top_opts[] = {
	{ "bucket", 0, NULL,
	    "Show all workers of the queue, even when a qod is here.", false },
	{ "interval", 'i', "DURATION",
	    "Look so often: 1s by default, 5s at the bucket.", false },
	{ "count", 'n', "NUMBER", "Look so many times, and print each look.",
	    false },
	{ "json", 0, NULL, "Print one JSON document, of the last look.",
	    false },
	CMD_OPT_END,
};

const struct cmd cmd_top = {
	.name = "top",
	.run = run_top,
	.opts = top_opts,
	.summary = "watch the workers and what they run",
	.help = "From the qod of this machine, through its control socket; "
		"when there is none, from the bucket: then the workers of all "
		"machines are shown, by their heartbeats, and each look costs "
		"some requests.\n\n"
		"Keys: q ends it, p pauses and goes on, s sorts the tasks by "
		"time, type or worker, j and k or the arrows scroll, space and "
		"b do so by pages.\n\n"
		"When standard output is no terminal the same is printed as "
		"text, once, or again every --interval.",
};
