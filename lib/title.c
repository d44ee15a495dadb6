#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "title.h"

#define TITLE_MAX 256

static char *args;     /* their first byte */
static char *args_end; /* the NUL of the last of them */

void
title_init(int argc, char **argv)
{
	if (argc > 0) {
		args = argv[0];
		args_end = argv[argc - 1] + strlen(argv[argc - 1]);
	}
	setproctitle_init(argc, argv, environ);
}

void
title_set(const char *fmt, ...)
{
	char text[TITLE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	setproctitle("%s", text);
	/* The kernel takes what is here for a title, which ends with its NUL,
	 * only if the last byte of the arguments is none. */
	if (args != NULL &&
	    memchr(args, '\0', (size_t)(args_end - args)) != NULL)
		*args_end = ' ';
}
