/* cmd.h: the commands as mdoc, for qo(1). */
#include <stdio.h>
#include <string.h>

#include "cmd.h"

#define FILL 70 /* a line is broken at the next blank */

/* Text, each sentence on a new line. */
static void
put_text(const char *s)
{
	size_t col = 0;

	for (; *s != '\0'; s++) {
		if (col++ == 0 && (*s == '.' || *s == '\''))
			fputs("\\&", stdout);
		if (*s == '\\') {
			fputs("\\e", stdout);
		} else if (*s == '\n') {
			fputs(s[1] == '\n' ? "\n.Pp\n" : "\n.br\n", stdout);
			s += s[1] == '\n';
			col = 0;
		} else if (strchr(".?!", *s) != NULL && s[1] == ' ' &&
		    s[2] == ' ') {
			printf("%c\n", *s);
			s += 2;
			col = 0;
		} else if (*s == ' ' && col > FILL) {
			putchar('\n');
			col = 0;
		} else {
			putchar(*s);
		}
	}
	putchar('\n');
}

/* Words as arguments of a macro: none of them is a macro itself. */
static void
put_words(const char *s)
{
	size_t len;

	for (; *s != '\0'; s += len) {
		s += strspn(s, " ");
		len = strcspn(s, " ");
		if (len > 0)
			printf(" \\&%.*s", (int)len, s);
	}
}

static void
put_option(const struct opt *o)
{
	fputs(".It ", stdout);
	if (o->letter != '\0')
		printf("Fl %c , ", o->letter);
	printf("Fl -%s", o->name);
	if (o->arg != NULL) {
		fputs(" Ar", stdout);
		put_words(o->arg);
	}
	putchar('\n');
	put_text(o->help);
}

static void
put_options(const struct opt *o)
{
	puts(".Bl -tag -width Ds");
	for (; o->name != NULL; o++)
		put_option(o);
	puts(".El");
}

static bool
has_options(const struct cmd *c)
{
	return c->opts != NULL && c->opts[0].name != NULL;
}

static void
put_command(const struct cmd *c)
{
	char title[CMD_TITLE_SIZE];

	printf(".It Ic %s", cmd_title(c, title, sizeof(title)));
	if (has_options(c))
		fputs(" Oo Ar option ... Oc", stdout);
	if (c->args != NULL) {
		fputs(" Ar", stdout);
		put_words(c->args);
	}
	putchar('\n');
	printf("%c%s.\n", c->summary[0] - 'a' + 'A', c->summary + 1);
	if (c->help != NULL)
		put_text(c->help);
	if (has_options(c))
		put_options(c->opts);
}

void
help_mdoc(void)
{
	size_t i;

	puts(".Bl -tag -width Ds");
	for (i = 0; cmd_table[i] != NULL; i++)
		put_command(cmd_table[i]);
	puts(".It Ic help Op Ar \\&COMMAND\nShow help for a command.\n.El");
}
