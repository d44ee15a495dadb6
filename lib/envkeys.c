#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "envkeys.h"
#include "xalloc.h"

static const char *const names[] = { "AWS_ACCESS_KEY_ID",
	"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN", "QO_S3_ACCESS_KEY",
	"QO_S3_SECRET_KEY" };

#define NAMES (sizeof(names) / sizeof(names[0]))

static char *kept[NAMES]; /* NAME=value; NULL: was not there */

/* The value, if that is what the variable is called. */
static char *
value_of(char *var, const char *name)
{
	size_t len = strlen(name);

	return strncmp(var, name, len) == 0 && var[len] == '=' ? var + len + 1
							       : NULL;
}

void
envkeys_take(void)
{
	char *value;
	size_t i, k;

	for (i = 0; environ[i] != NULL; i++)
		for (k = 0; k < NAMES; k++) {
			value = value_of(environ[i], names[k]);
			if (value == NULL)
				continue;
			/* Of two with one name the first counts, as it does
			 * for getenv. */
			if (kept[k] == NULL)
				kept[k] = xstrdup(environ[i]);
			memset(value, 'x', strlen(value));
		}
}

void
envkeys_unset(void)
{
	size_t k;

	for (k = 0; k < NAMES; k++)
		if (kept[k] != NULL)
			unsetenv(names[k]);
}

const char *
envkeys_get(const char *name)
{
	const char *value = NULL;
	size_t k;

	for (k = 0; k < NAMES && value == NULL; k++)
		if (kept[k] != NULL)
			value = value_of(kept[k], name);
	if (value == NULL)
		value = getenv(name);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

char **
envkeys_environ(void)
{
	size_t i, k, n = 0;
	char **env;

	while (environ[n] != NULL)
		n++;
	env = xcalloc(n + NAMES + 1, sizeof(*env));
	for (i = 0; i < n; i++)
		env[i] = environ[i];
	for (k = 0; k < NAMES; k++)
		if (kept[k] != NULL)
			env[i++] = kept[k];
	return env;
}
