/*
 * Dates: what parses is printed and parses to the same moment again; what is
 * in our own form is printed as it was.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rfc3339.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_rfc3339(const char *s, size_t len)
{
	char out[QO_RFC3339_SIZE];
	struct qo_wall t, back;

	if (qo_rfc3339_parse(s, len, &t) == -1)
		return;
	qo_rfc3339_print(t, out);
	if (qo_rfc3339_parse(out, strlen(out), &back) == -1 || back.us != t.us)
		abort();
	/* A leap second is the one text of that form that changes. */
	if (len == QO_RFC3339_SIZE - 1 && s[len - 1] == 'Z' &&
	    memcmp(s + 17, "60", 2) != 0 && memcmp(s, out, len) != 0)
		abort();
}

static void
check_others(const char *s, size_t len)
{
	char http[QO_HTTPDATE_SIZE], amz[QO_AMZDATE_SIZE];
	struct qo_wall t, back;

	if (qo_httpdate_parse(s, len, &t) == 0) {
		qo_httpdate_print(t, http);
		if (qo_httpdate_parse(http, strlen(http), &back) == -1 ||
		    back.us != t.us)
			abort();
	}
	if (qo_amzdate_parse(s, len, &t) == 0) {
		qo_amzdate_print(t, amz);
		if (qo_amzdate_parse(amz, strlen(amz), &back) == -1 ||
		    back.us != t.us)
			abort();
	}
}

/* Any moment at all prints, and those of our years come back. */
static void
check_moment(int64_t us)
{
	char out[QO_RFC3339_SIZE];
	struct qo_wall t = { us }, back;

	qo_rfc3339_print(t, out);
	if (qo_rfc3339_parse(out, strlen(out), &back) == -1)
		abort();
	if (us > INT64_C(-62135596800000000) &&
	    us < INT64_C(253402300800000000) && back.us != us)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t us;

	check_rfc3339((const char *)data, size);
	check_others((const char *)data, size);
	if (size >= sizeof(us)) {
		memcpy(&us, data, sizeof(us));
		check_moment(us);
		check_moment(us >> 5);
	}
	return 0;
}
