/*
 * Completing an upload.  The parts are joined to one new body on the file
 * thread (so an upload needs its size twice on disk for a moment), which then
 * is committed like a PUT, after another look that no part has changed
 * meanwhile.  The outcome is kept for a day: a client that did not hear the
 * answer asks again.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "db_int.h"
#include "encode.h"
#include "hash.h"
#include "xalloc.h"

#define DONE_US (86400 * QO_US_PER_SEC)
/* Sizes of ten thousand parts as text. */
#define SIZES_MAX (256 * 1024)

/* What the file thread found, for the commit thread to find again. */
struct db_complete {
	char etag[DB_ETAG_MAX];
	char checksum[DB_SUM_MAX]; /* "" when there is none */
	struct buf sizes;
	int64_t *pids; /* of op->parts, one by one */
};

void
db_complete_free(struct db_complete *c)
{
	if (c == NULL)
		return;
	buf_fini(&c->sizes);
	free(c->pids);
	free(c);
}

/* MD5 of the parts' MD5s, and their number. */
static void
complete_etag(const struct db_op *op, char etag[DB_ETAG_MAX])
{
	unsigned char md5[MD5_LEN];
	struct hash h = { 0 };
	size_t i, len;

	hash_init(&h, HASH_MD5);
	for (i = 0; i < op->nparts; i++)
		if (strlen(op->parts[i].etag) == 2 * (size_t)MD5_LEN &&
		    hex_decode(md5, op->parts[i].etag, MD5_LEN) == 0)
			hash_update(&h, md5, MD5_LEN);
	hash_final(&h, md5);
	hash_fini(&h);
	hex_encode(etag, md5, MD5_LEN);
	len = strlen(etag);
	(void)snprintf(etag + len, DB_ETAG_MAX - len, "-%zu", op->nparts);
}

/*
 * The checksum of the parts' checksums, and their number, when all have one
 * of one kind.  S3 has no such form for crc64nvme.
 */
static void
complete_checksum(const struct db_part_row *rows, size_t n,
    char out[DB_SUM_MAX])
{
	char text[CHECKSUM_TEXT_SIZE], name[16];
	uint8_t raw[CHECKSUM_MAX];
	enum checksum_alg alg;
	struct checksum sum;
	const char *b64;
	size_t i, len;

	out[0] = '\0';
	len = strcspn(rows[0].checksum, ":");
	if (len >= sizeof(name))
		return;
	memcpy(name, rows[0].checksum, len);
	name[len] = '\0';
	if (checksum_by_name(name, &alg) == -1 || alg == CHECKSUM_CRC64NVME)
		return;
	checksum_init(&sum, alg);
	for (i = 0; i < n; i++) {
		b64 = rows[i].checksum + len + 1;
		if (strncmp(rows[i].checksum, rows[0].checksum, len + 1) != 0 ||
		    b64_decode(raw, sizeof(raw), b64, strlen(b64)) !=
			(ptrdiff_t)checksum_len(alg))
			break;
		checksum_update(&sum, raw, checksum_len(alg));
	}
	checksum_final_text(&sum, text);
	checksum_fini(&sum);
	if (i == n)
		(void)snprintf(out, DB_SUM_MAX, "%s:%s-%zu", name, text, n);
}

/* Was completed before: with these parts, or with others? */
static enum db_rc
find_done(struct db_conn *c, struct db_op *op)
{
	sqlite3_stmt *st = c->st[ST_DONE_GET];
	char etag[DB_ETAG_MAX];
	enum db_rc rc;

	db_bind_text(st, 1, op->upload_id);
	sqlite3_bind_int64(st, 2, op->bucket_id);
	db_bind_key(st, 3, op->key);
	if ((rc = db_step(c, ST_DONE_GET)) != DB_OK)
		return rc == DB_NO_KEY ? DB_NO_UPLOAD : rc;
	db_col_copy(st, 0, op->out_etag, sizeof(op->out_etag));
	db_col_copy(st, 1, op->out_version, sizeof(op->out_version));
	db_col_copy(st, 2, op->out_checksum, sizeof(op->out_checksum));
	sqlite3_reset(st);
	complete_etag(op, etag);
	return strcmp(etag, op->out_etag) == 0 ? DB_OK : DB_BAD_PART;
}

/* Completing, on the file thread */

static enum db_rc
add_inline(struct db *db, const struct db_part_row *p, struct db_body *body)
{
	sqlite3_stmt *st = db->fl.st[ST_PART_BODY];
	const void *data;
	size_t len;
	enum db_rc rc;

	sqlite3_bind_int64(st, 1, p->pid);
	if ((rc = db_step(&db->fl, ST_PART_BODY)) != DB_OK)
		return rc == DB_NO_KEY ? DB_BAD_PART : rc;
	data = sqlite3_column_blob(st, 0);
	len = (size_t)sqlite3_column_bytes(st, 0);
	if ((int64_t)len != p->size || crc32c(0, data, len) != p->crc)
		rc = DB_CORRUPT;
	else
		(void)db_body_add(body, data, len, &rc);
	sqlite3_reset(st);
	return rc;
}

