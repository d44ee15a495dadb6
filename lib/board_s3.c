#include <assert.h>

#include "board_s3.h"

static_assert(QO_S3_OPS <= BOARD_S3_MAX && QO_S3_OUTCOMES <= BOARD_S3_MAX,
    "the board has no room for all kinds of requests");

void
board_s3_show(struct board_area *a, const struct qo_s3 *s3)
{
	const struct qo_s3_stats *st = qo_s3_stats(s3);
	unsigned i, k;

	for (i = 0; i < QO_S3_OPS; i++) {
		board_set_counter(a, BOARD_S3_OPS + i, st->requests[i]);
		for (k = 0; k < QO_S3_OUTCOMES; k++)
			board_set_counter(a, BOARD_S3_ENDED(i, k),
			    st->outcomes[i][k]);
	}
	board_set_counter(a, BOARD_S3_RETRIES, st->retries);
	board_gauge(a, BOARD_SKEW_MS, qo_s3_skew_ms(s3));
}
