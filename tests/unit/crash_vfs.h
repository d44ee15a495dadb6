/*
 * crash_vfs.h - stands between SQLite and the system: records what is written
 * and synced in one directory, or lets calls fail.  A header because it needs
 * SQLite, which only the tests of qo-store have; test_store_crash.c is the one
 * that uses it.
 */
#ifndef CRASH_VFS_H
#define CRASH_VFS_H

#include <check.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

enum file_no {
	FILE_DB = 0,
	FILE_WAL,
	FILE_JOURNAL, /* only while the database is made */
	NFILES
};

enum event_kind {
	EV_WRITE = 0,
	EV_TRUNCATE,
	EV_SYNC,
	EV_DELETE,
	EV_SUBMIT, /* off: operations handed in so far */
	EV_ACK     /* off: operations answered so far */
};

struct event {
	enum event_kind kind;
	enum file_no file;
	int64_t off;
	size_t len;
	char *data;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static struct event *events;
static size_t nevents, cap_events;
static bool recording;
static char watched[160]; /* directory whose files are recorded */

/* Faults: the n-th call from now fails, or all from then on. */
static int fail_in; /* 0: none */
static bool fail_on;
static int fail_code;

static void
record(enum event_kind kind, enum file_no file, int64_t off, const void *p,
    size_t len)
{
	struct event *e;

	pthread_mutex_lock(&mu);
	if (recording) {
		if (nevents == cap_events) {
			cap_events = cap_events == 0 ? 1024 : cap_events * 2;
			events = xreallocarray(events, cap_events,
			    sizeof(*events));
		}
		e = &events[nevents++];
		e->kind = kind;
		e->file = file;
		e->off = off;
		e->len = len;
		e->data = len > 0 ? xmemdup0(p, len) : NULL;
	}
	pthread_mutex_unlock(&mu);
}

static void
forget_events(void)
{
	size_t i;

	for (i = 0; i < nevents; i++)
		free(events[i].data);
	free(events);
	events = NULL;
	nevents = cap_events = 0;
}

static bool
fails_now(void)
{
	bool fails = false;

	pthread_mutex_lock(&mu);
	if (fail_in > 0 && --fail_in == 0) {
		fails = true;
		if (fail_on)
			fail_in = 1;
	}
	pthread_mutex_unlock(&mu);
	return fails;
}

/* The VFS */

struct shim_file {
	sqlite3_file base;
	bool watch;
	enum file_no no;
	sqlite3_file *real; /* behind this struct */
};

static sqlite3_vfs *sys_vfs;
static sqlite3_vfs shim_vfs;

#define REAL(f) (((struct shim_file *)(f))->real)

static int
shim_close(sqlite3_file *f)
{
	return REAL(f)->pMethods->xClose(REAL(f));
}

static int
shim_read(sqlite3_file *f, void *p, int n, sqlite3_int64 off)
{
	return REAL(f)->pMethods->xRead(REAL(f), p, n, off);
}

static int
shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 off)
{
	struct shim_file *s = (struct shim_file *)f;

	if (s->watch && fails_now())
		return fail_code;
	if (s->watch)
		record(EV_WRITE, s->no, off, p, (size_t)n);
	return REAL(f)->pMethods->xWrite(REAL(f), p, n, off);
}

static int
shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	struct shim_file *s = (struct shim_file *)f;

	if (s->watch)
		record(EV_TRUNCATE, s->no, size, NULL, 0);
	return REAL(f)->pMethods->xTruncate(REAL(f), size);
}

/* Nothing of this test has to survive a real crash. */
static int
shim_sync(sqlite3_file *f, int flags)
{
	struct shim_file *s = (struct shim_file *)f;

	(void)flags;
	if (s->watch && fails_now())
		return fail_code == SQLITE_FULL ? SQLITE_IOERR_FSYNC
						: fail_code;
	if (s->watch)
		record(EV_SYNC, s->no, 0, NULL, 0);
	return SQLITE_OK;
}

static int
shim_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return REAL(f)->pMethods->xFileSize(REAL(f), size);
}

static int
shim_lock(sqlite3_file *f, int how)
{
	return REAL(f)->pMethods->xLock(REAL(f), how);
}

