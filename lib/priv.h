/*
 * priv.h - give up privileges.
 *
 * The master keeps its ids; its children run as [qod] user and group.  A
 * worker whose handlers have users of their own keeps a few capabilities
 * through its exec by way of the ambient set, and empties that set first
 * thing, so that no handler inherits them.
 */
#ifndef PRIV_H
#define PRIV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* To start a handler as another user, in a directory of its own, and to end
 * it. */
#define PRIV_CAPS_SWITCH                                                      \
	(UINT64_C(1) << 0 /* CAP_CHOWN */ | UINT64_C(1) << 5 /* CAP_KILL */ | \
	    UINT64_C(1) << 6 /* CAP_SETGID */ |                               \
	    UINT64_C(1) << 7 /* CAP_SETUID */)

/*
 * Between fork and exec, in a process that may share memory with threads:
 * raw system calls only, as libc's setuid would try to change the parent's
 * threads, too.  Each step is checked.  NULL, or the name of the step that
 * failed with errno.  caps are kept, effective, and pass the next exec; all
 * others are dropped (uid 0 has all after the exec, whatever is asked).
 */
const char *priv_become(uid_t uid, gid_t gid, const gid_t *groups,
    size_t ngroups, uint64_t caps);
/* What is exec'ed from now on inherits no capability; ours stay.  -1 with
 * errno. */
int priv_no_ambient(void);
/*
 * Memory has keys in it: no core is written, and nobody but root can read it,
 * trace us, or look into what /proc/PID keeps for our own user (environ, fd,
 * exe).  What we exec is as open as any program.  -1 with errno.
 */
int priv_hide_memory(void);

#endif
