/*
 * cmd.h - the table of commands.
 *
 * A command is a file qo/cmd_NAME.c that defines cmd_NAME, and a line in the
 * table in cmd.c.  Help, completion and the manual page's lists of options
 * come from the table.
 */
#ifndef CMD_H
#define CMD_H

#include "exit.h"
#include "opt.h"
#include "out.h"
#include "session.h"

#define CMD_ANY (-1) /* no upper limit of operands */

struct cmd {
	const char *name;
	const char *sub; /* "show" of `config show`, or NULL */
	/* Options have been parsed, operands counted. */
	enum exit_code (*run)(struct session *s, const struct opts *o);
	const struct opt *opts; /* without --help; NULL: none */
	const char *args;       /* "ID..." for the usage line, or NULL */
	int min_args, max_args;
	const char *summary; /* "submit tasks", for the list of commands */
	const char *help;    /* more, in paragraphs; or NULL */
	/* What operands can be, for completion; ends with NULL, or NULL. */
	const char *const *words;
};

extern const struct cmd *const cmd_table[]; /* ends with NULL */

/* The command of these words, and how many of them name it.  NULL: there is
 * none; the line has been printed. */
const struct cmd *cmd_find(char **words, int n, int *used);
/* "config show" */
const char *cmd_title(const struct cmd *c, char *out, size_t size);
#define CMD_TITLE_SIZE 64

/* The options in front of the command. */
extern const struct opt cmd_global_opts[];

/* For commands with --json, or --json and --jsonl: the rows of their option
 * tables, and what was asked for. */
#define CMD_OPT_JSON                                               \
	{                                                          \
		"json", 0, NULL, "Print one JSON document.", false \
	}
#define CMD_OPT_JSONL                                                        \
	{                                                                    \
		"jsonl", 0, NULL, "Print one line of JSON for each record.", \
		    false                                                    \
	}
#define CMD_OPT_END                        \
	{                                  \
		NULL, 0, NULL, NULL, false \
	}
/* EXIT_USAGE when both are given. */
enum exit_code cmd_format(const struct opts *o, enum out_format *format);

/* help.c, mdoc.c */
void help_overview(void);
/* The list of commands in qo(1), for the build: `qo help --mdoc`. */
void help_mdoc(void);
void help_command(const struct cmd *c);
/* One line: usage: qo submit --type TYPE [option ...] */
void help_usage(struct buf *b, const struct cmd *c);

#endif
