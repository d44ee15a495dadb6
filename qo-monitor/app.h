/*
 * app.h - the monitor as a whole: its parts put together, from the first
 * word with the store to the last.
 */
#ifndef APP_H
#define APP_H

#include "role.h"

struct app;

/* The role has been started; its callbacks are app_drain, app_now and
 * app_message, with the app as arg.  Borrows it. */
struct app *app_new(struct role *r);
void app_free(struct app *a);
/* Waits for the store, then works until it is told to end; once: until one
 * pass of everything is over.  The exit status. */
int app_run(struct app *a, bool once);

void app_drain(struct role *r, int64_t limit_ms);
void app_now(struct role *r);
bool app_message(struct role *r, const char *verb, char *rest);

#endif
