/*
 * banned.h - functions that have no safe use here, made a compile error.
 *
 * Included on the command line before every source file, after the headers
 * that declare them have been seen (a poisoned name must not be declared
 * later).  What to use instead stands beside each.
 */
#ifndef BANNED_H
#define BANNED_H

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#pragma GCC poison sprintf vsprintf                    /* buf_addf, snprintf */
#pragma GCC poison strcpy strcat strncpy strncat       /* strlcpy, buf_add */
#pragma GCC poison strtok gets                         /* strsep, io_* */
#pragma GCC poison atoi atol atoll                     /* strtonum */
#pragma GCC poison mktime localtime localtime_r gmtime /* timegm, gmtime_r */
#pragma GCC poison srand random srandom                /* arc4random */
#pragma GCC poison tmpnam mktemp

/* Not poisoned, a parameter in OpenSSL's headers has this name; only the
 * call is an error. */
#define rand(...) banned_use_arc4random

#endif
