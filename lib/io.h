/*
 * io.h - descriptors and files without the usual traps.
 *
 * Short reads and writes and EINTR end here; every descriptor made here is
 * close-on-exec.
 */
#ifndef IO_H
#define IO_H

#include <stddef.h>
#include <sys/types.h>

#include "buf.h"
#include "err.h"

/* 0, or -1 with errno.  The descriptor must be blocking. */
int io_write_all(int fd, const void *p, size_t len);
/* Bytes read: len, or fewer at end of file; -1 with errno. */
ssize_t io_read_full(int fd, void *p, size_t len);
/* Adds all that is left in fd to b.  0; -1 with errno, EFBIG over b->max. */
int io_read_all(int fd, struct buf *b);
/* Adds a whole regular file.  0, or -1 with *err naming the path. */
int io_read_file(const char *path, struct buf *b, struct qo_err *err);
/*
 * The same for a file with secrets: opened without following a symlink, it
 * must be a regular file that belongs to root or to us and that neither
 * others can read nor group and others can write; the message says which
 * chmod helps.  (Group may read: 0640 root:qo.)
 */
int io_read_secret(const char *path, struct buf *b, struct qo_err *err);
/* The same, and it may belong to keeper as well. */
int io_read_secret_of(const char *path, uid_t keeper, struct buf *b,
    struct qo_err *err);
/* The rule above for a descriptor that is open already. */
int io_check_secret(int fd, const char *path, struct qo_err *err);
/* Writes path so that a crash leaves the old or the new contents whole: to
 * path.tmp, fsync, rename, fsync of the directory.  mode e.g. 0600. */
int io_write_file(const char *path, const void *p, size_t len, mode_t mode,
    struct qo_err *err);

int io_nonblock(int fd);
/* Opens /dev/null on any of 0, 1, 2 that is closed, so that no socket can
 * become stderr.  First thing in main; -1 with errno. */
int io_sanitize_stdio(void);

#endif
