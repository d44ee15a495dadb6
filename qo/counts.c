#include <string.h>

#include "counts.h"

static void
count_ready(struct counts *c, const struct qo_scan_name *n, struct qo_wall now)
{
	size_t p = (size_t)n->entry.index;
	struct qo_wall since = { n->entry.minute * 60 * QO_US_PER_SEC };

	if (n->entry.minute > qo_minute(now)) {
		c->delayed[p]++;
		return;
	}
	c->ready[p]++;
	/* It can not have been ready before it was there. */
	if (n->modified.us > since.us)
		since = n->modified;
	if (!qo_wall_is_set(c->oldest[p]) || since.us < c->oldest[p].us)
		c->oldest[p] = since;
}

static void
count(struct counts *c, const struct qo_scan_name *n, struct qo_wall now)
{
	switch (n->entry.index) {
	case QO_INDEX_READY_HIGH:
	case QO_INDEX_READY:
	case QO_INDEX_READY_LOW:
		count_ready(c, n, now);
		break;
	case QO_INDEX_LEASES:
		c->running++;
		if (n->entry.minute < qo_minute(now))
			c->overdue++;
		break;
	case QO_INDEX_FAILED:
		c->failed++;
		break;
	}
}

void
counts_of(struct counts *c, const struct qo_scan *scan, struct qo_wall now)
{
	size_t i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < COUNTS_PRIORITIES; i++)
		c->oldest[i] = QO_WALL_NONE;
	for (i = 0; i < scan->nnames; i++)
		count(c, &scan->names[i], now);
}

size_t
counts_sum(const size_t *n)
{
	return n[0] + n[1] + n[2];
}

int64_t
counts_age_ms(struct qo_wall since, struct qo_wall now)
{
	return now.us > since.us ? (now.us - since.us) / QO_US_PER_MS : 0;
}

int64_t
counts_oldest_ms(const struct counts *c, struct qo_wall now)
{
	int64_t age, max = -1;
	size_t p;

	for (p = 0; p < COUNTS_PRIORITIES; p++) {
		if (!qo_wall_is_set(c->oldest[p]))
			continue;
		age = counts_age_ms(c->oldest[p], now);
		max = age > max ? age : max;
	}
	return max;
}
