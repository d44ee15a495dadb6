#include "lifecycle.h"
#include "rfc3339.h"
#include "xalloc.h"
#include "xml.h"
#include "xmlout.h"

#define DOCUMENT_MAX (256 * 1024)
#define RULES_MAX    1000
#define DAYS_MAX     36500

struct reader {
	struct lifecycle *lc;
	enum s3_err err;
	bool status; /* the rule has one */
	bool prefix;
	bool action;
};

void
lifecycle_free(struct lifecycle *lc)
{
	size_t i;

	if (lc == NULL)
		return;
	for (i = 0; i < lc->n; i++) {
		free(lc->rules[i].id);
		free(lc->rules[i].prefix);
	}
	free(lc->rules);
	free(lc);
}

static int
on_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct reader *rd = arg;
	struct lifecycle *lc = rd->lc;

	if (e->depth == 1 && strcmp(e->name, "LifecycleConfiguration") != 0)
		return xml_refuse(x, "not a LifecycleConfiguration");
	if (e->depth != 2)
		return 0;
	if (strcmp(e->name, "Rule") != 0)
		return xml_refuse(x, "unknown element %s", e->name);
	if (lc->n >= RULES_MAX)
		return xml_refuse(x, "too many rules");
	lc->rules = xreallocarray(lc->rules, lc->n + 1, sizeof(*lc->rules));
	memset(&lc->rules[lc->n++], 0, sizeof(*lc->rules));
	rd->status = rd->prefix = rd->action = false;
	return 0;
}

static int
get_days(struct xml *x, struct reader *rd, const char *text, int64_t *out)
{
	const char *why;

	*out = strtonum(text, 1, DAYS_MAX, &why);
	if (why != NULL) {
		rd->err = S3_INVALID_ARGUMENT;
		return xml_refuse(x, "days must be 1 to %d", DAYS_MAX);
	}
	rd->action = true;
	return 0;
}

static int
get_date(struct xml *x, struct reader *rd, const char *text, int64_t *out)
{
	struct qo_wall t;

	if (qo_rfc3339_parse(text, strlen(text), &t) == -1 || t.us <= 0)
		return xml_refuse(x, "bad Date");
	*out = t.us;
	rd->action = true;
	return 0;
}

static int
end_of_rule(struct xml *x, struct reader *rd, struct lifecycle_rule *r)
{
	if (!rd->status || !rd->action)
		return xml_refuse(x, "a rule needs a Status and an action");
	if ((r->days > 0 && r->date_us > 0) ||
	    (r->expired_markers && (r->days > 0 || r->date_us > 0)))
		return xml_refuse(x, "an Expiration has one member");
	if (r->prefix == NULL)
		r->prefix = xstrdup("");
	return 0;
}

static int
set_prefix(struct xml *x, struct reader *rd, struct lifecycle_rule *r,
    const char *text)
{
	if (rd->prefix || strlen(text) > 1024)
		return xml_refuse(x, "bad Prefix");
	rd->prefix = true;
	r->prefix = xstrdup(text);
	return 0;
}

static int
set_status(struct xml *x, struct reader *rd, struct lifecycle_rule *r,
    const char *text)
{
	r->enabled = strcmp(text, "Enabled") == 0;
	if (!r->enabled && strcmp(text, "Disabled") != 0)
		return xml_refuse(x, "bad Status");
	rd->status = true;
	return 0;
}

