#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "buf.h"
#include "confval.h"
#include "ini.h"
#include "io.h"
#include "keys.h"
#include "utf8.h"
#include "xalloc.h"

#define FILE_MAX   (1 << 20)
#define STRONG_LEN 16
#define SIZE_LIMIT (INT64_C(1) << 50)

struct keys {
	struct key **list; /* sorted by access key */
	size_t n;
};

/* While the file is read. */
struct reader {
	struct keys *keys;
	const char *path;
	unsigned line; /* of the section */
	void (*report)(const char *line, void *arg);
	void *arg;
	bool bad;
};

static void
complain(struct reader *rd, unsigned line, const char *what)
{
	char text[512];

	rd->bad = true;
	if (line > 0)
		(void)snprintf(text, sizeof(text), "%s:%u: %s", rd->path, line,
		    what);
	else
		(void)snprintf(text, sizeof(text), "%s: %s", rd->path, what);
	rd->report(text, rd->arg);
}

static void
prefixes_free(struct prefix_set *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->list[i]);
	free(p->list);
}

void
key_release(struct key *k)
{
	if (k == NULL || --k->refs > 0)
		return;
	free(k->name);
	free(k->access_key);
	if (k->secret_key != NULL)
		explicit_bzero(k->secret_key, strlen(k->secret_key));
	free(k->secret_key);
	free(k->owner);
	prefixes_free(&k->prefixes);
	free(k);
}

void
keys_free(struct keys *k)
{
	size_t i;

	if (k == NULL)
		return;
	for (i = 0; i < k->n; i++)
		key_release(k->list[i]);
	free(k->list);
	free(k);
}

size_t
keys_count(const struct keys *k)
{
	return k->n;
}

static bool
plain_word(const char *s, size_t min, size_t max)
{
	size_t i;

	for (i = 0; s[i] != '\0'; i++)
		if (!isalnum((unsigned char)s[i]) &&
		    strchr("-_.@", s[i]) == NULL)
			return false;
	return i >= min && i <= max;
}