static int
shim_unlock(sqlite3_file *f, int how)
{
	return REAL(f)->pMethods->xUnlock(REAL(f), how);
}

static int
shim_reserved(sqlite3_file *f, int *out)
{
	return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out);
}

static int
shim_control(sqlite3_file *f, int op, void *arg)
{
	return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int
shim_sector(sqlite3_file *f)
{
	return REAL(f)->pMethods->xSectorSize(REAL(f));
}

/* No promises of the file system are made use of. */
static int
shim_device(sqlite3_file *f)
{
	(void)f;
	return 0;
}

static int
shim_shm_map(sqlite3_file *f, int region, int size, int extend,
    void volatile **out)
{
	return REAL(f)->pMethods->xShmMap(REAL(f), region, size, extend, out);
}

static int
shim_shm_lock(sqlite3_file *f, int off, int n, int flags)
{
	return REAL(f)->pMethods->xShmLock(REAL(f), off, n, flags);
}

static void
shim_shm_barrier(sqlite3_file *f)
{
	REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int
shim_shm_unmap(sqlite3_file *f, int del)
{
	return REAL(f)->pMethods->xShmUnmap(REAL(f), del);
}

static const sqlite3_io_methods shim_methods = { 2, shim_close, shim_read,
	shim_write, shim_truncate, shim_sync, shim_size, shim_lock, shim_unlock,
	shim_reserved, shim_control, shim_sector, shim_device, shim_shm_map,
	shim_shm_lock, shim_shm_barrier, shim_shm_unmap, NULL, NULL };

static bool
is_watched(const char *name)
{
	return name != NULL && watched[0] != '\0' &&
	    strncmp(name, watched, strlen(watched)) == 0 &&
	    name[strlen(watched)] == '/';
}

static int
shim_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
    int *out)
{
	struct shim_file *s = (struct shim_file *)f;
	int r;

	(void)v;
	memset(s, 0, sizeof(*s));
	s->real = (sqlite3_file *)(s + 1);
	r = sys_vfs->xOpen(sys_vfs, name, s->real, flags, out);
	if (s->real->pMethods != NULL)
		s->base.pMethods = &shim_methods;
	s->no = flags & SQLITE_OPEN_WAL ? FILE_WAL : FILE_DB;
	if (flags & SQLITE_OPEN_MAIN_JOURNAL)
		s->no = FILE_JOURNAL;
	s->watch = is_watched(name);
	return r;
}

static int
shim_delete(sqlite3_vfs *v, const char *name, int sync_dir)
{
	size_t len = strlen(name);

	(void)v;
	if (is_watched(name) && strcmp(name + len - 4, "-wal") == 0)
		record(EV_DELETE, FILE_WAL, 0, NULL, 0);
	if (is_watched(name) && strcmp(name + len - 8, "-journal") == 0)
		record(EV_DELETE, FILE_JOURNAL, 0, NULL, 0);
	return sys_vfs->xDelete(sys_vfs, name, sync_dir);
}

/*
 * Stands in for libc's: the directory's sync is what makes the removal of a
 * journal durable, and without it a journal that comes back would undo the
 * making of the database.
 */
int
fsync(int fd)
{
	char link[64], path[256];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n == -1)
		return -1;
	path[n] = '\0';
	if (strcmp(path, watched) == 0)
		record(EV_SYNC, FILE_JOURNAL, 0, NULL, 0);
	return 0;
}

static void
shim_start(void)
{
	sys_vfs = sqlite3_vfs_find(NULL);
	shim_vfs = *sys_vfs;
	shim_vfs.zName = "crash";
	shim_vfs.szOsFile = (int)sizeof(struct shim_file) + sys_vfs->szOsFile;
	shim_vfs.xOpen = shim_open;
	shim_vfs.xDelete = shim_delete;
	ck_assert_int_eq(sqlite3_vfs_register(&shim_vfs, 1), SQLITE_OK);
	watched[0] = '\0';
	recording = false;
	fail_in = 0;
}

static void
shim_stop(void)
{
	forget_events();
	sqlite3_vfs_unregister(&shim_vfs);
}

#endif
