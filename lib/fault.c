#include "fault.h"

#ifdef QO_FAULTS
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static long left = -1; /* points to go; 0: none; -1: not asked for yet */

void
fault_arm(long n)
{
	left = n;
}

void
fault_point(void)
{
	const char *n;

	if (left == -1) {
		n = getenv("QO_KILL_AT");
		left = n != NULL ? strtol(n, NULL, 10) : 0;
	}
	if (left <= 0 || --left > 0)
		return;
	raise(SIGKILL);
	for (;;)
		pause();
}
#endif
