/*
 * Tasks, entries and plain JSON: decode -> encode -> decode gives the same
 * text again, a key that parses is made again as it was, compacting twice
 * changes nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "layout.h"
#include "task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
encode(struct qo_task *t, struct buf *b)
{
	struct qo_err err;

	buf_init(b, 2 * QO_TASK_LEN_MAX);
	if (qo_task_encode(t, b, &err) == -1)
		abort();
}

static void
check_task(const char *s, size_t len)
{
	struct qo_err err;
	struct qo_task t, back;
	struct buf a, b;

	if (qo_task_decode(&t, NULL, s, len, &err) == -1)
		return;
	if (qo_task_read_only(&t)) {
		qo_task_fini(&t);
		return;
	}
	encode(&t, &a);
	if (qo_task_decode(&back, t.id, a.data, a.len, &err) == -1)
		abort();
	encode(&back, &b);
	if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0 ||
	    t.status != back.status || t.rev != back.rev ||
	    t.nerrors != back.nerrors || t.rec.nunknown != back.rec.nunknown ||
	    t.available_at.us != back.available_at.us)
		abort();
	qo_task_fini(&t);
	qo_task_fini(&back);
	buf_fini(&a);
	buf_fini(&b);
}

static void
check_json(const char *s, size_t len)
{
	const struct qo_json_limits limits = { 1 << 20, QO_JSON_DEPTH, true };
	struct qo_err err;
	struct buf a, b;

	buf_init(&a, 1 << 20);
	buf_init(&b, 1 << 20);
	if (qo_json_compact(s, len, &limits, &a, &err) == 0) {
		if (qo_json_compact(a.data, a.len, &limits, &b, &err) == -1 ||
		    a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
			abort();
	}
	/* As a string it is always valid. */
	buf_reset(&a);
	if (len < 4096) {
		qo_json_add_string(&a, s, len);
		if (qo_json_check(a.data, a.len, &limits, &err) == -1)
			abort();
	}
	buf_fini(&a);
	buf_fini(&b);
}

static void
check_entry(const char *s, size_t len)
{
	const struct qo_layout l = { "", 1 };
	char key[QO_KEY_SIZE];
	struct qo_entry e;

	if (qo_entry_parse(&l, s, len, &e) == -1)
		return;
	if (qo_key_entry(&l, &e, key) == -1 || strlen(key) != len ||
	    memcmp(key, s, len) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data;

	check_task(s, size);
	check_json(s, size);
	check_entry(s, size);
	return 0;
}
