/*
 * The published SigV4 suites, read at run time from $QO_SHARED: each case is
 * judged by canonical request, string to sign and signature.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <yyjson.h>

#include "hash.h"
#include "run_suite.h"
#include "sigv4.h"
#include "xalloc.h"

#define V4                                                   \
	"sigv4-vectors/aws-c-auth-signing-test-suite/tests/" \
	"aws-signing-test-suite/v4"
#define BOTO     "sigv4-vectors/botocore-aws4_testsuite"
#define FILE_MAX 65536
#define NHEADERS 32

struct vector {
	char *text; /* what the rest points into */
	char *method, *path, *query, *body;
	struct qo_kv headers[NHEADERS];
	size_t n;
};

static const char *shared;

/* The file as a string, or NULL. */
static char *
slurp(const char *dir, const char *name, const char *ext)
{
	char *path, *text;
	ssize_t n;
	int fd;

	path = xasprintf("%s/%s%s", dir, name, ext);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd == -1)
		return NULL;
	text = xcalloc(1, FILE_MAX);
	n = read(fd, text, FILE_MAX - 1);
	close(fd);
	ck_assert(n >= 0 && n < FILE_MAX - 1);
	return text;
}

static void
lower(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

/* A folded line belongs to the header before it: in place of the line break
 * comes a space, and signing folds the rest. */
static void
unfold(char *s)
{
	for (; *s != '\0'; s++)
		if (*s == '\n' && (s[1] == ' ' || s[1] == '\t'))
			*s = ' ';
}

static void
vector_parse(struct vector *v, char *text)
{
	char *line, *end, *colon;

	memset(v, 0, sizeof(*v));
	v->text = text;
	v->body = text + strlen(text);
	if ((end = strstr(text, "\n\n")) != NULL) {
		v->body = end + 2;
		*end = '\0';
	}
	unfold(text);
	line = strsep(&text, "\n");
	v->method = strsep(&line, " ");
	v->path = line;
	ck_assert_ptr_nonnull(end = strrchr(line, ' '));
	*end = '\0';
	v->query = strchr(line, '?');
	if (v->query != NULL)
		*v->query++ = '\0';
	while ((line = strsep(&text, "\n")) != NULL) {
		if (*line == '\0')
			continue;
		ck_assert_ptr_nonnull(colon = strchr(line, ':'));
		*colon = '\0';
		lower(line);
		ck_assert_uint_lt(v->n, NHEADERS - 3);
		v->headers[v->n++] = (struct qo_kv){ line, colon + 1 };
	}
}

static void
add_header(struct vector *v, const char *name, const char *value)
{
	v->headers[v->n++] = (struct qo_kv){ name, value };
}

static struct qo_sigv4_req
vector_req(const struct vector *v, const char *payload)
{
	struct qo_sigv4_req r = { 0 };

	r.method = v->method;
	r.path = v->path;
	r.query = v->query;
	r.headers = v->headers;
	r.nheaders = v->n;
	r.payload_hash = payload;
	return r;
}

/* 1 when the file holds exactly this; says which did not. */
static int
same(const char *dir, const char *name, const char *ext, const char *got)
{
	char *want;
	int ok;

	want = slurp(dir, name, ext);
	ok = want != NULL && strcmp(want, got) == 0;
	if (!ok)
		printf("%s/%s%s differs\n--- got\n%s\n--- want\n%s\n", dir,
		    name, ext, got, want != NULL ? want : "(no file)");
	free(want);
	return ok;
}

static const char *
member(yyjson_val *o, const char *name)
{
	return yyjson_get_str(yyjson_obj_get(o, name));
}

/* "2015-08-30T12:36:00Z" without what x-amz-date does not have. */
static void
amz_date(const char *s, char out[QO_AMZDATE_SIZE])
{
	size_t n = 0;

	for (; *s != '\0' && n < QO_AMZDATE_SIZE - 1; s++)
		if (*s != '-' && *s != ':')
			out[n++] = *s;
	out[n] = '\0';
}

struct context {
	yyjson_doc *doc;
	struct qo_sigv4_cred cred;
	const char *region, *service;
	char date[QO_AMZDATE_SIZE];
	bool normalize, sign_body;
	int64_t expires;
};

static void
context_read(struct context *c, const char *dir)
{
	yyjson_val *root, *cred;
	char *text;

	ck_assert_ptr_nonnull(text = slurp(dir, "context.json", ""));
	c->doc = yyjson_read(text, strlen(text), 0);
	free(text);
	root = yyjson_doc_get_root(c->doc);
	cred = yyjson_obj_get(root, "credentials");
	c->cred.access_key = member(cred, "access_key_id");
	c->cred.secret_key = member(cred, "secret_access_key");
	c->cred.session_token = member(cred, "token");
	/* The token is then added after signing, which is not ours to test. */
	if (yyjson_get_bool(yyjson_obj_get(root, "omit_session_token")))
		c->cred.session_token = NULL;
	c->region = member(root, "region");
	c->service = member(root, "service");
	c->normalize = yyjson_get_bool(yyjson_obj_get(root, "normalize"));
	c->sign_body = yyjson_get_bool(yyjson_obj_get(root, "sign_body"));
	c->expires = yyjson_get_sint(yyjson_obj_get(root,
	    "expiration_in_seconds"));
	amz_date(member(root, "timestamp"), c->date);
}

/* One case in one form; 1 when all three texts agree. */
static int
aws_case(const char *dir, const char *form)
{
	struct qo_sigv4_signer *s;
	struct qo_sigv4_req r;
	struct context c;
	struct vector v;
	struct buf out;
	char sha[65], sig[QO_SIGV4_SIG_SIZE], name[64];
	char *text;
	int ok;

	context_read(&c, dir);
	ck_assert_ptr_nonnull(text = slurp(dir, "request.txt", ""));
	vector_parse(&v, text);
	sha256_hex(v.body, strlen(v.body), sha);
	s = qo_sigv4_new();
	buf_init(&out, FILE_MAX);
	if (form[0] == 'h') {
		add_header(&v, "x-amz-date", c.date);
		if (c.cred.session_token != NULL)
			add_header(&v, "x-amz-security-token",
			    c.cred.session_token);
		if (c.sign_body)
			add_header(&v, "x-amz-content-sha256", sha);
	}
	r = vector_req(&v, sha);
	r.region = c.region;
	r.service = c.service;
	r.flags = c.normalize ? QO_SIGV4_NORMALIZE : 0;
	ck_assert_int_eq(qo_amzdate_parse(c.date, strlen(c.date), &r.time), 0);
	if (form[0] == 'h')
		ck_assert_int_eq(qo_sigv4_sign(s, &r, c.cred.secret_key, sig),
		    0);
	else {
		ck_assert_int_eq(qo_sigv4_presign(s, &r, &c.cred, c.expires,
				     &out),
		    0);
		strlcpy(sig, strrchr(out.data, '=') + 1, sizeof(sig));
	}
	snprintf(name, sizeof(name), "%s-canonical-request", form);
	ok = same(dir, name, ".txt", qo_sigv4_last_canonical(s));
	snprintf(name, sizeof(name), "%s-string-to-sign", form);
	ok &= same(dir, name, ".txt", qo_sigv4_last_string(s));
	snprintf(name, sizeof(name), "%s-signature", form);
	ok &= same(dir, name, ".txt", sig);
	buf_fini(&out);
	qo_sigv4_free(s);
	yyjson_doc_free(c.doc);
	free(v.text);
	return ok;
}

START_TEST(test_aws_suite)
{
	struct dirent *de;
	char *top, *dir;
	DIR *d;
	int n = 0, ok = 0;

	top = xasprintf("%s/%s", shared, V4);
	if ((d = opendir(top)) == NULL) {
		printf("not read: the SigV4 suite in %s\n", top);
		free(top);
		return;
	}
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		dir = xasprintf("%s/%s", top, de->d_name);
		ok += aws_case(dir, "header") + aws_case(dir, "query");
		n += 2;
		free(dir);
	}
	closedir(d);
	free(top);
	printf("aws-c-auth suite: %d of %d agree\n", ok, n);
	ck_assert_int_eq(ok, n);
	ck_assert_int_ge(n, 76);
}
END_TEST

