/*
 * control.h - the control socket of qod: a line comes, a JSON document goes.
 *
 * A Unix stream socket.  A client sends one line and gets one document and
 * the end of the file.  The handler answers at once, or gives a ticket: the
 * client then waits until the ticket is settled, and may leave before that.
 *
 * Nothing a client does can hold up the loop or make qod grow: lines, clients,
 * those that wait and the bytes that wait to be read are all limited, and who
 * neither sends nor reads is cut off.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "loop.h"

#define CONTROL_LINE_MAX    256
#define CONTROL_CLIENTS     64 /* at once; others wait to be accepted */
#define CONTROL_WAITING     32 /* of them for a ticket */
#define CONTROL_ANSWER_MAX  ((size_t)4 << 20)
#define CONTROL_PENDING_MAX ((size_t)16 << 20) /* unread answers, all of them */
#define CONTROL_TIMEOUT_MS  5000               /* to send a line, to read on */

struct control;

/*
 * line is without its end and has neither control characters nor blanks
 * around it.  Fills answer with a document and returns 0, or returns a ticket
 * above 0 that control_settle will be called with.
 */
typedef int64_t control_handler(void *arg, const char *line,
    struct buf *answer);

/* fd, from control_bind or inherited, becomes the control's.  Only root and
 * our own user are listened to, whatever mode the file has. */
struct control *control_new(struct loop *l, int fd, control_handler *handler,
    void *arg);
/* Members of this group, too. */
void control_allow(struct control *c, gid_t group);
/* Clients are cut off; the file is not removed.  NULL is fine. */
void control_free(struct control *c);
int control_fd(const struct control *c); /* borrowed */
/* All that wait for this ticket are answered. */
void control_settle(struct control *c, int64_t ticket, const char *json,
    size_t len);
/* For status: clients connected, and those of them that wait. */
size_t control_clients(const struct control *c);
size_t control_waiting(const struct control *c);

#endif
