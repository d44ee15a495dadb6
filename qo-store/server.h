/*
 * server.h - what all requests share, and the glue between HTTP and S3.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "bcache.h"
#include "db.h"
#include "httpd.h"
#include "keys.h"
#include "loop.h"
#include "request.h"

struct lifecycle_run;
struct replay;
struct wait;

/* Owned by main; strings are borrowed from it. */
struct store_conf {
	char *data;
	char *keys_file;
	char *region; /* "auto": any scope is accepted */
	int64_t max_body;
	size_t connections;
	struct prefix_set public_prefixes;
	bool strict_aws;
	bool replay_cache;
	int64_t lifecycle_ms; /* between two passes */
	int64_t day_ms;       /* length of a lifecycle day (tests) */
	int64_t hasten; /* clients get their time divided by this (tests) */
};

struct server {
	struct loop *loop;
	const struct store_conf *conf;
	struct db *db;
	struct httpd *httpd;
	struct keys *keys; /* owned; server_set_keys changes it */
	struct qo_sigv4_signer *signer;
	struct bcache *buckets;
	struct wait *wait;
	struct lifecycle_run *lifecycle;
	struct replay *replay; /* NULL: repeats are allowed */
	uint64_t requests;
	struct qo_mono asked_at; /* the last one came */
	uint64_t next_id;
	char id2[33]; /* x-amz-id-2: this process */
	struct request *unused;
	size_t nunused;
	struct qo_mono trouble_at; /* a full disk was last logged */
};

/* db and keys are moved to the server; conf and loop are borrowed. */
struct server *server_new(struct loop *l, const struct store_conf *conf,
    struct db *db, struct keys *keys);
/* A write failed for want of a disk that takes it: logged now and then. */
void server_trouble(struct server *s, enum db_rc rc);
void server_set_keys(struct server *s, struct keys *keys);
/* Answers those who wait, then lets the httpd finish; done(arg) at last. */
void server_drain(struct server *s, void (*done)(void *arg), void *arg);
void server_free(struct server *s);

#endif
