#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board_rows.h"
#include "io.h"
#include "log.h"
#include "run_int.h"
#include "xalloc.h"

/* Sections */

static void
section_init(struct section *sec, struct handlers *h,
    const struct conf_handler *c, const char *config_path)
{
	struct env_opts opts = { h->conf, c, &sec->account, config_path };
	struct qo_err err;

	sec->all = h;
	sec->conf = c;
	if (handler_account(c, &sec->account, &err) == -1) {
		sec->unusable = xstrdup(err.msg);
		log_errorx("handler %s: %s", c->name, err.msg);
	}
	env_init(&sec->env, &opts);
	sec->program = handler_program(c->command.argv[0], handler_path(c),
	    &err);
	if (sec->program == NULL)
		log_errorx("handler %s: %s", c->name, err.msg);
	serve_init(sec);
}

static void
section_fini(struct section *sec)
{
	serve_fini(sec);
	scratch_pool_fini(&sec->pool);
	handler_account_fini(&sec->account);
	env_fini(&sec->env);
	free(sec->program);
	free(sec->unusable);
}

struct section *
section_of(struct handlers *h, const struct conf_handler *c)
{
	return &h->sections[c - h->conf->handlers];
}

/* What they leave behind */

static bool
is_known(void *arg, pid_t pid)
{
	(void)arg;
	return reap_knows(pid);
}

static bool
is_running(void *arg, const char *owner)
{
	const struct handlers *h = arg;
	size_t i;

	if (exec_has(&h->execs, owner))
		return true;
	for (i = 0; i < h->n; i++)
		if (serve_has(&h->sections[i], owner))
			return true;
	return false;
}

static void
adopted(void *arg)
{
	struct handlers *h = arg;

	stray_sweep(&h->strays);
}

/* The end */

static void
scratch_emptied(void *arg)
{
	handlers_ended(arg);
}

static void
say_stopped(struct loop_task *t)
{
	struct handlers *h = t->arg;

	h->stop_done(h->stop_arg);
}

void
handlers_ended(struct handlers *h)
{
	size_t i;

	if (!h->stopping || scratch_busy(&h->scratch))
		return;
	for (i = 0; i < h->n; i++)
		if (serve_any(&h->sections[i]))
			return;
	loop_defer(h->loop, &h->stopped, say_stopped, h);
}

void
handlers_stop(struct handlers *h, void (*done)(void *arg), void *arg)
{
	size_t i;

	h->stopping = true;
	h->stop_done = done;
	h->stop_arg = arg;
	for (i = 0; i < h->n; i++)
		serve_stop(&h->sections[i]);
	handlers_ended(h);
}

struct handlers *
handlers_new(struct loop *l, const struct conf *conf, const char *config_path,
    struct board_area *area)
{
	struct handlers *h;
	size_t i;

	h = xcalloc(1, sizeof(*h));
	h->loop = l;
	h->conf = conf;
	h->area = area;
	env_task_init(&h->env);
	scratch_init(&h->scratch, scratch_emptied, h);
	LIST_INIT(&h->execs);
	h->strays = (struct stray){
		.loop = l, .known = is_known, .running = is_running, .arg = h
	};
	reap_init(adopted, h);
	scratch_tidy(&h->scratch);
	if (proc_subreaper() == -1)
		log_warn("subreaper");
	h->n = conf->nhandlers;
	h->sections = xcalloc(h->n + 1, sizeof(*h->sections));
	for (i = 0; i < h->n; i++)
		section_init(&h->sections[i], h, &conf->handlers[i],
		    config_path);
	if (area != NULL)
		board_rows_name(area, conf);
	return h;
}

void
handlers_free(struct handlers *h)
{
	size_t i;

	if (h == NULL)
		return;
	reap_init(NULL, NULL);
	for (i = 0; i < h->n; i++)
		section_fini(&h->sections[i]);
	free(h->sections);
	stray_fini(&h->strays);
	loop_defer_del(h->loop, &h->notify);
	loop_defer_del(h->loop, &h->stopped);
	env_task_fini(&h->env);
	scratch_fini(&h->scratch);
	free(h);
}

