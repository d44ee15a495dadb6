#include <stdio.h>
#include <string.h>

#include "cmd.h"

/* For single quotes of a shell, with what zsh takes for its own escaped. */
static void
put_quoted(const char *s, bool zsh)
{
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			fputs("'\\''", stdout);
		else if (zsh && strchr("[]:\\", *s) != NULL)
			printf("\\%c", *s);
		else
			putchar(*s == '\n' ? ' ' : *s);
	}
}

/* Only the first of several commands with this name? */
static bool
is_first(size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (strcmp(cmd_table[k]->name, cmd_table[i]->name) == 0)
			return false;
	return true;
}

static void
put_names(void)
{
	size_t i;

	for (i = 0; cmd_table[i] != NULL; i++)
		if (is_first(i))
			printf("%s ", cmd_table[i]->name);
	fputs("help", stdout);
}

static void
put_words(const struct cmd *c)
{
	const struct opt *o;
	size_t i;

	for (i = 0; c->words != NULL && c->words[i] != NULL; i++)
		printf("%s ", c->words[i]);
	for (o = c->opts; o != NULL && o->name != NULL; o++)
		printf("--%s ", o->name);
	fputs("--help", stdout);
}

static void
put_subs(const char *name)
{
	size_t i;

	for (i = 0; cmd_table[i] != NULL; i++)
		if (strcmp(cmd_table[i]->name, name) == 0 &&
		    cmd_table[i]->sub != NULL)
			printf("%s ", cmd_table[i]->sub);
}

/* bash: words by the command, files where no word fits. */
static void
print_bash(void)
{
	char title[CMD_TITLE_SIZE];
	size_t i;

	puts("# bash completion of qo: source <(qo completion bash)\n"
	     "_qo() {\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} cmd='' sub='' words i\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\tcase ${COMP_WORDS[i]} in\n"
	     "\t\t-c|--config|--profile) [ -n \"$cmd\" ] || ((i++)) ;;\n"
	     "\t\t-*) ;;\n"
	     "\t\t*) if [ -z \"$cmd\" ]; then cmd=${COMP_WORDS[i]}\n"
	     "\t\t\telif [ -z \"$sub\" ]; then sub=${COMP_WORDS[i]}; fi ;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "\tcase \"$cmd $sub\" in");
	fputs("\t' '|'help '*) words='", stdout);
	put_names();
	puts(" --config --profile --help --version' ;;");
	for (i = 0; cmd_table[i] != NULL; i++) {
		if (cmd_table[i]->sub != NULL && is_first(i)) {
			printf("\t'%s ') words='", cmd_table[i]->name);
			put_subs(cmd_table[i]->name);
			puts("--help' ;;");
		}
		printf("\t'%s%s'*) words='",
		    cmd_title(cmd_table[i], title, sizeof(title)),
		    cmd_table[i]->sub == NULL ? " " : "");
		put_words(cmd_table[i]);
		puts("' ;;");
	}
	puts("\t*) words='' ;;\n"
	     "\tesac\n"
	     "\tCOMPREPLY=()\n"
	     "\twhile IFS= read -r i; do COMPREPLY+=(\"$i\"); done < <(\n"
	     "\t\tcompgen -W \"$words\" -- \"$cur\")\n"
	     "}\n"
	     "complete -o default -F _qo qo");
}

static void
put_zsh_options(const struct opt *o)
{
	for (; o != NULL && o->name != NULL; o++) {
		printf(" \\\n\t\t\t'%s--%s%s[", o->many ? "*" : "", o->name,
		    o->arg != NULL ? "=" : "");
		put_quoted(o->help, true);
		putchar(']');
		if (o->arg != NULL) {
			putchar(':');
			put_quoted(o->arg, true);
			fputs(":_files", stdout);
		}
		putchar('\'');
	}
}

static void
put_zsh_case(const struct cmd *c)
{
	size_t i;

	printf("\t\t%s)\n\t\t\t_arguments", c->name);
	put_zsh_options(c->opts);
	if (c->words != NULL || c->sub != NULL) {
		fputs(" \\\n\t\t\t'*:argument:(", stdout);
		if (c->sub != NULL)
			put_subs(c->name);
		for (i = 0; c->words != NULL && c->words[i] != NULL; i++)
			printf("%s ", c->words[i]);
		puts(")' ;;");
	} else {
		puts(" \\\n\t\t\t'*:argument:_files' ;;");
	}
}

