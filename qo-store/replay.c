#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "replay.h"
#include "xalloc.h"

#define SLOTS (1 << 20)
#define NEAR  16 /* places for one signature */

struct slot {
	uint8_t sig[16]; /* half of it tells any two apart */
	int64_t until;   /* us; 0: never used */
};

struct replay {
	struct slot slots[SLOTS];
};

struct replay *
replay_new(void)
{
	/* Pages that are never touched cost nothing. */
	return xcalloc(1, sizeof(struct replay));
}

void
replay_free(struct replay *p)
{
	free(p);
}

enum replay_rc
replay_take(struct replay *p, const struct qo_sigv4_auth *a, struct qo_wall now)
{
	struct slot *s, *unused = NULL;
	uint8_t sig[16];
	uint32_t at;
	int i;

	if (hex_decode(sig, a->signature, sizeof(sig)) == -1)
		return REPLAY_SEEN;
	memcpy(&at, sig, sizeof(at));
	for (i = 0; i < NEAR; i++) {
		s = &p->slots[(at + (uint32_t)i) % SLOTS];
		if (s->until < now.us) {
			if (unused == NULL)
				unused = s;
		} else if (memcmp(s->sig, sig, sizeof(sig)) == 0)
			return REPLAY_SEEN;
	}
	if (unused == NULL)
		return REPLAY_FULL;
	memcpy(unused->sig, sig, sizeof(sig));
	unused->until = a->time.us +
	    (a->presigned ? a->expires_s * QO_US_PER_SEC : QO_SIGV4_SKEW_US);
	return REPLAY_NEW;
}
