#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "utf8.h"

#define LINE_MAX_LEN  8192 /* a whole line */
#define VALUE_MAX_LEN 4096 /* one value, escaped */

enum log_sink {
	SINK_PLAIN = 0, /* before log_init: for people at a terminal */
	SINK_STDERR,
	SINK_SYSLOG,
	SINK_FILE
};

static struct {
	enum log_sink sink;
	enum log_format format;
	enum log_level level;
	const char *role;
	char *path;
	int fd;
	bool journal; /* stderr is systemd's journal: say the priority */
} lg = { SINK_PLAIN, LOG_FMT_KV, LOG_LVL_INFO, "qo", NULL, STDERR_FILENO,
	false };

static const char *const level_names[] = { "error", "warn", "info", "debug" };
static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* The line under construction: on the stack, so that logging never allocates
 * and works when malloc does not. */
struct line {
	char text[LINE_MAX_LEN];
	size_t len;
	size_t start; /* of the pairs, behind a priority */
};

static void
line_add(struct line *l, const char *s, size_t len)
{
	if (len > sizeof(l->text) - 2 - l->len)
		len = sizeof(l->text) - 2 - l->len;
	memcpy(l->text + l->len, s, len);
	l->len += len;
}

static void
line_adds(struct line *l, const char *s)
{
	line_add(l, s, strlen(s));
}

/* Adds s with everything escaped that could end or disguise a line. */
static void
line_escaped(struct line *l, const char *s, bool json)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t start = l->len;
	char esc[8];
	size_t n;

	while (*p != '\0') {
		if (l->len - start > VALUE_MAX_LEN ||
		    l->len > sizeof(l->text) - 64) {
			line_adds(l, "...");
			return;
		}
		n = utf8_char_len(p);
		if (*p == '"' || *p == '\\') {
			line_add(l, "\\", 1);
			line_add(l, (const char *)p, 1);
			p++;
		} else if (n == 1 && *p >= 0x20 && *p != 0x7f) {
			line_add(l, (const char *)p, 1);
			p++;
		} else if (n > 1 && !(p[0] == 0xc2 && p[1] < 0xa0)) {
			line_add(l, (const char *)p, n);
			p += n;
		} else {
			/* C0, DEL, C1 (two bytes) or a stray byte */
			n = n > 1 ? n : 1;
			snprintf(esc, sizeof(esc), json ? "\\u%04x" : "\\x%02x",
			    p[n - 1]);
			line_adds(l, esc);
			p += n;
		}
	}
}

static bool
needs_quotes(const char *s)
{
	if (*s == '\0')
		return true;
	for (; *s != '\0'; s++)
		if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f ||
		    *s == '"' || *s == '=' || *s == '\\')
			return true;
	return false;
}

static void
line_pair(struct line *l, const char *name, const char *value)
{
	bool json = lg.format == LOG_FMT_JSON;
	bool quoted;

	if (l->len > l->start + (json ? 1 : 0))
		line_adds(l, json ? "," : " ");
	if (json)
		line_adds(l, "\"");
	line_adds(l, name);
	line_adds(l, json ? "\":" : "=");
	quoted = json || needs_quotes(value);
	if (quoted)
		line_adds(l, "\"");
	line_escaped(l, value, json);
	if (quoted)
		line_adds(l, "\"");
}

static void
line_head(struct line *l, enum log_level level)
{
	struct timespec ts;
	struct tm tm;
	char text[64];
	size_t n;

	if (lg.journal) {
		snprintf(text, sizeof(text), "<%d>", priorities[level]);
		line_adds(l, text);
	}
	l->start = l->len;
	line_adds(l, lg.format == LOG_FMT_JSON ? "{" : "");
	if (lg.sink != SINK_SYSLOG) {
		clock_gettime(CLOCK_REALTIME, &ts);
		gmtime_r(&ts.tv_sec, &tm);
		n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(text + n, sizeof(text) - n, ".%06ldZ",
		    ts.tv_nsec / 1000);
		line_pair(l, "time", text);
	}
	line_pair(l, "level", level_names[level]);
	line_pair(l, "role", lg.role);
	snprintf(text, sizeof(text), "%ld", (long)getpid());
	line_pair(l, "pid", text);
}

static void
line_emit(struct line *l, enum log_level level)
{
	ssize_t n;

	if (lg.format == LOG_FMT_JSON && lg.sink != SINK_PLAIN)
		line_adds(l, "}");
	if (lg.sink == SINK_SYSLOG) {
		l->text[l->len] = '\0';
		syslog(priorities[level], "%s", l->text);
		return;
	}
	l->text[l->len++] = '\n';
	/* One write: lines of several processes do not mix.  A log that can
	 * not be written is not worth dying for. */
	do
		n = write(lg.fd, l->text, l->len);
	while (n == -1 && errno == EINTR);
}

