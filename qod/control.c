#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "log.h"
#include "xalloc.h"

#define AGAIN_MS  1000  /* when there was no descriptor for a client */
#define ANSWER_MS 60000 /* to read an answer, however steadily */

struct client {
	TAILQ_ENTRY(client) next;
	struct control *of;
	struct loop_io io;
	struct loop_timer timer;
	char line[CONTROL_LINE_MAX + 1];
	size_t line_len;
	bool answered;  /* all that it sends now is dropped */
	int64_t ticket; /* 0: none */
	char *answer;
	size_t answer_len, sent;
	struct qo_mono give_up;
};

struct control {
	struct loop *loop;
	struct loop_io io;
	struct loop_timer again;
	control_handler *handler;
	void *arg;
	TAILQ_HEAD(, client) clients;
	size_t nclients, nwaiting;
	size_t pending; /* bytes of answers that are not sent yet */
	gid_t group;    /* whose members may ask; (gid_t)-1: none */
};

/* Clients */

static void
client_free(struct client *cl)
{
	struct control *c = cl->of;

	loop_io_del(c->loop, &cl->io);
	loop_timer_del(c->loop, &cl->timer);
	close(cl->io.fd);
	TAILQ_REMOVE(&c->clients, cl, next);
	c->nclients--;
	if (cl->ticket != 0)
		c->nwaiting--;
	c->pending -= cl->answer_len;
	free(cl->answer);
	free(cl);
	loop_io_set(c->loop, &c->io, EPOLLIN);
}

static void
on_timeout(struct loop_timer *t)
{
	client_free(t->arg);
}

static void
set_timeout(struct client *cl)
{
	struct qo_mono due;

	due = qo_mono_add_ms(qo_mono_now(), CONTROL_TIMEOUT_MS);
	if (cl->answered && due.us > cl->give_up.us)
		due = cl->give_up;
	loop_timer_set(cl->of->loop, &cl->timer, due, on_timeout, cl);
}

/* Sends what the socket takes; the client may be gone after. */
static void
send_on(struct client *cl)
{
	ssize_t n;

	while (cl->sent < cl->answer_len) {
		n = send(cl->io.fd, cl->answer + cl->sent,
		    cl->answer_len - cl->sent, MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN) {
			loop_io_set(cl->of->loop, &cl->io, EPOLLOUT);
			return;
		}
		if (n == -1)
			break;
		cl->sent += (size_t)n;
		set_timeout(cl);
	}
	client_free(cl);
}

static void
answer(struct client *cl, const char *json, size_t len)
{
	static const char busy[] = "{\"ok\":false,\"message\":"
				   "\"too many clients do not read their "
				   "answers, try again\"}";
	struct control *c = cl->of;

	if (cl->ticket != 0) {
		cl->ticket = 0;
		c->nwaiting--;
	}
	if (c->pending + len > CONTROL_PENDING_MAX) {
		json = busy;
		len = sizeof(busy) - 1;
	}
	cl->answered = true;
	cl->answer = xmalloc(len + 1);
	memcpy(cl->answer, json, len);
	cl->answer[len] = '\n';
	cl->answer_len = len + 1;
	c->pending += cl->answer_len;
	cl->give_up = qo_mono_add_ms(qo_mono_now(), ANSWER_MS);
	set_timeout(cl);
	send_on(cl);
}

static void
refuse(struct client *cl, const char *why)
{
	char json[160];

	snprintf(json, sizeof(json), "{\"ok\":false,\"message\":\"%s\"}", why);
	answer(cl, json, strlen(json));
}

/* Cuts blanks at both ends; NULL when it has control characters. */
static const char *
clean(char *line)
{
	size_t i, len;

	line += strspn(line, " \t");
	len = strlen(line);
	while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL)
		line[--len] = '\0';
	for (i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			return NULL;
	return line;
}

static void
handle(struct client *cl)
{
	struct control *c = cl->of;
	struct buf b;
	const char *line;
	int64_t ticket;

	if ((line = clean(cl->line)) == NULL || line[0] == '\0') {
		refuse(cl, "this is not a command");
		return;
	}
	buf_init(&b, CONTROL_ANSWER_MAX);
	ticket = c->handler(c->arg, line, &b);
	if (ticket == 0) {
		if (buf_failed(&b))
			refuse(cl, "the answer is too long");
		else
			answer(cl, b.data, b.len);
	} else if (c->nwaiting >= CONTROL_WAITING) {
		refuse(cl, "it is under way, and too many wait for its end");
	} else {
		cl->ticket = ticket;
		c->nwaiting++;
		loop_timer_del(c->loop, &cl->timer);
	}
	buf_fini(&b);
}

/* The line is whole, or the client will send no more of it. */
static bool
is_line(struct client *cl, bool ended)
{
	char *end = memchr(cl->line, '\n', cl->line_len);

	if (end == NULL && (!ended || cl->line_len == 0))
		return false;
	if (end == NULL)
		end = cl->line + cl->line_len;
	/* A NUL inside ends it early: that is not a command either. */
	if (memchr(cl->line, '\0', (size_t)(end - cl->line)) != NULL)
		cl->line[0] = '\0';
	*end = '\0';
	return true;
}

