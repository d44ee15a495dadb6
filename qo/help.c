#include <stdio.h>
#include <string.h>

#include "cmd.h"

#define LINE_MAX_COLS 78

/* The words of text, broken into lines; at is where the cursor stands. */
static void
put_wrapped(const char *text, size_t left, size_t at)
{
	size_t len;

	for (; *text != '\0'; text += len) {
		text += strspn(text, " ");
		len = strcspn(text, " \n");
		if (at > left && at + 1 + len > LINE_MAX_COLS) {
			printf("\n%*s", (int)left, "");
			at = left;
		} else if (at > left) {
			putchar(' ');
			at++;
		}
		fwrite(text, 1, len, stdout);
		at += len;
		if (text[len] == '\n') { /* a line of its own */
			printf("\n%*s", text[len + 1] != '\n' ? (int)left : 0,
			    "");
			at = left;
			len++;
		}
	}
	putchar('\n');
}

static size_t
put_option(const struct opt *opt)
{
	int n = 0;

	n += printf("  ");
	if (opt->letter != '\0')
		n += printf("-%c, ", opt->letter);
	n += printf("--%s", opt->name);
	if (opt->arg != NULL)
		n += printf(" %s", opt->arg);
	return (size_t)n;
}

static void
put_options(const struct opt *opt)
{
	const size_t left = 26;
	size_t at;

	for (; opt != NULL && opt->name != NULL; opt++) {
		at = put_option(opt);
		if (at + 2 > left)
			printf("\n%*s", (int)left, "");
		else
			printf("%*s", (int)(left - at), "");
		put_wrapped(opt->help, left, left);
	}
}

void
help_usage(struct buf *b, const struct cmd *c)
{
	char title[CMD_TITLE_SIZE];

	buf_addf(b, "usage: qo %s", cmd_title(c, title, sizeof(title)));
	if (c->opts != NULL && c->opts[0].name != NULL)
		buf_adds(b, " [option ...]");
	if (c->args != NULL)
		buf_addf(b, " %s", c->args);
}

void
help_overview(void)
{
	char title[CMD_TITLE_SIZE];
	size_t i;

	puts("usage: qo [-c file] [--profile name] command [argument ...]\n\n"
	     "A durable task queue in an S3 bucket.  The commands are:\n");
	for (i = 0; cmd_table[i] != NULL; i++)
		printf("  %-18s%s\n",
		    cmd_title(cmd_table[i], title, sizeof(title)),
		    cmd_table[i]->summary);
	puts("  help              show help for a command\n\n"
	     "The options in front of the command are:\n");
	put_options(cmd_global_opts);
	puts("\n`qo COMMAND -h' shows the options of a command.  More is in "
	     "qo(1).");
}

void
help_command(const struct cmd *c)
{
	struct buf b;

	buf_init(&b, 4096);
	help_usage(&b, c);
	puts(b.data);
	buf_fini(&b);
	printf("\n%c%s.\n", c->summary[0] - 'a' + 'A', c->summary + 1);
	if (c->opts != NULL && c->opts[0].name != NULL) {
		putchar('\n');
		put_options(c->opts);
	}
	if (c->help != NULL) {
		putchar('\n');
		put_wrapped(c->help, 0, 0);
	}
}
