/*
 * log.h - one event, one line.
 *
 * A line is key=value pairs or one JSON object: time, level, role, pid, msg
 * and what the event adds.  Whatever a value holds, the line stays a line:
 * control characters and broken UTF-8 are escaped, long values are cut.
 * Everything goes through one write(2); errno is preserved.  Texts are
 * lower case, without full stop or newline.  Never pass a secret.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level {
	LOG_LVL_ERROR = 0,
	LOG_LVL_WARN,
	LOG_LVL_INFO,
	LOG_LVL_DEBUG
};

enum log_format {
	LOG_FMT_KV = 0,
	LOG_FMT_JSON
};

/*
 * Until log_init the lines go to stderr as "qo: text".  role is borrowed and
 * must live on (a literal).  target is NULL or "stderr", "syslog", or the
 * path of a file, opened for append with mode 0640; it is copied.  0, or -1
 * with errno when the file can not be opened (the old target stays).
 */
int log_init(const char *role, const char *target, enum log_format format,
    enum log_level level);
void log_set_level(enum log_level level);
bool log_wants(enum log_level level);
/* Opens the log file again by its name (SIGUSR1); a failure is logged to the
 * old file, which stays in use. */
void log_reopen(void);
/* -1 when the word is none of error, warn, info, debug (or kv, json). */
int log_level_parse(const char *word, enum log_level *level);
int log_format_parse(const char *word, enum log_format *format);

void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The forms without x append ": strerror(errno)". */
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warnx(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_errorx(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * An event with pairs of its own: name, value, name, value, ..., NULL.
 * Names are [a-z0-9_]+; a pair whose value is NULL is left out.
 *	log_event(LOG_LVL_INFO, "claimed", "task", id, "lease", lease, NULL);
 */
void log_event(enum log_level level, const char *msg, ...)
    __attribute__((sentinel));
/* A number as such a value; the text lives as long as the block it is in. */
#define LOG_NUM_SIZE 24
#define LOG_NUM(n)   log_num((char[LOG_NUM_SIZE]){ "" }, (int64_t)(n))
const char *log_num(char text[LOG_NUM_SIZE], int64_t n);

/* The process can not go on: logs and exits with status 1. */
void fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));
void fatalx(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));
/* An invariant is broken: logs and aborts (core, restart). */
void qo_bug(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#endif
