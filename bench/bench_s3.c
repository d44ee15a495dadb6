/*
 * What the S3 client costs: CPU per request beside a bare libcurl loop
 * against the same server in the same run, and its memory.
 *
 * The server is our HTTP part in a process of its own, answering every PUT
 * with the same 200.  Both clients keep 64 requests of 1 KiB in flight; the
 * bare one sends no signature at all.  Rounds alternate, the best of each
 * counts: the machine is shared.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "constant.h"
#include "log.h"
#include "loop.h"
#include "s3.h"
#include "usage.h"

#define IN_FLIGHT 64
#define REQUESTS  20000
#define ROUNDS    5
#define BODY_LEN  1024

static char body[BODY_LEN];

/* Measuring */

struct figures {
	double cpu_us; /* per request, user and system */
	double per_s;
};

static double
cpu_now(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1e6 +
	    (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
}

static void
keep_best(struct figures *best, double cpu, double wall_us)
{
	if (best->cpu_us == 0 || cpu / REQUESTS < best->cpu_us)
		best->cpu_us = cpu / REQUESTS;
	if (REQUESTS / wall_us * 1e6 > best->per_s)
		best->per_s = REQUESTS / wall_us * 1e6;
}

/* The bare loop */

static size_t
drop(char *p, size_t size, size_t n, void *arg)
{
	(void)p;
	(void)arg;
	return size * n;
}

static void
bare_round(CURLM *multi, CURL **easy, struct figures *best)
{
	double cpu = cpu_now();
	struct qo_mono start = qo_mono_now();
	int sent, done = 0, running, left;
	CURLMsg *msg;

	for (sent = 0; sent < IN_FLIGHT; sent++)
		curl_multi_add_handle(multi, easy[sent]);
	while (done < REQUESTS) {
		curl_multi_perform(multi, &running);
		while ((msg = curl_multi_info_read(multi, &left)) != NULL) {
			if (msg->data.result != CURLE_OK)
				fatalx("bare: %s",
				    curl_easy_strerror(msg->data.result));
			done++;
			curl_multi_remove_handle(multi, msg->easy_handle);
			if (sent++ < REQUESTS)
				curl_multi_add_handle(multi, msg->easy_handle);
		}
		if (done < REQUESTS)
			curl_multi_poll(multi, NULL, 0, 1000, NULL);
	}
	keep_best(best, cpu_now() - cpu,
	    (double)qo_mono_diff_us(start, qo_mono_now()));
}

/* The headers of our client's requests, with a signature that nobody checks:
 * the bare loop sends the same bytes and computes nothing. */
static struct curl_slist *
bare_headers(void)
{
	static const char *const lines[] = {
		"x-amz-content-sha256: 6e4ba1a5ad30e5e8ce8c5c6c2a3f6a8ad65a3dd1"
		"6ea0c2e95dd6ed0f6c0ba7b5",
		"x-amz-date: 20260128T120000Z",
		"if-match: \"9b2cf535f27731c974343645a3985328\"",
		"content-type: application/json",
		"authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"
		"20260128/us-east-1/s3/aws4_request, "
		"SignedHeaders=content-type;"
		"host;if-match;x-amz-content-sha256;x-amz-date, Signature="
		"717f83b202b0c197769083dd83ac5895900a138a77feb1cd39f7b2f327653a"
		"ba",
	};
	struct curl_slist *list = NULL;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		list = curl_slist_append(list, lines[i]);
	return list;
}

static CURL *
bare_handle(const char *url, struct curl_slist *headers)
{
	CURL *e = curl_easy_init();

	curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(e, CURLOPT_URL, url);
	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, "PUT");
	curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, (long)BODY_LEN);
	curl_easy_setopt(e, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, drop);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	return e;
}

/* Ours */

struct run {
	struct qo_s3 *s3;
	struct qo_s3_req reqs[IN_FLIGHT];
	int sent, done;
};

