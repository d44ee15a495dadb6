/*
 * envkeys.h - keys that came in the environment.
 *
 * What a process was started with stays readable in /proc/PID/environ, and
 * what is in its environment goes on to all that it runs.  So the keys are
 * moved out of there at the start: kept here, overwritten where they were.
 * Those who need them ask here; those who shall have them, too, are given
 * them by name.
 */
#ifndef ENVKEYS_H
#define ENVKEYS_H

/* Early in main: copies the keys and overwrites them in place.  Their length
 * stays, so that title_init finds one area without holes. */
void envkeys_take(void);
/* Behind title_init: what was overwritten leaves the environment. */
void envkeys_unset(void);
/* One that was taken, or else of the environment; NULL: not there, or empty.
 * Borrowed. */
const char *envkeys_get(const char *name);
/* The environment with those that were taken, as for execve.  Its strings are
 * borrowed; the caller frees the array. */
char **envkeys_environ(void);

#endif
