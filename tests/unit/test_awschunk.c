/*
 * The streaming examples of the S3 API reference, split at every place, and
 * all the ways in which a body can be wrong.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "awschunk.h"
#include "awschunk_enc.h"
#include "run_suite.h"

#define SK   "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define SEED "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
#define SEED_TRAILER \
	"106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"
#define TOTAL 66560

static struct qo_sigv4_chain chain;
static struct buf body, got;
static char data[TOTAL + 1];

static void
start(const char *seed)
{
	struct qo_sigv4_signer *s;
	struct qo_sigv4_req r = { 0 };

	r.region = "us-east-1";
	r.service = "s3";
	ck_assert_int_eq(qo_amzdate_parse("20130524T000000Z", 16, &r.time), 0);
	s = qo_sigv4_new();
	ck_assert_int_eq(qo_sigv4_chain_init(&chain, s, &r, SK, seed), 0);
	qo_sigv4_free(s);
}

static void
setup(void)
{
	memset(data, 'a', TOTAL);
	buf_init(&body, 1 << 20);
	buf_init(&got, 1 << 20);
	start(SEED);
}

static void
teardown(void)
{
	buf_fini(&body);
	buf_fini(&got);
}

static int
sink(const void *p, size_t len, void *arg)
{
	return buf_add(arg, p, len);
}

static struct qo_awschunk_conf
conf(enum qo_sigv4_payload kind, int64_t len, const char *trailer)
{
	struct qo_awschunk_conf c = { kind, len, trailer, &chain, sink, &got };

	return c;
}

/* Feeds p in two pieces. */
static enum qo_awschunk_rc
decode_at(const struct qo_awschunk_conf *c, const char *p, size_t len,
    size_t cut)
{
	struct qo_awschunk *d;
	enum qo_awschunk_rc rc;

	buf_reset(&got);
	d = qo_awschunk_new(c);
	ck_assert_ptr_nonnull(d);
	rc = qo_awschunk_add(d, p, cut);
	ck_assert_int_eq(qo_awschunk_add(d, "", 0), rc);
	qo_awschunk_add(d, p + cut, len - cut);
	rc = qo_awschunk_end(d);
	ck_assert_int_eq(qo_awschunk_end(d), rc);
	qo_awschunk_free(d);
	return rc;
}

static enum qo_awschunk_rc
decode(const struct qo_awschunk_conf *c)
{
	return decode_at(c, body.data, body.len, body.len / 2);
}

static void
doc_body(const char *const sigs[3])
{
	buf_reset(&body);
	buf_addf(&body, "10000;chunk-signature=%s\r\n", sigs[0]);
	buf_add(&body, data, 65536);
	buf_addf(&body, "\r\n400;chunk-signature=%s\r\n", sigs[1]);
	buf_add(&body, data, 1024);
	buf_addf(&body, "\r\n0;chunk-signature=%s\r\n", sigs[2]);
}

static const char *const doc_sigs[3] = {
	"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
	"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
	"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"
};
static const char *const trailer_sigs[3] = {
	"b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
	"1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
	"2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992"
};
#define CRC     "x-amz-checksum-crc32c"
#define TRAILER CRC ":sOO8/Q=="
#define TRAILER_SIG                \
	"x-amz-trailer-signature:" \
	"d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435"

/* Every split in and around the framing, and some inside of the data. */
static void
split_all(const struct qo_awschunk_conf *c)
{
	size_t cut;

	for (cut = 0; cut <= body.len; cut++) {
		if (cut > 100 && cut < 65536 && cut % 4096 != 0)
			continue;
		if (cut > 65800 && cut < 66700 && cut % 64 != 0)
			continue;
		ck_assert_int_eq(decode_at(c, body.data, body.len, cut),
		    QO_AWSCHUNK_OK);
		ck_assert_uint_eq(got.len, TOTAL);
		ck_assert_mem_eq(got.data, data, TOTAL);
	}
}

START_TEST(test_doc)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_CHUNKED, TOTAL, NULL);

	doc_body(doc_sigs);
	buf_adds(&body, "\r\n");
	ck_assert_uint_eq(body.len, 66824); /* Content-Length in the text */
	split_all(&c);
}
END_TEST

/* With the line ends of the documentation's text, of the SDKs, and a variant
 * with an empty line and spaces. */
