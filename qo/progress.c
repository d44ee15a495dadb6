#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "out.h"
#include "progress.h"

#define BAR      30
#define EVERY_US (100 * QO_US_PER_MS)

void
progress_start(struct progress *p, const char *label, int64_t total)
{
	memset(p, 0, sizeof(*p));
	p->on = isatty(STDERR_FILENO) == 1;
	p->label = label;
	p->total = total;
	p->started = qo_mono_now();
}

static void
draw(const struct progress *p, int64_t done, int64_t us)
{
	char bar[BAR + 1], left[OUT_DURATION_SIZE];
	int64_t rate = us > 0 ? done * QO_US_PER_SEC / us : 0;
	size_t full;

	if (p->total <= 0) {
		fprintf(stderr, "\r\033[K%s: %lld, %lld/s", p->label,
		    (long long)done, (long long)rate);
		return;
	}
	if (done > p->total)
		done = p->total;
	full = (size_t)(done * BAR / p->total);
	memset(bar, '#', full);
	memset(bar + full, '.', BAR - full);
	bar[BAR] = '\0';
	fprintf(stderr, "\r\033[K%s [%s] %lld/%lld, %lld/s", p->label, bar,
	    (long long)done, (long long)p->total, (long long)rate);
	if (rate > 0 && done < p->total)
		fprintf(stderr, ", %s left",
		    out_duration_text((p->total - done) * 1000 / rate, left));
}

void
progress_set(struct progress *p, int64_t done)
{
	struct qo_mono now;

	if (!p->on)
		return;
	now = qo_mono_now();
	if (p->shown.us != 0 && qo_mono_diff_us(p->shown, now) < EVERY_US)
		return;
	p->shown = now;
	draw(p, done, qo_mono_diff_us(p->started, now));
	fflush(stderr);
}

void
progress_clear(struct progress *p)
{
	if (!p->on || p->shown.us == 0)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	p->shown.us = 0;
}
