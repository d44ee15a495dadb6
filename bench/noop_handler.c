/* The handler that does nothing, as fast as a handler can: what benchmarks
 * of the worker run in serve mode. */
#include "qo.h"

static void
nothing(struct qo_job *job, void *arg)
{
	(void)job;
	(void)arg;
}

int
main(void)
{
	return qo_serve(nothing, NULL);
}
