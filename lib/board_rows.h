/*
 * board_rows.h - whose the rows of the scoreboard are that count tasks by
 * handler: one for each section of the configuration, in its order, and the
 * last for tasks that no section serves.
 *
 * So what is counted by type is bounded by what is configured: a type that
 * somebody submits and nobody serves has no name here.
 */
#ifndef BOARD_ROWS_H
#define BOARD_ROWS_H

#include "board.h"
#include "conf.h"

/* How many an area needs. */
size_t board_rows(const struct conf *c);
/* Of an area that was made for as many. */
void board_rows_name(struct board_area *a, const struct conf *c);
/* h NULL: none serves it. */
size_t board_row(const struct conf *c, const struct conf_handler *h);
size_t board_row_of_type(const struct conf *c, const char *task_type);

#endif
