#include <time.h>

#include "clock.h"
#include "log.h"

static int64_t
read_clock(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) == -1)
		fatal("clock_gettime");
	return (int64_t)ts.tv_sec * QO_US_PER_SEC + ts.tv_nsec / 1000;
}

struct qo_mono
qo_mono_now(void)
{
	return (struct qo_mono){ read_clock(CLOCK_BOOTTIME) };
}

struct qo_wall
qo_wall_local(void)
{
	return (struct qo_wall){ read_clock(CLOCK_REALTIME) };
}