static void
print_zsh(void)
{
	size_t i;

	puts("#compdef qo\n"
	     "# zsh completion of qo: source <(qo completion zsh)\n"
	     "_qo() {\n"
	     "\tlocal state\n"
	     "\tlocal -a commands\n"
	     "\tcommands=(");
	for (i = 0; cmd_table[i] != NULL; i++) {
		if (!is_first(i))
			continue;
		printf("\t\t'%s:", cmd_table[i]->name);
		put_quoted(cmd_table[i]->summary, true);
		puts("'");
	}
	puts(
	    "\t)\n"
	    "\t_arguments -C \\\n"
	    "\t\t'(-c --config)'{-c,--config}'[configuration]:file:_files' \\\n"
	    "\t\t'--profile[AWS profile]:name:' \\\n"
	    "\t\t'1:command:->command' '*::argument:->argument'\n"
	    "\tcase $state in\n"
	    "\tcommand) _describe command commands ;;\n"
	    "\targument)\n"
	    "\t\tcase $words[1] in");
	for (i = 0; cmd_table[i] != NULL; i++)
		if (is_first(i))
			put_zsh_case(cmd_table[i]);
	puts("\t\tesac ;;\n"
	     "\tesac\n"
	     "}\n"
	     "if [ \"$funcstack[1]\" = _qo ]; then _qo \"$@\"; else compdef "
	     "_qo qo; fi");
}

static void
put_fish_options(const struct cmd *c)
{
	const struct opt *o;

	for (o = c->opts; o != NULL && o->name != NULL; o++) {
		printf("complete -c qo -n '__fish_seen_subcommand_from %s' "
		       "-l %s",
		    c->name, o->name);
		if (o->letter != '\0')
			printf(" -s %c", o->letter);
		printf("%s -d '", o->arg != NULL ? " -r" : "");
		/* fish knows \' inside of quotes, and not '\''. */
		for (const char *p = o->help; *p != '\0'; p++)
			printf(strchr("'\\", *p) != NULL ? "\\%c" : "%c", *p);
		puts("'");
	}
}

static void
print_fish(void)
{
	const struct cmd *c;
	size_t i, k;

	puts("# fish completion of qo: qo completion fish | source\n"
	     "complete -c qo -n __fish_use_subcommand -s c -l config -r "
	     "-d 'configuration'\n"
	     "complete -c qo -n __fish_use_subcommand -l profile -x "
	     "-d 'AWS profile'");
	for (i = 0; (c = cmd_table[i]) != NULL; i++) {
		if (is_first(i))
			printf("complete -c qo -f -n __fish_use_subcommand "
			       "-a %s -d '%s'\n",
			    c->name, c->summary);
		if (c->sub != NULL)
			printf("complete -c qo -f -n "
			       "'__fish_seen_subcommand_from %s' -a %s "
			       "-d '%s'\n",
			    c->name, c->sub, c->summary);
		for (k = 0; c->words != NULL && c->words[k] != NULL; k++)
			printf("complete -c qo -f -n "
			       "'__fish_seen_subcommand_from %s' -a %s\n",
			    c->name, c->words[k]);
		put_fish_options(c);
	}
}

static const char *const shells[] = { "bash", "zsh", "fish", NULL };
static void (*const printers[])(void) = { print_bash, print_zsh, print_fish };

static enum exit_code
run(struct session *s, const struct opts *o)
{
	size_t i;

	(void)s;
	for (i = 0; shells[i] != NULL; i++)
		if (strcmp(o->args[0], shells[i]) == 0) {
			printers[i]();
			return EXIT_OK;
		}
	return exit_usage("%s: bash, zsh or fish", o->args[0]);
}

const struct cmd cmd_completion = {
	.name = "completion",
	.run = run,
	.args = "bash|zsh|fish",
	.min_args = 1,
	.max_args = 1,
	.summary = "print a completion script for a shell",
	.help = "For bash: source <(qo completion bash)",
	.words = shells,
};