START_TEST(test_doc_trailer)
{
	static const char *const tails[] = {
		TRAILER "\r\n" TRAILER_SIG "\r\n\r\n",
		TRAILER "\n\r\n" TRAILER_SIG "\r\n\r\n",
		"X-Amz-Checksum-CRC32C: sOO8/Q== \r\n" TRAILER_SIG "\r\n",
	};
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_CHUNKED_TRAILER, TOTAL,
	    CRC);
	struct qo_awschunk *d;
	size_t i;

	start(SEED_TRAILER);
	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		doc_body(trailer_sigs);
		buf_adds(&body, tails[i]);
		split_all(&c);
	}
	d = qo_awschunk_new(&c);
	ck_assert_int_eq(qo_awschunk_add(d, body.data, body.len),
	    QO_AWSCHUNK_OK);
	ck_assert_int_eq(qo_awschunk_end(d), QO_AWSCHUNK_OK);
	ck_assert_str_eq(qo_awschunk_trailer(d, CRC), "sOO8/Q==");
	ck_assert_ptr_null(qo_awschunk_trailer(d, "x-amz-checksum-crc32"));
	qo_awschunk_free(d);
}
END_TEST

/* Without signatures nothing is hashed, so every split is tried. */
START_TEST(test_unsigned_splits)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_UNSIGNED_TRAILER, TOTAL,
	    " " CRC " ");
	size_t cut;

	buf_adds(&body, "10000\r\n");
	buf_add(&body, data, 65536);
	buf_adds(&body, "\r\n400\r\n");
	buf_add(&body, data, 1024);
	buf_adds(&body, "\r\n0\r\n" TRAILER "\r\n\r\n");
	for (cut = 0; cut <= body.len; cut++) {
		ck_assert_int_eq(decode_at(&c, body.data, body.len, cut),
		    QO_AWSCHUNK_OK);
		ck_assert_uint_eq(got.len, TOTAL);
	}
}
END_TEST

START_TEST(test_byte_by_byte)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_CHUNKED, TOTAL, NULL);
	struct qo_awschunk *d;
	size_t i;

	doc_body(doc_sigs);
	buf_adds(&body, "\r\n");
	d = qo_awschunk_new(&c);
	for (i = 0; i < body.len; i++)
		ck_assert_int_eq(qo_awschunk_add(d, body.data + i, 1),
		    QO_AWSCHUNK_OK);
	ck_assert_int_eq(qo_awschunk_end(d), QO_AWSCHUNK_OK);
	ck_assert_uint_eq(got.len, TOTAL);
	qo_awschunk_free(d);
}
END_TEST

/* A body that ends anywhere before its end is never whole. */
START_TEST(test_truncated)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_CHUNKED, TOTAL, NULL);
	struct qo_awschunk_conf u = conf(QO_PAYLOAD_UNSIGNED_TRAILER, 9, "a,b");
	static const char small[] = "9\r\n123456789\r\n0\r\na:1\r\nb:2\r\n\r\n";
	size_t i, end;

	doc_body(doc_sigs);
	buf_adds(&body, "\r\n");
	for (i = 0; i<body.len; i += i> 100 && i < 65600 ? 4093 : 1)
		ck_assert_int_ne(decode_at(&c, body.data, i, i / 2),
		    QO_AWSCHUNK_OK);
	end = strlen(small);
	ck_assert_int_eq(decode_at(&u, small, end, 1), QO_AWSCHUNK_OK);
	for (i = 0; i < end; i++)
		ck_assert_int_ne(decode_at(&u, small, i, 0), QO_AWSCHUNK_OK);
}
END_TEST

/* Each bit of the framing, and samples of the data. */
START_TEST(test_flips)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_CHUNKED, TOTAL, NULL);
	enum qo_awschunk_rc rc;
	size_t i;
	int bit;

	doc_body(doc_sigs);
	buf_adds(&body, "\r\n");
	for (i = 0; i < body.len; i++) {
		if (i > 100 && i < 65620 && i % 5003 != 0)
			continue;
		if (i > 65720 && i < 66700 && i % 97 != 0)
			continue;
		for (bit = 0; bit < 8; bit++) {
			body.data[i] = (char)(body.data[i] ^ 1 << bit);
			rc = decode(&c);
			ck_assert_msg(rc != QO_AWSCHUNK_OK,
			    "bit %d of byte %zu", bit, i);
			body.data[i] = (char)(body.data[i] ^ 1 << bit);
		}
	}
	ck_assert_int_eq(decode(&c), QO_AWSCHUNK_OK);
}
END_TEST

