#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "prom.h"
#include "utf8.h"

void
prom_family(struct buf *b, const char *name, const char *type, const char *help)
{
	buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
add_value(struct buf *b, const char *s)
{
	size_t n;

	for (; *s != '\0'; s += n) {
		n = 1;
		if (*s == '\n')
			buf_adds(b, "\\n");
		else if (*s == '"' || *s == '\\')
			buf_addf(b, "\\%c", *s);
		else if ((n = utf8_char_len((const unsigned char *)s)) > 0)
			buf_add(b, s, n);
		else {
			buf_addf(b, "\\\\x%02x", *(const unsigned char *)s);
			n = 1;
		}
	}
}

static void
add_labels(struct buf *b, va_list ap)
{
	const char *name, *sep = "{";

	while ((name = va_arg(ap, const char *)) != NULL) {
		buf_addf(b, "%s%s=\"", sep, name);
		add_value(b, va_arg(ap, const char *));
		buf_adds(b, "\"");
		sep = ",";
	}
	if (*sep == ',')
		buf_adds(b, "}");
}

void
prom_count(struct buf *b, const char *name, uint64_t value, ...)
{
	va_list ap;

	buf_adds(b, name);
	va_start(ap, value);
	add_labels(b, ap);
	va_end(ap);
	buf_addf(b, " %llu\n", (unsigned long long)value);
}

void
prom_number(struct buf *b, const char *name, double value, ...)
{
	va_list ap;

	buf_adds(b, name);
	va_start(ap, value);
	add_labels(b, ap);
	va_end(ap);
	buf_addf(b, " %.15g\n", value);
}
