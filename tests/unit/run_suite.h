/*
 * run_suite.h - the end of a test's main.
 */
#ifndef RUN_SUITE_H
#define RUN_SUITE_H

#include <check.h>

/* Runs the suite and frees it; the status to exit with: 0 when all is well. */
int run_suite(Suite *s);

#endif
