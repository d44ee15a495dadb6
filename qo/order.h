/*
 * order.h - what options of a command line say of a task: its type, its
 * input, and how it is run.  For submit and schedule add.
 */
#ifndef ORDER_H
#define ORDER_H

#include "cmd.h"
#include "draft.h"

/* The draft, and what its strings stand in. */
struct order {
	struct qo_draft draft;
	struct buf input, tags;
};

/* The rows of the commands' tables. */
#define ORDER_OPT_TYPE                                                     \
	{                                                                  \
		"type", 't', "TYPE",                                       \
		    "The task's type: 1 to 128 of A-Z a-z 0-9 . _ : / -.", \
		    false                                                  \
	}
#define ORDER_OPT_INPUT                                                    \
	{                                                                  \
		"input", 'i', "JSON|@FILE|-",                              \
		    "The input: JSON, or the file or standard input that " \
		    "holds it.  The default is null.",                     \
		    false                                                  \
	}
#define ORDER_OPT_TIMEOUT                                               \
	{                                                               \
		"timeout", 0, "DURATION",                               \
		    "How long one attempt may run, 1s to 30d in whole " \
		    "seconds.",                                         \
		    false                                               \
	}
#define ORDER_OPT_RETRIES                                                      \
	{                                                                      \
		"retries", 0, "N",                                             \
		    "How often a failed attempt is retried, 0 to 1000.", false \
	}
#define ORDER_OPT_TAG                                                          \
	{                                                                      \
		"tag", 0, "NAME=VALUE", "A tag; may be given more than once.", \
		    true                                                       \
	}
#define ORDER_OPT_PRIORITY                                                  \
	{                                                                   \
		"priority", 0, "high|normal|low",                           \
		    "Which of the tasks that are due are looked at first.", \
		    false                                                   \
	}

void order_init(struct order *order);
void order_fini(struct order *order);
/* Reads type, input, timeout, retries, expires, tag and priority, which the
 * command's table must have.  EXIT_OK, or EXIT_USAGE after the line that
 * names the option. */
enum exit_code order_parse(struct order *order, const struct opts *o);

#endif