static enum db_rc
add_part(struct db *db, const struct db_part_row *p, struct db_body *body)
{
	enum db_rc rc;
	int fd;

	if (p->blob[0] == '\0')
		return p->size == 0 ? DB_OK : add_inline(db, p, body);
	/* Gone: the part was replaced or the upload aborted meanwhile. */
	fd = openat(db->blobs_fd, p->blob, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return DB_BAD_PART;
	rc = db_file_verify(fd, p->size, p->crc);
	if (rc == DB_OK)
		rc = db_body_add_fd(body, fd, 0, p->size);
	close(fd);
	return rc;
}

/* Judges the whole list before a byte is copied. */
static enum db_rc
check_parts(struct db *db, struct db_op *op, struct db_part_row *rows)
{
	int64_t size = 0;
	enum db_rc rc;
	size_t i;

	for (i = 0; i < op->nparts; i++) {
		if (i > 0 && op->parts[i].number <= op->parts[i - 1].number)
			return DB_PART_ORDER;
		rc = db_part_find(&db->fl, op->upload_id, op->parts[i].number,
		    &rows[i]);
		if (rc == DB_NO_KEY ||
		    (rc == DB_OK &&
			strcmp(rows[i].etag, op->parts[i].etag) != 0))
			return DB_BAD_PART;
		if (rc == DB_OK && op->parts[i].checksum != NULL &&
		    strcmp(rows[i].checksum, op->parts[i].checksum) != 0)
			return DB_BAD_PART;
		if (rc != DB_OK)
			return rc;
	}
	for (i = 0; i + 1 < op->nparts; i++)
		if (rows[i].size < DB_PART_MIN)
			return DB_PART_SMALL;
	for (i = 0; i < op->nparts; i++)
		size += rows[i].size;
	if (op->max_size > 0 && size > op->max_size)
		return DB_TOO_LARGE;
	return op->nparts == 0 ? DB_BAD_PART : DB_OK;
}

enum db_rc
db_complete_prepare(struct db *db, struct db_op *op)
{
	struct db_complete *c;
	struct db_upload u;
	struct db_part_row *rows;
	enum db_rc rc;
	size_t i;

	rc = db_upload_find(&db->fl, op->bucket_id, op->key, op->upload_id, &u);
	if (rc == DB_NO_UPLOAD)
		return find_done(&db->fl, op);
	if (rc != DB_OK)
		return rc;
	db_upload_fini(&u);
	rows = xcalloc(op->nparts + 1, sizeof(*rows));
	rc = check_parts(db, op, rows);
	if (rc == DB_OK) {
		op->private = c = xcalloc(1, sizeof(*c));
		c->pids = xcalloc(op->nparts, sizeof(*c->pids));
		complete_etag(op, c->etag);
		complete_checksum(rows, op->nparts, c->checksum);
		buf_init(&c->sizes, SIZES_MAX);
		op->body = db_body_new_plain(db);
		for (i = 0; i < op->nparts && rc == DB_OK; i++) {
			c->pids[i] = rows[i].pid;
			buf_addf(&c->sizes, "%s%" PRId64, i > 0 ? " " : "",
			    rows[i].size);
			rc = add_part(db, &rows[i], op->body);
		}
	}
	free(rows);
	return rc;
}

/* Completing, on the commit thread */

static enum db_rc
parts_unchanged(struct db *db, struct db_op *op)
{
	struct db_part_row p;
	enum db_rc rc;
	size_t i;

	for (i = 0; i < op->nparts; i++) {
		rc = db_part_find(&db->wr, op->upload_id, op->parts[i].number,
		    &p);
		if (rc != DB_OK && rc != DB_NO_KEY)
			return rc;
		if (rc == DB_NO_KEY || p.pid != op->private->pids[i])
			return DB_BAD_PART;
	}
	return DB_OK;
}

static enum db_rc
remember(struct db *db, const struct db_op *op)
{
	struct db_conn *c = &db->wr;
	sqlite3_stmt *st = c->st[ST_DONE_PUT];
	int64_t now = qo_wall_local().us;
	enum db_rc rc;

	sqlite3_bind_int64(c->st[ST_DONE_FORGET], 1, now - DONE_US);
	if ((rc = db_run(c, ST_DONE_FORGET)) != DB_OK)
		return rc;
	db_bind_text(st, 1, op->upload_id);
	sqlite3_bind_int64(st, 2, op->bucket_id);
	db_bind_key(st, 3, op->key);
	sqlite3_bind_int64(st, 4, now);
	db_bind_text(st, 5, op->out_etag);
	db_bind_text(st, 6, op->out_version);
	db_bind_text(st, 7, op->out_checksum);
	return db_run(c, ST_DONE_PUT);
}

enum db_rc
db_do_upload_complete(struct db *db, struct db_op *op)
{
	struct db_complete *c = op->private;
	struct db_upload u;
	struct db_put p;
	enum db_rc rc;

	op->out_seq = 0;
	rc = db_upload_find(&db->wr, op->bucket_id, op->key, op->upload_id, &u);
	if (rc == DB_NO_UPLOAD)
		return find_done(&db->wr, op);
	if (rc != DB_OK)
		return rc;
	if (c == NULL) { /* an id that was given out again: can not be */
		db_upload_fini(&u);
		return DB_NO_UPLOAD;
	}
	p = (struct db_put){ .bucket = op->bucket_id,
		.key = op->key,
		.meta = &u.meta,
		.body = op->body,
		.etag = c->etag,
		.parts = (int64_t)op->nparts,
		.part_sizes = c->sizes.data,
		.if_match = op->if_match,
		.if_none_match = op->if_none_match };
	free(u.meta.checksum);
	u.meta.checksum = c->checksum[0] != '\0' ? xstrdup(c->checksum) : NULL;
	(void)strlcpy(op->out_checksum, c->checksum, sizeof(op->out_checksum));
	rc = parts_unchanged(db, op);
	if (rc == DB_OK)
		rc = db_put_object(db, &p, op);
	if (rc == DB_OK)
		rc = db_upload_drop(db, op->upload_id, u.meta.owner);
	if (rc == DB_OK)
		rc = remember(db, op);
	db_upload_fini(&u);
	return rc;
}
