/*
 * The client over TLS, against a server that shows good and bad
 * certificates.  All keys are made here and live as long as the test.
 */
#include <arpa/inet.h>
#include <check.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_suite.h"
#include "s3_fixture.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define DAY       86400L

static const char tls_answer[] = "HTTP/1.1 200 OK\r\n" NOW ETAG
				 "Content-Length: 2\r\n\r\n{}";

/* Certificates */

struct identity {
	EVP_PKEY *key;
	X509 *cert;
};

struct leaf {
	const char *san;  /* NULL: an authority */
	long from, until; /* seconds from now */
};

static void
add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *ext;
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ck_assert_ptr_nonnull(ext);
	ck_assert_int_eq(X509_add_ext(cert, ext, -1), 1);
	X509_EXTENSION_free(ext);
}

/* Signed by ca, or by itself when that is NULL. */
static struct identity
identity_new(const char *name, const struct leaf *leaf,
    const struct identity *ca)
{
	static long serial = 1;
	struct identity id;
	X509_NAME *subject;
	X509 *issuer;

	id.key = EVP_EC_gen("P-256");
	id.cert = X509_new();
	ck_assert(id.key != NULL && id.cert != NULL);
	issuer = ca != NULL ? ca->cert : id.cert;
	X509_set_version(id.cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(id.cert), serial++);
	X509_gmtime_adj(X509_getm_notBefore(id.cert), leaf->from);
	X509_gmtime_adj(X509_getm_notAfter(id.cert), leaf->until);
	subject = X509_get_subject_name(id.cert);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
	    (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(id.cert, X509_get_subject_name(issuer));
	X509_set_pubkey(id.cert, id.key);
	if (leaf->san != NULL)
		add_extension(id.cert, issuer, NID_subject_alt_name, leaf->san);
	else
		add_extension(id.cert, issuer, NID_basic_constraints,
		    "critical,CA:TRUE");
	ck_assert_int_gt(X509_sign(id.cert, ca != NULL ? ca->key : id.key,
			     EVP_sha256()),
	    0);
	return id;
}

static void
identity_fini(struct identity *id)
{
	EVP_PKEY_free(id->key);
	X509_free(id->cert);
}

static void
write_pem(const char *path, X509 *cert)
{
	FILE *fp = fopen(path, "we");

	ck_assert_ptr_nonnull(fp);
	ck_assert_int_eq(PEM_write_X509(fp, cert), 1);
	ck_assert_int_eq(fclose(fp), 0);
}

/* The server: one connection after the other, the same answer to each. */

struct tls_server {
	SSL_CTX *ctx;
	int fd;
	int stop[2];
	char url[64];
	atomic_int requests;
	pthread_t thread;
};

static void
serve_one(struct tls_server *s, int fd)
{
	char in[8192];
	size_t len = 0;
	SSL *ssl;
	int n;

	ssl = SSL_new(s->ctx);
	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1) {
		while (len < sizeof(in) - 1 &&
		    (n = SSL_read(ssl, in + len, (int)(sizeof(in) - 1 - len))) >
			0) {
			len += (size_t)n;
			in[len] = '\0';
			if (strstr(in, "\r\n\r\n") == NULL)
				continue;
			atomic_fetch_add(&s->requests, 1);
			SSL_write(ssl, tls_answer, sizeof(tls_answer) - 1);
			len = 0;
		}
		SSL_shutdown(ssl);
	}
	SSL_free(ssl);
	close(fd);
}

static void *
serve(void *arg)
{
	struct tls_server *s = arg;
	struct pollfd pfd[2] = { { s->stop[0], POLLIN, 0 },
		{ s->fd, POLLIN, 0 } };
	int fd;

	while (poll(pfd, 2, -1) > 0 && pfd[0].revents == 0) {
		fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd == -1)
			continue;
		serve_one(s, fd);
	}
	return NULL;
}

static SSL_CTX *
server_context(const struct identity *id, int max_version)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	ck_assert_ptr_nonnull(ctx);
	ck_assert_int_eq(SSL_CTX_use_certificate(ctx, id->cert), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey(ctx, id->key), 1);
	if (max_version != 0) {
		/* OpenSSL counts old versions as level 0. */
		SSL_CTX_set_cipher_list(ctx, "ALL:@SECLEVEL=0");
		SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
		SSL_CTX_set_max_proto_version(ctx, max_version);
	}
	return ctx;
}

static void
server_start(struct tls_server *s, const struct identity *id, int max_version)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);

	memset(s, 0, sizeof(*s));
	s->ctx = server_context(id, max_version);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_ne(s->fd, -1);
	ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&sin, len), 0);
	ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&sin, &len), 0);
	ck_assert_int_eq(listen(s->fd, 16), 0);
	ck_assert_int_eq(pipe(s->stop), 0);
	snprintf(s->url, sizeof(s->url), "https://127.0.0.1:%d",
	    ntohs(sin.sin_port));
	ck_assert_int_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void
