#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "io.h"
#include "term.h"

/* The other screen, no cursor, no wrapping at the edge; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[0m\033[?1049l"
/* A terminal that knows this shows the new picture all at once. */
#define BEGIN "\033[?2026h\033[H"
#define END   "\033[?2026l"

static bool on, registered;
static bool has_keys;
static struct termios saved;
static char typed[64];
static size_t ntyped;

static int
put(const char *s)
{
	return io_write_all(STDOUT_FILENO, s, strlen(s));
}

static int
enter(void)
{
	struct termios raw;

	has_keys = tcgetattr(STDIN_FILENO, &saved) == 0;
	if (has_keys) {
		raw = saved;
		/* ISIG stays: ^C and ^Z are signals as everywhere. */
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == -1)
			return -1;
	}
	on = true;
	return put(ENTER);
}

int
term_open(void)
{
	if (isatty(STDOUT_FILENO) != 1)
		return -1;
	if (!registered && atexit(term_close) == 0)
		registered = true;
	return enter();
}

void
term_close(void)
{
	if (!on)
		return;
	on = false;
	(void)put(LEAVE);
	/* What was typed and not read is not for the shell. */
	if (has_keys)
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved);
}

void
term_suspend(void)
{
	term_close();
	(void)raise(SIGSTOP);
	(void)enter();
}

void
term_size(size_t *rows, size_t *cols)
{
	struct winsize ws;

	*rows = 24;
	*cols = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == -1)
		return;
	if (ws.ws_row > 0)
		*rows = ws.ws_row;
	if (ws.ws_col > 0)
		*cols = ws.ws_col;
}

void
term_draw(const char *text, size_t len)
{
	const char *p = text, *end = text + len, *nl;
	struct buf b;

	buf_init(&b, 2 * len + 65536);
	buf_adds(&b, BEGIN);
	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		/* Clears what the last picture had there, before the line: the
		 * cursor behind one that fills the row stands on its last
		 * character. */
		buf_adds(&b, nl < end ? "\033[K" : "\033[J");
		buf_add(&b, p, (size_t)(nl - p));
		if (nl < end)
			buf_adds(&b, "\r\n");
	}
	if (len == 0 || text[len - 1] == '\n')
		buf_adds(&b, "\033[J");
	buf_adds(&b, END);
	(void)io_write_all(STDOUT_FILENO, b.data, b.len);
	buf_fini(&b);
}

/* Keys */

static enum term_key
letter(char c)
{
	switch (c) {
	case 'q':
	case 'Q':
		return TERM_QUIT;
	case 'p':
		return TERM_PAUSE;
	case 's':
		return TERM_SORT;
	case 'k':
		return TERM_UP;
	case 'j':
		return TERM_DOWN;
	case 'b':
		return TERM_PAGE_UP;
	case ' ':
		return TERM_PAGE_DOWN;
	case 'g':
		return TERM_HOME;
	case 'G':
		return TERM_END;
	}
	return TERM_OTHER;
}

/* The end of ESC [ 5 ~ and the like: a number in front, a letter behind. */
static enum term_key
sequence(char number, char last)
{
	switch (last) {
	case 'A':
		return TERM_UP;
	case 'B':
		return TERM_DOWN;
	case 'H':
		return TERM_HOME;
	case 'F':
		return TERM_END;
	case '~':
		break;
	default:
		return TERM_OTHER;
	}
	switch (number) {
	case '1':
	case '7':
		return TERM_HOME;
	case '4':
	case '8':
		return TERM_END;
	case '5':
		return TERM_PAGE_UP;
	case '6':
		return TERM_PAGE_DOWN;
	}
	return TERM_OTHER;
}

enum term_key
term_decode(const char *p, size_t len, size_t *used)
{
	char number = '\0';
	size_t i;

	*used = 0;
	if (len == 0)
		return TERM_NONE;
	if (p[0] != '\033') {
		*used = 1;
		return letter(p[0]);
	}
	if (len == 1)
		return TERM_NONE;
	if (p[1] != '[' && p[1] != 'O') {
		*used = 1; /* the key Esc, and then another */
		return TERM_OTHER;
	}
	for (i = 2; i < len; i++) {
		if (p[i] >= 0x40 && p[i] <= 0x7e) {
			*used = i + 1;
			return sequence(number, p[i]);
		}
		if (i == 2)
			number = p[i];
	}
	/* Longer than any key there is. */
	*used = len >= sizeof(typed) ? len : 0;
	return *used > 0 ? TERM_OTHER : TERM_NONE;
}

enum term_key
term_read_key(bool *eof)
{
	enum term_key key;
	size_t used;
	ssize_t n;

	*eof = false;
	key = term_decode(typed, ntyped, &used);
	if (key == TERM_NONE && ntyped < sizeof(typed)) {
		n = read(STDIN_FILENO, typed + ntyped, sizeof(typed) - ntyped);
		*eof = n == -1 && errno != EINTR && errno != EAGAIN;
		if (n <= 0)
			return TERM_NONE;
		ntyped += (size_t)n;
		key = term_decode(typed, ntyped, &used);
	}
	memmove(typed, typed + used, ntyped - used);
	ntyped -= used;
	return key;
}
