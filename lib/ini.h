/*
 * ini.h - a small, strict reader of ini text.
 *
 *	; a comment, and so is # at the start of a line
 *	include = conf.d/[a-z]*.conf
 *	[section]
 *	[type name]
 *	key = value		; a comment after white space
 *	key = "  kept; as it is, \" and \\ "
 *
 * Values end with the line; there are no continuation lines and no limit on
 * their length, only one on the file (INI_MAX).  Lines end with LF or CR LF;
 * the last one may go without.  NUL and other control characters (a tab is
 * fine), a byte order mark and text that is not UTF-8 are errors of their
 * line.  Keys are [A-Za-z0-9._-]+ and are compared by the caller; a section
 * has one word or two of [A-Za-z0-9._:/-]+.
 *
 * Every item goes to a callback, errors as well: reading goes on after one,
 * so that one run shows them all.  What the callback is given is borrowed
 * and gone when it returns; our own copy of the text is wiped.
 */
#ifndef INI_H
#define INI_H

#include <stddef.h>

#include "buf.h"

#define INI_MAX       ((size_t)8 << 20) /* bytes in one file */
#define INI_DEPTH_MAX 8                 /* files open inside each other */
#define INI_FILES_MAX 1024              /* files in one run */

enum ini_flag {
	/*
	 * ini_load only: `include = path` is obeyed wherever it stands, and
	 * is never a key of a section.  A relative path starts at the
	 * directory of the including file.  A pattern (* ? [) stands for its
	 * matches in byte order, which may be none; a plain path must exist.
	 * The included file begins outside any section; afterwards the
	 * section of the including file goes on.  No file is read twice.
	 */
	INI_INCLUDE = 1 << 0,
	/*
	 * As AWS's shared files are read: any text as section (first word
	 * and rest) and key, no quotes, " #" begins a comment as " ;" does,
	 * and an indented line belongs to the key above it (parent); when it
	 * has no '=' it is passed over.
	 */
	INI_LOOSE = 1 << 1
};

enum ini_kind {
	INI_SECTION = 0, /* type, name */
	INI_KEY,         /* type, name, key, value, parent */
	INI_ERROR        /* msg; line 0: the file as a whole */
};

enum ini_verdict {
	INI_GO = 0,
	INI_SKIP, /* for a section: do not give me its keys */
	INI_STOP  /* read no further */
};

struct ini_item {
	enum ini_kind kind;
	const char *file;
	unsigned line;
	int fd; /* of the file, open; -1 when the text came from memory */
	const char *type; /* "" before the first section */
	const char *name; /* "" when there is none */
	const char *key;
	const char *value;  /* may be "" */
	const char *parent; /* INI_LOOSE: the key above, else NULL */
	const char *msg;
};

typedef enum ini_verdict ini_cb(void *arg, const struct ini_item *item);

/* 0; -1 when an INI_ERROR was delivered or the callback said INI_STOP. */
int ini_parse(const char *text, size_t len, const char *file, unsigned flags,
    ini_cb *cb, void *arg);
int ini_load(const char *path, unsigned flags, ini_cb *cb, void *arg);

/* Adds value as it has to be written to be read back (not INI_LOOSE); it
 * must be UTF-8 without control characters. */
void ini_add_value(struct buf *b, const char *value);

#endif
