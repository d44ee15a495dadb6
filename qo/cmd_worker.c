/* worker: becomes a qo-worker with the same configuration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "conflist.h"
#include "layout.h"
#include "sig.h"
#include "xalloc.h"

#define PROGRAM "qo-worker"

/* dir/qo-worker when it can be run, which the caller frees, or NULL. */
static char *
program_in(const char *dir)
{
	char *path;

	path = xasprintf("%s/" PROGRAM, dir);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static char *
program_beside_us(void)
{
	char self[4096], *slash;
	ssize_t n;

	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return NULL;
	self[n] = '\0';
	if ((slash = strrchr(self, '/')) == NULL)
		return NULL;
	*slash = '\0';
	return program_in(self);
}

/* As qod looks for it. */
static char *
find_program(const struct conf *c)
{
	char *path;

	if (c->qod.libexec != NULL) {
		if ((path = program_in(c->qod.libexec)) == NULL)
			exit_say("[qod] libexec: no program " PROGRAM " in %s",
			    c->qod.libexec);
		return path;
	}
	if ((path = program_beside_us()) == NULL)
		path = program_in(QO_LIBEXECDIR);
	if (path == NULL)
		exit_say("no program " PROGRAM " beside qo or in " QO_LIBEXECDIR
			 ": name its directory with [qod] libexec");
	return path;
}

static enum exit_code
check_options(const char *id, const char *shards)
{
	struct conflist_set set;
	struct qo_err err;

	if (id != NULL && !qo_name_valid(id, strlen(id)))
		return exit_usage("--id: %s is not a name: 1 to %d letters, "
				  "digits, '.', '_' and '-'",
		    id, QO_NAME_MAX);
	if (shards != NULL && conflist_shards(shards, &set, &err) == -1)
		return exit_usage("--shards: %s", err.msg);
	return EXIT_OK;
}

static void
add(char **argv, int *argc, const char *option, const char *value)
{
	if (value == NULL)
		return;
	argv[(*argc)++] = (char *)(uintptr_t)option;
	argv[(*argc)++] = (char *)(uintptr_t)value;
}

static enum exit_code
run_worker(struct session *s, const struct opts *o)
{
	const char *id = opts_get(o, "id"), *shards = opts_get(o, "shards");
	char *argv[8] = { (char *)(uintptr_t)PROGRAM }, *path;
	enum exit_code code;
	int argc = 1;

	if ((code = check_options(id, shards)) != EXIT_OK ||
	    (code = session_conf_no_keys(s)) != EXIT_OK)
		return code;
	if ((path = find_program(s->conf)) == NULL)
		return EXIT_FAILED;
	if (s->profile != NULL && setenv("QO_S3_PROFILE", s->profile, 1) == -1)
		return EXIT_FAILED;
	add(argv, &argc, "-f", s->path);
	add(argv, &argc, "--id", id);
	add(argv, &argc, "--shards", shards);
	sig_reset();
	execv(path, argv);
	exit_say("%s: %s", path, strerror(errno));
	free(path);
	return EXIT_FAILED;
}

static const struct opt worker_opts[] = {
	{ "id", 0, "NAME", "The name of this worker.", false },
	{ "shards", 0, "LIST", "Serve these shards alone, like 0-7,a.", false },
	CMD_OPT_END,
};

const struct cmd cmd_worker = {
	.name = "worker",
	.run = run_worker,
	.opts = worker_opts,
	.summary = "run one worker in the foreground",
	.help = "Becomes qo-worker, see qo-worker(8), with the configuration "
		"that qo itself has; no qod is needed.  Interrupt it to have "
		"it finish what it runs and end, twice to have it end at once.",
};
