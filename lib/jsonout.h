/*
 * jsonout.h - JSON text member by member, into a buf.
 *
 * A comma is put where one is needed.  name NULL: an element of an array.
 * What a value lacks (NULL, QO_WALL_NONE) is null.  The buf's limit is the
 * only thing that can go wrong: buf_failed tells.
 */
#ifndef JSONOUT_H
#define JSONOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "clock.h"
#include "json.h"

void out_json_open(struct buf *b, const char *name, char bracket);
void out_json_close(struct buf *b, char bracket);
void out_json_str(struct buf *b, const char *name, const char *value);
void out_json_int(struct buf *b, const char *name, int64_t value);
void out_json_double(struct buf *b, const char *name, double value);
void out_json_bool(struct buf *b, const char *name, bool value);
void out_json_time(struct buf *b, const char *name, struct qo_wall value);
void out_json_raw(struct buf *b, const char *name, const struct qo_json *value);

#endif
