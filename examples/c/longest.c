/*
 * longest.c - find the longest line of a file.
 *
 * A handler in C, for both modes: progress, a cancel that is obeyed, verdicts.
 *
 *	cc -O2 -o longest longest.c $(pkg-config --cflags --libs --static qo)
 *
 *	[handler longest]
 *	type = text.longest
 *	command = /usr/local/libexec/longest
 *	mode = serve
 *
 *	qo submit -t text.longest -i '{"file": "/etc/services"}'
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <qo.h>

static void
search(struct qo_job *job, FILE *f)
{
	char *line = NULL;
	size_t size = 0;
	long lines = 0, number = 0;
	ssize_t n, longest = 0;

	while ((n = getline(&line, &size, f)) != -1) {
		if (line[n - 1] == '\n')
			n--;
		lines++;
		if (n > longest) {
			longest = n;
			number = lines;
		}
		if (lines % 100000 != 0)
			continue;
		if (qo_cancelled(job))
			break;
		qo_progress(job, "{\"lines\":%ld}", lines);
	}
	free(line);
	/* SIGTERM also interrupts a read.  No verdict is needed then. */
	if (qo_cancelled(job))
		return;
	if (ferror(f))
		qo_retry(job, -1, "read: %s", strerror(errno));
	else
		qo_complete(job, "{\"lines\":%ld,\"line\":%ld,\"length\":%zd}",
		    lines, number, longest);
}

static void
run(struct qo_job *job, void *arg)
{
	const char *path;
	FILE *f;

	(void)arg;
	path = qo_input_string(job, "/file");
	if (path == NULL) {
		qo_fail(job, "the input has no string \"file\"");
		return;
	}
	f = fopen(path, "re");
	if (f == NULL && errno == ENOENT) {
		/* It may still come. */
		qo_retry(job, 1, "%s: %s", path, strerror(errno));
	} else if (f == NULL) {
		qo_fail(job, "%s: %s", path, strerror(errno));
	} else {
		qo_log(job, "attempt %lld reads %s", (long long)job->attempt,
		    path);
		search(job, f);
		fclose(f);
	}
}

int
main(void)
{
	return qo_serve(run, NULL);
}