server_stop(struct tls_server *s)
{
	close(s->stop[1]);
	pthread_join(s->thread, NULL);
	close(s->stop[0]);
	close(s->fd);
	SSL_CTX_free(s->ctx);
}

/* The fixture */

static char dir[32];
static char ca_path[64], other_path[64];
static struct identity ca, other_ca;

static const struct leaf authority = { NULL, -DAY, DAY };
static const struct leaf good = { "DNS:localhost,IP:127.0.0.1", -DAY, DAY };
static const struct leaf expired = { "DNS:localhost,IP:127.0.0.1", -2 * DAY,
	-DAY };
static const struct leaf early = { "DNS:localhost,IP:127.0.0.1", DAY, 2 * DAY };
static const struct leaf wrong_host = { "DNS:s3.example.com,IP:127.0.0.2", -DAY,
	DAY };

static void
setup(void)
{
	/* OpenSSL's server writes without MSG_NOSIGNAL. */
	signal(SIGPIPE, SIG_IGN);
	snprintf(dir, sizeof(dir), "/tmp/qo-tls-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ca = identity_new("the authority", &authority, NULL);
	other_ca = identity_new("another authority", &authority, NULL);
	snprintf(ca_path, sizeof(ca_path), "%s/ca.pem", dir);
	snprintf(other_path, sizeof(other_path), "%s/other.pem", dir);
	write_pem(ca_path, ca.cert);
	write_pem(other_path, other_ca.cert);
}

static void
teardown(void)
{
	identity_fini(&ca);
	identity_fini(&other_ca);
	unlink(ca_path);
	unlink(other_path);
	rmdir(dir);
}

/* Asks url for an object, trusting what ca_file holds. */
static void
fetch(const char *url, const char *ca_file, struct qo_s3_req *r)
{
	struct qo_s3_conf conf = { .endpoint = url,
		.region = "us-east-1",
		.path_style = true,
		.ca_file = ca_file,
		.access_key = "AKIDEXAMPLE",
		.secret_key = "secret",
		.max_connections = 4,
		.request_timeout_ms = 120000,
		.max_skew_ms = 300000 };
	struct loop *loop = loop_new();
	struct qo_err err;
	struct qo_s3 *s3;

	s3 = qo_s3_new(loop, &conf, &err);
	ck_assert_msg(s3 != NULL, "%s", err.msg);
	qo_s3_req_init(r, QO_S3_GET, "qo", "tasks/0/x.json");
	r->max_attempts = 1;
	/* To connect has a limit of its own: where a busy machine exceeded
	 * it, again. */
	do
		qo_s3_wait(s3, r);
	while (r->res.outcome == QO_S3_UNREACHABLE &&
	    strcasestr(r->res.err.msg, "time") != NULL);
	qo_s3_free(s3);
	loop_free(loop);
}

static void
refused(struct tls_server *s, const char *ca_file, const char *says)
{
	struct qo_s3_req r;

	fetch(s->url, ca_file, &r);
	ck_assert_msg(r.res.outcome == QO_S3_UNREACHABLE, "%s: %s",
	    qo_s3_outcome_name(r.res.outcome), r.res.err.msg);
	ck_assert_msg(strcasestr(r.res.err.msg, says) != NULL, "%s",
	    r.res.err.msg);
	ck_assert_int_eq(atomic_load(&s->requests), 0);
	qo_s3_req_fini(&r);
}

static void
accepted(struct tls_server *s, const char *ca_file)
{
	struct qo_s3_req r;
	int before = atomic_load(&s->requests);

	fetch(s->url, ca_file, &r);
	ck_assert_msg(r.res.outcome == QO_S3_OK, "%s", r.res.err.msg);
	ck_assert_str_eq(r.res.body.data, "{}");
	ck_assert_int_eq(atomic_load(&s->requests), before + 1);
	qo_s3_req_fini(&r);
}

/* Tests */

START_TEST(test_trusted)
{
	struct identity id = identity_new("localhost", &good, &ca);
	struct tls_server s;

	server_start(&s, &id, 0);
	accepted(&s, ca_path);
	server_stop(&s);
	identity_fini(&id);
}
END_TEST

START_TEST(test_by_name)
{
	struct identity id = identity_new("localhost", &good, &ca);
	struct tls_server s;
	char port[16];

	server_start(&s, &id, 0);
	snprintf(port, sizeof(port), "%s", strrchr(s.url, ':'));
	snprintf(s.url, sizeof(s.url), "https://localhost%s", port);
	accepted(&s, ca_path);
	server_stop(&s);
	identity_fini(&id);
}
END_TEST

START_TEST(test_untrusted)
{
	struct identity id = identity_new("localhost", &good, &ca);
	struct tls_server s;

	server_start(&s, &id, 0);
	refused(&s, NULL, "certificate");
	refused(&s, other_path, "certificate");
	refused(&s, "/nonexistent/ca.pem", "certificate");
	server_stop(&s);
	identity_fini(&id);
}
END_TEST

static const struct {
	const struct leaf *leaf;
	bool self_signed;
	const char *says;
} bad[] = {
	{ &expired, false, "expired" },
	{ &early, false, "not yet valid" },
	{ &wrong_host, false, "certificate" },
	{ &good, true, "self-signed" },
};

START_TEST(test_bad_certificate)
{
	struct identity id = identity_new("localhost", bad[_i].leaf,
	    bad[_i].self_signed ? NULL : &ca);
	struct tls_server s;

	server_start(&s, &id, 0);
	refused(&s, ca_path, bad[_i].says);
	refused(&s, NULL, "certificate");
	server_stop(&s);
	identity_fini(&id);
}
END_TEST

/* Does the server speak this version at all? */
static void
speaks(const struct tls_server *s, int version)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *bio;
	SSL *ssl;

	SSL_CTX_set_cipher_list(ctx, "ALL:@SECLEVEL=0");
	SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
	bio = BIO_new_ssl_connect(ctx);
	BIO_set_conn_hostname(bio, s->url + strlen("https://"));
	ck_assert_int_eq(BIO_do_handshake(bio), 1);
	BIO_get_ssl(bio, &ssl);
	ck_assert_int_eq(SSL_version(ssl), version);
	BIO_free_all(bio);
	SSL_CTX_free(ctx);
}

