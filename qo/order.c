#include <string.h>
#include <unistd.h>

#include "confval.h"
#include "io.h"
#include "order.h"
#include "tags.h"

void
order_init(struct order *order)
{
	qo_draft_init(&order->draft);
	buf_init(&order->input, QO_INPUT_MAX);
	buf_init(&order->tags, 65536);
}

void
order_fini(struct order *order)
{
	buf_fini(&order->input);
	buf_fini(&order->tags);
	qo_draft_fini(&order->draft);
}

static int
read_raw(const char *arg, struct buf *raw, struct qo_err *err)
{
	if (strcmp(arg, "-") == 0) {
		if (io_read_all(STDIN_FILENO, raw) == 0)
			return 0;
		if (raw->failed)
			qo_err_set(err, "more than 64MiB");
		else
			qo_err_set(err, "standard input can not be read");
		return -1;
	}
	if (arg[0] == '@')
		return io_read_file(arg + 1, raw, err);
	if (buf_adds(raw, arg) == 0)
		return 0;
	qo_err_set(err, "more than 64MiB");
	return -1;
}

static int
parse_input(struct order *order, const char *arg, struct qo_err *err)
{
	static const struct qo_json_limits limits = { QO_INPUT_MAX,
		QO_JSON_DEPTH, true };
	struct buf raw;
	int rv = -1;

	buf_init(&raw, QO_INPUT_MAX);
	if (read_raw(arg, &raw, err) == 0 &&
	    qo_json_compact(raw.data, raw.len, &limits, &order->input, err) ==
		0)
		rv = 0;
	buf_fini(&raw);
	order->draft.input = (struct qo_json){ order->input.data,
		order->input.len };
	return rv;
}

static int
parse_tags(struct order *order, const struct opts *o, struct qo_err *err)
{
	const char *texts[QO_TAGS_MAX + 1];
	size_t n;

	for (n = 0; n <= QO_TAGS_MAX; n++)
		if ((texts[n] = opts_nth(o, "tag", n)) == NULL)
			break;
	if (n == 0)
		return 0;
	if (qo_tags_build(&order->tags, texts, n, err) == -1)
		return -1;
	order->draft.tags = (struct qo_json){ order->tags.data,
		order->tags.len };
	return 0;
}

enum exit_code
order_parse(struct order *order, const struct opts *o)
{
	struct qo_draft *d = &order->draft;
	struct qo_err err = { 0 };
	const char *v, *bad = NULL;

	d->type = opts_get(o, "type");
	if ((v = opts_get(o, "timeout")) != NULL &&
	    qo_draft_timeout(v, &d->timeout_ms, &err) == -1)
		bad = "timeout";
	else if ((v = opts_get(o, "retries")) != NULL &&
	    confval_int(v, 0, QO_RETRIES_MAX, &d->retries, &err) == -1)
		bad = "retries";
	else if ((v = opts_get(o, "expires")) != NULL &&
	    qo_draft_delay(v, &d->expires_ms, &err) == -1)
		bad = "expires";
	else if ((v = opts_get(o, "priority")) != NULL &&
	    qo_draft_priority(v, &d->priority, &err) == -1)
		bad = "priority";
	else if (parse_tags(order, o, &err) == -1)
		bad = "tag";
	else if ((v = opts_get(o, "input")) != NULL &&
	    parse_input(order, v, &err) == -1)
		bad = "input";
	return bad == NULL ? EXIT_OK : exit_usage("--%s: %s", bad, err.msg);
}
