#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "usage.h"

double
cpu_of(pid_t pid)
{
	struct timespec ts;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &ts) == -1)
		fatalx("no CPU clock of process %d", (int)pid);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

double
rss_mib(pid_t pid)
{
	char path[64], line[128];
	long kib = 0;
	FILE *fp;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fp = fopen(path, "re");
	while (fp != NULL && fgets(line, sizeof(line), fp) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (fp != NULL)
		fclose(fp);
	return (double)kib / 1024;
}