/* A session token that is signed but stands in the signed request only. */
static char *
boto_token(const char *dir, const char *name, struct vector *v)
{
	static const char header[] = "\nX-Amz-Security-Token:";
	char *creq, *sreq, *at, *token = NULL;
	size_t i;

	for (i = 0; i < v->n; i++)
		if (strcmp(v->headers[i].name, "x-amz-security-token") == 0)
			return NULL;
	creq = slurp(dir, name, ".creq");
	sreq = slurp(dir, name, ".sreq");
	if (creq != NULL && strstr(creq, "\nx-amz-security-token:") != NULL &&
	    sreq != NULL && (at = strstr(sreq, header)) != NULL) {
		at += sizeof(header) - 1;
		token = xmemdup0(at, strcspn(at, "\n"));
		add_header(v, "x-amz-security-token", token);
	}
	free(creq);
	free(sreq);
	return token;
}

/* The older suite: the .req has x-amz-date, the .authz is the whole header. */
static int
boto_case(const char *dir, const char *name)
{
	static const struct qo_sigv4_cred cred = { "AKIDEXAMPLE",
		"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", NULL };
	struct qo_sigv4_signer *s;
	struct qo_sigv4_req r;
	struct vector v;
	struct buf out;
	char sha[65], *text, *token;
	int ok;

	ck_assert_ptr_nonnull(text = slurp(dir, name, ".req"));
	vector_parse(&v, text);
	token = boto_token(dir, name, &v);
	sha256_hex(v.body, strlen(v.body), sha);
	r = vector_req(&v, sha);
	r.region = "us-east-1";
	r.service = "service";
	r.flags = QO_SIGV4_NORMALIZE;
	ck_assert_int_eq(qo_amzdate_parse("20150830T123600Z", 16, &r.time), 0);
	s = qo_sigv4_new();
	buf_init(&out, FILE_MAX);
	ck_assert_int_eq(qo_sigv4_authorization(s, &r, &cred, &out, NULL), 0);
	ok = same(dir, name, ".creq", qo_sigv4_last_canonical(s)) &
	    same(dir, name, ".sts", qo_sigv4_last_string(s)) &
	    same(dir, name, ".authz", out.data);
	buf_fini(&out);
	qo_sigv4_free(s);
	free(token);
	free(v.text);
	return ok;
}

