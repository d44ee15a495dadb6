/* conf.h: writing and comparing; everything else is in conf.c. */
#include <string.h>

#include "conf.h"
#include "confkeys.h"
#include "conftypes.h"

static bool
is_zero(const void *p, size_t n)
{
	const char *s = p;

	for (; n > 0; n--)
		if (*s++ != 0)
			return false;
	return true;
}

/* What was read from the key file is not part of the configuration, and the
 * access key alone would not parse. */
static bool
is_credential(const struct conf_key *k)
{
	return strcmp(k->section, "s3") == 0 &&
	    (strcmp(k->key, "access_key") == 0 ||
		strcmp(k->key, "secret_key") == 0);
}

static void
print_key(const struct conf_key *k, const void *base, bool hide, struct buf *b)
{
	const void *member = conf_member_const(k, base);

	if (k->type == &conf_type_env) {
		k->type->print(k, member, b);
		return;
	}
	/* Not set; no is an answer, though. */
	if (k->def == NULL && k->type != &conf_type_bool &&
	    is_zero(member, k->type->size))
		return;
	buf_addf(b, "%s%s = ", hide ? "; " : "", k->key);
	if (hide && k->type == &conf_type_secret)
		buf_adds(b, "***");
	else
		k->type->print(k, member, b);
	buf_addc(b, '\n');
}

static void
print_handler(const struct conf_handler *h, struct buf *b)
{
	size_t i;

	buf_addf(b, "\n[handler %s]\n", h->name);
	for (i = 0; i < conf_nhandler_keys; i++)
		print_key(&conf_handler_keys[i], h, false, b);
}

void
conf_print(const struct conf *c, bool secrets, struct buf *b)
{
	const struct conf_key *k;
	bool cred;
	size_t i;

	for (i = 0; i < conf_nkeys; i++) {
		k = &conf_keys[i];
		if (i == 0 || strcmp(k->section, k[-1].section) != 0)
			buf_addf(b, "%s[%s]\n", i == 0 ? "" : "\n", k->section);
		cred = is_credential(k);
		if (!cred || c->s3.access_key_file == NULL)
			print_key(k, c, cred && !secrets, b);
	}
	for (i = 0; i < c->nhandlers; i++)
		print_handler(&c->handlers[i], b);
}

static bool
equal_members(const struct conf_key *keys, size_t n, const void *a,
    const void *b)
{
	const void *x, *y;
	size_t i;

	for (i = 0; i < n; i++) {
		x = conf_member_const(&keys[i], a);
		y = conf_member_const(&keys[i], b);
		if (keys[i].type->equal != NULL
			? !keys[i].type->equal(x, y)
			: memcmp(x, y, keys[i].type->size) != 0)
			return false;
	}
	return true;
}

bool
conf_equal(const struct conf *a, const struct conf *b)
{
	size_t i;

	if (a->nhandlers != b->nhandlers ||
	    !equal_members(conf_keys, conf_nkeys, a, b))
		return false;
	for (i = 0; i < a->nhandlers; i++)
		if (strcmp(a->handlers[i].name, b->handlers[i].name) != 0 ||
		    !equal_members(conf_handler_keys, conf_nhandler_keys,
			&a->handlers[i], &b->handlers[i]))
			return false;
	return true;
}
