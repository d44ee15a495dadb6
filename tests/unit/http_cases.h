/*
 * http_cases.h - requests and what they must get, for the tests of the HTTP
 * parser and of the server on it.
 */
#ifndef HTTP_CASES_H
#define HTTP_CASES_H

#include <stddef.h>

struct http_case {
	const char *name;
	const char *bytes; /* may hold NULs */
	size_t len;
	int status; /* 200: well-formed; else answered so, and closed */
};

extern const struct http_case http_good[];
extern const size_t http_good_n;
/* Without uri and head limits, which depend on the configuration. */
extern const struct http_case http_bad[];
extern const size_t http_bad_n;

#endif
