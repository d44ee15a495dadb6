#include <string.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "control.h"
#include "control_bind.h"
#include "jsonout.h"
#include "log.h"
#include "roles.h"
#include "status.h"

/* Reloads are counted: who asks for one waits for its number. */
#define TICKET_DRAIN   INT64_MAX
#define TICKET_UPGRADE (INT64_MAX - 1)
#define LOOK_MS        100 /* while somebody waits for the end of a drain */
#define LOOKS          3   /* so often in a row nothing may run */
#define ANSWER_MAX     4096

/* Answers */

static void
add_result(struct buf *b, bool ok, const char *message)
{
	out_json_open(b, NULL, '{');
	out_json_bool(b, "ok", ok);
	out_json_str(b, "message", message);
	out_json_close(b, '}');
}

static void
settle(struct qod *q, int64_t ticket, bool ok, const char *message)
{
	struct buf b;

	if (q->control == NULL)
		return;
	buf_init(&b, ANSWER_MAX);
	add_result(&b, ok, message);
	control_settle(q->control, ticket, b.data, b.len);
	buf_fini(&b);
}

void
command_reloaded(struct qod *q)
{
	const struct reload_result *r = &q->reload;
	char text[64];

	snprintf(text, sizeof(text), "generation %d", q->gen->number);
	settle(q, ++q->reloads, r->ok, r->ok ? text : r->text);
}

void
command_upgraded(struct qod *q, bool ok, const char *text)
{
	struct buf b;

	buf_init(&b, ANSWER_MAX);
	if (ok)
		buf_addf(&b, "%s takes over", text);
	else
		buf_addf(&b,
		    "the next qod's check of the configuration %s, "
		    "this one goes on",
		    text);
	settle(q, TICKET_UPGRADE, ok, b.data);
	buf_fini(&b);
}

/* Commands */

static int64_t
on_status(struct qod *q, struct buf *b)
{
	status_add(q, b);
	return 0;
}

/* One that is asked for while another is under way comes after that. */
static int64_t
on_reload(struct qod *q, struct buf *b)
{
	(void)b;
	qod_reload(q);
	return q->reloads + (q->phase == RELOAD_IDLE ? 1 : 2);
}

static bool
is_idle(const struct qod *q)
{
	const struct board_area *area;
	const struct child *c;
	struct board_info info;

	TAILQ_FOREACH (c, &q->children, entry) {
		if (c->role->kind != BOARD_WORKER || !child_is_live(c) ||
		    (area = board_at(q->board, c->area)) == NULL)
			continue;
		board_read(area, &info);
		if (info.gauges[BOARD_RUNNING] > 0)
			return false;
	}
	return q->nlost == 0;
}

/* A worker that has just claimed has its slot set before; the row of looks
 * gives it the time to hear of the quiet. */
static void
on_look(struct loop_timer *t)
{
	struct qod *q = t->arg;

	if (!q->quiet) {
		settle(q, TICKET_DRAIN, false, "tasks are claimed again");
		return;
	}
	q->idle_looks = is_idle(q) ? q->idle_looks + 1 : 0;
	if (q->idle_looks == LOOKS) {
		settle(q, TICKET_DRAIN, true, "drained: nothing runs");
		return;
	}
	loop_timer_set_ms(q->loop, t, LOOK_MS, on_look, q);
}

static int64_t
on_drain(struct qod *q, struct buf *b)
{
	(void)b;
	qod_quiet(q, true);
	q->idle_looks = 0;
	loop_timer_set_ms(q->loop, &q->drain_timer, LOOK_MS, on_look, q);
	return TICKET_DRAIN;
}

static int64_t
on_quiet(struct qod *q, struct buf *b)
{
	qod_quiet(q, true);
	add_result(b, true, "no more tasks are claimed");
	return 0;
}

static int64_t
on_resume(struct qod *q, struct buf *b)
{
	qod_quiet(q, false);
	add_result(b, true, "tasks are claimed");
	return 0;
}