/* Is there room? */

static bool
has_room(const struct section *sec)
{
	return sec->conf->mode != CONF_MODE_SERVE ||
	    sec->reserved < serve_room(sec);
}

bool
handlers_reserve(struct handlers *h, const struct conf_handler *c)
{
	struct section *sec = section_of(h, c);

	if (!has_room(sec)) {
		sec->wanted = true;
		return false;
	}
	sec->reserved++;
	return true;
}

void
handlers_unreserve(struct handlers *h, const struct conf_handler *c)
{
	struct section *sec = section_of(h, c);

	if (sec->reserved == 0)
		qo_bug("handler %s: nothing is reserved", c->name);
	sec->reserved--;
	section_freed(sec);
}

void
handlers_on_free(struct handlers *h,
    void (*freed)(void *arg, const struct conf_handler *c), void *arg)
{
	h->freed = freed;
	h->freed_arg = arg;
}

static void
notify(struct loop_task *t)
{
	struct handlers *h = t->arg;
	struct section *sec;
	size_t i;

	for (i = 0; i < h->n; i++) {
		sec = &h->sections[i];
		if (!sec->wanted || !has_room(sec))
			continue;
		sec->wanted = false;
		if (h->freed != NULL)
			h->freed(h->freed_arg, sec->conf);
	}
}

void
section_freed(struct section *sec)
{
	if (sec->wanted && has_room(sec))
		loop_defer(sec->all->loop, &sec->all->notify, notify, sec->all);
}

/* Processes */

/* Our end must not block; the child's must, or it would have to be prepared
 * for that. */
static int
make_pipe(int *ours, int *theirs, int our_end)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -1;
	*ours = fds[our_end];
	*theirs = fds[!our_end];
	return io_nonblock(*ours);
}

int
pipe_in(int *ours, int *theirs)
{
	return make_pipe(ours, theirs, 1);
}

int
pipe_out(int *ours, int *theirs)
{
	return make_pipe(ours, theirs, 0);
}

static void
fill_spec(const struct section *sec, struct proc_spec *spec)
{
	const struct conf_handler *c = sec->conf;

	spec->path = sec->program;
	spec->argv = c->command.argv;
	spec->new_session = true;
	spec->die_with_parent = true;
	spec->no_new_privs = true;
	spec->umask = 022;
	spec->memory_max = c->memory_max;
	spec->cpu_seconds = c->cpu_seconds;
	spec->files_max = c->files_max;
	spec->set_ids = sec->account.change;
	spec->uid = sec->account.uid;
	spec->gid = sec->account.gid;
	spec->groups = sec->account.groups;
	spec->ngroups = sec->account.ngroups;
}

void
section_drop(struct section *sec, char *dir)
{
	scratch_drop(&sec->all->scratch, &sec->pool, &sec->account, dir);
}

pid_t
section_spawn(struct section *sec, struct proc_spec *spec, char **envp,
    char **dir, struct qo_err *err)
{
	const struct conf_handler *c = sec->conf;
	pid_t pid;

	*dir = NULL;
	if (sec->unusable != NULL) {
		qo_err_set(err, "%s", sec->unusable);
		return -1;
	}
	if (sec->program == NULL)
		sec->program = handler_program(c->command.argv[0],
		    handler_path(c), err);
	if (sec->program == NULL)
		return -1;
	if (c->cwd == NULL) {
		*dir = scratch_make(&sec->all->scratch, &sec->pool,
		    &sec->account, err);
		if (*dir == NULL)
			return -1;
	}
	fill_spec(sec, spec);
	spec->envp = envp;
	spec->cwd = c->cwd != NULL ? c->cwd : *dir;
	pid = proc_spawn(spec, err);
	if (pid == -1) {
		section_drop(sec, *dir);
		*dir = NULL;
		/* Perhaps it is elsewhere, or back, the next time. */
		free(sec->program);
		sec->program = NULL;
	}
	return pid;
}
