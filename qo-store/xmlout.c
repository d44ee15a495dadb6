#include "clock.h"
#include "rfc3339.h"
#include "uri.h"
#include "xml.h"
#include "xmlout.h"

void
xmlout_root(struct buf *b, const char *root)
{
	buf_adds(b, XMLOUT_DECL "<");
	buf_adds(b, root);
	buf_adds(b, " xmlns=\"" XMLOUT_NS "\">");
}

void
xmlout_open(struct buf *b, const char *name)
{
	buf_addc(b, '<');
	buf_adds(b, name);
	buf_addc(b, '>');
}

void
xmlout_close(struct buf *b, const char *name)
{
	buf_adds(b, "</");
	buf_adds(b, name);
	buf_addc(b, '>');
}

void
xmlout_key(struct buf *b, const char *name, const char *value, bool url)
{
	if (value == NULL)
		return;
	xmlout_open(b, name);
	if (url)
		uri_encode(b, value, strlen(value), URI_KEEP_SLASH);
	else
		xml_escape(b, value, strlen(value));
	xmlout_close(b, name);
}

void
xmlout_bool(struct buf *b, const char *name, bool value)
{
	xml_add(b, name, value ? "true" : "false");
}

void
xmlout_etag(struct buf *b, const char *etag)
{
	buf_adds(b, "<ETag>&quot;");
	xml_escape(b, etag, strlen(etag));
	buf_adds(b, "&quot;</ETag>");
}

void
xmlout_time(struct buf *b, const char *name, int64_t us)
{
	char text[QO_RFC3339_SIZE];

	/* S3 writes milliseconds: cut the last three of six digits. */
	qo_rfc3339_print((struct qo_wall){ us }, text);
	text[23] = 'Z';
	text[24] = '\0';
	xml_add(b, name, text);
}

void
xmlout_owner(struct buf *b, const char *name, const char *owner)
{
	xmlout_open(b, name);
	xml_add(b, "ID", owner);
	xml_add(b, "DisplayName", owner);
	xmlout_close(b, name);
}