static int64_t
on_stop(struct qod *q, struct buf *b)
{
	add_result(b, true, "stopping");
	qod_stop(q, false);
	return 0;
}

static int64_t
on_stop_now(struct qod *q, struct buf *b)
{
	add_result(b, true, "stopping, running tasks go back to the queue");
	qod_stop(q, true);
	return 0;
}

static int64_t
on_reopen(struct qod *q, struct buf *b)
{
	qod_reopen(q);
	add_result(b, true, "log files are opened again");
	return 0;
}

static int64_t
on_upgrade(struct qod *q, struct buf *b)
{
	qod_upgrade(q);
	if (q->checker != 0 || q->upgrade_after)
		return TICKET_UPGRADE;
	add_result(b, false, "the next qod can not be run, see the log");
	return 0;
}

static int64_t
adjust(struct qod *q, struct buf *b, int by)
{
	const struct qod_role *worker = roles_find("worker");
	int before = worker->count(q, q->gen->conf), now;
	char text[64];

	qod_adjust(q, by);
	now = worker->count(q, q->gen->conf);
	snprintf(text, sizeof(text), "%d worker process%s%s", now,
	    now == 1 ? "" : "es", now == before ? ", as before" : "");
	add_result(b, now != before, text);
	return 0;
}

static int64_t
on_more(struct qod *q, struct buf *b)
{
	return adjust(q, b, 1);
}

static int64_t
on_less(struct qod *q, struct buf *b)
{
	return adjust(q, b, -1);
}

static const struct {
	const char *line;
	int64_t (*run)(struct qod *q, struct buf *b);
	bool at_stop; /* makes sense then, too */
} commands[] = {
	{ "status", on_status, true },
	{ "reload", on_reload, false },
	{ "drain", on_drain, false },
	{ "quiet", on_quiet, false },
	{ "resume", on_resume, false },
	{ "stop", on_stop, false },
	{ "stop now", on_stop_now, true },
	{ "reopen", on_reopen, true },
	{ "upgrade", on_upgrade, false },
	{ "more", on_more, false },
	{ "less", on_less, false },
};

static int64_t
handle(void *arg, const char *line, struct buf *b)
{
	struct qod *q = arg;
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].line, line) != 0)
			continue;
		if (q->stopping && !commands[i].at_stop) {
			add_result(b, false, "qod is stopping");
			return 0;
		}
		if (commands[i].run != on_status)
			log_event(LOG_LVL_INFO, "command", "line", line, NULL);
		return commands[i].run(q, b);
	}
	log_event(LOG_LVL_WARN, "unknown command", "line", line, NULL);
	add_result(b, false, "this qod does not know that command");
	return 0;
}

/* The socket */

int
command_open(struct qod *q, const struct conf *conf, const struct account *a,
    struct qo_err *err)
{
	struct control_at at = { conf->qod.control, (uid_t)-1, (gid_t)-1,
		false };

	if (q->control_fd != -1 || conf->qod.control == NULL)
		return 0;
	if (conf->qod.group != NULL) {
		at.gid = a->gid;
		at.group = true;
	}
	q->control_fd = control_bind(&at, err);
	return q->control_fd != -1 ? 0 : -1;
}

void
command_begin(struct qod *q)
{
	if (q->control_fd == -1)
		return;
	q->control = control_new(q->loop, q->control_fd, handle, q);
	if (q->control == NULL)
		fatal("control socket");
	if (q->gen->conf->qod.group != NULL)
		control_allow(q->control, q->gen->account.gid);
}

void
command_end(struct qod *q, const struct conf *conf)
{
	loop_timer_del(q->loop, &q->drain_timer);
	if (q->control == NULL)
		return;
	if (conf->qod.control != NULL)
		unlink(conf->qod.control);
	control_free(q->control);
	q->control = NULL;
	q->control_fd = -1;
}
