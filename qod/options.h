/*
 * options.h - the command line of qod.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

enum options_mode {
	OPTIONS_RUN = 0,
	OPTIONS_CHECK, /* -n */
	OPTIONS_SHOW   /* -T */
};

struct options {
	enum options_mode mode;
	char *file; /* absolute */
	bool verbose;
};

/* Exits after -h, -V and mistakes. */
void options_parse(struct options *o, int argc, char **argv);
void options_fini(struct options *o);

#endif