START_TEST(test_trailer_flips)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_CHUNKED_TRAILER, TOTAL,
	    CRC);
	size_t i, at;
	int bit;

	start(SEED_TRAILER);
	doc_body(trailer_sigs);
	at = body.len;
	buf_adds(&body, TRAILER "\r\n" TRAILER_SIG "\r\n");
	ck_assert_int_eq(decode(&c), QO_AWSCHUNK_OK);
	for (i = at; i < body.len - 2; i++)
		for (bit = 0; bit < 8; bit++) {
			/* Header names have no case; a CR before the LF and
			 * what stands for it are not signed. */
			if (bit == 5 && i < at + strlen(CRC))
				continue;
			if (i >= at + strlen(TRAILER) &&
			    i < at + strlen(TRAILER) + 2 +
				    strlen("x-amz-trailer-signature:"))
				continue;
			body.data[i] = (char)(body.data[i] ^ 1 << bit);
			ck_assert_int_ne(decode(&c), QO_AWSCHUNK_OK);
			body.data[i] = (char)(body.data[i] ^ 1 << bit);
		}
	/* The signature's line must be ended. */
	buf_truncate(&body, body.len - 1);
	ck_assert_int_eq(decode(&c), QO_AWSCHUNK_LENGTH);
}
END_TEST

static const struct {
	const char *body;
	int64_t len;
	const char *trailer;
	enum qo_awschunk_rc want;
} bad[] = {
	{ "3\r\nabc\r\n0\r\n\r\n", 3, NULL, QO_AWSCHUNK_OK },
	{ "0000000000000003\r\nabc\r\n000\r\n\r\n", 3, NULL, QO_AWSCHUNK_OK },
	{ "0\r\n\r\n", 0, NULL, QO_AWSCHUNK_OK },
	{ "0\r\na:1\n\r\n\r\n", 0, "a", QO_AWSCHUNK_OK },
	{ "0\r\nb: 2\r\na:1\r\n\r\n", 0, "a , b", QO_AWSCHUNK_OK },
	{ "00000000000000003\r\nabc\r\n0\r\n\r\n", 3, NULL,
	    QO_AWSCHUNK_FRAMING },
	{ "\r\n", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "x\r\n", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "+3\r\nabc", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "0x3\r\nabc", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ " 3\r\nabc", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "3 \r\nabc", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "3\nabc\r\n0\r\n\r\n", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "3\r\r\nabc\r\n0\r\n\r\n", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "3;x=y\r\nabc\r\n0\r\n\r\n", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "3\r\nabcd\r\n0\r\n\r\n", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "3\r\nabc\n0\r\n\r\n", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "3\r\nabc\r0\r\n\r\n", 3, NULL, QO_AWSCHUNK_FRAMING },
	{ "3\r\nabc\r\n0\r\n\r\n", 4, NULL, QO_AWSCHUNK_LENGTH },
	{ "3\r\nabc\r\n0\r\n\r\n", 2, NULL, QO_AWSCHUNK_LENGTH },
	{ "ffffffffffffffff\r\n", 3, NULL, QO_AWSCHUNK_LENGTH },
	{ "8000000000000000\r\n", INT64_MAX, NULL, QO_AWSCHUNK_LENGTH },
	{ "", 0, NULL, QO_AWSCHUNK_LENGTH },
	{ "", 3, NULL, QO_AWSCHUNK_LENGTH },
	{ "0\r\n", 0, NULL, QO_AWSCHUNK_LENGTH },
	{ "0\r\n\r", 0, NULL, QO_AWSCHUNK_LENGTH },
	{ "1\r\na\r\n1\r\nb\r\n0\r\n\r\n", 2, NULL, QO_AWSCHUNK_SMALL },
	{ "0\r\n\r\nx", 0, NULL, QO_AWSCHUNK_LENGTH },
	{ "0\r\n\r\nx\r\n", 0, NULL, QO_AWSCHUNK_TRAILER },
	{ "0\r\n\r\n\r\n\r\n", 0, NULL, QO_AWSCHUNK_TRAILER },
	{ "0\r\na:1\r\n\r\n", 0, NULL, QO_AWSCHUNK_TRAILER },
	{ "0\r\na:1\r\n\r\n", 0, "b", QO_AWSCHUNK_TRAILER },
	{ "0\r\n\r\n", 0, "a", QO_AWSCHUNK_TRAILER },
	{ "0\r\na:1\r\n\r\n", 0, "a,b", QO_AWSCHUNK_TRAILER },
	{ "0\r\na:1\r\na:1\r\n\r\n", 0, "a", QO_AWSCHUNK_TRAILER },
	{ "0\r\na\r\n\r\n", 0, "a", QO_AWSCHUNK_TRAILER },
	{ "0\r\n:1\r\n\r\n", 0, "a", QO_AWSCHUNK_TRAILER },
	{ "0\r\na :1\r\n\r\n", 0, "a", QO_AWSCHUNK_TRAILER },
	{ "0\r\na:\x01\r\n\r\n", 0, "a", QO_AWSCHUNK_TRAILER },
	{ "0\r\na:1\r\r\n\r\n", 0, "a", QO_AWSCHUNK_TRAILER },
	{ "0\r\nx-amz-trailer-signature:0\r\n\r\n", 0, NULL,
	    QO_AWSCHUNK_TRAILER },
	{ "0\r\nx-amz-trailer-signature:" SEED "\r\n\r\n", 0, NULL,
	    QO_AWSCHUNK_TRAILER },
};

