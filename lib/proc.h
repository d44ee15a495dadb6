/*
 * proc.h - start other programs, and signal only what is ours.
 *
 * A child begins with nothing of its parent but what the spec names: default
 * signal dispositions, an empty mask, and no descriptors beyond those in fds.
 * vfork is used, so that a large process spawns as fast as a small one; the
 * child side does async-signal-safe work only.
 */
#ifndef PROC_H
#define PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

#define PROC_FDS_MAX 16

/* All is borrowed until proc_spawn returns. */
struct proc_spec {
	const char *path; /* no search along PATH */
	char *const *argv;
	char *const *envp; /* NULL: the parent's */
	/* fds[i] becomes descriptor i of the child, whatever numbers the
	 * others have; -1: /dev/null for 0 to 2, closed above. */
	int fds[PROC_FDS_MAX];
	size_t nfds;      /* at least 3 */
	const char *cwd;  /* entered with the child's own ids; NULL: no */
	bool new_session; /* setsid: leads a process group of its own */
	/* SIGKILL when the thread that spawned it is gone. */
	bool die_with_parent;
	bool no_new_privs;
	bool set_ids; /* uid, gid and groups below, and no capability but: */
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* supplementary ones */
	size_t ngroups;
	uint64_t keep_caps; /* priv.h; not for uid 0, which has all */
	/* 0: as it is.  Never above a hard limit that we can not raise. */
	int64_t memory_max;  /* RLIMIT_AS */
	int64_t cpu_seconds; /* SIGXCPU, and SIGKILL a second later */
	int64_t files_max;
	bool no_core;
	int umask; /* -1: as it is */
};

void proc_spec_init(struct proc_spec *s); /* all off, three fds of -1 */
/* The pid, or -1 with *err: what failed in the child (chdir, setuid, exec)
 * and its errno, known when this returns; nothing is left to be reaped. */
pid_t proc_spawn(const struct proc_spec *s, struct qo_err *err);
/* A child that has ended and its status for proc_describe, or 0: none (now).
 * Ask until 0 at each SIGCHLD, which is not counted. */
pid_t proc_reap(int *status);
/* The only kill there is.  pid > 0 or it is a bug; ESRCH is no failure. */
void proc_signal(pid_t pid, int signo);
/* The same for the whole process group that pid leads; pid > 1. */
void proc_signal_group(pid_t pid, int signo);
/* "exited with status 3", "killed by signal 9 (Killed)" */
void proc_describe(int status, char *out, size_t size);
/* Orphans below us become our children.  -1 with errno. */
int proc_subreaper(void);
/* The next restart's delay in ms: 200 doubling to 30,000; an uptime of 10 s
 * forgives.  prev_ms 0: the first.  Pure. */
int64_t proc_backoff(int64_t prev_ms, int64_t uptime_ms);

#endif
