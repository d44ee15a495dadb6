#include "board_rows.h"

size_t
board_rows(const struct conf *c)
{
	return c->nhandlers + 1;
}

void
board_rows_name(struct board_area *a, const struct conf *c)
{
	size_t i;

	for (i = 0; i < c->nhandlers; i++)
		board_handler_name(a, i, c->handlers[i].name,
		    c->handlers[i].type);
	board_handler_name(a, i, BOARD_REST, BOARD_REST);
}

size_t
board_row(const struct conf *c, const struct conf_handler *h)
{
	return h != NULL ? (size_t)(h - c->handlers) : c->nhandlers;
}

size_t
board_row_of_type(const struct conf *c, const char *task_type)
{
	return board_row(c, conf_handler_find(c, task_type));
}
