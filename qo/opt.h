/*
 * opt.h - the command line, by table.
 *
 * --name=value, --name value, -x, -xvalue, -x value; -- ends the options;
 * options and operands may come in any order.  What is parsed is borrowed
 * from argv.
 */
#ifndef OPT_H
#define OPT_H

#include <stdbool.h>
#include <stddef.h>

/* A table ends with a row whose name is NULL. */
struct opt {
	const char *name; /* "timeout" */
	char letter;      /* 't', or 0 */
	const char *arg;  /* "DURATION"; NULL: a flag */
	const char *help; /* one sentence */
	bool many;        /* may come more than once */
};

struct opt_value {
	const struct opt *opt;
	const char *value; /* NULL: a flag */
};

struct opts {
	const struct opt *table;
	struct opt_value *values; /* in the order of the command line */
	size_t n;
	char **args; /* operands; ends with NULL */
	int nargs;
	bool help; /* -h or --help, which no table needs to have */
};

/*
 * Reads argv[0] to argv[argc - 1], options of the table and operands.  0, or
 * -1 with a line for the user in msg.  stop_at_operand: the first operand
 * ends the options and is the first of args.
 */
int opts_parse(struct opts *o, const struct opt *table, int argc, char **argv,
    bool stop_at_operand, char *msg, size_t size);
void opts_fini(struct opts *o);

/* By long name, which must be in the table. */
bool opts_has(const struct opts *o, const char *name);
/* The value, the last one when there are many, or NULL. */
const char *opts_get(const struct opts *o, const char *name);
/* The i-th of many from 0, NULL at their end. */
const char *opts_nth(const struct opts *o, const char *name, size_t i);

#endif
