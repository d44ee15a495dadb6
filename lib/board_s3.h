/*
 * board_s3.h - what a process has asked of the store, on its scoreboard.
 */
#ifndef BOARD_S3_H
#define BOARD_S3_H

#include "board.h"
#include "s3.h"

/* All that s3 has counted so far, and how far the clocks are apart. */
void board_s3_show(struct board_area *a, const struct qo_s3 *s3);

#endif
