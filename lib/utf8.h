/*
 * utf8.h - is this text UTF-8?  Pure functions, no state.
 */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Other people's programs link this along with qo_serve(): of the symbols
 * that they see, all begin with qo_. */
#define utf8_char_len qo_utf8_char_len
#define utf8_valid    qo_utf8_valid

/* Length 1 to 4 of the well-formed character at p (which is NUL-terminated
 * somewhere), or 0 when there is none: stray and overlong bytes, surrogates,
 * beyond U+10FFFF, the terminating NUL itself. */
size_t utf8_char_len(const unsigned char *p);
/* NUL bytes inside count as valid characters. */
bool utf8_valid(const void *p, size_t len);

#endif