START_TEST(test_bad)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_UNSIGNED_TRAILER,
	    bad[_i].len, bad[_i].trailer);
	size_t cut, len = strlen(bad[_i].body);

	for (cut = 0; cut <= len; cut++) {
		ck_assert_int_eq(decode_at(&c, bad[_i].body, len, cut),
		    bad[_i].want);
		/* Never more than was announced. */
		ck_assert_int_le((int64_t)got.len, bad[_i].len);
	}
	if (bad[_i].want != QO_AWSCHUNK_OK)
		ck_assert_int_ge(qo_awschunk_fault(bad[_i].want)->status, 400);
}
END_TEST

START_TEST(test_bad_signed)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_CHUNKED, 3, NULL);
	struct qo_awschunk_conf t = conf(QO_PAYLOAD_CHUNKED_TRAILER, 0, NULL);
	struct qo_awschunk_enc *e;

	/* Without any signature. */
	buf_adds(&body, "3\r\nabc\r\n0\r\n\r\n");
	ck_assert_int_eq(decode(&c), QO_AWSCHUNK_FRAMING);
	/* With something behind the end. */
	buf_reset(&body);
	e = qo_awschunk_enc_new(QO_PAYLOAD_CHUNKED, QO_AWSCHUNK_MIN, &chain);
	ck_assert_int_eq(qo_awschunk_enc_add(e, "abc", 3, &body), 0);
	ck_assert_int_eq(qo_awschunk_enc_end(e, NULL, 0, &body), 0);
	qo_awschunk_enc_free(e);
	ck_assert_int_eq(decode(&c), QO_AWSCHUNK_OK);
	buf_adds(&body, "\r\n");
	ck_assert_int_eq(decode(&c), QO_AWSCHUNK_FRAMING);
	/* The trailers' signature can not be left out, even without any. */
	buf_reset(&body);
	e = qo_awschunk_enc_new(QO_PAYLOAD_CHUNKED_TRAILER, QO_AWSCHUNK_MIN,
	    &chain);
	ck_assert_int_eq(qo_awschunk_enc_end(e, NULL, 0, &body), 0);
	qo_awschunk_enc_free(e);
	ck_assert_int_eq(decode(&t), QO_AWSCHUNK_OK);
	t.trailer = "a";
	ck_assert_int_eq(decode(&t), QO_AWSCHUNK_TRAILER);
	t.trailer = NULL;
	buf_truncate(&body, body.len - 2 - 2 - 64 - 24);
	ck_assert_int_eq(decode(&t), QO_AWSCHUNK_LENGTH);
	buf_adds(&body, "\r\n");
	ck_assert_int_eq(decode(&t), QO_AWSCHUNK_LENGTH);
}
END_TEST

START_TEST(test_conf)
{
	static const char *const names[] = { "", "a,", ",a", "a,a", "a b",
		"a,x-amz-trailer-signature", "a,b,c,d,e,f,g,h,i",
		("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "a"
		 "aa") };
	struct qo_awschunk_conf c;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		c = conf(QO_PAYLOAD_UNSIGNED_TRAILER, 1, names[i]);
		ck_assert_ptr_null(qo_awschunk_new(&c));
	}
	c = conf(QO_PAYLOAD_CHUNKED, -1, NULL);
	ck_assert_ptr_null(qo_awschunk_new(&c));
	qo_awschunk_free(NULL);
	qo_awschunk_enc_free(NULL);
}
END_TEST

static int
refuse(const void *p, size_t len, void *arg)
{
	(void)p;
	(void)len;
	++*(int *)arg;
	return -1;
}

