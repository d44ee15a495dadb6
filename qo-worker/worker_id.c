#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "worker_id.h"

/* Bytes for "-{number}", or "-{pid}-{nonce}", behind the name. */
#define ROOM 32

static void
host_name(char host[QO_NAME_MAX + 1])
{
	if (gethostname(host, QO_NAME_MAX) == -1 || host[0] == '\0')
		snprintf(host, QO_NAME_MAX + 1, "localhost");
	host[QO_NAME_MAX] = '\0';
}

void
worker_id_make(const char *configured, int index, int of,
    char id[QO_NAME_MAX + 1], char host[QO_NAME_MAX + 1])
{
	char nonce[QO_NONCE_SIZE];
	char *p;

	host_name(host);
	if (configured != NULL) {
		if (of > 1)
			snprintf(id, QO_NAME_MAX + 1, "%.*s-%d",
			    QO_NAME_MAX - ROOM, configured, index);
		else
			snprintf(id, QO_NAME_MAX + 1, "%s", configured);
		return;
	}
	qo_nonce(nonce);
	snprintf(id, QO_NAME_MAX + 1, "%.*s-%ld-%s", QO_NAME_MAX - ROOM, host,
	    (long)getpid(), nonce);
	for (p = id; *p != '\0'; p++)
		if (!qo_name_valid(p, 1) && *p != '.')
			*p = '-';
}
