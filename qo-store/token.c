#include <openssl/crypto.h>

#include "encode.h"
#include "hash.h"
#include "token.h"

/* HMAC under the key's secret, told apart from its use as an S3 secret and
 * from the other use here by the label. */
static void
mac_hex(const struct key *k, const char *label, const char *text,
    char out[HEX_SIZE(SHA256_LEN)])
{
	uint8_t derived[SHA256_LEN], mac[SHA256_LEN];
	struct hmac_key hk;

	hmac_key_set(&hk, k->secret_key, strlen(k->secret_key));
	hmac_sha256(&hk, label, strlen(label), derived);
	hmac_key_set(&hk, derived, sizeof(derived));
	hmac_sha256(&hk, text, strlen(text), mac);
	hex_encode(out, mac, sizeof(mac));
	explicit_bzero(&hk, sizeof(hk));
	explicit_bzero(derived, sizeof(derived));
	explicit_bzero(mac, sizeof(mac));
}

static void
derive(const struct key *k, const char *body, const char *nonce,
    struct token *out)
{
	(void)snprintf(out->access_key, sizeof(out->access_key), "QOT%s",
	    nonce);
	mac_hex(k, "qo session secret", body, out->secret);
}

void
token_mint(const struct key *k, enum token_scope scope, int64_t expires,
    struct token *out)
{
	char body[TOKEN_SIZE], mac[HEX_SIZE(SHA256_LEN)], nonce[17];

	(void)snprintf(nonce, sizeof(nonce), "%08X%08X", arc4random(),
	    arc4random());
	(void)snprintf(body, sizeof(body), "1.%c.%lld.%s.%s",
	    scope == TOKEN_OPERATOR ? 'o' : 'r', (long long)expires, nonce,
	    k->access_key);
	mac_hex(k, "qo session token", body, mac);
	(void)snprintf(out->text, sizeof(out->text), "%.250s.%s", body, mac);
	out->scope = scope;
	out->expires = expires;
	derive(k, body, nonce, out);
}

/* Cuts one field that ends with a dot off the front. */
static char *
field(char **pp)
{
	char *start = *pp, *dot;

	if (start == NULL || (dot = strchr(start, '.')) == NULL) {
		*pp = NULL;
		return NULL;
	}
	*dot = '\0';
	*pp = dot + 1;
	return start;
}

static bool
parse(char *body, struct token *out, char **nonce, char **access)
{
	char *p = body, *version, *scope, *expires;
	const char *why;

	version = field(&p);
	scope = field(&p);
	expires = field(&p);
	*nonce = field(&p);
	*access = p; /* the rest: an access key may hold dots */
	if (p == NULL || strcmp(version, "1") != 0 || strlen(*nonce) != 16)
		return false;
	if (strcmp(scope, "r") != 0 && strcmp(scope, "o") != 0)
		return false;
	out->scope = *scope == 'o' ? TOKEN_OPERATOR : TOKEN_READ_ONLY;
	out->expires = strtonum(expires, 0, INT64_MAX, &why);
	return why == NULL;
}

enum token_rc
token_check(struct keys *keys, const char *text, int64_t now, struct token *out,
    struct key **k)
{
	char body[TOKEN_SIZE], cut[TOKEN_SIZE], mac[HEX_SIZE(SHA256_LEN)];
	char *last, *nonce, *access;

	*k = NULL;
	if (strlcpy(body, text, sizeof(body)) >= sizeof(body))
		return TOKEN_BAD;
	if ((last = strrchr(body, '.')) == NULL ||
	    strlen(last + 1) != 2 * SHA256_LEN)
		return TOKEN_BAD;
	*last++ = '\0';
	strlcpy(cut, body, sizeof(cut));
	if (!parse(cut, out, &nonce, &access))
		return TOKEN_BAD;
	if ((*k = keys_find(keys, access)) == NULL)
		return TOKEN_BAD;
	mac_hex(*k, "qo session token", body, mac);
	if (CRYPTO_memcmp(mac, last, 2 * SHA256_LEN) != 0) {
		key_release(*k);
		*k = NULL;
		return TOKEN_BAD;
	}
	if (now >= out->expires) {
		key_release(*k);
		*k = NULL;
		return TOKEN_EXPIRED;
	}
	strlcpy(out->text, text, sizeof(out->text));
	derive(*k, body, nonce, out);
	return TOKEN_OK;
}
