#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "title.h"

#define TITLE_MAX 256

static int room; /* that the arguments took */

void
title_init(int argc, char **argv)
{
	const char *last;

	if (argc > 0) {
		last = argv[argc - 1];
		last += strlen(last);
		room = last - argv[0] < TITLE_MAX ? (int)(last - argv[0]) : 0;
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
	/* Behind a title that is shorter than the arguments were, ps would
	 * show a mark that libbsd leaves for the kernel. */
	setproctitle("%-*s", room, text);
}
