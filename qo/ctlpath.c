#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctlpath.h"
#include "ini.h"
#include "xalloc.h"

#define VARIABLE "QO_QOD_CONTROL"

static char *found;

static enum ini_verdict
on_item(void *arg, const struct ini_item *item)
{
	bool *unread = arg;

	if (item->kind == INI_ERROR && item->line == 0)
		*unread = true;
	if (item->kind != INI_KEY || strcmp(item->type, "qod") != 0 ||
	    strcmp(item->key, "control") != 0)
		return INI_GO;
	free(found);
	found = xstrdup(item->value);
	return INI_GO;
}

/* Of a file with mistakes: the key, wherever it stands. */
static enum exit_code
look_for_key(struct session *s)
{
	struct conf *defaults;
	const char *env = getenv(VARIABLE);
	bool unread = false;

	if (env != NULL) {
		found = xstrdup(env);
		return EXIT_OK;
	}
	if (s->path != NULL)
		(void)ini_load(s->path, INI_INCLUDE, on_item, &unread);
	if (unread && found == NULL)
		return session_conf_no_keys(s); /* which says why */
	if (found == NULL && (defaults = conf_load(NULL, NULL)) != NULL) {
		found = xstrdup(defaults->qod.control);
		conf_free(defaults);
	}
	return EXIT_OK;
}

enum exit_code
ctlpath_find(struct session *s, const char **path)
{
	struct conf_opts opts = { .how = CONF_NO_KEYS, .env = environ };
	enum exit_code code;
	struct conf *c;

	free(found);
	found = NULL;
	c = conf_load(session_path(s), &opts);
	code = EXIT_OK;
	if (c != NULL)
		found = xstrdup_null(c->qod.control);
	else
		code = look_for_key(s);
	conf_free(c);
	*path = found;
	if (code != EXIT_OK || (found != NULL && found[0] != '\0'))
		return code;
	exit_say("there is no control socket: [qod] control is empty");
	return EXIT_UNREACHABLE;
}
