#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "db_int.h"
#include "encode.h"
#include "log.h"
#include "xalloc.h"

/*
 * No mmap: mapped pages count as resident memory, and reads of the page
 * cache cost little.  No auto_vacuum: its pointer map would be one more page
 * in most commits, while a store that churns reuses freed pages anyway (a
 * backup is compact).  Checkpoints are the commit thread's.
 */
static const char pragmas[] = "PRAGMA synchronous = FULL;"
			      "PRAGMA wal_autocheckpoint = 0;"
			      "PRAGMA journal_size_limit = 67108864;"
			      "PRAGMA mmap_size = 0;"
			      "PRAGMA foreign_keys = OFF;"
			      "PRAGMA temp_store = MEMORY;";

int
db_conn_open(struct db_conn *c, const char *dir, int cache_kib,
    struct qo_err *err)
{
	char *path, sql[64];
	int rv = -1;

	path = xasprintf("%s/%s", dir, DB_FILE);
	if (sqlite3_open_v2(path, &c->h,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_NOMUTEX,
		NULL) != SQLITE_OK)
		goto out;
	sqlite3_extended_result_codes(c->h, 1);
	/* Only a backup or a check beside us can be in the way, for a moment. */
	sqlite3_busy_timeout(c->h, DB_BUSY_MS);
	(void)snprintf(sql, sizeof(sql), "PRAGMA cache_size = -%d", cache_kib);
	if (sqlite3_exec(c->h, pragmas, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(c->h, sql, NULL, NULL, NULL) != SQLITE_OK)
		goto out;
	rv = 0;
out:
	if (rv == -1)
		qo_err_set(err, "%s: %s", path, sqlite3_errmsg(c->h));
	free(path);
	return rv;
}

/* AES of the vid: ids look opaque, can not be guessed, and need no column. */
static void
codec_init(struct db_conn *c, const unsigned char key[16])
{
	c->enc = EVP_CIPHER_CTX_new();
	c->dec = EVP_CIPHER_CTX_new();
	if (c->enc == NULL || c->dec == NULL ||
	    EVP_EncryptInit_ex(c->enc, EVP_aes_128_ecb(), NULL, key, NULL) !=
		1 ||
	    EVP_DecryptInit_ex(c->dec, EVP_aes_128_ecb(), NULL, key, NULL) !=
		1 ||
	    EVP_CIPHER_CTX_set_padding(c->enc, 0) != 1 ||
	    EVP_CIPHER_CTX_set_padding(c->dec, 0) != 1)
		fatalx("the crypto library has no AES");
}

int
db_conn_prepare(struct db_conn *c, struct qo_err *err)
{
	sqlite3_stmt *st;
	int i;

	for (i = 0; i < ST_COUNT; i++)
		if (sqlite3_prepare_v3(c->h, db_sql[i], -1,
			SQLITE_PREPARE_PERSISTENT, &c->st[i],
			NULL) != SQLITE_OK)
			goto fail;
	st = c->st[ST_META_GET];
	db_bind_text(st, 1, "vid_key");
	if (db_step(c, ST_META_GET) != DB_OK)
		goto fail;
	if (sqlite3_column_bytes(st, 0) != 16) {
		sqlite3_reset(st);
		qo_err_set(err, "the database has no key for version ids");
		return -1;
	}
	codec_init(c, sqlite3_column_blob(st, 0));
	sqlite3_reset(st);
	return 0;
fail:
	qo_err_set(err, "database: %s", sqlite3_errmsg(c->h));
	return -1;
}

void
db_conn_close(struct db_conn *c)
{
	int i;

	for (i = 0; i < ST_COUNT; i++)
		sqlite3_finalize(c->st[i]);
	EVP_CIPHER_CTX_free(c->enc);
	EVP_CIPHER_CTX_free(c->dec);
	sqlite3_close(c->h);
	memset(c, 0, sizeof(*c));
}

enum db_rc
db_conn_rc(struct db_conn *c)
{
	enum db_rc rc;

	switch (sqlite3_errcode(c->h) & 0xff) {
	case SQLITE_FULL:
		return DB_FULL;
	case SQLITE_READONLY:
		return DB_READONLY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return DB_CORRUPT;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		rc = db_rc_errno(sqlite3_system_errno(c->h));
		return rc;
	default: /* SQLite's codes are no enum of ours */
		return DB_ERROR;
	}
}

enum db_rc
db_run(struct db_conn *c, enum db_st id)
{
	enum db_rc rc;

	rc = db_step(c, id);
	if (rc == DB_OK)
		sqlite3_reset(c->st[id]);
	return rc == DB_NO_KEY ? DB_OK : rc;
}

enum db_rc
db_step(struct db_conn *c, enum db_st id)
{
	enum db_rc rc;
	int r;

	r = sqlite3_step(c->st[id]);
	if (r == SQLITE_ROW)
		return DB_OK;
	rc = r == SQLITE_DONE ? DB_NO_KEY : db_conn_rc(c);
	sqlite3_reset(c->st[id]);
	return rc;
}

void
db_bind_key(sqlite3_stmt *st, int i, const char *key)
{
	sqlite3_bind_blob(st, i, key, (int)strlen(key), SQLITE_STATIC);
}

void
db_bind_after(sqlite3_stmt *st, int i, const char *key)
{
	sqlite3_bind_blob(st, i, key, (int)strlen(key) + 1, SQLITE_STATIC);
}

void
db_bind_text(sqlite3_stmt *st, int i, const char *s)
{
	sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC);
}

