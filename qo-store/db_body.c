#include <sys/file.h>
#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "db_int.h"
#include "hash.h"
#include "io.h"
#include "log.h"
#include "xalloc.h"

#define CHUNK ((size_t)256 * 1024)

enum place {
	IN_MEMORY = 0,
	IN_TMP,   /* tmp/name, fd open */
	IN_BLOBS, /* blobs/name, synced, no row names it yet */
	KEPT      /* a committed row names it */
};

struct db_body {
	struct db *db;
	enum place place;
	struct buf mem;
	int fd;
	char name[DB_NAME_LEN + 1];
	int64_t size;
	uint32_t crc;
	bool want_md5, ended;
	struct hash hash;
	unsigned char md5[MD5_LEN];
};

enum db_rc
db_rc_errno(int errnum)
{
	switch (errnum) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return DB_FULL;
	case EROFS:
		return DB_READONLY;
	default: /* errno has more values than we tell apart */
		return DB_ERROR;
	}
}

struct db_body *
db_body_new_plain(struct db *db)
{
	struct db_body *b;

	b = xcalloc(1, sizeof(*b));
	b->db = db;
	b->fd = -1;
	buf_init(&b->mem, DB_INLINE_MAX);
	return b;
}

struct db_body *
db_body_new(struct db *db)
{
	struct db_body *b;

	b = db_body_new_plain(db);
	b->want_md5 = true;
	hash_init(&b->hash, HASH_MD5);
	return b;
}

/* The body has outgrown memory. */
static int
spill(struct db_body *b)
{
	db_random_name(b->name);
	b->fd = openat(b->db->tmp_fd, b->name,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (b->fd == -1)
		return -1;
	b->place = IN_TMP;
	if (io_write_all(b->fd, b->mem.data, b->mem.len) == -1)
		return -1;
	buf_fini(&b->mem);
	buf_init(&b->mem, 0);
	return 0;
}

int
db_body_add(struct db_body *b, const void *p, size_t len, enum db_rc *rc)
{
	int save;

	if (b->place == IN_MEMORY && buf_add(&b->mem, p, len) == -1)
		if (spill(b) == -1)
			goto fail;
	if (b->place == IN_TMP && io_write_all(b->fd, p, len) == -1)
		goto fail;
	b->crc = crc32c(b->crc, p, len);
	if (b->want_md5)
		hash_update(&b->hash, p, len);
	b->size += (int64_t)len;
	return 0;
fail:
	save = errno;
	log_warn("a body can not be written to %s/tmp", b->db->dir);
	*rc = db_rc_errno(save);
	return -1;
}

enum db_rc
db_body_add_fd(struct db_body *b, int fd, int64_t off, int64_t len)
{
	enum db_rc rc = DB_OK;
	ssize_t n;
	char *chunk;

	chunk = xmalloc(CHUNK);
	while (len > 0 && rc == DB_OK) {
		n = pread(fd, chunk, len < (int64_t)CHUNK ? (size_t)len : CHUNK,
		    off);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			/* Blobs never shrink: a short one is damaged. */
			rc = n == 0 ? DB_CORRUPT : DB_ERROR;
			break;
		}
		(void)db_body_add(b, chunk, (size_t)n, &rc);
		off += n;
		len -= n;
	}
	free(chunk);
	return rc;
}

int64_t
db_body_size(const struct db_body *b)
{
	return b->size;
}

const unsigned char *
db_body_md5(struct db_body *b)
{
	if (!b->ended) {
		hash_final(&b->hash, b->md5);
		b->ended = true;
	}
	return b->md5;
}

const char *
db_body_name(const struct db_body *b)
{
	return b->place == IN_MEMORY ? NULL : b->name;
}

const void *
db_body_data(const struct db_body *b)
{
	return b->mem.data;
}

uint32_t
db_body_crc(const struct db_body *b)
{
	return b->crc;
}

/*
 * The order that a crash can not hurt: the bytes, then the name, then (in a
 * later transaction) the row.  What lies between is an orphan.
 */
enum db_rc
db_body_settle(struct db_body *b)
{
	if (b->place != IN_TMP)
		return DB_OK;
	if (fdatasync(b->fd) == -1)
		goto fail;
	if (renameat(b->db->tmp_fd, b->name, b->db->blobs_fd, b->name) == -1)
		goto fail;
	b->place = IN_BLOBS;
	if (fsync(b->db->blobs_fd) == -1)
		goto fail;
	return DB_OK;
fail:
	log_warn("a body can not be brought to disk in %s", b->db->dir);
	return db_rc_errno(errno);
}

void
db_body_keep(struct db_body *b)
{
	if (b->place == IN_BLOBS)
		b->place = KEPT;
}

void
db_body_free(struct db_body *b)
{
	if (b == NULL)
		return;
	if (b->place == IN_TMP)
		unlinkat(b->db->tmp_fd, b->name, 0);
	if (b->place == IN_BLOBS)
		unlinkat(b->db->blobs_fd, b->name, 0);
	if (b->fd != -1)
		close(b->fd);
	buf_fini(&b->mem);
	hash_fini(&b->hash);
	free(b);
}

enum db_rc
db_file_verify(int fd, int64_t size, uint32_t crc)
{
	uint32_t got = 0;
	int64_t off = 0;
	ssize_t n;
	char *chunk;

	chunk = xmalloc(CHUNK);
	while (off < size) {
		n = pread(fd, chunk, CHUNK, off);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (n > size - off)
			n = size - off;
		got = crc32c(got, chunk, (size_t)n);
		off += n;
	}
	free(chunk);
	return off == size && got == crc ? DB_OK : DB_CORRUPT;
}

/* Calls cb for each file in a directory; -1 with errno. */
static int
each_file(struct db *db, int dir_fd, void (*cb)(struct db *, const char *))
{
	struct dirent *e;
	DIR *d;
	int fd;

	if ((fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ==
	    -1)
		return -1;
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return -1;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			cb(db, e->d_name);
	closedir(d);
	return 0;
}

static void
remove_tmp(struct db *db, const char *name)
{
	if (unlinkat(db->tmp_fd, name, 0) == -1)
		log_warn("%s/tmp/%s can not be removed", db->dir, name);
}

static void
remove_unnamed(struct db *db, const char *name)
{
	db_bind_text(db->wr.st[ST_BLOB_USED], 1, name);
	switch (db_step(&db->wr, ST_BLOB_USED)) {
	case DB_OK:
		sqlite3_reset(db->wr.st[ST_BLOB_USED]);
		break;
	case DB_NO_KEY:
		if (unlinkat(db->blobs_fd, name, 0) == -1)
			log_warn("%s/blobs/%s can not be removed", db->dir,
			    name);
		break;
	default: /* unknown: better a file too many */
		break;
	}
}

int
db_orphans_remove(struct db *db, struct qo_err *err)
{
	int rv;

	rv = each_file(db, db->tmp_fd, remove_tmp);
	if (rv == 0 && flock(db->backup_fd, LOCK_EX | LOCK_NB) == 0) {
		rv = each_file(db, db->blobs_fd, remove_unnamed);
		flock(db->backup_fd, LOCK_UN);
	}
	if (rv == -1)
		qo_err_sys(err, errno, "%s", db->dir);
	return rv;
}
