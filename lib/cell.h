/*
 * cell.h - a small record in shared memory that readers find whole.
 *
 * One process writes, any number read, nobody waits.  There are two copies:
 * a write fills the one that is not current and then makes it so with one
 * store.  A writer that is killed anywhere inside a write leaves the record
 * of before, whole; a reader only tries again when a write was finished while
 * it read.
 */
#ifndef CELL_H
#define CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A type for records of this many bytes; all zero is an empty record. */
#define CELL_WORDS(size) (((size) + 7) / 8)
#define CELL_OF(size)                                         \
	struct {                                              \
		_Atomic uint64_t seq;                         \
		_Atomic uint64_t words[2 * CELL_WORDS(size)]; \
	}

/* Use these with a CELL_OF(sizeof(record)). */
#define cell_write(cell, record) \
	cell_put(&(cell)->seq, (cell)->words, record, sizeof(*(record)))
#define cell_read(cell, record) \
	cell_get(&(cell)->seq, (cell)->words, record, sizeof(*(record)))

void cell_put(_Atomic uint64_t *seq, _Atomic uint64_t *words, const void *p,
    size_t size);
/* False: it was written again and again meanwhile, *p is of no use; can not
 * happen when its writer is dead. */
bool cell_get(const _Atomic uint64_t *seq, const _Atomic uint64_t *words,
    void *p, size_t size);

#endif
