/*
 * title.h - what ps shows of a process: "qo-worker: 3 running, 1204 done".
 *
 * Never a secret, everybody reads it.
 */
#ifndef TITLE_H
#define TITLE_H

/* Early in main: argv and environment move elsewhere (the pointers in argv
 * are good after). */
void title_init(int argc, char **argv);
/* Behind the name of the program; cut where there is no more room. */
void title_set(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
