/*
 * A copy of a database that is in use.  One read transaction is held for the
 * whole copy, so it is one state; blobs.lock is held shared from before it
 * until the last file is linked, and while it is held the store unlinks
 * nothing.  Blobs never change once they have their name: a hard link is as
 * good as a copy on the same file system.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db_int.h"
#include "xalloc.h"

#define STEP_PAGES 1024

struct backup {
	const char *dir, *dest;
	struct db_conn src, dst;
	int lock_fd, src_blobs, dst_fd, dst_blobs;
	bool made; /* the destination is ours to clean up */
	int64_t pages;
	void (*progress)(int64_t done, int64_t total, void *arg);
	void *arg;
};

static void
tell(struct backup *b, int64_t done, int64_t total)
{
	if (b->progress != NULL)
		b->progress(done, total, b->arg);
}

static int
open_source(struct backup *b, struct qo_err *err)
{
	char *path;
	int rv = -1;

	path = xasprintf("%s/blobs.lock", b->dir);
	b->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (b->lock_fd == -1 || flock(b->lock_fd, LOCK_SH) == -1) {
		qo_err_sys(err, errno, "%s", path);
		goto out;
	}
	free(path);
	path = xasprintf("%s/blobs", b->dir);
	b->src_blobs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->src_blobs == -1) {
		qo_err_sys(err, errno, "%s", path);
		goto out;
	}
	if (db_open_beside(&b->src, b->dir, err) == -1)
		goto out;
	/* The transaction begins with its first read. */
	if (sqlite3_exec(b->src.h, "BEGIN; SELECT 1 FROM meta", NULL, NULL,
		NULL) != SQLITE_OK) {
		qo_err_set(err, "%s: %s", b->dir, sqlite3_errmsg(b->src.h));
		goto out;
	}
	rv = 0;
out:
	free(path);
	return rv;
}

static int
open_dest(struct backup *b, struct qo_err *err)
{
	char *path = NULL;
	int rv = -1;

	if (mkdir(b->dest, 0700) == -1)
		goto fail;
	b->made = true;
	b->dst_fd = open(b->dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->dst_fd == -1 || mkdirat(b->dst_fd, "blobs", 0700) == -1)
		goto fail;
	b->dst_blobs = openat(b->dst_fd, "blobs",
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->dst_blobs == -1)
		goto fail;
	path = xasprintf("%s/%s", b->dest, DB_FILE);
	if (sqlite3_open_v2(path, &b->dst.h,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_NOMUTEX,
		NULL) != SQLITE_OK) {
		qo_err_set(err, "%s: %s", path, sqlite3_errmsg(b->dst.h));
		goto out;
	}
	rv = 0;
	goto out;
fail:
	qo_err_sys(err, errno, "%s", b->dest);
out:
	free(path);
	return rv;
}

static int
copy_database(struct backup *b, struct qo_err *err)
{
	sqlite3_backup *copy;
	int r;

	copy = sqlite3_backup_init(b->dst.h, "main", b->src.h, "main");
	if (copy == NULL)
		goto fail;
	do {
		r = sqlite3_backup_step(copy, STEP_PAGES);
		b->pages = sqlite3_backup_pagecount(copy);
		tell(b, b->pages - sqlite3_backup_remaining(copy), b->pages);
	} while (r == SQLITE_OK);
	(void)sqlite3_backup_finish(copy);
	if (r == SQLITE_DONE)
		return 0;
fail:
	qo_err_set(err, "%s/%s: %s", b->dest, DB_FILE,
	    sqlite3_errmsg(b->dst.h));
	return -1;
}

/* For a destination on another file system. */
static int
copy_blob(struct backup *b, const char *name)
{
	ssize_t n;
	int from, to = -1, rv = -1;

	from = openat(b->src_blobs, name, O_RDONLY | O_CLOEXEC);
	if (from == -1)
		return -1;
	to = openat(b->dst_blobs, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600);
	if (to == -1)
		goto out;
	do
		n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
	while (n > 0 || (n == -1 && errno == EINTR));
	if (n == 0 && fdatasync(to) == 0)
		rv = 0;
out:
	close(from);
	if (to != -1)
		close(to);
	return rv;
}

