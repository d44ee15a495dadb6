#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "confname.h"
#include "confval.h"

#define NAME_MAX_LEN   128
#define PREFIX_MAX_LEN 256

/* Refuses s with a reason; the callers' last line. */
static int
refuse(const char *s, const char *why, struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];

	qo_err_set(err, "\"%s\" %s", confval_shown(s, shown, sizeof(shown)),
	    why);
	return -1;
}

/* ASCII letters and digits and the characters of more. */
static bool
only(const char *s, const char *more)
{
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr(more, *s) == NULL)
			return false;
	return true;
}

static bool
is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool
is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcasecmp(host, "localhost") == 0;
}

/* host, host:port or [v6]:port; *port stays when there is none. */
static int
split_host(const char *s, char *host, size_t size, int *port)
{
	const char *colon;
	struct in6_addr v6;
	int64_t n;
	size_t len;
	bool v6_form = *s == '[';

	if (v6_form) {
		s++;
		len = strcspn(s, "]");
		if (s[len] == '\0')
			return -1;
		colon = s + len + 1;
	} else {
		len = strcspn(s, ":");
		colon = s + len;
	}
	if (len == 0 || len >= size)
		return -1;
	memcpy(host, s, len);
	host[len] = '\0';
	if (v6_form ? inet_pton(AF_INET6, host, &v6) != 1 : !only(host, ".-"))
		return -1;
	if (*colon == '\0')
		return 0;
	if (*colon != ':' || confval_int(colon + 1, 0, 65535, &n, NULL) == -1)
		return -1;
	*port = (int)n;
	return 0;
}

int
confname_endpoint(const char *s, struct confname_addr *out, struct qo_err *err)
{
	static const char form[] =
	    "is not an endpoint like https://s3.example.org or "
	    "http://127.0.0.1:9000";
	struct confname_addr a = { .port = 443, .tls = true };
	const char *host;

	if (strncmp(s, "https://", 8) == 0) {
		host = s + 8;
	} else if (strncmp(s, "http://", 7) == 0) {
		host = s + 7;
		a.tls = false;
		a.port = 80;
	} else {
		return refuse(s, form, err);
	}
	/* Not echoed: what stands before the @ may be a password. */
	if (strchr(host, '@') != NULL) {
		qo_err_set(err,
		    "a user name or password is not part of an "
		    "endpoint: use access_key_file");
		return -1;
	}
	if (strpbrk(host, "/?#") != NULL)
		return refuse(s,
		    "is not an endpoint: nothing may follow the host and "
		    "port, also no /",
		    err);
	if (split_host(host, a.host, sizeof(a.host), &a.port) == -1 ||
	    a.port == 0)
		return refuse(s, form, err);
	a.loopback = is_loopback(a.host);
	*out = a;
	return 0;
}

int
confname_listen(const char *s, struct confname_addr *out, struct qo_err *err)
{
	struct confname_addr a = { .port = -1 };
	struct in_addr v4;

	if (split_host(s, a.host, sizeof(a.host), &a.port) == -1 ||
	    a.port == -1 ||
	    (*s != '[' && strcmp(a.host, "localhost") != 0 &&
		inet_pton(AF_INET, a.host, &v4) != 1))
		return refuse(s,
		    "is not an address like 127.0.0.1:9710, [::1]:9710 or "
		    "localhost:9710",
		    err);
	a.loopback = is_loopback(a.host);
	*out = a;
	return 0;
}

int
confname_bucket(const char *s, struct qo_err *err)
{
	size_t i, len = strlen(s);
	struct in_addr v4;
	bool ok;

	ok = len >= 2 && len <= 63 && is_lower(s[0]) && is_lower(s[len - 1]);
	for (i = 0; ok && i < len; i++)
		ok = is_lower(s[i]) || s[i] == '.' || s[i] == '-';
	if (!ok || strstr(s, "..") != NULL || inet_pton(AF_INET, s, &v4) == 1 ||
	    strncmp(s, "xn--", 4) == 0 ||
	    (len > 8 && strcmp(s + len - 8, "-s3alias") == 0))
		return refuse(s,
		    "is not a bucket name: 2 to 63 of a-z, 0-9, . and -, a "
		    "letter or digit at both ends, no .. and no IP address",
		    err);
	return 0;
}

/* First parts of keys that a queue without a prefix uses itself. */
static bool
is_reserved(const char *s, size_t len)
{
	static const char *const own[] = { "tasks", "ready", "ready-high",
		"ready_low", "leases", "failed", "workers", "bell", "schedules",
		"control", "payloads", "logs", "workflow", "workflow-active",
		"workflow-defs", "ui" };
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strlen(own[i]) == len && memcmp(own[i], s, len) == 0)
			return true;
	return false;
}

int
confname_prefix(const char *s, struct qo_err *err)
{
	const char *p = s;
	size_t len;

	if (*s == '\0')
		return 0;
	if (strlen(s) > PREFIX_MAX_LEN || !only(s, "._/-") ||
	    s[strlen(s) - 1] != '/')
		return refuse(s,
		    "is not a prefix: letters, digits and . _ - /, at most "
		    "256, with a / at the end",
		    err);
	if (is_reserved(s, strcspn(s, "/")))
		return refuse(s,
		    "begins like the keys of a queue without prefix", err);
	for (; *p != '\0'; p += len + 1) {
		len = strcspn(p, "/");
		if (len == 0 || (len == 1 && p[0] == '.') ||
		    (len == 2 && p[0] == '.' && p[1] == '.'))
			return refuse(s, "has an empty part, a . or a .. in it",
			    err);
	}
	return 0;
}

int
confname_name(const char *s, struct qo_err *err)
{
	size_t len = strlen(s);

	if (len == 0 || len > NAME_MAX_LEN || !only(s, "._-") ||
	    strcmp(s, ".") == 0 || strcmp(s, "..") == 0)
		return refuse(s,
		    "is not a name: 1 to 128 letters, digits and . _ -", err);
	return 0;
}

int
confname_type(const char *s, struct qo_err *err)
{
	char type[NAME_MAX_LEN + 2];
	size_t len;

	len = strlcpy(type, s, sizeof(type));
	if (len > 0 && len < sizeof(type) && type[len - 1] == '*')
		type[len - 1] = '\0';
	if (len == 0 || len > NAME_MAX_LEN || !only(type, "._:/-"))
		return refuse(s,
		    "is not a task type: 1 to 128 letters, digits and . _ : "
		    "/ -, with * at the end for all that begin so",
		    err);
	if (strncmp(s, "workflow.", 9) == 0)
		return refuse(s, "begins with workflow., which is qo's own",
		    err);
	return 0;
}

int
confname_user(const char *s, struct qo_err *err)
{
	size_t len = strlen(s);

	if (len == 0 || len > 32 || !only(s, "._-") || s[0] == '-')
		return refuse(s,
		    "is not an account: 1 to 32 letters, digits and . _ -",
		    err);
	return 0;
}

int
confname_region(const char *s, struct qo_err *err)
{
	size_t len = strlen(s);

	if (len == 0 || len > 64 || !only(s, "-_"))
		return refuse(s, "is not a region like us-east-1", err);
	return 0;
}
