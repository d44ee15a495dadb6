#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "envkeys.h"
#include "io.h"
#include "log.h"
#include "priv.h"
#include "role.h"
#include "sig.h"
#include "title.h"
#include "xalloc.h"

#define BEAT_MS       5000
#define DEAD_MS       12000 /* without a beat */
#define DRAIN_MS      30000 /* when there is no configuration */
#define UNSENT_MAX    10000
#define QO_ROLE_WORDS 4

/* A message that did not fit into the socket. */
struct role_msg {
	struct role_msg *next;
	char text[];
};

static void __attribute__((format(printf, 1, 2), noreturn))
refuse(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_errorx("%s", text);
	exit(EX_CONFIG);
}

/* Whose child */

static void
parse_role(struct role *r, const char *text)
{
	int64_t n[QO_ROLE_WORDS];
	char copy[128], *p = copy, *word;
	const char *why = NULL;
	size_t i;

	if (strlcpy(copy, text, sizeof(copy)) >= sizeof(copy))
		refuse("QO_ROLE is too long: it is set by qod alone");
	for (i = 0; (word = strsep(&p, " ")) != NULL && i < QO_ROLE_WORDS &&
	     why == NULL;
	     i++)
		n[i] = strtonum(word, 0, INT64_C(1) << 40, &why);
	if (i != QO_ROLE_WORDS || word != NULL || why != NULL ||
	    n[1] > INT32_MAX || n[2] > INT32_MAX || n[3] > INT32_MAX)
		refuse("QO_ROLE=%s is not what qod sets: unset it", text);
	r->supervised = true;
	r->offset = n[0];
	r->index = (int)n[1];
	r->of = (int)n[2];
	r->generation = (int)n[3];
}

static void
check_fd(int fd, const char *what)
{
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) == -1)
		refuse("QO_ROLE is set, but descriptor %d (%s) is not open: "
		       "start qod instead, or unset QO_ROLE",
		    fd, what);
}

static void
check_socket(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1 ||
	    type != SOCK_SEQPACKET)
		refuse("QO_ROLE is set, but descriptor %d is not the control "
		       "socket: start qod instead, or unset QO_ROLE",
		    fd);
}

void
role_init(struct role *r, int argc, char **argv)
{
	const char *text;

	memset(r, 0, sizeof(*r));
	r->of = 1;
	r->unsent_tail = &r->unsent;
	if (io_sanitize_stdio() == -1)
		exit(EX_OSERR);
	umask(077);
	if (priv_hide_memory() == -1)
		fatal("no core files");
	envkeys_take();
	title_init(argc, argv);
	envkeys_unset();
	if ((text = getenv("QO_ROLE")) == NULL)
		return;
	parse_role(r, text);
	unsetenv("QO_ROLE");
	check_fd(ROLE_FD_CTL, "control socket");
	check_fd(ROLE_FD_CONF, "configuration");
	check_fd(ROLE_FD_BOARD, "scoreboard");
	check_socket(ROLE_FD_CTL);
	if (priv_no_ambient() == -1)
		fatal("ambient capabilities");
}

/* The configuration */

void
role_report(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	const struct role *r = arg;
	struct buf b;

	if (level == CONF_WARNING && r->supervised)
		return; /* qod has said so */
	buf_init(&b, 4096);
	conf_add_report(&b, level, place, msg);
	if (level == CONF_WARNING)
		log_warnx("%s", b.data);
	else
		log_errorx("%s", b.data);
	buf_fini(&b);
}

int
role_conf(struct role *r, const char *path, unsigned how,
    const struct conf_flag *flags, size_t nflags)
{
	struct conf_opts o;
	char **env = NULL;

	memset(&o, 0, sizeof(o));
	o.flags = flags;
	o.nflags = nflags;
	o.report = role_report;
	o.arg = r;
	if (r->supervised) {
		/* Environment and files are in it already. */
		o.how = CONF_NO_FILES | CONF_TRUSTED;
		r->conf = conf_load_fd(ROLE_FD_CONF, "qod's configuration", &o);
		close(ROLE_FD_CONF);
	} else {
		o.how = how;
		o.env = env = envkeys_environ();
		r->conf = conf_load(path, &o);
		free(env);
	}
	return r->conf != NULL ? 0 : EX_CONFIG;
}

static int64_t
drain_limit(const struct role *r)
{
	return r->conf != NULL ? r->conf->qod.drain_timeout_ms : DRAIN_MS;
}

static void
start_drain(struct role *r, int64_t limit_ms)
{
	r->draining = true;
	board_set_state(r->area, BOARD_DRAINING);
	r->drain(r, limit_ms);
}

