#include <string.h>

#include "cmd.h"

static enum exit_code
run(struct session *s, const struct opts *o)
{
	enum exit_code code;
	struct buf b;

	(void)o;
	if ((code = session_conf(s)) != EXIT_OK)
		return code;
	buf_init(&b, (size_t)16 << 20);
	if (s->path != NULL) {
		buf_adds(&b, "; from ");
		out_escape(&b, s->path, strlen(s->path));
		buf_adds(&b, ", the environment and the defaults\n");
	} else {
		buf_adds(&b, "; no file: the environment and the defaults\n");
	}
	conf_print(s->conf, false, &b);
	out_raw(b.data, b.len);
	buf_fini(&b);
	return EXIT_OK;
}

const struct cmd cmd_config_show = {
	.name = "config",
	.sub = "show",
	.run = run,
	.summary = "show the configuration in effect, without secrets",
	.help = "The output is a configuration file: what comes from a file, "
		"from the environment and by default, in one.",
};
