/*
 * qo - the command line of the queue.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "io.h"
#include "sig.h"

#define MSG_SIZE 256

static enum exit_code
count_args(const struct cmd *c, const struct opts *o)
{
	struct buf usage;
	enum exit_code code = EXIT_OK;

	buf_init(&usage, 4096);
	help_usage(&usage, c);
	if (o->nargs < c->min_args)
		code = exit_usage("%s is missing: %s",
		    c->args != NULL ? c->args : "an argument", usage.data);
	else if (c->max_args != CMD_ANY && o->nargs > c->max_args)
		code = exit_usage("%s is one argument too many: %s",
		    o->args[c->max_args], usage.data);
	buf_fini(&usage);
	return code;
}

static enum exit_code
run(struct session *s, const struct cmd *c, int argc, char **argv)
{
	static char title[CMD_TITLE_SIZE];
	char msg[MSG_SIZE];
	struct opts o;
	enum exit_code code;

	exit_set_command(cmd_title(c, title, sizeof(title)));
	if (opts_parse(&o, c->opts, argc, argv, false, msg, sizeof(msg)) == -1)
		code = exit_usage("%s (see qo %s -h)", msg, title);
	else if (o.help) {
		help_command(c);
		code = EXIT_OK;
	} else if ((code = count_args(c, &o)) == EXIT_OK)
		code = c->run(s, &o);
	opts_fini(&o);
	return code;
}

static enum exit_code
help(char **words, int n)
{
	const struct cmd *c;
	int used;

	if (n == 0) {
		help_overview();
		return EXIT_OK;
	}
	if (strcmp(words[0], "--mdoc") == 0) {
		help_mdoc();
		return EXIT_OK;
	}
	if ((c = cmd_find(words, n, &used)) == NULL)
		return EXIT_USAGE;
	help_command(c);
	return EXIT_OK;
}

static enum exit_code
dispatch(struct session *s, const struct opts *o)
{
	const struct cmd *c;
	int used;

	if (opts_has(o, "version")) {
		puts("qo " QO_VERSION);
		return EXIT_OK;
	}
	if (opts_has(o, "help"))
		return help(NULL, 0);
	if (o->nargs == 0)
		return exit_usage("which command?  See qo help");
	if (strcmp(o->args[0], "help") == 0)
		return help(o->args + 1, o->nargs - 1);
	if ((c = cmd_find(o->args, o->nargs, &used)) == NULL)
		return EXIT_USAGE;
	return run(s, c, o->nargs - used, o->args + used);
}

/* What was printed has to have arrived; a closed pipe needs no words. */
static enum exit_code
finish(enum exit_code code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno != EPIPE && errno != 0)
		exit_say("standard output: %s", strerror(errno));
	return code == EXIT_OK ? EXIT_FAILED : code;
}

int
main(int argc, char **argv)
{
	struct session s;
	struct opts o;
	char msg[MSG_SIZE];
	enum exit_code code;

	if (io_sanitize_stdio() == -1)
		return EXIT_FAILED;
	sig_init(); /* SIGPIPE ignored */
	memset(&s, 0, sizeof(s));
	if (opts_parse(&o, cmd_global_opts, argc - 1, argv + 1, true, msg,
		sizeof(msg)) == -1) {
		code = exit_usage("%s (see qo help)", msg);
	} else {
		s.config = opts_get(&o, "config");
		s.profile = opts_get(&o, "profile");
		code = dispatch(&s, &o);
	}
	session_fini(&s);
	opts_fini(&o);
	return finish(code);
}