/* Messages of qod */

static void
on_drain(struct role *r, const char *rest)
{
	const char *why;
	int64_t ms;

	ms = strtonum(rest, -1, INT64_MAX, &why);
	if (why != NULL) {
		log_warnx("drain %s: %s; drain_timeout is used", rest, why);
		ms = drain_limit(r);
	}
	start_drain(r, ms);
}

static bool
obey(struct role *r, const char *verb, char *rest)
{
	if (strcmp(verb, "drain") == 0)
		on_drain(r, rest);
	else if (strcmp(verb, "now") == 0)
		r->now(r);
	else if (strcmp(verb, "reopen") == 0)
		log_reopen();
	else if (strcmp(verb, "quiet") == 0 || strcmp(verb, "resume") == 0) {
		if (r->quiet != NULL)
			r->quiet(r, *verb == 'q');
	} else
		return r->message != NULL && r->message(r, verb, rest);
	return true;
}

static void
on_message(struct role *r, char *text)
{
	char *rest = text, *verb;

	verb = strsep(&rest, " ");
	if (!obey(r, verb, rest != NULL ? rest : text + strlen(text)))
		log_warnx("unknown message of qod: %s", verb);
}

static void
ctl_close(struct role *r)
{
	loop_io_del(r->loop, &r->ctl);
	close(ROLE_FD_CTL);
	r->ctl.fd = -1;
}

static void
on_eof(struct role *r)
{
	ctl_close(r);
	log_warnx("qod is gone");
	if (r->orphaned != NULL)
		r->orphaned(r);
	else
		start_drain(r, drain_limit(r));
}

/* False: nothing more now. */
static bool
receive(struct role *r)
{
	char text[ROLE_MSG_MAX];
	ssize_t n;

	n = recv(ROLE_FD_CTL, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_TRUNC);
	if (n == -1 && errno == EINTR)
		return true;
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (n <= 0) {
		on_eof(r);
		return false;
	}
	if ((size_t)n >= sizeof(text)) {
		log_warnx("a message of qod with %zd bytes is too long", n);
		return true;
	}
	text[n] = '\0';
	on_message(r, text);
	return true;
}

/* To qod */

/* 0; -1: does not fit now.  What qod is not there to hear is lost. */
static int
send_text(const char *text)
{
	ssize_t n;

	do
		n = send(ROLE_FD_CTL, text, strlen(text),
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	return n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK) ? -1 : 0;
}

static void
flush_unsent(struct role *r)
{
	struct role_msg *m;

	while ((m = r->unsent) != NULL && send_text(m->text) == 0) {
		r->unsent = m->next;
		r->nunsent--;
		free(m);
	}
	if (r->unsent != NULL)
		return;
	r->unsent_tail = &r->unsent;
	loop_io_set(r->loop, &r->ctl, EPOLLIN);
}

static void
keep_unsent(struct role *r, const char *text)
{
	struct role_msg *m;
	size_t len = strlen(text);

	if (r->nunsent == UNSENT_MAX) {
		log_warnx("qod does not read, dropped: %s", text);
		return;
	}
	m = xmalloc(sizeof(*m) + len + 1);
	memcpy(m->text, text, len + 1);
	m->next = NULL;
	*r->unsent_tail = m;
	r->unsent_tail = &m->next;
	r->nunsent++;
	loop_io_set(r->loop, &r->ctl, EPOLLIN | EPOLLOUT);
}

void
role_tell(struct role *r, const char *fmt, ...)
{
	char text[ROLE_MSG_MAX], *p;
	va_list ap;

	if (!r->supervised || r->ctl.fd == -1)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (p = text; (p = strchr(p, '\n')) != NULL;)
		*p = ' ';
	if (r->unsent != NULL || send_text(text) == -1)
		keep_unsent(r, text);
}

static void
on_ctl(struct loop_io *io, uint32_t events)
{
	struct role *r = io->arg;

	if ((events & EPOLLOUT) != 0)
		flush_unsent(r);
	/* A callback may end all this; each looks before the next. */
	while (r->ctl.fd != -1 && receive(r))
		continue;
}

/* Signals */

static void
on_term(struct role *r)
{
	if (r->draining)
		r->now(r);
	else
		start_drain(r, drain_limit(r));
}

