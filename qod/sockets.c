#include <unistd.h>

#include "listen.h"
#include "sockets.h"

static int
open_unix(struct qod *q, const struct conf *conf, const struct account *a,
    struct qo_err *err)
{
	const char *path = conf->store.socket;

	q->store_unix = listen_unix(path, err);
	if (q->store_unix == -1)
		return -1;
	if (a->change && chown(path, a->uid, a->gid) == -1) {
		qo_err_set(err, "can not give %s to the store", path);
		return -1;
	}
	return 0;
}

int
sockets_open(struct qod *q, const struct conf *conf, const struct account *a,
    struct qo_err *err)
{
	if (!conf->store.enabled)
		return 0;
	if (conf->store.listen != NULL) {
		q->store_tcp = listen_tcp(conf->store.listen, NULL, err);
		if (q->store_tcp == -1)
			return -1;
	}
	return conf->store.socket != NULL ? open_unix(q, conf, a, err) : 0;
}

void
sockets_close(struct qod *q, const struct conf *conf)
{
	if (q->store_tcp != -1)
		close(q->store_tcp);
	if (q->store_unix != -1) {
		unlink(conf->store.socket);
		close(q->store_unix);
	}
	q->store_tcp = q->store_unix = -1;
}
