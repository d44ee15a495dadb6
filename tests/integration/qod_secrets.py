"""Logs of a whole qod with real roles: one line for each event whatever tasks
and handlers say, in each form and to each target; and keys that are nowhere
but in their file: no log, no title, no environment of a handler, no output of
a command."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import uuid

from qo_lib import run
from qod_lib import BIN, Qod, Skip, alive, case, children, eq, finish, until

for program in ("qod", "qo-worker", "qo-store"):
    if not os.path.exists(os.path.join(BIN, program)):
        print("skip all: no " + program)
        sys.exit(0)

ACCESS = "QOTESTACCESSKEY" + uuid.uuid4().hex[:8].upper()
SECRET = "secret-" + uuid.uuid4().hex
TOKEN = "token-" + uuid.uuid4().hex
KV = re.compile(r'[a-z0-9_]+=(?:"(?:[^"\\]|\\.)*"|[^\s"]*)'
                r'(?: [a-z0-9_]+=(?:"(?:[^"\\]|\\.)*"|[^\s"]*))*')
HOSTILE = ("line one\\nlevel=error msg=forged\\r\\033[2J\\033]0;title\\007"
           "\\302\\233\\377\\376 {\"msg\":\"forged\"}")


def qo(q, *args, code=0):
    return run("qo", "-c", q.path("conf"), *args, code=code, env=q.env,
               errors="replace")


def make(text, **more):
    """A qod with real roles and three handlers: one that tells what it was
    given, one that says bad things and fails, one that stays."""
    q = Qod(start=False, fake=False, workers=1, **more)
    for name, body in (
            ("tell", "tr '\\0' '\\n' </proc/self/environ >&2\n"
                     "tr '\\0' ' ' </proc/$$/cmdline >&2\n"
                     "echo '{}'\n"),
            ("bad", "printf '%s' >&2\nprintf '%s'\n"
                    "printf '{\"status\":\"failed\",\"error\":\"%s\"}' >&3\n"
                    "exit 64\n" % (HOSTILE, HOSTILE,
                                   "a\\\\nlevel=error msg=forged\\\\u001b[2J")),
            ("stay", "exec sleep 600\n")):
        with open(q.path(name), "w") as f:
            f.write("#!/bin/sh\n" + body)
        os.chmod(q.path(name), 0o755)
    # The last of them is not waited for.
    text = text.replace("[qod]\n", "[qod]\ndrain_timeout = 1s\n")
    q.write(text + "".join(
        "[handler %s]\ntype = %s\ncommand = %s\n" % (n, n, q.path(n))
        for n in ("tell", "bad", "stay")))
    return q


def run_all(q):
    """Tasks that end, then one that stays; (task ids, the handler's pid)."""
    ids = {}
    for kind in ("tell", "bad"):
        ids[kind] = qo(q, "submit", "--type", kind, "--input", "{}",
                       "--retries", "0").out.strip()
        qo(q, "wait", ids[kind], "--timeout", "240s", code=None)
    ids["stay"] = qo(q, "submit", "--type", "stay", "--input", "{}").out.strip()

    def handler():
        s = json.loads(qo(q, "ctl", "status", "--json").out)
        for c in s["children"]:
            for t in c.get("tasks", []):
                if t["type"] == "stay" and t["handler_pid"] > 0:
                    return t["handler_pid"]
        return None
    return ids, until("a handler that stays", handler)


def check_lines(text, form):
    assert text.endswith("\n"), repr(text[-80:])
    for line in text.split("\n")[:-1]:
        if re.match(r"/\S+:\d+: warning: ", line):
            continue  # of the check, before there is a log
        for c in line:
            assert ord(c) >= 0x20 and not 0x7f <= ord(c) < 0xa0, repr(line)
        if form == "json":
            d = json.loads(line)
            for k in ("time", "level", "role", "pid", "msg"):
                assert k in d, line
            eq(d["msg"].startswith("forged"), False)
        else:
            assert KV.fullmatch(line), repr(line)
            assert line.startswith("time="), repr(line)
            assert not re.search(r" level=error msg=forged", re.sub(
                r'"(?:[^"\\]|\\.)*"', '""', line)), repr(line)


def after_warnings(q):
    return re.sub(r"(?m)^/\S+:\d+: warning: .*\n", "", q.log_text())


def has_no_secret(what, data, secrets):
    if isinstance(data, str):
        data = data.encode(errors="replace")
    for s in secrets:
        assert s.encode() not in data, "%s has %s..." % (what, s[:12])


def family(pid):
    found = [pid]
    for c in children(pid):
        found += family(c)
    return found


def parents(path):
    while path != "/":
        path = os.path.dirname(path)
        yield path


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def look_everywhere(q, ids, handler, secrets, log):
    for pid in family(q.proc.pid):
        has_no_secret("cmdline of %d" % pid, read("/proc/%d/cmdline" % pid),
                      secrets)
    has_no_secret("the handler's environment",
                  read("/proc/%d/environ" % handler), secrets)
    eq([v for v in read("/proc/%d/environ" % handler).split(b"\0")
        if v.startswith((b"AWS_", b"QO_S3", b"NOTIFY_", b"QO_ROLE"))], [])
    has_no_secret("the log", read(log), secrets)
    for name, args in (("-T", ["-T"]), ("-n", ["-n"])):
        code, text = q.run(*args)
        eq(code, 0, text)
        has_no_secret("qod " + name, text, secrets)
    for args in (["ctl", "status", "--json"], ["ctl", "status"],
                 ["config", "show"], ["top"], ["status", ids["tell"]],
                 ["status", ids["tell"], "--json"], ["logs", ids["tell"]],
                 ["history", ids["bad"]], ["workers", "--json"]):
        p = qo(q, *args)
        has_no_secret("qo " + " ".join(args), p.out + p.err, secrets)


def store_secrets(q):
    """Those that the embedded store has made."""
    text = read(q.path("store/keys")).decode()
    return re.findall(r"^secret_key\s*=\s*(\S+)", text, re.M)


def one_run(form, target, level):
    with make("[qod]\nlog_format = %s\nlog_level = %s\n%s" % (
            form, level,
            "log = @\n" if target == "file" else "")) as q:
        log = q.path("log")
        if target == "file":
            log = q.path("events")
            q.write(q.text.replace("@", log))
        q.start()
        ids, handler = run_all(q)
        secrets = store_secrets(q)
        assert secrets and all(len(s) >= 16 for s in secrets), secrets
        look_everywhere(q, ids, handler, secrets, log)
        eq(qo(q, "status", ids["bad"], "--json").out.count("\n"), 1)
        eq(q.stop(), 0)
        until("the handler has ended", lambda: not alive(handler))
        text = read(log).decode()
        check_lines(text, form)
        assert text.count("\n") > 5, text
        assert "msg=forged" in text, text  # said, and quoted
        if target == "file":
            eq(after_warnings(q), "")
            eq(os.stat(log).st_mode & 0o777 & ~0o640, 0)


for form in ("kv", "json"):
    for target in ("stderr", "file"):
        case("%s_to_%s" % (form, target))(
            lambda: one_run(form, target, "debug"))


@case("to_syslog")
def _():
    # Nobody may read /dev/log here; what can be seen is that nothing of it
    # goes elsewhere and that no role misses it.
    with make("[qod]\nlog = syslog\n") as q:
        q.start()
        run_all(q)
        eq(q.stop(), 0)
        eq(after_warnings(q), "")


# A /dev of its own, in which log is our socket.
OWN_DEV = """set -e
mkdir dev
mount -t tmpfs none dev
for n in null zero full random urandom tty; do
	: >dev/$n
	mount --bind /dev/$n dev/$n
done
ln -s /proc/self/fd dev/fd
mkdir dev/shm
ln -s "$PWD/syslog" dev/log
mount --bind dev /dev
exec "$@"
"""


class Syslog:
    """What a syslog daemon would be sent."""

    def __init__(self, q):
        self.at = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.at.bind(q.path("syslog"))
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while True:
            line = self.at.recv(65536)
            if line == b"end":
                return
            self.lines.append(line.decode())

    def end(self, q):
        self.at.connect(q.path("syslog"))
        self.at.send(b"end")
        self.reader.join(60)
        self.at.close()


@case("syslog_far_end")
def _():
    if subprocess.run(["unshare", "-m", "true"],
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no rights to have a /dev of its own")
    with make("[qod]\nlog = syslog\n") as q:
        log = Syslog(q)
        qod = q.command()
        q.command = lambda *args: ["unshare", "-m", "/bin/sh", "-c", OWN_DEV,
                                   "sh"] + qod + list(args)
        q.start(cwd=q.dir)
        run_all(q)
        eq(q.stop(), 0)
        log.end(q)
        secrets = store_secrets(q)
        said = {}
        for line in log.lines:
            m = re.fullmatch(r"<(\d+)>\S+ +\d+ [\d:]+ (qod|qo-\w+)\[\d+\]: "
                             r"(level=(\w+) role=(\w+) .*)", line)
            assert m and m.group(2) in ("qod", "qo-" + m.group(5)), line
            # Of the facility daemon, and as grave as it is.
            eq(int(m.group(1)), 3 * 8 + {"error": 3, "warn": 4,
                                         "info": 6}[m.group(4)], line)
            assert line.isprintable(), line
            has_no_secret("syslog", line, secrets)
            said.setdefault(m.group(5), []).append(m.group(3))
        eq(set(said), {"qod", "store", "monitor", "worker"})
        for role, lines in said.items():
            assert any(" msg=ready" in x for x in lines), (role, lines)
        eq(after_warnings(q), "")


# Keys that the user has put into a file, for a store elsewhere.

def make_remote(key_file):
    q = Qod(start=False, fake=False, workers=1, store=False)
    q.write("[s3]\nendpoint = http://127.0.0.1:1\nbucket = queue\n"
            "access_key_file = %s\n[store]\nenabled = no\n" % key_file)
    return q


@case("key_file_modes")
def _():
    with make_remote("") as q:
        path = q.path("s3.key")
        q.write(q.text.replace("access_key_file = ",
                               "access_key_file = " + path))
        with open(path, "w") as f:
            f.write(ACCESS + "\n" + SECRET + "\n")
        for mode, good in ((0o600, True), (0o400, True), (0o640, True),
                           (0o644, False), (0o660, False), (0o666, False)):
            os.chmod(path, mode)
            code, text = q.run("-n")
            eq(code, 0 if good else 78, "%o: %s" % (mode, text))
            has_no_secret("qod -n", text, [SECRET])
            if not good:
                assert path in text and "chmod" in text, text
                code, text = q.run()
                eq(code, 78, "started")
                assert path in text and "chmod" in text, text
        os.chmod(path, 0o600)
        os.rename(path, path + ".real")
        os.symlink(path + ".real", path)
        code, text = q.run("-n")
        eq(code, 78)
        assert path in text, text
        os.unlink(path)
        os.rename(path + ".real", path)
        if os.geteuid() == 0:
            os.chown(path, 12345, -1)
            code, text = q.run("-n")
            eq(code, 78)
            assert path in text and "chown" in text or "belong" in text, text
            os.chown(path, 0, -1)
        code, text = q.run("-T")
        eq(code, 0)
        has_no_secret("qod -T", text, [SECRET])
        # The same for keys in the configuration itself.
        q.write("[s3]\nendpoint = http://127.0.0.1:1\nbucket = queue\n"
                "access_key = %s\nsecret_key = %s\n[store]\nenabled = no\n" %
                (ACCESS, SECRET))
        eq(q.run("-n")[0], 0)
        os.chmod(q.path("conf"), 0o644)
        code, text = q.run("-n")
        eq(code, 78)
        has_no_secret("qod -n", text, [SECRET])


def environments_have_not(q, secrets):
    """What ps e shows, for root: that it was once there is all."""
    for pid in [q.proc.pid] + q.pids():
        env = read("/proc/%d/environ" % pid)
        assert env or pid != q.proc.pid or os.geteuid() != 0
        has_no_secret("environ of %d" % pid, env, secrets)


def keys_in_the_environment(access_name, secret_name):
    with make("[qod]\nlog_level = debug\n") as q:
        q.start()
        keys = read(q.path("store/keys")).decode()
        access = re.search(r"^access_key\s*=\s*(\S+)", keys, re.M).group(1)
        secret = store_secrets(q)[0]
        # The next one is told nothing of this store but where it is.
        q.write(q.text + "[s3]\nendpoint = http://%s\nbucket = queue\n"
                "index_bucket = queue-index\n[store]\nenabled = yes\n" % q.url)
        q.env.update({access_name: access, secret_name: secret})
        qo(q, "init")
        eq(q.stop(), 0)
        q.start()
        ids, handler = run_all(q)
        look_everywhere(q, ids, handler, [secret], q.path("log"))
        environments_have_not(q, [secret])
        # Whoever is started later has them as well.
        qo(q, "ctl", "reload")
        environments_have_not(q, [secret])
        victim = q.pids("monitor")[0]
        os.kill(victim, 9)
        until("the next monitor", lambda: q.pids("monitor") not in (
            [], [victim]) and json.loads(qo(q, "ctl", "status", "--json").out)[
                "state"] == "running")
        qo(q, "ctl", "upgrade")
        q.wait_log("reloaded generation=3")
        environments_have_not(q, [secret])
        id_ = qo(q, "submit", "--type", "tell", "--input", "{}").out.strip()
        qo(q, "wait", id_, "--timeout", "240s")
        has_no_secret("the log", q.log_text(), [secret])
        eq(q.stop(), 0)


for names in (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
              ("QO_S3_ACCESS_KEY", "QO_S3_SECRET_KEY")):
    case("keys_in_" + names[1])(lambda: keys_in_the_environment(*names))


@case("keys_that_are_refused")
def _():
    # What the store says of them, with all that it repeats, is logged.
    env = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET,
           "AWS_SESSION_TOKEN": TOKEN}
    with make("[qod]\nlog_level = debug\n", env=env) as q:
        q.start(wait=False)
        eq(q.wait_end(), 78)
        assert re.search("level=error .*(Invalid|denied)", q.log_text())
        has_no_secret("the log", q.log_text(), [SECRET, TOKEN])


def nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def look(q, path):
    """What another process of the roles' user is told when it reads that."""
    p = subprocess.run(["/usr/bin/head", "-c", "1", path],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       env={"LC_ALL": "C"}, cwd="/", preexec_fn=q.become,
                       timeout=60)
    return p.stdout, p.stderr.decode()


@case("nobody_looks_into_a_process")
def _():
    """Those that hold keys: no rights, no core, and closed to others of the
    same user, as handlers are."""
    root = os.geteuid() == 0
    uid = 65534 if root else os.geteuid()
    with make("[qod]\nuser = nobody\n" if root else "") as q:
        q.become = nobody if root else None
        os.chmod(q.path("conf"), 0o644)
        if root:
            # All on the way has to be open to the user.
            d = os.path.dirname(q.dir)
            os.chmod(d, os.stat(d).st_mode | 0o711)
            os.chmod(q.dir, 0o777)
            q.env["TMPDIR"] = q.dir
            if not all(os.stat(d).st_mode & 1 for d in parents(BIN)):
                raise Skip("the programs are where only root can reach them")
        q.start()
        handler = run_all(q)[1]
        pids = q.pids()
        eq(len(pids), 3)
        for pid in pids + [q.proc.pid]:
            status = read("/proc/%d/status" % pid).decode()
            if pid != q.proc.pid or not root:
                assert re.search(r"(?m)^Uid:(\s+%d){4}$" % uid, status), status
                assert re.search(r"(?m)^CapEff:\s+0+$", status), status
            if pid != q.proc.pid:
                assert re.search(r"(?m)^NoNewPrivs:\s+1$", status), status
            assert re.search(r"(?m)^Umask:\s+0077$", status), status
            assert re.search(rb"(?m)^Max core file size +0 +0 ",
                             read("/proc/%d/limits" % pid))
            # As somebody who debugs it would, and as gcore does.
            for name in ("environ", "mem", "auxv", "maps"):
                out, err = look(q, "/proc/%d/%s" % (pid, name))
                eq(out, b"", name)
                assert "Permission denied" in err, (name, err)
        # What it runs is as open as any program of that user.
        out, err = look(q, "/proc/%d/environ" % handler)
        assert out and not err, (out, err)
        eq(q.stop(), 0)


finish()
