/*
 * encode.h - bytes as text: hexadecimal and base64 (RFC 4648).
 *
 * Encoders write into the caller's array and end it with a NUL; decoders are
 * strict, so that one value has one spelling and nothing is skipped.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include <stddef.h>
#include <stdint.h>

/* Sizes of the text with its NUL. */
#define HEX_SIZE(n) (2 * (n) + 1)
#define B64_SIZE(n) (((n) + 2) / 3 * 4 + 1)

/* Lower case; out has room for HEX_SIZE(len). */
void hex_encode(char *out, const void *p, size_t len);
/* s holds exactly 2 * len digits of either case and nothing behind them is
 * looked at.  0, or -1 for anything that is not a digit. */
int hex_decode(void *out, const char *s, size_t len);
/* 0 to 15, or -1. */
int hex_digit(char c);

/* With padding; out has room for B64_SIZE(len). */
void b64_encode(char *out, const void *p, size_t len);
/* The standard alphabet with full padding and zero spare bits only; no white
 * space.  Returns the number of bytes, or -1 for bad text or when out (of
 * max bytes) is too small. */
ptrdiff_t b64_decode(void *out, size_t max, const char *s, size_t len);

#endif
