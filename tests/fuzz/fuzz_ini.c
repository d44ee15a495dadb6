/*
 * Drives the ini reader in both manners and the configuration parser; no
 * file is touched.  Beyond not crashing: what is printed parses to the same.
 */
#include <stdint.h>
#include <stdlib.h>

#include "conf.h"
#include "credfile.h"
#include "ini.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum ini_verdict
touch(void *arg, const struct ini_item *it)
{
	size_t *sum = arg;

	*sum += strlen(it->file) + strlen(it->type) + strlen(it->name);
	if (it->kind == INI_KEY)
		*sum += strlen(it->key) + strlen(it->value);
	if (it->kind == INI_ERROR)
		*sum += strlen(it->msg);
	return INI_GO;
}

static void
report(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	buf_reset(arg);
	conf_add_report(arg, level, place, msg);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct conf_opts opts = { .how = CONF_NO_FILES | CONF_TRUSTED,
		.report = report };
	struct credfile cred;
	struct conf *c, *d;
	struct buf b, line;
	size_t sum = 0;

	buf_init(&b, SIZE_MAX - 1);
	buf_init(&line, 1 << 16);
	opts.arg = &line;
	ini_parse(text, size, "f", 0, touch, &sum);
	ini_parse(text, size, "f", INI_LOOSE, touch, &sum);
	if (credfile_parse(text, size, "f", &cred, NULL) == 0)
		credfile_fini(&cred);
	c = conf_parse_text(text, size, "f", &opts);
	if (c != NULL) {
		conf_print(c, true, &b);
		d = conf_parse_text(b.data, b.len, "p", &opts);
		if (d == NULL || !conf_equal(c, d))
			abort();
		conf_free(d);
	}
	conf_free(c);
	buf_fini(&line);
	buf_fini(&b);
	return 0;
}