static void
emit_event(enum log_level level, const char *msg, va_list *pairs)
{
	struct line l;
	const char *name, *value;

	l.len = l.start = 0;
	if (lg.sink == SINK_PLAIN) {
		line_adds(&l, lg.role);
		line_adds(&l, ": ");
		line_escaped(&l, msg, false);
	} else {
		line_head(&l, level);
		line_pair(&l, "msg", msg);
	}
	while (pairs != NULL && (name = va_arg(*pairs, const char *)) != NULL) {
		value = va_arg(*pairs, const char *);
		if (value != NULL && l.len < sizeof(l.text) - 128)
			line_pair(&l, name, value);
	}
	line_emit(&l, level);
}

static void __attribute__((format(printf, 3, 0)))
emit(enum log_level level, int errnum, const char *fmt, va_list ap)
{
	char msg[VALUE_MAX_LEN];
	size_t len;

	vsnprintf(msg, sizeof(msg), fmt, ap);
	if (errnum != 0) {
		len = strlen(msg);
		snprintf(msg + len, sizeof(msg) - len, ": %s",
		    strerror(errnum));
	}
	emit_event(level, msg, NULL);
}

/* JOURNAL_STREAM names the journal's socket as device:inode; it is inherited
 * by programs whose stderr has gone elsewhere, so the numbers are compared. */
static bool
stderr_is_journal(void)
{
	const char *env = getenv("JOURNAL_STREAM");
	struct stat st;
	char text[64];

	if (env == NULL || fstat(STDERR_FILENO, &st) == -1)
		return false;
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	return strcmp(env, text) == 0;
}

int
log_init(const char *role, const char *target, enum log_format format,
    enum log_level level)
{
	int fd = STDERR_FILENO;
	enum log_sink sink = SINK_STDERR;

	if (target != NULL && strcmp(target, "syslog") == 0) {
		sink = SINK_SYSLOG;
	} else if (target != NULL && strcmp(target, "stderr") != 0) {
		fd = open(target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
		    0640);
		if (fd == -1)
			return -1;
		sink = SINK_FILE;
	}
	if (lg.sink == SINK_FILE)
		close(lg.fd);
	if (lg.sink == SINK_SYSLOG)
		closelog();
	free(lg.path);
	lg.path = sink == SINK_FILE ? strdup(target) : NULL;
	lg.fd = fd;
	lg.sink = sink;
	lg.journal = sink == SINK_STDERR && stderr_is_journal();
	lg.role = role;
	lg.format = format;
	lg.level = level;
	if (sink == SINK_SYSLOG)
		openlog(NULL, LOG_PID | LOG_NDELAY, LOG_DAEMON);
	return 0;
}

void
log_set_level(enum log_level level)
{
	lg.level = level;
}

bool
log_wants(enum log_level level)
{
	return level <= lg.level;
}

void
log_reopen(void)
{
	int fd;

	if (lg.sink != SINK_FILE || lg.path == NULL)
		return;
	fd = open(lg.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (fd == -1) {
		log_warn("can not reopen %s", lg.path);
		return;
	}
	close(lg.fd);
	lg.fd = fd;
}

int
log_level_parse(const char *word, enum log_level *level)
{
	size_t i;

	for (i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
		if (strcmp(word, level_names[i]) == 0) {
			*level = (enum log_level)i;
			return 0;
		}
	}
	return -1;
}

int
log_format_parse(const char *word, enum log_format *format)
{
	if (strcmp(word, "kv") == 0)
		*format = LOG_FMT_KV;
	else if (strcmp(word, "json") == 0)
		*format = LOG_FMT_JSON;
	else
		return -1;
	return 0;
}

/* The printf-like entry points differ in level, errno and what comes after. */
#define LOG_BODY(lvl, errnum)                       \
	do {                                        \
		int save = errno;                   \
		va_list ap;                         \
                                                    \
		if ((lvl) <= lg.level) {            \
			va_start(ap, fmt);          \
			emit(lvl, errnum, fmt, ap); \
			va_end(ap);                 \
		}                                   \
		errno = save;                       \
	} while (0)

void
log_debug(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_DEBUG, 0);
}

void
log_info(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_INFO, 0);
}

void
log_warn(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_WARN, save);
}

void
log_warnx(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_WARN, 0);
}

void
log_error(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_ERROR, save);
}

void
log_errorx(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_ERROR, 0);
}

void
log_event(enum log_level level, const char *msg, ...)
{
	int save = errno;
	va_list ap;

	if (level <= lg.level) {
		va_start(ap, msg);
		emit_event(level, msg, &ap);
		va_end(ap);
	}
	errno = save;
}

const char *
log_num(char text[LOG_NUM_SIZE], int64_t n)
{
	snprintf(text, LOG_NUM_SIZE, "%" PRId64, n);
	return text;
}

void
fatal(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_ERROR, save);
	exit(1);
}

void
fatalx(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_ERROR, 0);
	exit(1);
}

void
qo_bug(const char *fmt, ...)
{
	LOG_BODY(LOG_LVL_ERROR, 0);
	abort();
}
