#include "cmd.h"
#include "task.h"

static const struct opt opts[] = { CMD_OPT_JSON, CMD_OPT_END };

static enum exit_code
run(struct session *s, const struct opts *o)
{
	struct buf b;

	(void)s;
	if (!opts_has(o, "json")) {
		out_line("qo %s", QO_VERSION);
		return EXIT_OK;
	}
	buf_init(&b, 4096);
	out_json_open(&b, NULL, '{');
	out_json_str(&b, "version", QO_VERSION);
	out_json_int(&b, "task_format", QO_TASK_FORMAT);
	out_json_int(&b, "control_format", QO_CONTROL_FORMAT);
	out_json_close(&b, '}');
	out_json(b.data, b.len);
	buf_fini(&b);
	return EXIT_OK;
}

const struct cmd cmd_version = {
	.name = "version",
	.run = run,
	.opts = opts,
	.summary = "show the version of qo and of its formats",
};
