/*
 * sig.h - signals as a file descriptor.
 *
 * The only place that installs handlers.  A handler notes the number and
 * writes one byte to a pipe; the loop reads sig_fd() and asks sig_next()
 * until it gives 0.  A signal that arrives while it is being handled is
 * never lost, two of the same kind may be one.
 */
#ifndef SIG_H
#define SIG_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the pipe and ignores SIGPIPE.  Once per process, before threads;
 * fatal on failure. */
void sig_init(void);
/* The signal is caught from now on. */
void sig_catch(int signo);
void sig_ignore(int signo);
/* The same, but sig_next calls fn instead of returning it: for a module that
 * must see its signal whoever owns the loop (SIGCHLD). */
void sig_take(int signo, void (*fn)(void));
/* Back to the defaults, an empty mask, for a child about to exec.  Only
 * async-signal-safe calls. */
void sig_reset(void);
/* Nothing is delivered while held; it waits, also through an exec. */
void sig_hold(bool on);
/* Held, for an exec: what was caught and sig_next() has not given yet waits
 * with the rest. */
void sig_hand_over(void);
/* While held: one that asks to end (SIGTERM, SIGINT, SIGQUIT) if it comes
 * within ms, else 0. */
int sig_wait_end(int64_t ms);
/* Readable when sig_next() has something; borrowed, never close it. */
int sig_fd(void);
/* A caught signal, or 0. */
int sig_next(void);

#endif
