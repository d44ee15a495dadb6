#include "board.h"

static const char *const names[BOARD_S3_OPS] = {
	[BOARD_CLAIMED] = "claimed",
	[BOARD_CLAIM_CONFLICTS] = "claim_conflicts",
	[BOARD_COMPLETED] = "completed",
	[BOARD_FAILED] = "failed",
	[BOARD_RETRIED] = "retried",
	[BOARD_RESCHEDULED] = "rescheduled",
	[BOARD_REQUEUED] = "requeued",
	[BOARD_CANCELLED] = "cancelled",
	[BOARD_EXPIRED] = "expired",
	[BOARD_LOST] = "lost",
	[BOARD_RENEWED] = "renewed",
	[BOARD_RECLAIMED] = "reclaimed",
	[BOARD_RECOVERED] = "recovered",
	[BOARD_ORPHANS] = "orphans",
	[BOARD_INDEX_REPAIRS] = "index_repairs",
	[BOARD_RETIRED] = "retired",
	[BOARD_SCHEDULED] = "scheduled",
	[BOARD_S3_RETRIES] = "s3_retries",
};

const char *
board_counter_name(unsigned counter)
{
	return counter < BOARD_S3_OPS ? names[counter] : NULL;
}
