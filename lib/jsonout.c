#include <string.h>

#include "jsonout.h"
#include "rfc3339.h"

static void
add_name(struct buf *b, const char *name)
{
	if (b->len > 0 && strchr("{[:", b->data[b->len - 1]) == NULL)
		buf_addc(b, ',');
	if (name == NULL)
		return;
	qo_json_add_string(b, name, strlen(name));
	buf_addc(b, ':');
}

void
out_json_open(struct buf *b, const char *name, char bracket)
{
	add_name(b, name);
	buf_addc(b, bracket);
}

void
out_json_close(struct buf *b, char bracket)
{
	buf_addc(b, bracket);
}

void
out_json_str(struct buf *b, const char *name, const char *value)
{
	add_name(b, name);
	if (value == NULL)
		buf_adds(b, "null");
	else
		qo_json_add_string(b, value, strlen(value));
}

void
out_json_int(struct buf *b, const char *name, int64_t value)
{
	add_name(b, name);
	qo_json_add_int(b, value);
}

void
out_json_double(struct buf *b, const char *name, double value)
{
	add_name(b, name);
	qo_json_add_double(b, value);
}

void
out_json_bool(struct buf *b, const char *name, bool value)
{
	add_name(b, name);
	buf_adds(b, value ? "true" : "false");
}

void
out_json_time(struct buf *b, const char *name, struct qo_wall value)
{
	char text[QO_RFC3339_SIZE];

	if (qo_wall_is_set(value))
		qo_rfc3339_print(value, text);
	out_json_str(b, name, qo_wall_is_set(value) ? text : NULL);
}

void
out_json_raw(struct buf *b, const char *name, const struct qo_json *value)
{
	add_name(b, name);
	if (value->p == NULL)
		buf_adds(b, "null");
	else
		buf_add(b, value->p, value->len);
}
