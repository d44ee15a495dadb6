#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

void
qo_err_reset(struct qo_err *err)
{
	if (err != NULL)
		memset(err, 0, sizeof(*err));
}

void
qo_err_set(struct qo_err *err, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
}

void
qo_err_sys(struct qo_err *err, int errnum, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (err == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	err->errnum = errnum;
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s",
	    strerror(errnum));
}

const char *
qo_rc_name(enum qo_rc rc)
{
	switch (rc) {
	case QO_OK:
		return "ok";
	case QO_AGAIN:
		return "again";
	case QO_LOST:
		return "lost";
	case QO_NOENT:
		return "not found";
	case QO_DENIED:
		return "denied";
	case QO_ERR:
		return "error";
	}
	return "?";
}
