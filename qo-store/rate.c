#include "rate.h"

#define NS_PER_S INT64_C(1000000000)

bool
rate_take(struct rate *r, struct qo_mono now)
{
	int64_t now_ns = now.us * 1000, full = r->full_ns, each;

	if (r->per_s == 0)
		return true;
	each = NS_PER_S / r->per_s;
	if (full < now_ns)
		full = now_ns;
	if (full + each > now_ns + each * r->per_s)
		return false;
	r->full_ns = full + each;
	return true;
}