START_TEST(test_sink)
{
	struct qo_awschunk_conf c = conf(QO_PAYLOAD_UNSIGNED_TRAILER, 3, NULL);
	struct qo_awschunk *d;
	int calls = 0;

	c.sink = refuse;
	c.arg = &calls;
	d = qo_awschunk_new(&c);
	ck_assert_int_eq(qo_awschunk_add(d, "3\r\nabc\r\n", 8),
	    QO_AWSCHUNK_SINK);
	ck_assert_int_eq(qo_awschunk_add(d, "0\r\n", 3), QO_AWSCHUNK_SINK);
	ck_assert_int_eq(qo_awschunk_end(d), QO_AWSCHUNK_SINK);
	ck_assert_int_eq(calls, 1);
	qo_awschunk_free(d);
}
END_TEST

/* Fixed pseudo-random sizes; the same in every run. */
static uint32_t
next(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

/* What the encoder makes, in any pieces, the decoder takes, in any pieces,
 * and it has the length that was foretold. */
START_TEST(test_encoder)
{
	static const enum qo_sigv4_payload kinds[] = { QO_PAYLOAD_CHUNKED,
		QO_PAYLOAD_CHUNKED_TRAILER, QO_PAYLOAD_UNSIGNED_TRAILER };
	const struct qo_kv trailers[] = {
		{ "x-amz-checksum-crc32", "AAAAAA==" }, { "x-amz-meta-z", "z" }
	};
	struct qo_awschunk_conf c;
	struct qo_awschunk_enc *e;
	struct qo_awschunk *d;
	uint32_t x = (uint32_t)_i + 1;
	size_t len, at, n, chunk, nt;
	int round;

	for (round = 0; round < 24; round++) {
		len = round < 3 ? (size_t)round : next(&x) % TOTAL;
		chunk = QO_AWSCHUNK_MIN + next(&x) % 9000;
		if (round == 5)
			len = 3 * chunk;
		nt = kinds[_i] == QO_PAYLOAD_CHUNKED ? 0 : 2;
		for (at = 0; at < len; at++)
			data[at] = (char)next(&x);
		buf_reset(&body);
		e = qo_awschunk_enc_new(kinds[_i], chunk, &chain);
		for (at = 0; at < len; at += n) {
			n = next(&x) % 20000 + 1;
			if (n > len - at)
				n = len - at;
			ck_assert_int_eq(qo_awschunk_enc_add(e, data + at, n,
					     &body),
			    0);
		}
		ck_assert_int_eq(qo_awschunk_enc_end(e, trailers, nt, &body),
		    0);
		qo_awschunk_enc_free(e);
		ck_assert_int_eq((int64_t)body.len,
		    qo_awschunk_enc_length(kinds[_i], chunk, (int64_t)len, nt,
			nt > 0 ? 20 + 8 + 12 + 1 : 0));
		c = conf(kinds[_i], (int64_t)len,
		    "x-amz-meta-z,x-amz-checksum-crc32");
		buf_reset(&got);
		d = qo_awschunk_new(&c);
		for (at = 0; at < body.len; at += n) {
			n = next(&x) % 3000 + 1;
			if (n > body.len - at)
				n = body.len - at;
			ck_assert_int_eq(qo_awschunk_add(d, body.data + at, n),
			    QO_AWSCHUNK_OK);
		}
		ck_assert_int_eq(qo_awschunk_end(d), QO_AWSCHUNK_OK);
		ck_assert_uint_eq(got.len, len);
		ck_assert_mem_eq(got.data, data, len);
		qo_awschunk_free(d);
	}
}
END_TEST

START_TEST(test_encoder_full)
{
	struct qo_awschunk_enc *e;
	struct buf small;

	buf_init(&small, 100);
	e = qo_awschunk_enc_new(QO_PAYLOAD_CHUNKED, QO_AWSCHUNK_MIN, &chain);
	ck_assert_int_eq(qo_awschunk_enc_add(e, data, QO_AWSCHUNK_MIN, &small),
	    -1);
	qo_awschunk_enc_free(e);
	buf_fini(&small);
}
END_TEST

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

int
main(void)
{
	Suite *s = suite_create("awschunk");
	TCase *tc = tcase_create("awschunk");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_doc);
	tcase_add_test(tc, test_doc_trailer);
	tcase_add_test(tc, test_unsigned_splits);
	tcase_add_test(tc, test_byte_by_byte);
	tcase_add_test(tc, test_truncated);
	tcase_add_test(tc, test_flips);
	tcase_add_test(tc, test_trailer_flips);
	tcase_add_loop_test(tc, test_bad, 0, N(bad));
	tcase_add_test(tc, test_bad_signed);
	tcase_add_test(tc, test_conf);
	tcase_add_test(tc, test_sink);
	tcase_add_loop_test(tc, test_encoder, 0, 3);
	tcase_add_test(tc, test_encoder_full);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