static void
boto_dir(const char *top, int depth, int *n, int *ok)
{
	struct dirent *de;
	char *dir, *req;
	DIR *d;

	if ((d = opendir(top)) == NULL)
		return;
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		dir = xasprintf("%s/%s", top, de->d_name);
		if ((req = slurp(dir, de->d_name, ".req")) != NULL) {
			*ok += boto_case(dir, de->d_name);
			++*n;
		} else if (depth > 0)
			boto_dir(dir, depth - 1, n, ok);
		free(req);
		free(dir);
	}
	closedir(d);
}

START_TEST(test_boto_suite)
{
	char *top;
	int n = 0, ok = 0;

	top = xasprintf("%s/%s", shared, BOTO);
	if (access(top, R_OK) == -1) {
		printf("not read: the SigV4 suite in %s\n", top);
		free(top);
		return;
	}
	boto_dir(top, 1, &n, &ok);
	free(top);
	printf("botocore suite: %d of %d agree\n", ok, n);
	ck_assert_int_eq(ok, n);
	ck_assert_int_ge(n, 30);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sigv4 vectors");
	TCase *tc = tcase_create("vectors");

	if ((shared = getenv("QO_SHARED")) == NULL)
		shared = "../shared";
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_aws_suite);
	tcase_add_test(tc, test_boto_suite);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