static int
copy_blobs(struct backup *b, struct qo_err *err)
{
	sqlite3_stmt *st = NULL;
	char name[DB_NAME_LEN + 1];
	int64_t n = 0;
	int r = SQLITE_ERROR;

	if (sqlite3_prepare_v2(b->dst.h,
		"SELECT blob FROM version WHERE blob IS NOT NULL UNION ALL"
		" SELECT blob FROM part WHERE blob IS NOT NULL",
		-1, &st, NULL) != SQLITE_OK)
		goto fail;
	while ((r = sqlite3_step(st)) == SQLITE_ROW) {
		db_col_copy(st, 0, name, sizeof(name));
		if (linkat(b->src_blobs, name, b->dst_blobs, name, 0) == -1 &&
		    ((errno != EXDEV && errno != EPERM && errno != EMLINK) ||
			copy_blob(b, name) == -1)) {
			qo_err_sys(err, errno, "%s/blobs/%s", b->dest, name);
			sqlite3_finalize(st);
			return -1;
		}
		n++;
		tell(b, b->pages + n, b->pages + n);
	}
	if (r != SQLITE_DONE)
		goto fail;
	sqlite3_finalize(st);
	if (fsync(b->dst_blobs) == 0 && fsync(b->dst_fd) == 0)
		return 0;
	qo_err_sys(err, errno, "%s", b->dest);
	return -1;
fail:
	qo_err_set(err, "%s/%s: %s", b->dest, DB_FILE,
	    sqlite3_errmsg(b->dst.h));
	sqlite3_finalize(st);
	return -1;
}

/* Half a backup is none: it must not be taken for one. */
static void
remove_dest(struct backup *b)
{
	static const char *const files[] = { DB_FILE, DB_FILE "-wal",
		DB_FILE "-shm", DB_FILE "-journal" };
	struct dirent *e;
	DIR *d;
	size_t i;
	int fd;

	d = NULL;
	if ((fd = fcntl(b->dst_blobs, F_DUPFD_CLOEXEC, 0)) != -1 &&
	    (d = fdopendir(fd)) == NULL)
		close(fd);
	if (d != NULL) {
		while ((e = readdir(d)) != NULL)
			if (e->d_name[0] != '.')
				(void)unlinkat(b->dst_blobs, e->d_name, 0);
		closedir(d);
	}
	for (i = 0; b->dst_fd != -1 && i < sizeof(files) / sizeof(files[0]);
	     i++)
		(void)unlinkat(b->dst_fd, files[i], 0);
	if (b->dst_fd != -1)
		(void)unlinkat(b->dst_fd, "blobs", AT_REMOVEDIR);
	(void)rmdir(b->dest);
}

int
db_backup(const char *dir, const char *dest,
    void (*progress)(int64_t done, int64_t total, void *arg), void *arg,
    struct qo_err *err)
{
	struct backup b = { .dir = dir,
		.dest = dest,
		.lock_fd = -1,
		.src_blobs = -1,
		.dst_fd = -1,
		.dst_blobs = -1,
		.progress = progress,
		.arg = arg };
	int rv = -1;

	if (open_source(&b, err) == 0 && open_dest(&b, err) == 0 &&
	    copy_database(&b, err) == 0 && copy_blobs(&b, err) == 0)
		rv = 0;
	db_conn_close(&b.dst);
	db_conn_close(&b.src);
	if (rv == -1 && b.made)
		remove_dest(&b);
	if (b.dst_blobs != -1)
		close(b.dst_blobs);
	if (b.dst_fd != -1)
		close(b.dst_fd);
	if (b.src_blobs != -1)
		close(b.src_blobs);
	if (b.lock_fd != -1)
		close(b.lock_fd); /* the store may unlink again */
	return rv;
}