static void
on_done(struct qo_s3_req *r)
{
	struct run *run = r->arg;

	if (r->res.outcome != QO_S3_OK)
		fatalx("%s", r->res.err.msg);
	run->done++;
	if (run->sent < REQUESTS) {
		run->sent++;
		qo_s3_send(run->s3, r);
	}
}

static void
our_round(struct loop *l, struct run *run, struct figures *best)
{
	double cpu = cpu_now();
	struct qo_mono start = qo_mono_now();

	run->done = 0;
	for (run->sent = 0; run->sent < IN_FLIGHT; run->sent++)
		qo_s3_send(run->s3, &run->reqs[run->sent]);
	while (run->done < REQUESTS)
		loop_once(l, -1);
	keep_best(best, cpu_now() - cpu,
	    (double)qo_mono_diff_us(start, qo_mono_now()));
}

static struct qo_s3 *
our_client(struct loop *l, const char *endpoint)
{
	struct qo_s3_conf conf;
	struct qo_s3 *s3;
	struct qo_err err;

	memset(&conf, 0, sizeof(conf));
	conf.endpoint = endpoint;
	conf.region = "us-east-1";
	conf.path_style = true;
	conf.access_key = "AKIDEXAMPLE";
	conf.secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
	conf.max_connections = 256;
	conf.request_timeout_ms = 10000;
	s3 = qo_s3_new(l, &conf, &err);
	if (s3 == NULL)
		fatalx("%s", err.msg);
	return s3;
}

int
main(void)
{
	struct figures bare = { 0, 0 }, ours = { 0, 0 };
	static struct run run;
	CURL *easy[IN_FLIGHT];
	struct curl_slist *headers;
	CURLM *multi;
	struct loop *l;
	char endpoint[64], url[128];
	double rss;
	pid_t server;
	int i, port;

	memset(body, 'x', sizeof(body));
	server = constant_start("", 0, &port);
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%d", port);
	snprintf(url, sizeof(url), "%s/qo/tasks/0/some-key.json", endpoint);
	l = loop_new();
	run.s3 = our_client(l, endpoint);
	for (i = 0; i < IN_FLIGHT; i++) {
		qo_s3_req_init(&run.reqs[i], QO_S3_PUT, "qo",
		    "tasks/0/some-key.json");
		run.reqs[i].if_match = "\"9b2cf535f27731c974343645a3985328\"";
		run.reqs[i].content_type = "application/json";
		run.reqs[i].body = body;
		run.reqs[i].body_len = sizeof(body);
		run.reqs[i].done = on_done;
		run.reqs[i].arg = &run;
	}
	our_round(l, &run, &ours);
	rss = rss_mib(getpid()); /* before the bare loop adds its own */
	headers = bare_headers();
	multi = curl_multi_init();
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)IN_FLIGHT);
	for (i = 0; i < IN_FLIGHT; i++)
		easy[i] = bare_handle(url, headers);
	for (i = 0; i < ROUNDS; i++) {
		bare_round(multi, easy, &bare);
		our_round(l, &run, &ours);
	}
	printf("%d PUT of %d bytes, %d in flight, best of %d rounds\n",
	    REQUESTS, BODY_LEN, IN_FLIGHT, ROUNDS);
	printf("bare libcurl loop  %6.1f us CPU/request %9.0f/s\n", bare.cpu_us,
	    bare.per_s);
	printf("our client, signed %6.1f us CPU/request %9.0f/s\n", ours.cpu_us,
	    ours.per_s);
	printf("CPU ratio %.2f (wanted: at most 1.3)\n",
	    ours.cpu_us / bare.cpu_us);
	printf("RSS of the client process %.1f MiB (wanted: under 20)\n", rss);
	for (i = 0; i < IN_FLIGHT; i++) {
		qo_s3_req_fini(&run.reqs[i]);
		curl_easy_cleanup(easy[i]);
	}
	curl_multi_cleanup(multi);
	curl_slist_free_all(headers);
	qo_s3_free(run.s3);
	loop_free(l);
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
	return 0;
}
