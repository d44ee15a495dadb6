/*
 * token.h - session tokens: temporary credentials without a table.
 *
 * A token says whose key it was made with, until when it is good and what it
 * may do, and ends in an HMAC under that key's secret; the temporary secret
 * is another HMAC of the same text.  So nothing is stored, a restart logs
 * nobody out, and taking a key out of the keys file ends its sessions too.
 *
 *	1.SCOPE.EXPIRES.NONCE.ACCESSKEY.HMAC
 *
 * SCOPE is r (read only) or o (operator: what the key itself may do with
 * objects, but no administration of buckets and no new tokens).
 */
#ifndef TOKEN_H
#define TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "keys.h"

#define TOKEN_SIZE        320
#define TOKEN_SECRET_SIZE 65
#define TOKEN_KEY_SIZE    20 /* QOT and 16 digits */

#define TOKEN_SECONDS_MIN 60
#define TOKEN_SECONDS_MAX 129600 /* 36 hours, as STS has it */
#define TOKEN_SECONDS     3600

enum token_scope {
	TOKEN_READ_ONLY = 0,
	TOKEN_OPERATOR
};

struct token {
	char text[TOKEN_SIZE];
	char access_key[TOKEN_KEY_SIZE];
	char secret[TOKEN_SECRET_SIZE];
	enum token_scope scope;
	int64_t expires; /* seconds since 1970 */
};

void token_mint(const struct key *k, enum token_scope scope, int64_t expires,
    struct token *out);

enum token_rc {
	TOKEN_OK = 0,
	TOKEN_BAD,
	TOKEN_EXPIRED
};
/* Judges text; TOKEN_OK fills *out and holds its key in *k. */
enum token_rc token_check(struct keys *keys, const char *text, int64_t now,
    struct token *out, struct key **k);

#endif
