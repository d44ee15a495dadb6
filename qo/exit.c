#include <stdarg.h>
#include <stdio.h>

#include "exit.h"
#include "out.h"

static const char *command;

void
exit_set_command(const char *name)
{
	command = name;
}

static void __attribute__((format(printf, 1, 0)))
say(const char *fmt, va_list ap)
{
	struct buf text, line;

	buf_init(&text, 4096);
	buf_init(&line, 32768);
	buf_vaddf(&text, fmt, ap);
	buf_adds(&line, "qo");
	if (command != NULL)
		buf_addf(&line, " %s", command);
	buf_adds(&line, ": ");
	out_escape(&line, text.data, text.len);
	fflush(stdout);
	fprintf(stderr, "%s\n", line.data);
	buf_fini(&text);
	buf_fini(&line);
}

void
exit_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

enum exit_code
exit_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

enum exit_code
exit_code_of(enum qo_rc rc)
{
	switch (rc) {
	case QO_OK:
		return EXIT_OK;
	case QO_AGAIN:
		return EXIT_UNREACHABLE;
	case QO_LOST:
		return EXIT_CONFLICT;
	case QO_NOENT:
		return EXIT_NOENT;
	case QO_DENIED:
		return EXIT_DENIED;
	case QO_ERR:
		break;
	}
	return EXIT_FAILED;
}

enum exit_code
exit_fail(enum qo_rc rc, const struct qo_err *err)
{
	if (rc != QO_OK)
		exit_say("%s", err->msg);
	return exit_code_of(rc);
}
