"""What the tests of qo and of its roles share: running a program to its end
or beside the test, waiting for something to happen, processes, and what lies
in the store."""

import atexit
import json
import os
import re
import signal
import subprocess
import time

from store_lib import BUILD, eq

BIN = os.path.abspath(os.path.join(BUILD, "bin"))
PATIENCE = 240  # seconds; nothing takes long on an idle machine


def until(what, fn, patience=PATIENCE):
    """Polls until fn gives something true, and gives that."""
    end = time.monotonic() + patience
    while True:
        got = fn()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError("waited in vain for " + what)
        time.sleep(0.02)


# Files.

def put_file(path, text, mode=0o600):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def script(path, text):
    return put_file(path, text, 0o755)


def lines(path):
    """Of a file that others append to: the last line may be half there.  []
    when it is not there yet."""
    try:
        with open(path, errors="replace") as f:
            return f.read().split("\n")[:-1]
    except FileNotFoundError:
        return []


def local_store(store):
    """The section for a store on the same host, whose keys are beside it."""
    return "[store]\nlisten = %s:%d\ndata = %s\nkeys_file = %s/keys\n" % (
        store.host, store.port, store.data, store.data)


def remote_store(store, bucket="queue", index="queue-index"):
    """The section for one that is somewhere; an index of None is left to
    the default."""
    return "[s3]\nendpoint = %s\nbucket = %s\n%saccess_key = %s\n" \
        "secret_key = %s\n" % (
            store.url, bucket,
            "index_bucket = %s\n" % index if index else "", *store.key)


# Programs.

def clean_env(**more):
    """Ours, without what would be taken for configuration."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("QO_", "AWS_", "TRACEPARENT"))}
    env.update(more)
    return env


def run(name, *args, code=0, stdin=None, env=None, timeout=300,
        errors="strict", **more):
    """To its end, with that status (None: any); .out, .lines and .err have
    what it said."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    if stdin is None:
        more["stdin"] = subprocess.DEVNULL
    else:
        more["input"] = stdin
    p = subprocess.run([os.path.join(BIN, name)] + list(args),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       env=env, timeout=timeout, **more)
    p.out = p.stdout.decode(errors=errors)
    p.lines = p.out.splitlines()
    p.err = p.stderr.decode(errors=errors)
    if code is not None and p.returncode != code:
        raise AssertionError("%s %s: exit %d, want %d: %s" % (
            name, " ".join(args)[:200], p.returncode, code,
            p.err.strip()[:400]))
    return p


class Program:
    """One that runs beside the test, and what it says in its log."""

    def __init__(self, name, *args, log, env=None, **more):
        self.log_path = log
        with open(log, "wb") as f:
            self.proc = subprocess.Popen(
                [os.path.join(BIN, name)] + list(args), env=env,
                stdin=subprocess.DEVNULL, stdout=f, stderr=f, **more)
        atexit.register(self.kill)

    def text(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def wait_for(self, pattern, patience=PATIENCE):
        """In its log."""
        def found():
            m = re.search(pattern, self.text())
            if m is None and self.proc.poll() is not None:
                raise AssertionError("it ended: " + self.text()[-400:])
            return m
        return until("%r in %s" % (pattern, self.log_path), found, patience)

    def signal(self, sig):
        self.proc.send_signal(sig)

    def ended(self, patience=PATIENCE):
        """Its status, once it has ended."""
        return self.proc.wait(patience)

    def kill(self):
        """If it still runs."""
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()

    def stop(self):
        """In peace."""
        if self.proc.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            eq(self.ended(), 0, self.text()[-400:])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if exc[0] is None:
            self.stop()
        else:
            self.kill()


# Processes.

def state(pid):
    """The letter of the kernel; None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def alive(pid):
    """It runs: a zombie does not."""
    return state(pid) not in (None, "Z", "X")


def killed(pid):
    """It was, and may not have had the time to die."""
    try:
        with open("/proc/%d/status" % pid) as f:
            m = re.search(r"^SigPnd:\s+(\w+)$", f.read(), re.M)
        return bool(m and int(m.group(1), 16) & 1 << signal.SIGKILL - 1)
    except OSError:
        return False


def children(pid):
    # The kernel may leave one out when another ends while this is read.
    last = None
    while True:
        try:
            with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
                now = [int(p) for p in f.read().split()]
        except OSError:
            return []
        if now == last:
            return now
        last = now


# The store.

def read_task(client, id_, bucket="qo"):
    a = client.get("/%s/tasks/%s/%s.json" % (bucket, id_[0], id_))
    eq(a.status, 200, id_)
    return json.loads(a.body)


def listed(client, bucket, prefix=""):
    a = client("GET", "/" + bucket,
               query="list-type=2&prefix=" + prefix.replace("/", "%2F"))
    eq(a.one("IsTruncated"), "false")
    return a.all("Key")
