#include "monitor.h"

struct qo_wall
monitor_lo(const struct monitor *m)
{
	struct qo_wall lo;

	return qo_s3_now(m->q->s3, &lo, NULL, NULL) ? lo : QO_WALL_NONE;
}
