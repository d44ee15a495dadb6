/*
 * usage.h - what a process has used, for benchmarks.
 */
#ifndef USAGE_H
#define USAGE_H

#include <sys/types.h>

/* CPU seconds so far, all threads; the benchmark ends when there is no such
 * process. */
double cpu_of(pid_t pid);
/* What it has in memory now; 0 when it is gone. */
double rss_mib(pid_t pid);

#endif
