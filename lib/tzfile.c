/* tz.h: reading a TZif file. */
#include <stdlib.h>
#include <string.h>

#include "tz_int.h"
#include "xalloc.h"

#define HEAD_LEN 44
#define TYPE_LEN 6
/* RFC 9636, 3.2: no zone is further from UTC. */
#define OFFSET_MIN (-25 * 3600 + 1)
#define OFFSET_MAX (26 * 3600 - 1)
/* Older than the universe: no sum with an offset overflows. */
#define CHANGE_MIN (-(INT64_C(1) << 59))
#define CHANGE_MAX (INT64_C(1) << 59)
#define ABBRS_MAX  512

/* The numbers in a header, and what of the file is left. */
struct reader {
	const unsigned char *p;
	size_t left;
	int version;
	uint32_t nut, nstd, nleap, nchanges, ntypes, nchars;
	struct qo_err *err;
};

static int
refuse(struct reader *r, const char *what)
{
	qo_err_set(r->err, "not a time zone: %s", what);
	return -1;
}

static uint32_t
get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

static int64_t
get_time(const unsigned char *p, size_t width)
{
	if (width == 4)
		return (int32_t)get32(p);
	return (int64_t)((uint64_t)get32(p) << 32 | get32(p + 4));
}

static void
advance(struct reader *r, size_t n)
{
	r->p += n;
	r->left -= n;
}

static int
read_head(struct reader *r)
{
	if (r->left < HEAD_LEN || memcmp(r->p, "TZif", 4) != 0)
		return refuse(r, "it does not begin with TZif");
	if (r->p[4] == '\0')
		r->version = 1;
	else if (r->p[4] >= '2' && r->p[4] <= '4')
		r->version = r->p[4] - '0';
	else
		return refuse(r, "an unknown version");
	r->nut = get32(r->p + 20);
	r->nstd = get32(r->p + 24);
	r->nleap = get32(r->p + 28);
	r->nchanges = get32(r->p + 32);
	r->ntypes = get32(r->p + 36);
	r->nchars = get32(r->p + 40);
	advance(r, HEAD_LEN);
	return 0;
}

/* How long the data behind a header is; every count is below 2^32, so the
 * sum can not overflow 64 bits. */
static uint64_t
data_len(const struct reader *r, size_t width)
{
	return (uint64_t)r->nchanges * (width + 1) +
	    (uint64_t)r->ntypes * TYPE_LEN + r->nchars +
	    (uint64_t)r->nleap * (width + 4) + r->nstd + r->nut;
}

static int
check_head(struct reader *r, size_t width)
{
	if (r->ntypes == 0 || r->ntypes > 256 || r->nchars == 0 ||
	    r->nchars > ABBRS_MAX || (r->nstd != 0 && r->nstd != r->ntypes) ||
	    (r->nut != 0 && r->nut != r->ntypes))
		return refuse(r, "its counts do not fit together");
	if (r->nleap != 0) {
		qo_err_set(r->err,
		    "a zone with leap seconds (right/...): use "
		    "the one without");
		return -1;
	}
	if (data_len(r, width) > r->left)
		return refuse(r, "it is cut off");
	return 0;
}

static int
read_changes(struct reader *r, struct qo_tz *tz, size_t width)
{
	const unsigned char *kinds = r->p + (size_t)r->nchanges * width;
	size_t i;

	tz->nchanges = r->nchanges;
	tz->changes = xcalloc(tz->nchanges + 1, sizeof(*tz->changes));
	tz->kinds = xcalloc(tz->nchanges + 1, 1);
	for (i = 0; i < tz->nchanges; i++) {
		tz->changes[i] = get_time(r->p + i * width, width);
		tz->kinds[i] = kinds[i];
		if (tz->changes[i] < CHANGE_MIN ||
		    tz->changes[i] > CHANGE_MAX ||
		    (i > 0 && tz->changes[i] <= tz->changes[i - 1]))
			return refuse(r, "its changes are not in order");
		if (tz->kinds[i] >= r->ntypes)
			return refuse(r,
			    "a change to a type that is not there");
	}
	advance(r, (size_t)r->nchanges * (width + 1));
	return 0;
}

static int
read_types(struct reader *r, struct qo_tz *tz)
{
	const unsigned char *p = r->p;
	const char *abbrs = (const char *)p + (size_t)r->ntypes * TYPE_LEN;
	struct qo_tz_type *t;
	size_t i;

	tz->abbrs = xmemdup0(abbrs, r->nchars);
	tz->ntypes = r->ntypes;
	tz->types = xcalloc(tz->ntypes, sizeof(*tz->types));
	for (i = 0; i < tz->ntypes; i++, p += TYPE_LEN) {
		t = &tz->types[i];
		t->offset_s = (int32_t)get32(p);
		t->dst = p[4] == 1;
		if (t->offset_s < OFFSET_MIN || t->offset_s > OFFSET_MAX ||
		    p[4] > 1 || p[5] >= r->nchars)
			return refuse(r, "a type that can not be");
		t->abbr = tz->abbrs + p[5];
	}
	advance(r, (size_t)r->ntypes * TYPE_LEN + r->nchars);
	advance(r, r->nstd + r->nut);
	return 0;
}

/* "\nRULE\n"; an empty rule: none is known. */
static int
read_footer(struct reader *r, struct qo_tz *tz)
{
	const unsigned char *end;

	if (r->left < 2 || r->p[0] != '\n' ||
	    (end = memchr(r->p + 1, '\n', r->left - 1)) == NULL)
		return refuse(r, "its footer is missing");
	if (end == r->p + 1)
		return 0;
	tz->has_rule = true;
	if (qo_tzrule_parse((const char *)r->p + 1, (size_t)(end - r->p) - 1,
		&tz->rule) == -1)
		return refuse(r, "a footer that is no rule");
	if (tz->rule.std_offset < OFFSET_MIN ||
	    tz->rule.std_offset > OFFSET_MAX ||
	    tz->rule.dst_offset < OFFSET_MIN ||
	    tz->rule.dst_offset > OFFSET_MAX)
		return refuse(r, "a footer with an offset that can not be");
	return 0;
}

static int
read_file(struct reader *r, struct qo_tz *tz)
{
	size_t width = 4;

	if (read_head(r) == -1)
		return -1;
	if (r->version > 1) {
		/* The same again with 64 bits stands behind the old form. */
		if (data_len(r, 4) > r->left)
			return refuse(r, "it is cut off");
		advance(r, (size_t)data_len(r, 4));
		if (read_head(r) == -1)
			return -1;
		if (r->version == 1)
			return refuse(r, "an unknown version");
		width = 8;
	}
	if (check_head(r, width) == -1 || read_changes(r, tz, width) == -1 ||
	    read_types(r, tz) == -1)
		return -1;
	return r->version > 1 ? read_footer(r, tz) : 0;
}

struct qo_tz *
qo_tz_parse(const void *data, size_t len, struct qo_err *err)
{
	struct reader r = { .p = data, .left = len, .err = err };
	struct qo_tz *tz;

	tz = xcalloc(1, sizeof(*tz));
	if (read_file(&r, tz) == 0)
		return tz;
	qo_tz_free(tz);
	return NULL;
}

void
qo_tz_free(struct qo_tz *tz)
{
	if (tz == NULL)
		return;
	free(tz->changes);
	free(tz->kinds);
	free(tz->types);
	free(tz->abbrs);
	free(tz);
}