static void
on_signal(struct loop_io *io, uint32_t events)
{
	struct role *r = io->arg;
	int signo;

	(void)events;
	while ((signo = sig_next()) != 0) {
		if (signo == SIGTERM || signo == SIGINT)
			on_term(r);
		else if (signo == SIGQUIT)
			r->now(r);
		else if (signo == SIGUSR1)
			log_reopen();
		else if (signo == SIGHUP)
			r->hup(r);
		else if (r->signal != NULL)
			r->signal(r, signo);
	}
}

static void
start_signals(struct role *r)
{
	static const int ends[] = { SIGTERM, SIGINT, SIGQUIT };
	size_t i;

	sig_init();
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		(r->supervised ? sig_ignore : sig_catch)(ends[i]);
	sig_catch(SIGUSR1);
	sig_ignore(SIGUSR2); /* qod's; a pkill may hit all */
	(r->hup != NULL ? sig_catch : sig_ignore)(SIGHUP);
	if (loop_io_add(r->loop, &r->signals, sig_fd(), EPOLLIN, on_signal,
		r) == -1)
		fatal("signals");
}

/* The scoreboard */

static void
on_beat(struct loop_timer *t)
{
	struct role *r = t->arg;
	int64_t ms = BEAT_MS;

	if (r->conf != NULL && r->conf->qod.stuck_after_ms / 4 < ms)
		ms = r->conf->qod.stuck_after_ms / 4;
	board_gauge(r->area, BOARD_HEARTBEAT_MS,
	    qo_mono_now().us / QO_US_PER_MS);
	loop_timer_set_ms(r->loop, &r->beat, ms, on_beat, r);
	if (r->beaten != NULL)
		r->beaten(r);
}

bool
role_has_siblings(struct role *r)
{
	int64_t now = qo_mono_now().us / QO_US_PER_MS;
	struct board_area *a = NULL;
	struct board_info info;

	while (r->board != NULL && (a = board_next(r->board, a)) != NULL) {
		board_read(a, &info);
		if (info.role != BOARD_STORE &&
		    info.gauges[BOARD_HEARTBEAT_MS] > now - DEAD_MS)
			return true;
	}
	return false;
}

static void
open_area(struct role *r)
{
	struct board_info info;
	struct qo_err err;

	r->board = board_open(ROLE_FD_BOARD, false, &err);
	if (r->board == NULL ||
	    (r->area = board_own(r->board, r->offset, &err)) == NULL)
		refuse("%s", err.msg);
	board_read(r->area, &info);
	if (info.role != r->kind)
		refuse("qod has an area for a %s, this is a %s",
		    board_role_name(info.role), board_role_name(r->kind));
}

static void
start_log(const struct role *r)
{
	const struct conf_qod *c;

	if (r->conf == NULL)
		return;
	c = &r->conf->qod;
	if (log_init(r->name, c->log, (enum log_format)c->log_format,
		(enum log_level)c->log_level) == 0)
		return;
	log_error("log %s", c->log);
	exit(EX_CONFIG);
}

void
role_start(struct role *r, size_t nslots, size_t nhandlers)
{
	start_log(r);
	start_signals(r);
	if (r->supervised) {
		open_area(r);
		if (loop_io_add(r->loop, &r->ctl, ROLE_FD_CTL, EPOLLIN, on_ctl,
			r) == -1)
			fatal("control socket");
	} else {
		r->area = board_private(r->kind, nslots, nhandlers);
	}
	/* Alone nobody looks: an idle process then does not wake up. */
	if (r->supervised || r->beaten != NULL)
		on_beat(&(struct loop_timer){ .arg = r });
}

void
role_ready(struct role *r)
{
	if (r->told_ready)
		return;
	r->told_ready = true;
	if (!r->draining)
		board_set_state(r->area, BOARD_READY);
	role_tell(r, "ready");
	log_info("ready");
}

void
role_title(struct role *r, const char *fmt, ...)
{
	char text[sizeof(r->title)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strcmp(text, r->title) == 0)
		return;
	strlcpy(r->title, text, sizeof(r->title));
	title_set("%s", text);
}

void
role_fini(struct role *r)
{
	struct role_msg *m;

	loop_timer_del(r->loop, &r->beat);
	if (r->area != NULL)
		board_gauge(r->area, BOARD_HEARTBEAT_MS, 0);
	loop_io_del(r->loop, &r->signals);
	if (r->supervised && r->ctl.fd != -1)
		ctl_close(r);
	while ((m = r->unsent) != NULL) {
		r->unsent = m->next;
		free(m);
	}
	if (r->supervised)
		board_free(r->board);
	else
		board_private_free(r->area);
	r->area = NULL;
	conf_free(r->conf);
	r->conf = NULL;
}