static int
on_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	static const char base[] = "LifecycleConfiguration/Rule";
	struct reader *rd = arg;
	struct lifecycle_rule *r;
	const char *p;

	if (e->depth < 2)
		return 0;
	r = &rd->lc->rules[rd->lc->n - 1];
	p = e->path + sizeof(base) - 1;
	if (*p == '\0')
		return end_of_rule(x, rd, r);
	p++;
	if (strcmp(p, "ID") == 0) {
		free(r->id);
		r->id = xstrdup(e->text);
		return 0;
	}
	if (strcmp(p, "Status") == 0)
		return set_status(x, rd, r, e->text);
	if (strcmp(p, "Prefix") == 0 || strcmp(p, "Filter/Prefix") == 0 ||
	    strcmp(p, "Filter/And/Prefix") == 0)
		return set_prefix(x, rd, r, e->text);
	if (strcmp(p, "Expiration/Days") == 0)
		return get_days(x, rd, e->text, &r->days);
	if (strcmp(p, "Expiration/Date") == 0)
		return get_date(x, rd, e->text, &r->date_us);
	if (strcmp(p, "Expiration/ExpiredObjectDeleteMarker") == 0) {
		r->expired_markers = strcmp(e->text, "true") == 0;
		rd->action = rd->action || r->expired_markers;
		return 0;
	}
	if (strcmp(p, "NoncurrentVersionExpiration/NoncurrentDays") == 0)
		return get_days(x, rd, e->text, &r->noncurrent_days);
	if (strcmp(p, "AbortIncompleteMultipartUpload/DaysAfterInitiation") ==
	    0)
		return get_days(x, rd, e->text, &r->upload_days);
	if (strcmp(p, "Filter") == 0 || strcmp(p, "Filter/And") == 0 ||
	    strcmp(p, "Expiration") == 0 ||
	    strcmp(p, "NoncurrentVersionExpiration") == 0 ||
	    strcmp(p, "AbortIncompleteMultipartUpload") == 0)
		return 0;
	rd->err = S3_NOT_IMPLEMENTED;
	return xml_refuse(x, "%s is not implemented", p);
}

struct lifecycle *
lifecycle_parse(const char *text, size_t len, enum s3_err *e)
{
	static const struct xml_ops ops = { on_open, on_close };
	struct reader rd = { .err = S3_MALFORMED_XML };
	struct xml *x;
	int rc;

	rd.lc = xcalloc(1, sizeof(*rd.lc));
	x = xml_new(DOCUMENT_MAX, 4096, &ops, &rd);
	rc = xml_parse(x, text, len, NULL);
	xml_free(x);
	if (rc == 0 && rd.lc->n > 0)
		return rd.lc;
	if (e != NULL)
		*e = rd.err;
	lifecycle_free(rd.lc);
	return NULL;
}

static void
encode_rule(const struct lifecycle_rule *r, struct buf *b)
{
	xmlout_open(b, "Rule");
	if (r->id != NULL)
		xml_add(b, "ID", r->id);
	xmlout_open(b, "Filter");
	xml_add(b, "Prefix", r->prefix);
	xmlout_close(b, "Filter");
	xml_add(b, "Status", r->enabled ? "Enabled" : "Disabled");
	if (r->days > 0 || r->date_us > 0 || r->expired_markers) {
		xmlout_open(b, "Expiration");
		if (r->days > 0)
			xml_add_int(b, "Days", r->days);
		else if (r->date_us > 0)
			xmlout_time(b, "Date", r->date_us);
		else
			xml_add(b, "ExpiredObjectDeleteMarker", "true");
		xmlout_close(b, "Expiration");
	}
	if (r->noncurrent_days > 0) {
		xmlout_open(b, "NoncurrentVersionExpiration");
		xml_add_int(b, "NoncurrentDays", r->noncurrent_days);
		xmlout_close(b, "NoncurrentVersionExpiration");
	}
	if (r->upload_days > 0) {
		xmlout_open(b, "AbortIncompleteMultipartUpload");
		xml_add_int(b, "DaysAfterInitiation", r->upload_days);
		xmlout_close(b, "AbortIncompleteMultipartUpload");
	}
	xmlout_close(b, "Rule");
}

void
lifecycle_encode(const struct lifecycle *lc, struct buf *b)
{
	size_t i;

	xmlout_root(b, "LifecycleConfiguration");
	for (i = 0; i < lc->n; i++)
		encode_rule(&lc->rules[i], b);
	xmlout_close(b, "LifecycleConfiguration");
}
