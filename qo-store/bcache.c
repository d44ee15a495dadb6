#include "bcache.h"
#include "xalloc.h"

#define SLOTS 256  /* a power of two */
#define MOST  4096 /* entries; beyond, all are forgotten */

struct bcache {
	struct db *db;
	size_t n;
	struct bucket *slot[SLOTS];
};

static size_t
slot_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name != '\0'; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h & (SLOTS - 1);
}

struct bcache *
bcache_new(struct db *db)
{
	struct bcache *c;

	c = xcalloc(1, sizeof(*c));
	c->db = db;
	return c;
}

static void
forget_all(struct bcache *c)
{
	struct bucket *b;
	size_t i;

	for (i = 0; i < SLOTS; i++) {
		while ((b = c->slot[i]) != NULL) {
			c->slot[i] = b->next;
			bucket_release(b);
		}
	}
	c->n = 0;
}

void
bcache_free(struct bcache *c)
{
	if (c == NULL)
		return;
	forget_all(c);
	free(c);
}

struct bucket *
bucket_hold(struct bucket *b)
{
	b->refs++;
	return b;
}

void
bucket_release(struct bucket *b)
{
	if (b == NULL || --b->refs > 0)
		return;
	cors_free(b->cors);
	db_bucket_fini(&b->b);
	free(b);
}

enum db_rc
bcache_get(struct bcache *c, const char *name, struct bucket **out)
{
	struct bucket *b;
	enum db_rc rc;
	size_t s;

	s = slot_of(name);
	for (b = c->slot[s]; b != NULL; b = b->next) {
		if (strcmp(b->b.name, name) == 0) {
			*out = bucket_hold(b);
			return DB_OK;
		}
	}
	b = xcalloc(1, sizeof(*b));
	if ((rc = db_bucket_get(c->db, name, &b->b)) != DB_OK) {
		free(b);
		return rc;
	}
	if (b->b.cors != NULL)
		b->cors = cors_parse(b->b.cors, strlen(b->b.cors), NULL);
	if (c->n >= MOST)
		forget_all(c);
	b->refs = 1;
	b->next = c->slot[s];
	c->slot[s] = b;
	c->n++;
	*out = bucket_hold(b);
	return DB_OK;
}

void
bcache_drop(struct bcache *c, const char *name)
{
	struct bucket **pp, *b;

	for (pp = &c->slot[slot_of(name)]; (b = *pp) != NULL; pp = &b->next) {
		if (strcmp(b->b.name, name) != 0)
			continue;
		*pp = b->next;
		c->n--;
		bucket_release(b);
		return;
	}
}
