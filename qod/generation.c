#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "generation.h"
#include "ini.h"
#include "io.h"
#include "xalloc.h"

/* The text of c in memory that nobody can change any more. */
static int
sealed_text(const struct conf *c, struct qo_err *err)
{
	struct buf b;
	int fd;

	buf_init_secret(&b, INI_MAX);
	conf_print(c, true, &b);
	fd = memfd_create("qod.conf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (buf_failed(&b)) {
		qo_err_set(err, "the configuration is too large");
		goto bad;
	}
	if (fd == -1 || io_write_all(fd, b.data, b.len) == -1 ||
	    fcntl(fd, F_ADD_SEALS,
		F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) ==
		-1) {
		qo_err_sys(err, errno, "memory for the configuration");
		goto bad;
	}
	buf_fini(&b);
	return fd;
bad:
	if (fd != -1)
		close(fd);
	buf_fini(&b);
	return -1;
}

struct generation *
generation_adopt(int number, struct conf *conf, struct account *account, int fd)
{
	struct generation *g;

	g = xcalloc(1, sizeof(*g));
	g->number = number;
	g->conf = conf;
	g->account = *account;
	g->fd = fd;
	g->refs = 1;
	return g;
}

struct generation *
generation_new(int number, struct conf *conf, struct account *account,
    struct qo_err *err)
{
	int fd;

	fd = sealed_text(conf, err);
	return fd != -1 ? generation_adopt(number, conf, account, fd) : NULL;
}

struct generation *
generation_ref(struct generation *g)
{
	g->refs++;
	return g;
}

void
generation_unref(struct generation *g)
{
	if (g == NULL || --g->refs > 0)
		return;
	close(g->fd);
	conf_free(g->conf);
	account_fini(&g->account);
	free(g);
}