static bool
secret_ok(const char *s)
{
	size_t i;

	for (i = 0; s[i] != '\0'; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return i >= 8 && i <= 128;
}

static const char *
set_policy(struct key *k, const char *word)
{
	k->read = strcmp(word, "read") == 0 || strcmp(word, "both") == 0;
	k->write = strcmp(word, "write") == 0 || strcmp(word, "both") == 0;
	return k->read || k->write ? NULL
				   : "policy must be read, write or both";
}

static const char *
set_prefixes(struct key *k, const char *text)
{
	struct prefix_set *p = &k->prefixes;
	size_t len;

	for (; *text != '\0'; text += len) {
		text += strspn(text, " \t,");
		if ((len = strcspn(text, " \t,")) == 0)
			break;
		p->list = xreallocarray(p->list, p->n + 1, sizeof(*p->list));
		p->list[p->n++] = xmemdup0(text, len);
	}
	return p->n > 0 ? NULL : "prefixes is empty: leave it out for all keys";
}

static const char *
set_rate(struct key *k, const char *text)
{
	if (k->rate.per_s != 0)
		return "rate is there twice";
	if (confval_int(text, 1, RATE_MAX, &k->rate.per_s, NULL) == -1)
		return "rate must be a number of requests, 1 to 1000000";
	return NULL;
}

static const char *
set_size(int64_t *size, const char *text)
{
	if (*size != 0)
		return "the size is there twice";
	if (confval_size(text, 1, SIZE_LIMIT, size, NULL) == -1)
		return "max_object and max_bytes must be sizes such as 16MiB";
	return NULL;
}

/* Each member once; NULL, or what is wrong. */
static const char *
set_member(struct key *k, const char *name, const char *value)
{
	if (strcmp(name, "access_key") == 0) {
		if (k->access_key != NULL)
			return "access_key is there twice";
		if (!plain_word(value, 3, 128))
			return "access_key must be 3 to 128 of A-Za-z0-9._@-";
		k->access_key = xstrdup(value);
	} else if (strcmp(name, "secret_key") == 0) {
		if (k->secret_key != NULL)
			return "secret_key is there twice";
		if (!secret_ok(value))
			return "secret_key must be 8 to 128 printable "
			       "characters without blanks";
		k->secret_key = xstrdup(value);
	} else if (strcmp(name, "owner") == 0) {
		if (k->owner != NULL)
			return "owner is there twice";
		if (!plain_word(value, 1, 64))
			return "owner must be 1 to 64 of A-Za-z0-9._@-";
		k->owner = xstrdup(value);
	} else if (strcmp(name, "policy") == 0) {
		if (k->read || k->write)
			return "policy is there twice";
		return set_policy(k, value);
	} else if (strcmp(name, "prefixes") == 0) {
		if (k->prefixes.n > 0)
			return "prefixes is there twice";
		return set_prefixes(k, value);
	} else if (strcmp(name, "rate") == 0) {
		return set_rate(k, value);
	} else if (strcmp(name, "max_object") == 0) {
		return set_size(&k->max_object, value);
	} else if (strcmp(name, "max_bytes") == 0) {
		return set_size(&k->max_bytes, value);
	} else {
		return "unknown key: there are access_key, secret_key, owner, "
		       "policy, prefixes, rate, max_object and max_bytes";
	}
	return NULL;
}

/* The section is complete. */
static void
finish_key(struct reader *rd)
{
	struct key *k;

	if (rd->keys->n == 0)
		return;
	k = rd->keys->list[rd->keys->n - 1];
	if (k->access_key == NULL)
		complain(rd, rd->line, "the section has no access_key");
	if (k->secret_key == NULL)
		complain(rd, rd->line, "the section has no secret_key");
	if (k->owner == NULL)
		k->owner = xstrdup("qo");
	if (!k->read && !k->write)
		k->read = k->write = true;
}

static enum ini_verdict
on_item(void *arg, const struct ini_item *it)
{
	struct reader *rd = arg;
	struct keys *ks = rd->keys;
	const char *wrong;
	struct key *k;

	switch (it->kind) {
	case INI_ERROR:
		complain(rd, it->line, it->msg);
		break;
	case INI_SECTION:
		finish_key(rd);
		k = xcalloc(1, sizeof(*k));
		k->refs = 1;
		k->name = xstrdup(*it->name != '\0' ? it->name : it->type);
		ks->list = xreallocarray(ks->list, ks->n + 1,
		    sizeof(*ks->list));
		ks->list[ks->n++] = k;
		rd->line = it->line;
		break;
	case INI_KEY:
		if (ks->n == 0) {
			complain(rd, it->line, "a key before any section");
			break;
		}
		wrong = set_member(ks->list[ks->n - 1], it->key, it->value);
		if (wrong != NULL)
			complain(rd, it->line, wrong);
		break;
	}
	return INI_GO;
}

static int
compare(const void *a, const void *b)
{
	const struct key *const *ka = a, *const *kb = b;

	return strcmp((*ka)->access_key, (*kb)->access_key);
}

static void
sort_and_check(struct reader *rd)
{
	struct keys *ks = rd->keys;
	size_t i;

	if (ks->n == 0)
		complain(rd, 0, "there is no key in it");
	if (rd->bad)
		return;
	qsort(ks->list, ks->n, sizeof(*ks->list), compare);
	for (i = 1; i < ks->n; i++)
		if (compare(&ks->list[i - 1], &ks->list[i]) == 0)
			complain(rd, 0, "two sections have one access_key");
}

struct keys *
keys_load(const char *path, void (*report)(const char *line, void *arg),
    void *arg)
{
	struct reader rd = { .path = path, .report = report, .arg = arg };
	struct qo_err err;
	struct buf text;

	buf_init_secret(&text, FILE_MAX);
	rd.keys = xcalloc(1, sizeof(*rd.keys));
	if (io_read_secret(path, &text, &err) == -1) {
		rd.bad = true;
		report(err.msg, arg);
		goto out;
	}
	(void)ini_parse(text.data, text.len, path, 0, on_item, &rd);
	finish_key(&rd);
	sort_and_check(&rd);
out:
	buf_fini(&text);
	if (rd.bad) {
		keys_free(rd.keys);
		return NULL;
	}
	return rd.keys;
}

struct key *
keys_find(struct keys *k, const char *access_key)
{
	size_t lo = 0, hi = k->n, mid;
	int c;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = strcmp(access_key, k->list[mid]->access_key);
		if (c == 0) {
			k->list[mid]->refs++;
			return k->list[mid];
		}
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

static bool
is_weak(const struct key *k)
{
	/* Of manuals and default installations. */
	static const char *const known[] = {
		"minioadmin",
		"minio123",
		"miniostorage",
		"changeme",
		"password",
		"secretkey",
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
		"wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
	};
	size_t i;

	if (strlen(k->secret_key) < STRONG_LEN ||
	    strcasecmp(k->secret_key, k->access_key) == 0)
		return true;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcasecmp(k->secret_key, known[i]) == 0)
			return true;
	/* aaaaaaaaaaaaaaaa */
	return strspn(k->secret_key, (char[]){ k->secret_key[0], '\0' }) ==
	    strlen(k->secret_key);
}

const char *
keys_weak(const struct keys *k)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		if (is_weak(k->list[i]))
			return k->list[i]->name;
	return NULL;
}

static void
random_text(char *out, size_t len, const char *alphabet)
{
	size_t i, n;

	n = strlen(alphabet);
	for (i = 0; i < len; i++)
		out[i] = alphabet[arc4random_uniform((uint32_t)n)];
	out[len] = '\0';
}

int
keys_generate(const char *path, struct qo_err *err)
{
	static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	static const char any[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789";
	char access[19], secret[41];
	struct buf b;
	int rc;

	random_text(access, 18, upper);
	random_text(secret, 40, any);
	buf_init_secret(&b, 4096);
	buf_addf(&b,
	    "; Access keys of qo-store, made at its first start.\n"
	    "; See qo-store(8); SIGHUP has this file read again.\n"
	    "[default]\n"
	    "access_key = QO%s\n"
	    "secret_key = %s\n"
	    "owner = qo\n"
	    "policy = both\n",
	    access, secret);
	rc = io_write_file(path, b.data, b.len, 0600, err);
	explicit_bzero(secret, sizeof(secret));
	buf_fini(&b);
	return rc;
}
