#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "confval.h"

extern const struct cmd cmd_archive;
extern const struct cmd cmd_bench;
extern const struct cmd cmd_cancel;
extern const struct cmd cmd_completion;
extern const struct cmd cmd_config_show;
extern const struct cmd cmd_ctl_drain;
extern const struct cmd cmd_ctl_less;
extern const struct cmd cmd_ctl_more;
extern const struct cmd cmd_ctl_quiet;
extern const struct cmd cmd_ctl_reload;
extern const struct cmd cmd_ctl_reopen;
extern const struct cmd cmd_ctl_resume;
extern const struct cmd cmd_ctl_status;
extern const struct cmd cmd_ctl_stop;
extern const struct cmd cmd_ctl_upgrade;
extern const struct cmd cmd_doctor;
extern const struct cmd cmd_fsck;
extern const struct cmd cmd_history;
extern const struct cmd cmd_init;
extern const struct cmd cmd_list;
extern const struct cmd cmd_logs;
extern const struct cmd cmd_pause;
extern const struct cmd cmd_replay;
extern const struct cmd cmd_resume;
extern const struct cmd cmd_schedule_add;
extern const struct cmd cmd_schedule_delete;
extern const struct cmd cmd_schedule_list;
extern const struct cmd cmd_schedule_pause;
extern const struct cmd cmd_schedule_resume;
extern const struct cmd cmd_schedule_run_now;
extern const struct cmd cmd_schedule_show;
extern const struct cmd cmd_stats;
extern const struct cmd cmd_status;
extern const struct cmd cmd_submit;
extern const struct cmd cmd_tail;
extern const struct cmd cmd_top;
extern const struct cmd cmd_unarchive;
extern const struct cmd cmd_version;
extern const struct cmd cmd_wait;
extern const struct cmd cmd_why;
extern const struct cmd cmd_worker;
extern const struct cmd cmd_workers;

/* In the order of the help. */
const struct cmd *const cmd_table[] = {
	&cmd_init,
	&cmd_doctor,
	&cmd_fsck,
	&cmd_submit,
	&cmd_status,
	&cmd_wait,
	&cmd_list,
	&cmd_tail,
	&cmd_history,
	&cmd_logs,
	&cmd_why,
	&cmd_cancel,
	&cmd_replay,
	&cmd_archive,
	&cmd_unarchive,
	&cmd_stats,
	&cmd_workers,
	&cmd_top,
	&cmd_worker,
	&cmd_pause,
	&cmd_resume,
	&cmd_schedule_add,
	&cmd_schedule_list,
	&cmd_schedule_show,
	&cmd_schedule_pause,
	&cmd_schedule_resume,
	&cmd_schedule_delete,
	&cmd_schedule_run_now,
	&cmd_ctl_status,
	&cmd_ctl_reload,
	&cmd_ctl_drain,
	&cmd_ctl_quiet,
	&cmd_ctl_resume,
	&cmd_ctl_more,
	&cmd_ctl_less,
	&cmd_ctl_reopen,
	&cmd_ctl_upgrade,
	&cmd_ctl_stop,
	&cmd_bench,
	&cmd_config_show,
	&cmd_completion,
	&cmd_version,
	NULL,
};

const struct opt cmd_global_opts[] = {
	{ "config", 'c', "FILE",
	    "Read this configuration instead of the usual one.", false },
	{ "profile", 0, "NAME",
	    "Use this profile of the AWS shared credentials file.", false },
	{ "help", 'h', NULL, "Show help.", false },
	{ "version", 'V', NULL, "Show the version.", false },
	CMD_OPT_END,
};

const char *
cmd_title(const struct cmd *c, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s", c->name, c->sub != NULL ? " " : "",
	    c->sub != NULL ? c->sub : "");
	return out;
}

static void
say_unknown(const char *word)
{
	const char *names[sizeof(cmd_table) / sizeof(cmd_table[0])], *near;
	char shown[CONFVAL_SHOWN];
	size_t n;

	for (n = 0; cmd_table[n] != NULL; n++)
		names[n] = cmd_table[n]->name;
	names[n] = NULL;
	confval_shown(word, shown, sizeof(shown));
	near = confval_nearest(word, names);
	if (near != NULL)
		exit_say("unknown command %s, did you mean %s?", shown, near);
	else
		exit_say("unknown command %s, see qo help", shown);
}

static void
say_subs(const char *name)
{
	struct buf b;
	size_t i;

	buf_init(&b, 1024);
	for (i = 0; cmd_table[i] != NULL; i++)
		if (strcmp(cmd_table[i]->name, name) == 0)
			buf_addf(&b, "%s%s", b.len > 0 ? ", " : "",
			    cmd_table[i]->sub);
	exit_say("%s needs one of: %s", name, b.data);
	buf_fini(&b);
}

const struct cmd *
cmd_find(char **words, int n, int *used)
{
	const struct cmd *c;
	bool has_subs = false;
	size_t i;

	for (i = 0; (c = cmd_table[i]) != NULL; i++) {
		if (strcmp(c->name, words[0]) != 0)
			continue;
		if (c->sub == NULL ||
		    (n > 1 && strcmp(c->sub, words[1]) == 0)) {
			*used = c->sub == NULL ? 1 : 2;
			return c;
		}
		has_subs = true;
	}
	if (has_subs)
		say_subs(words[0]);
	else
		say_unknown(words[0]);
	return NULL;
}

enum exit_code
cmd_format(const struct opts *o, enum out_format *format)
{
	const struct opt *opt;
	bool json = false, jsonl = false;

	for (opt = o->table; opt != NULL && opt->name != NULL; opt++) {
		if (strcmp(opt->name, "json") == 0)
			json = opts_has(o, "json");
		if (strcmp(opt->name, "jsonl") == 0)
			jsonl = opts_has(o, "jsonl");
	}
	if (json && jsonl)
		return exit_usage("--json and --jsonl: only one of them");
	*format = jsonl ? OUT_JSONL : json ? OUT_JSON : OUT_TEXT;
	return EXIT_OK;
}
