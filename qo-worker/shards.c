#include <stdio.h>
#include <string.h>

#include "shards.h"

static unsigned
digit(char c)
{
	return (unsigned)(c >= 'a' ? c - 'a' + 10 : c - '0');
}

/* A shard of one digit is there when all that begin with it are. */
static bool
configured(const struct conflist_set *set, int width, unsigned shard)
{
	unsigned i;

	if (width == 2)
		return conflist_set_has(set, shard);
	for (i = 0; i < 16; i++)
		if (!conflist_set_has(set, shard * 16 + i))
			return false;
	return true;
}

/* Neighbours go to one process: its part is one range of keys. */
static bool
is_own(size_t i, size_t n, size_t index, size_t of)
{
	if (of > n)
		return i == index % n;
	return i >= n * index / of && i < n * (index + 1) / of;
}

int
shards_init(struct shards *s, const char *conf, int width, int index, int of,
    struct qo_err *err)
{
	struct conflist_set set;
	uint8_t all[SHARDS_MAX], theirs[SHARDS_MAX];
	unsigned shard, count = width == 1 ? 16 : 256;
	size_t i, n = 0;

	memset(s, 0, sizeof(*s));
	s->width = width;
	memset(s->whose, SHARDS_NOBODYS, sizeof(s->whose));
	if (conflist_shards(conf, &set, err) == -1)
		return -1;
	for (shard = 0; shard < count; shard++)
		if (configured(&set, width, shard))
			all[n++] = (uint8_t)shard;
	if (n == 0) {
		qo_err_set(err,
		    "[worker] shards = %s: no whole shard of this queue, whose "
		    "shards have one digit",
		    conf);
		return -1;
	}
	for (i = 0; i < n; i++) {
		if (is_own(i, n, (size_t)index, (size_t)of)) {
			s->order[s->nown++] = all[i];
			s->whose[all[i]] = SHARDS_OWN;
		} else {
			theirs[s->ntheirs++] = all[i];
			s->whose[all[i]] = SHARDS_THEIRS;
		}
	}
	memcpy(s->order + s->nown, theirs, s->ntheirs);
	return 0;
}

enum shards_whose
shards_of(const struct shards *s, const char *id)
{
	unsigned shard = digit(id[0]);

	if (s->width == 2)
		shard = shard * 16 + digit(id[1]);
	return (enum shards_whose)s->whose[shard];
}

void
shards_name(const struct shards *s, unsigned shard, char out[QO_SHARD_SIZE])
{
	snprintf(out, QO_SHARD_SIZE, "%0*x", s->width, shard & 0xff);
}

void
shards_add_json(const struct shards *s, struct buf *out)
{
	char name[QO_SHARD_SIZE];
	size_t i;

	buf_addc(out, '[');
	for (i = 0; i < s->nown; i++) {
		shards_name(s, s->order[i], name);
		buf_addf(out, "%s\"%s\"", i > 0 ? "," : "", name);
	}
	buf_addc(out, ']');
}
