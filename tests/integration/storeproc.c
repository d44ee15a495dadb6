#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "log.h"
#include "storeproc.h"

static const char keys[] = "[test]\n"
			   "access_key = " STOREPROC_ACCESS "\n"
			   "secret_key = " STOREPROC_SECRET "\n"
			   "owner = test\n"
			   "policy = both\n";

static void
write_keys(const char *path)
{
	struct qo_err err;

	if (io_write_file(path, keys, sizeof(keys) - 1, 0600, &err) == -1)
		fatalx("%s", err.msg);
}

static void
exec_store(const struct storeproc *s, const char *keys_path, int out)
{
	char data[160], log[160];
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(data, sizeof(data), "%s/data", s->dir);
	snprintf(log, sizeof(log), "%s/log", s->dir);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd == -1 || dup2(fd, STDERR_FILENO) == -1 ||
	    dup2(out, STDOUT_FILENO) == -1)
		_exit(126);
	execl(s->binary, s->binary, "-d", data, "-k", keys_path, "-l",
	    "127.0.0.1:0", "-s", s->socket, "--max-body",
	    s->max_body != NULL ? s->max_body : "64MiB", NULL);
	_exit(127);
}

void
storeproc_start(struct storeproc *s)
{
	static const char ready[] = "qo-store ready http://127.0.0.1:";
	char keys_path[160], line[256];
	int fds[2];
	FILE *fp;

	snprintf(s->socket, sizeof(s->socket), "%s/socket", s->dir);
	snprintf(keys_path, sizeof(keys_path), "%s/keys", s->dir);
	write_keys(keys_path);
	if (pipe2(fds, O_CLOEXEC) == -1)
		fatal("pipe");
	fflush(NULL);
	s->pid = fork();
	if (s->pid == -1)
		fatal("fork");
	if (s->pid == 0)
		exec_store(s, keys_path, fds[1]);
	close(fds[1]);
	fp = fdopen(fds[0], "r");
	if (fp == NULL || fgets(line, sizeof(line), fp) == NULL ||
	    strncmp(line, ready, sizeof(ready) - 1) != 0)
		fatalx("%s did not start, see %s/log", s->binary, s->dir);
	fclose(fp);
	s->port = (int)strtol(line + sizeof(ready) - 1, NULL, 10);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d", s->port);
}

int
storeproc_end(struct storeproc *s, int signo)
{
	int status = 0;

	if (s->pid <= 0)
		return 0;
	kill(s->pid, signo);
	waitpid(s->pid, &status, 0);
	s->pid = 0;
	return status;
}

int
storeproc_check(const struct storeproc *s)
{
	char data[160];
	int status;
	pid_t pid;

	snprintf(data, sizeof(data), "%s/data", s->dir);
	fflush(NULL);
	pid = fork();
	if (pid == -1)
		fatal("fork");
	if (pid == 0) {
		/* What it says belongs to no case. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl(s->binary, s->binary, "--check", "-d", data, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void
storeproc_mkdir(char *path, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, size, "%s/qo-live-XXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(path) == NULL)
		fatal("%s", path);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void
storeproc_rmdir(const char *path)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == -1)
		log_warn("%s", path);
}
