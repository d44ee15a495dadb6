/*
 * options.h - the command line and the [store] section as one struct.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "conf.h"
#include "log.h"
#include "server.h"

#define OPTIONS_FDS 8

enum options_mode {
	MODE_SERVE = 0,
	MODE_CHECK,  /* --check: the database */
	MODE_BACKUP, /* --backup */
	MODE_TEST    /* -n: the configuration */
};

/* Strings are owned. */
struct options {
	enum options_mode mode;
	struct store_conf store;
	char *listen; /* NULL: no TCP */
	char *socket;
	char *portfile;
	char *backup;
	int fds[OPTIONS_FDS]; /* listening sockets that were inherited */
	size_t nfds;
	char *log;
	enum log_format log_format;
	enum log_level log_level;
	int64_t drain_ms;
};

/* given is the configuration of qod, which then also gives the sockets; NULL:
 * there is no qod.  Exits by itself for -h and -V (0) and for mistakes (2 for
 * the command line, 78 for the configuration), after one line each on
 * stderr. */
void options_parse(struct options *o, int argc, char **argv,
    const struct conf *given);
void options_fini(struct options *o);

#endif
