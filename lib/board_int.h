/*
 * board_int.h - how the scoreboard lies in memory: for board.c, which makes
 * and reads it, and board_gone.c.
 */
#ifndef BOARD_INT_H
#define BOARD_INT_H

#include "board.h"
#include "cell.h"

#define AREAS_MAX    1024
#define SLOTS_MAX    65536
#define HANDLERS_MAX 4096
#define GONE_MAX     1024 /* handlers that are remembered by name */
#define ROLE_GONE    (-1)
#define ALIGN        4096 /* at least; a page where pages are larger */

/* Room to grow without moving: only what was allotted is memory. */
#define MAP_SIZE (sizeof(void *) > 4 ? (size_t)1 << 30 : (size_t)1 << 26)

struct entry {
	int64_t offset;
	int64_t size;
	int32_t role; /* BOARD_FREE: size bytes for somebody else */
	int32_t index;
	int32_t generation;
	uint32_t nslots;
	uint32_t nhandlers;
	uint32_t uses; /* how often it was given away */
};

struct directory {
	uint64_t magic;
	uint64_t layout;
	_Atomic uint64_t used;  /* entries; only rises */
	_Atomic uint64_t moves; /* odd: counts are on their way to the gone */
	CELL_OF(sizeof(struct entry)) entries[AREAS_MAX];
};

struct name {
	char text[BOARD_NAME];
};

struct note {
	char text[BOARD_NOTE];
};

struct label {
	char name[BOARD_NAME];
	char type[BOARD_NAME];
};

struct handler_row {
	CELL_OF(sizeof(struct label)) label;
	_Atomic uint64_t ends[BOARD_ENDS];
	_Atomic uint64_t steps[BOARD_STEPS];
	_Atomic uint64_t sum_ms;
};

struct slot {
	CELL_OF(sizeof(struct board_task)) task;
};

/* The start of an area; rows and slots follow. */
struct shared {
	_Atomic int64_t pid;
	_Atomic int64_t started_ms;
	_Atomic int64_t state;
	CELL_OF(sizeof(struct name)) name;
	CELL_OF(sizeof(struct note)) note;
	_Atomic uint64_t counters[BOARD_COUNTERS];
	_Atomic int64_t gauges[BOARD_GAUGES];
};

/* Where an area is, for this process; what it says was checked. */
struct board_area {
	struct shared *mem;
	struct handler_row *handlers;
	struct slot *slots;
	struct entry entry;
	size_t place; /* in the directory */
};

struct board {
	int fd;
	bool writable;
	size_t page;
	char *map; /* MAP_SIZE bytes */
	struct directory *dir;
	struct board_area *areas[AREAS_MAX]; /* made when first asked for */
	size_t gone; /* place of the area of the gone + 1; 0: not known */
};

/* How many places of the directory are in use. */
size_t board_entries(const struct board *b);
void board_publish(struct board *b, size_t place, const struct entry *e);
/* NULL: there is none in use; ROLE_GONE counts. */
struct board_area *board_area_get(struct board *b, size_t place);

#endif
