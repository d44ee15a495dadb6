#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "doctor.h"
#include "xalloc.h"

/* Says nothing of what passed: that is qo doctor's. */
static enum exit_code
probe(struct session *s)
{
	struct qo_probe *p = xcalloc(1, sizeof(*p));
	enum exit_code code;

	code = doctor_probe(s, p);
	if (code == EXIT_OK) {
		switch (qo_probe_verdict(p)) {
		case QO_PROBE_PASS:
			out_line("the store does what the queue needs");
			break;
		case QO_PROBE_WARN:
			doctor_print(p);
			break;
		case QO_PROBE_FAIL:
			doctor_print(p);
			exit_say("this store must not be used for a queue");
			code = EXIT_FAILED;
			break;
		}
	}
	free(p);
	return code;
}

static enum exit_code
run(struct session *s, const struct opts *o)
{
	const char *text = opts_get(o, "shard-width");
	struct qo_init init;
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;
	int width = 0;

	if (text != NULL && strcmp(text, "1") != 0 && strcmp(text, "2") != 0)
		return exit_usage("--shard-width: 1 or 2, not %s", text);
	if (text != NULL)
		width = text[0] - '0';
	if ((code = session_store(s)) != EXIT_OK)
		return code;
	doctor_init(s, &init);
	init.shard_width = width;
	rc = qo_init_queue(&init, &err);
	if (rc != QO_OK)
		return session_fail(s, rc, &err);
	return probe(s);
}

static const struct opt opts[] = {
	{ "shard-width", 0, "1|2",
	    "How many digits of a task's id name its shard: 16 shards or 256.  "
	    "Fixed for ever.  Default: 1.",
	    false },
	CMD_OPT_END,
};

const struct cmd cmd_init = {
	.name = "init",
	.run = run,
	.opts = opts,
	.summary = "make the buckets and the queue in them",
	.help = "Makes what is missing and leaves alone what is there: it can "
		"be run at any time, also twice.  How long old versions of "
		"tasks are kept is for a lifecycle rule of the bucket to say, "
		"which it does not make: see qo-layout(7).",
};
