#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "priv.h"

/* The calls that take 32 bit ids, on machines that once had 16. */
#ifdef SYS_setresuid32
#define CALL_SETGROUPS SYS_setgroups32
#define CALL_SETRESGID SYS_setresgid32
#define CALL_SETRESUID SYS_setresuid32
#else
#define CALL_SETGROUPS SYS_setgroups
#define CALL_SETRESGID SYS_setresgid
#define CALL_SETRESUID SYS_setresuid
#endif

static int
set_caps(uint64_t mask)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3,
		0 };
	struct __user_cap_data_struct data[2];
	int i;

	for (i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(mask >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = data[i].permitted;
	}
	/* The ambient set never exceeds these: what is dropped here is gone
	 * from it, too. */
	return (int)syscall(SYS_capset, &head, data);
}

static int
raise_ambient(uint64_t mask)
{
	unsigned long cap;

	for (cap = 0; cap < 64; cap++)
		if ((mask >> cap & 1) != 0 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0UL,
			0UL) == -1)
			return -1;
	return 0;
}

const char *
priv_become(uid_t uid, gid_t gid, const gid_t *groups, size_t ngroups,
    uint64_t caps)
{
	if (syscall(CALL_SETGROUPS, ngroups, groups) == -1)
		return "setgroups";
	if (syscall(CALL_SETRESGID, gid, gid, gid) == -1)
		return "setresgid";
	if (caps != 0 && prctl(PR_SET_KEEPCAPS, 1UL, 0UL, 0UL, 0UL) == -1)
		return "keep capabilities";
	if (syscall(CALL_SETRESUID, uid, uid, uid) == -1)
		return "setresuid";
	if (uid == 0)
		return NULL;
	/* From root the kernel has dropped them; from another user that had
	 * some it has not. */
	if (set_caps(caps) == -1)
		return "capset";
	if (raise_ambient(caps) == -1)
		return "ambient capabilities";
	return NULL;
}

int
priv_no_ambient(void)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL) == 0)
		return 0;
	return errno == EINVAL ? 0 : -1; /* a kernel that has none */
}

int
priv_hide_memory(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) == -1)
		return -1;
	return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
}