char *
db_col_dup(sqlite3_stmt *st, int i)
{
	if (sqlite3_column_type(st, i) == SQLITE_NULL)
		return NULL;
	return xmemdup0(sqlite3_column_blob(st, i),
	    (size_t)sqlite3_column_bytes(st, i));
}

void
db_col_copy(sqlite3_stmt *st, int i, char *to, size_t size)
{
	const void *p;
	size_t len;

	p = sqlite3_column_blob(st, i);
	len = (size_t)sqlite3_column_bytes(st, i);
	if (len >= size)
		len = size - 1;
	if (len > 0)
		memcpy(to, p, len);
	to[len] = '\0';
}

static const unsigned char id_tag[8] = { 'q', 'o', 's', 't', 'o', 'r', 'e' };

void
db_vid_encode(struct db_conn *c, int64_t vid, unsigned flags,
    char out[DB_VID_MAX])
{
	unsigned char in[16], block[16];
	int i, len;

	if (flags & DB_F_NULL) {
		memcpy(out, "null", 5);
		return;
	}
	for (i = 0; i < 8; i++)
		in[i] = (unsigned char)((uint64_t)vid >> (56 - 8 * i));
	memcpy(in + 8, id_tag, sizeof(id_tag));
	if (EVP_EncryptUpdate(c->enc, block, &len, in, sizeof(in)) != 1)
		qo_bug("AES of a version id");
	hex_encode(out, block, sizeof(block));
}

int64_t
db_vid_decode(struct db_conn *c, const char *id)
{
	unsigned char in[16], block[32];
	uint64_t vid = 0;
	int i, len;

	if (strlen(id) != 32 || hex_decode(in, id, sizeof(in)) == -1)
		return 0;
	if (EVP_DecryptUpdate(c->dec, block, &len, in, sizeof(in)) != 1)
		qo_bug("AES of a version id");
	if (len != 16 || memcmp(block + 8, id_tag, sizeof(id_tag)) != 0)
		return 0;
	for (i = 0; i < 8; i++)
		vid = vid << 8 | block[i];
	return (int64_t)vid;
}

void
db_random_name(char out[DB_NAME_LEN + 1])
{
	unsigned char r[DB_NAME_LEN / 2];

	arc4random_buf(r, sizeof(r));
	hex_encode(out, r, sizeof(r));
}
