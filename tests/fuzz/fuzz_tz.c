/*
 * Time zone files and rules: what is taken answers every question without
 * harm, and the answers fit together.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tz.h"
#include "tzrule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_instant(const struct qo_tz *tz, int64_t t)
{
	int64_t all[QO_TZ_INSTANTS_MAX];
	struct qo_tz_period p;
	struct qo_tz_time shown;
	int64_t local;
	size_t i, n;

	qo_tz_period(tz, t, &p);
	if (t < p.start || t >= p.end)
		abort();
	qo_tz_local(tz, t, &shown);
	if (shown.offset_s != p.offset_s || shown.date.month < 1 ||
	    shown.date.month > 12 || shown.hour > 23 ||
	    strlen(shown.abbr) > 512)
		abort();
	local = t + p.offset_s;
	n = qo_tz_instants(tz, local, all);
	if (n == 0)
		abort();
	for (i = 0; i < n && n < QO_TZ_INSTANTS_MAX; i++)
		if (all[i] == t)
			break;
	if (n < QO_TZ_INSTANTS_MAX && i == n)
		abort();
	if (qo_tz_reached(tz, local) > all[0] || qo_tz_high(tz, t) < local)
		abort();
}

static void
check_zone(const uint8_t *data, size_t size)
{
	/* Years 1901 to 2500, and what the input itself says. */
	static const int64_t moments[] = { -2177452800, -1, 0, 1774746000,
		1793000000, 4102444800, 16725225600 };
	struct qo_err err;
	struct qo_tz *tz;
	int64_t t;
	size_t i;

	tz = qo_tz_parse(data, size, &err);
	if (tz == NULL)
		return;
	for (i = 0; i < sizeof(moments) / sizeof(moments[0]); i++)
		check_instant(tz, moments[i]);
	for (i = 0; i + 8 <= size && i < 512; i += 8) {
		memcpy(&t, data + i, sizeof(t));
		check_instant(tz, t % INT64_C(60000000000));
	}
	qo_tz_free(tz);
}

static void
check_rule(const uint8_t *data, size_t size)
{
	struct qo_tzrule r;
	int64_t to_dst, to_std;
	int year;

	if (qo_tzrule_parse((const char *)data, size, &r) == -1 || !r.has_dst)
		return;
	for (year = 1999; year < 2003; year++)
		qo_tzrule_changes(&r, year, &to_dst, &to_std);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[QO_TZ_NAME_MAX + 2];

	check_zone(data, size);
	check_rule(data, size);
	if (size <= QO_TZ_NAME_MAX + 1) {
		memcpy(name, data, size);
		name[size] = '\0';
		if (qo_tz_name_valid(name, size) &&
		    (name[0] == '/' || strstr(name, "..") == name ||
			strstr(name, "/.") != NULL))
			abort();
	}
	return 0;
}