START_TEST(test_old_version)
{
	struct identity id = identity_new("localhost", &good, &ca);
	struct tls_server s;

	server_start(&s, &id, TLS1_1_VERSION);
	speaks(&s, TLS1_1_VERSION);
	refused(&s, ca_path, "protocol");
	server_stop(&s);
	server_start(&s, &id, TLS1_2_VERSION);
	speaks(&s, TLS1_2_VERSION);
	accepted(&s, ca_path);
	server_stop(&s);
	identity_fini(&id);
}
END_TEST

/* Names that other programs take as "trust this" or "check nothing". */
static const char *const variables[] = { "CURL_CA_BUNDLE", "AWS_CA_BUNDLE",
	"REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_NO_VERIFY", "CURL_INSECURE",
	"AWS_NO_VERIFY_SSL", "GIT_SSL_NO_VERIFY", "CURLOPT_SSL_VERIFYPEER" };

START_TEST(test_environment)
{
	struct identity id = identity_new("localhost", &good, &ca);
	struct tls_server s;
	size_t i;

	for (i = 0; i < nitems(variables); i++)
		setenv(variables[i],
		    strstr(variables[i], "CA_BUNDLE") != NULL ||
			    strstr(variables[i], "FILE") != NULL
			? ca_path
			: "1",
		    1);
	setenv("SSL_CERT_DIR", dir, 1);
	server_start(&s, &id, 0);
	refused(&s, NULL, "certificate");
	refused(&s, other_path, "certificate");
	server_stop(&s);
	identity_fini(&id);
}
END_TEST

static const char *const redirects[] = { "301 Moved Permanently", "302 Found",
	"303 See Other", "307 Temporary Redirect", "308 Permanent Redirect" };

/* The signature is for one host and the keys are for nobody else. */
START_TEST(test_redirect)
{
	struct script_step there = answer("200 OK", ETAG, "{}"), here;
	struct scripted *trap = scripted_start(&there, 1, NULL);
	struct fixture fx;
	struct qo_s3_req r;
	char location[128];

	snprintf(location, sizeof(location), "Location: %s/qo/stolen\r\n",
	    scripted_url(trap));
	here = answer(redirects[_i], location, "");
	fixture_start(&fx, &here, 1, NULL);
	qo_s3_req_init(&r, QO_S3_GET, "qo", "tasks/0/x.json");
	r.max_attempts = 1;
	ck_assert_int_ne(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	if (_i != 2) {
		ck_assert_int_eq(r.res.outcome, QO_S3_WRONG_REGION);
		ck_assert_ptr_nonnull(strstr(r.res.err.msg,
		    scripted_url(trap)));
	}
	ck_assert_uint_eq(scripted_count(fx.server), 1);
	ck_assert_uint_eq(scripted_count(trap), 0);
	qo_s3_req_fini(&r);
	fixture_stop(&fx);
	scripted_stop(trap);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("s3_tls");
	TCase *tc = tcase_create("s3_tls");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_trusted);
	tcase_add_test(tc, test_by_name);
	tcase_add_test(tc, test_untrusted);
	tcase_add_loop_test(tc, test_bad_certificate, 0, (int)nitems(bad));
	tcase_add_test(tc, test_old_version);
	tcase_add_test(tc, test_environment);
	tcase_add_loop_test(tc, test_redirect, 0, (int)nitems(redirects));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