/* What a client sends behind its line is thrown away; its end is only told
 * by the socket's. */
static void
read_rest(struct client *cl)
{
	char junk[512];
	ssize_t n;

	n = recv(cl->io.fd, junk, sizeof(junk), MSG_DONTWAIT);
	if (n > 0 || (n == -1 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (n == 0 && cl->ticket != 0) {
		/* Half closed, or gone: only a HUP tells. */
		loop_io_set(cl->of->loop, &cl->io, 0);
		return;
	}
	client_free(cl);
}

static void
read_line(struct client *cl)
{
	ssize_t n;

	n = recv(cl->io.fd, cl->line + cl->line_len,
	    CONTROL_LINE_MAX - cl->line_len, 0);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == -1) {
		client_free(cl);
		return;
	}
	cl->line_len += (size_t)n;
	if (is_line(cl, n == 0))
		handle(cl);
	else if (n == 0)
		client_free(cl);
	else if (cl->line_len == CONTROL_LINE_MAX)
		refuse(cl, "the line is too long");
}

static void
on_client(struct loop_io *io, uint32_t events)
{
	struct client *cl = io->arg;

	if (cl->answered && (events & EPOLLOUT) != 0)
		send_on(cl);
	else if (events & (EPOLLERR | EPOLLHUP) && cl->ticket != 0)
		client_free(cl);
	else if (cl->answered)
		client_free(cl); /* EPOLLERR, EPOLLHUP */
	else if (cl->ticket != 0)
		read_rest(cl);
	else
		read_line(cl);
}

/* The control */

static void
client_new(struct control *c, int fd)
{
	struct client *cl;

	cl = xcalloc(1, sizeof(*cl));
	cl->of = c;
	if (loop_io_add(c->loop, &cl->io, fd, EPOLLIN, on_client, cl) == -1) {
		close(fd);
		free(cl);
		return;
	}
	TAILQ_INSERT_TAIL(&c->clients, cl, next);
	c->nclients++;
	set_timeout(cl);
}

/* Beside the mode of the file, which somebody may have opened. */
static bool
may_ask(const struct control *c, int fd)
{
	gid_t groups[NGROUPS_MAX];
	struct ucred who;
	socklen_t len = sizeof(who);
	size_t i;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == -1)
		return false;
	if (who.uid == 0 || who.uid == geteuid())
		return true;
	if (c->group != (gid_t)-1) {
		len = sizeof(groups);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) ==
		    -1)
			len = 0; /* a kernel before 4.13 */
		for (i = 0; i < len / sizeof(groups[0]); i++)
			if (groups[i] == c->group)
				return true;
		if (who.gid == c->group)
			return true;
	}
	log_event(LOG_LVL_WARN, "control socket: refused", "uid",
	    LOG_NUM(who.uid), NULL);
	return false;
}

static void
on_again(struct loop_timer *t)
{
	struct control *c = t->arg;

	loop_io_set(c->loop, &c->io, EPOLLIN);
}

static void
on_accept(struct loop_io *io, uint32_t events)
{
	struct control *c = io->arg;
	int fd;

	(void)events;
	while (c->nclients < CONTROL_CLIENTS) {
		fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd == -1 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd == -1 && errno != EAGAIN) {
			/* No descriptor to spare: it would call at once. */
			loop_io_set(c->loop, io, 0);
			loop_timer_set_ms(c->loop, &c->again, AGAIN_MS,
			    on_again, c);
		}
		if (fd == -1)
			return;
		if (may_ask(c, fd))
			client_new(c, fd);
		else
			close(fd);
	}
	/* Until a client goes. */
	loop_io_set(c->loop, io, 0);
}

struct control *
control_new(struct loop *l, int fd, control_handler *handler, void *arg)
{
	struct control *c;

	c = xcalloc(1, sizeof(*c));
	c->loop = l;
	c->handler = handler;
	c->arg = arg;
	c->group = (gid_t)-1;
	TAILQ_INIT(&c->clients);
	if (loop_io_add(l, &c->io, fd, EPOLLIN, on_accept, c) == -1) {
		free(c);
		return NULL;
	}
	return c;
}

void
control_allow(struct control *c, gid_t group)
{
	c->group = group;
}

void
control_free(struct control *c)
{
	struct client *cl;

	if (c == NULL)
		return;
	while ((cl = TAILQ_FIRST(&c->clients)) != NULL)
		client_free(cl);
	loop_timer_del(c->loop, &c->again);
	loop_io_del(c->loop, &c->io);
	close(c->io.fd);
	free(c);
}

int
control_fd(const struct control *c)
{
	return c->io.fd;
}

void
control_settle(struct control *c, int64_t ticket, const char *json, size_t len)
{
	struct client *cl, *next;

	for (cl = TAILQ_FIRST(&c->clients); cl != NULL; cl = next) {
		next = TAILQ_NEXT(cl, next);
		if (cl->ticket == ticket && ticket != 0)
			answer(cl, json, len);
	}
}

size_t
control_clients(const struct control *c)
{
	return c->nclients;
}

size_t
control_waiting(const struct control *c)
{
	return c->nwaiting;
}
