#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conflist.h"
#include "confval.h"
#include "xalloc.h"

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void
add_word(char ***words, size_t *n, char *word)
{
	*words = xreallocarray(*words, *n + 2, sizeof(**words));
	(*words)[(*n)++] = word;
	(*words)[*n] = NULL;
}

/* One word of a command from *s on; NULL with *why when it does not end. */
static char *
take_word(const char **s, const char **why)
{
	const char *p;
	struct buf b;
	char quote = '\0';
	bool escaped = false;

	buf_init(&b, SIZE_MAX - 1);
	for (p = *s; *p != '\0'; p++) {
		if (escaped) {
			buf_addc(&b, *p);
			escaped = false;
		} else if (*p == '\\' && quote != '\'') {
			escaped = true;
		} else if (*p == quote) {
			quote = '\0';
		} else if (quote == '\0' && is_blank(*p)) {
			break;
		} else if (quote == '\0' && (*p == '\'' || *p == '"')) {
			quote = *p;
		} else {
			buf_addc(&b, *p);
		}
	}
	*s = p;
	if (quote == '\0' && !escaped)
		return buf_take(&b, NULL);
	*why = escaped ? "it ends with a \\" : "a quote is not closed";
	buf_fini(&b);
	return NULL;
}

int
conflist_words(const char *s, char ***out, struct qo_err *err)
{
	const char *why = "a command is needed";
	char **words = NULL, *word;
	size_t n = 0;

	for (;;) {
		while (is_blank(*s))
			s++;
		if (*s == '\0')
			break;
		word = take_word(&s, &why);
		if (word == NULL)
			goto fail;
		add_word(&words, &n, word);
	}
	if (n == 0 || *words[0] == '\0')
		goto fail;
	*out = words;
	return 0;
fail:
	qo_err_set(err, "%s", why);
	conflist_words_free(words);
	return -1;
}

int
conflist_list(const char *s, char ***out, struct qo_err *err)
{
	char **words;
	size_t n = 0, len;
	bool comma = false;

	words = xcalloc(1, sizeof(*words));
	for (;;) {
		while (is_blank(*s))
			s++;
		len = strcspn(s, ", \t");
		if (len == 0 && *s == '\0' && !comma)
			break;
		if (len == 0) {
			qo_err_set(err, "there is nothing beside a comma");
			conflist_words_free(words);
			return -1;
		}
		add_word(&words, &n, xmemdup0(s, len));
		s += len;
		while (is_blank(*s))
			s++;
		comma = *s == ',';
		if (comma)
			s++;
	}
	*out = words;
	return 0;
}

void
conflist_words_free(char **words)
{
	size_t i;

	if (words == NULL)
		return;
	for (i = 0; words[i] != NULL; i++)
		free(words[i]);
	free(words);
}

int
conflist_codes(const char *s, struct conflist_set *out, struct qo_err *err)
{
	struct conflist_set set = { { 0 } };
	char **words;
	int64_t n;
	size_t i;
	int rv = 0;

	if (conflist_list(s, &words, err) == -1)
		return -1;
	for (i = 0; words[i] != NULL && rv == 0; i++) {
		rv = confval_int(words[i], 1, 255, &n, err);
		if (rv == 0)
			conflist_set_add(&set, (unsigned)n);
	}
	conflist_words_free(words);
	if (rv == 0)
		*out = set;
	return rv;
}

void
conflist_add_codes(struct buf *b, const struct conflist_set *set)
{
	const char *sep = "";
	unsigned n;

	for (n = 0; n < 256; n++) {
		if (conflist_set_has(set, n)) {
			buf_addf(b, "%s%u", sep, n);
			sep = ", ";
		}
	}
}

/* The value of a lower-case hex digit, or -1. */
static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* One or two digits as a span of two-digit shards; the digits, or 0. */
static size_t
take_shard(const char *s, unsigned *first, unsigned *last)
{
	int hi = hex(s[0]), lo;

	if (hi == -1)
		return 0;
	lo = hex(s[1]);
	*first = (unsigned)hi * 16 + (lo == -1 ? 0 : (unsigned)lo);
	*last = lo == -1 ? (unsigned)hi * 16 + 15 : *first;
	return lo == -1 ? 1 : 2;
}

static int
add_shards(const char *s, struct conflist_set *set)
{
	unsigned first, last, from, to;
	size_t n, m;

	n = take_shard(s, &from, &to);
	if (n == 0)
		return -1;
	if (s[n] == '-') {
		m = take_shard(s + n + 1, &first, &last);
		if (m != n || first < from)
			return -1;
		to = last;
		n += 1 + m;
	}
	if (s[n] != '\0')
		return -1;
	for (; from <= to; from++)
		conflist_set_add(set, from);
	return 0;
}

int
conflist_shards(const char *s, struct conflist_set *out, struct qo_err *err)
{
	struct conflist_set set = { { 0 } };
	char **words, shown[CONFVAL_SHOWN];
	size_t i;
	int rv;

	if (strcmp(s, "all") == 0) {
		memset(out->bits, 0xff, sizeof(out->bits));
		return 0;
	}
	if (conflist_list(s, &words, err) == -1)
		return -1;
	rv = words[0] == NULL ? -1 : 0;
	for (i = 0; words[i] != NULL && rv == 0; i++)
		rv = add_shards(words[i], &set);
	if (rv == 0)
		*out = set;
	else
		qo_err_set(err,
		    "\"%s\" is neither all nor a list of shards like 0-7, a, "
		    "c0-cf (lower-case hexadecimal)",
		    confval_shown(s, shown, sizeof(shown)));
	conflist_words_free(words);
	return rv;
}
