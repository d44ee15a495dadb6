/*
 * What a handler writes, read as a verdict and as plain output: a value that
 * is taken is in the text it came from, is JSON by the strict reader, and a
 * verdict made of what was read is read the same again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "reply.h"

#define MAX ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_value(const struct qo_json *v, unsigned depth)
{
	const struct qo_json_limits limits = { SIZE_MAX / 2, depth, true };
	struct qo_err err;

	if (v->p != NULL && qo_json_check(v->p, v->len, &limits, &err) == -1)
		abort();
}

/* The same verdict in other words. */
static void
check_again(const struct reply *r)
{
	struct reply again;
	struct qo_err err;
	struct buf b;

	buf_init(&b, 8 * MAX);
	buf_addf(&b, "{\"status\":\"%s\"", reply_name(r->kind));
	if (r->value.p != NULL) {
		buf_adds(&b, ",\"output\":");
		buf_add(&b, r->value.p, r->value.len);
	}
	if (r->text != NULL) {
		buf_adds(&b, ",\"error\":");
		qo_json_add_string(&b, r->text, r->text_len);
	}
	if (r->delay_ms != -1)
		buf_addf(&b, ",\"delay_seconds\":%jd.%03d",
		    (intmax_t)(r->delay_ms / 1000), (int)(r->delay_ms % 1000));
	buf_adds(&b, "}");
	if (reply_parse(&again, b.data, b.len, 8 * MAX, &err) == -1 ||
	    again.kind != r->kind || again.delay_ms != r->delay_ms ||
	    again.value.len != r->value.len || again.text_len != r->text_len ||
	    (r->text_len > 0 && memcmp(again.text, r->text, r->text_len) != 0))
		abort();
	reply_fini(&again);
	buf_fini(&b);
}

static void
check_reply(const char *s, size_t len)
{
	struct reply r;
	struct qo_err err;

	if (reply_parse(&r, s, len, MAX, &err) == -1)
		return;
	if (r.value.p != NULL &&
	    (r.value.p < s || r.value.p + r.value.len > s + len ||
		r.value.len > MAX))
		abort();
	if (r.delay_ms < -1 || r.delay_ms > (int64_t)REPLY_DELAY_MAX_S * 1000)
		abort();
	check_value(&r.value,
	    r.kind == REPLY_PROGRESS ? QO_JSON_DEPTH : QO_JSON_DEPTH_OUTPUT);
	if (r.kind < REPLY_PROGRESS)
		check_again(&r);
	reply_fini(&r);
}

static void
check_output(const char *s, size_t len)
{
	struct qo_json out;
	struct qo_err err;
	struct buf b;

	buf_init(&b, 8 * MAX);
	if (reply_output(s, len, &b, &out, &err) == 0)
		check_value(&out, QO_JSON_DEPTH_OUTPUT);
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s;

	if (size > MAX)
		return 0;
	/* A copy that ends where the text ends, as nothing else may. */
	s = malloc(size + 1);
	if (s == NULL)
		return 0;
	memcpy(s, data, size);
	s[size] = '\0';
	check_reply(s, size);
	check_output(s, size);
	free(s);
	return 0;
}
