"""Completion of qo in bash, zsh and fish themselves."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from qo_lib import BIN, PATIENCE
from store_lib import Skip, case, eq, finish

ENV = {"PATH": BIN + ":/usr/bin:/bin", "LC_ALL": "C", "TERM": "dumb"}
top = tempfile.mkdtemp(prefix="qo-completion.")
ENV["HOME"] = top

# A line that is begun, and what is offered for its last word.
ONE = {
    "qo subm": "submit",
    "qo ctl rel": "reload",
    "qo schedule run": "run-now",
    "qo init --shard": "--shard-width",
}
MANY = {
    "qo schedule ": {"add", "delete", "list", "pause", "resume", "run-now",
                     "show"},
    "qo ctl re": {"reload", "reopen", "resume"},
}


def need(shell):
    if shutil.which(shell) is None:
        raise Skip("no " + shell)


class Terminal:
    """An interactive shell, as a person sees it."""

    def __init__(self, *argv):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(top)
            os.execvpe(argv[0], argv, ENV)

    def types(self, text):
        os.write(self.fd, text.encode())

    def shows(self, pattern):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            m = re.search(pattern, self.seen.decode(errors="replace"))
            if m:
                return m
            if select.select([self.fd], [], [], 0.1)[0]:
                self.seen += os.read(self.fd, 65536)
        raise AssertionError("no %r in %r" % (pattern, self.seen[-500:]))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def asks(shell, *setup):
    """Each line in a terminal of its own, completed by Tab."""
    for line in list(ONE) + list(MANY):
        with Terminal(*shell) as t:
            # What is typed is echoed: the mark is put together by the shell.
            t.types("; ".join(setup) + "; echo read''y\r")
            t.shows(r"ready\r\n")
            t.seen = b""
            t.types(line + ("\t" if line in ONE else "\t\t"))
            if line in ONE:
                t.shows(re.escape(line.rsplit(" ", 1)[0] + " " + ONE[line]))
            else:
                for word in MANY[line]:
                    t.shows(r"\s%s\s" % re.escape(word))


@case("bash")
def _():
    asks(["bash", "--norc", "--noprofile", "-i"],
         "source <(qo completion bash)")


@case("zsh")
def _():
    need("zsh")
    asks(["zsh", "-f", "-i"], "autoload -Uz compinit", "compinit -u -D",
         "source <(qo completion zsh)")


@case("zsh_from_its_path")
def _():
    """As installed: found by its name in fpath."""
    need("zsh")
    with open(os.path.join(top, "_qo"), "wb") as f:
        subprocess.run([os.path.join(BIN, "qo"), "completion", "zsh"],
                       stdout=f, check=True)
    asks(["zsh", "-f", "-i"], "fpath=(%s $fpath)" % top,
         "autoload -Uz compinit", "compinit -u -D")


@case("fish")
def _():
    need("fish")
    for line in list(ONE) + list(MANY):
        p = subprocess.run(
            ["fish", "--no-config", "-c",
             "qo completion fish | source; complete -C '%s'" % line],
            env=ENV, cwd=top, stdin=subprocess.DEVNULL, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        eq(p.stderr, b"", line)
        offered = {x.split("\t")[0] for x in p.stdout.decode().splitlines()}
        eq(offered, {ONE[line]} if line in ONE else MANY[line], line)


shutil.rmtree(top, ignore_errors=True)
finish()
