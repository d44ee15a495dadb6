"""qo ctl and qo top: what they show and how they end, with a qod that is
played by this test (so that it can say anything and go away at any time), on
a real pseudo-terminal, and with a real store for the view of the bucket."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import uuid

from qo_lib import BIN, PATIENCE, run
from store_lib import Skip, Store, case, directory, eq, finish

QO = os.path.join(BIN, "qo")
tmp = directory("qo-top.")


# A qod that says what it is told to say.

class Qod:
    def __init__(self, name="qod.sock"):
        self.path = os.path.join(tmp, name)
        self.lines = []
        self.began = time.time()
        self.workers = 3
        self.type = "image.resize"
        self.answer = None
        self.hold = threading.Event()
        self.hold.set()
        self.start()

    def start(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(self.path)
        self.sock.listen(16)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def stop(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        os.unlink(self.path)
        self.thread.join()

    def serve(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            with c, c.makefile() as f:
                line = f.readline().rstrip("\n")
                self.lines.append(line)
                self.hold.wait()
                try:
                    c.sendall(self.answer_to(line).encode())
                except OSError:
                    pass

    def answer_to(self, line):
        if self.answer is not None:
            return self.answer
        if line == "status":
            return json.dumps(self.status()) + "\n"
        return json.dumps({"ok": True, "message": "did " + line}) + "\n"

    def status(self):
        up = time.time() - self.began
        since = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z",
                              time.gmtime(self.began - 100))
        children = [{
            "role": "monitor", "index": 0, "pid": 11, "state": "ready",
            "generation": 1, "uptime_ms": int(up * 1000), "restarts": 0,
            "gauges": {"ready_tasks": 120, "oldest_ready_ms": 12345,
                       "leases": 4, "failed_tasks": 7}}]
        for i in range(self.workers):
            children.append({
                "role": "worker", "index": i, "pid": 100 + i,
                "state": "ready", "generation": 1,
                "uptime_ms": int(up * 1000), "restarts": i,
                "last_exit": "killed by signal 9 (Killed)" if i else None,
                "next_restart_ms": None, "slots": 16,
                "counters": {"completed": int(1000 * up) + i, "failed": i,
                             "retried": 0},
                "gauges": {"running": 2}, "s3_requests": {"PUT": 5},
                "tasks": [{
                    "id": "%08d-0000-4000-8000-%012d" % (i, k),
                    "type": self.type, "attempt": 1 + k, "since": since,
                    "handler_pid": 2000 + k} for k in range(2)]})
        return {"ok": True, "version": "0.1.0", "pid": 10,
                "uptime_ms": int(up * 1000), "state": "running",
                "config": "/etc/qo/qod.conf", "generation": 1,
                "last_reload": None, "children": children,
                "tasks_omitted": 0}


qod = Qod()
CONF = os.path.join(tmp, "qod.conf")
open(CONF, "w").close()
ENV = {k: v for k, v in os.environ.items()
       if not k.startswith(("QO_", "AWS_")) and k != "NO_COLOR"}
ENV.update(QO_CONFIG=CONF, QO_QOD_CONTROL=qod.path, TERM="xterm",
           LC_ALL="C")


def qo(*args, env=None, **kw):
    return run("qo", *args, env=dict(ENV, **(env or {})), **kw)


# A terminal that understands as much as qo top may use.

class Screen:
    SEQ = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")

    def __init__(self, rows, cols):
        self.rows, self.cols = rows, cols
        self.modes = set()
        self.cells = [[" "] * cols for _ in range(rows)]
        self.x = self.y = 0
        self.cleared = self.styles = self.scrolled = 0
        self.loose = 0  # pictures to come that may have another size
        self.rest = b""

    def resize(self, rows, cols):
        self.rows, self.cols = rows, cols
        self.cells = [[" "] * cols for _ in range(rows)]

    def feed(self, data):
        data = self.rest + data
        i = 0
        while i < len(data):
            if data[i] == 0x1b:
                m = self.SEQ.match(data, i)
                if m is None:
                    if len(data) - i > 20:
                        raise AssertionError("what is %r?" % data[i:i + 20])
                    break
                self.obey(m.group(1), m.group(2), m.group(3))
                i = m.end()
                continue
            self.put(data[i])
            i += 1
        self.rest = data[i:]

    def obey(self, private, number, letter):
        if private and number == b"2026":
            # A picture begins, or is whole.
            if letter == b"l" and self.loose:
                self.loose -= 1
        elif private and letter in b"hl":
            (self.modes.add if letter == b"h" else
             self.modes.discard)(number.decode())
        elif letter == b"H":
            self.x = self.y = 0
        elif letter == b"K":
            # At the edge the cursor stands on the last character.
            self.x = min(self.x, self.cols - 1)
            self.cells[self.y][self.x:] = [" "] * (self.cols - self.x)
        elif letter == b"J":
            self.x = min(self.x, self.cols - 1)
            if number == b"2":
                self.cleared += 1
            first = 0 if number == b"2" else self.y
            if first == self.y:
                self.cells[self.y][self.x:] = [" "] * (self.cols - self.x)
                first += 1
            for y in range(first, self.rows):
                self.cells[y] = [" "] * self.cols
        elif letter == b"m":
            self.styles += 1
        else:
            raise AssertionError("sequence %r" % (number + letter))

    def put(self, c):
        if c == 0x0d:
            self.x = 0
        elif c == 0x0a:
            if self.y + 1 == self.rows:
                self.scrolled += not self.loose
                self.cells = self.cells[1:] + [[" "] * self.cols]
            else:
                self.y += 1
        elif c < 0x20 or c == 0x7f:
            raise AssertionError("control character %#x" % c)
        elif c & 0xc0 != 0x80:  # of a longer character, the first byte
            if self.x >= self.cols:
                if self.loose:
                    return
                raise AssertionError("a line is longer than the screen")
            self.cells[self.y][self.x] = chr(c)
            self.x += 1

    @property
    def text(self):
        return "\n".join("".join(r).rstrip() for r in self.cells)


class Terminal:
    """qo on a terminal of its own, as its session's foreground."""

    def __init__(self, *args, rows=24, cols=100, env=None):
        self.screen = Screen(rows, cols)
        # As it is before qo sees it.
        self.fd, tty = pty.openpty()
        self.resize(rows, cols)
        self.before = termios.tcgetattr(self.fd)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
                for fd in (0, 1, 2):
                    os.dup2(tty, fd)
                os.execve(QO, [QO] + list(args), dict(ENV, **(env or {})))
            finally:
                os._exit(127)
        os.close(tty)
        self.status = None
        self.gone = False

    def resize(self, rows, cols):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, seconds):
        r, _, _ = select.select([self.fd], [], [], seconds)
        if not r:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            self.gone = True  # nobody has it open any more
            return False
        self.screen.feed(data)
        return bool(data)

    def wait_for(self, what, why=""):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if what():
                return
            if self.gone:
                break
            self.read(0.2)
        raise AssertionError("%s; the screen is:\n%s" % (
            why or "nothing came", self.screen.text))

    def shows(self, text):
        self.wait_for(lambda: text in self.screen.text,
                      "never shown: %r" % text)

    def type(self, keys):
        os.write(self.fd, keys)

    def wait_state(self, stopped):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid == self.pid:
                if os.WIFSTOPPED(status) == stopped:
                    self.status = status
                    return status
                raise AssertionError("ended with %#x" % status)
            if self.gone or not self.read(0.05):
                time.sleep(0.01)
        raise AssertionError("still running")

    def ended(self, code=0):
        status = self.wait_state(False)
        while self.read(0):
            pass
        eq(os.WIFEXITED(status) and os.WEXITSTATUS(status), code, "exit")
        self.is_restored()

    def is_restored(self):
        eq(sorted(self.screen.modes), ["25", "7"], "modes of the terminal")
        eq(termios.tcgetattr(self.fd)[3] & (termios.ICANON | termios.ECHO),
           self.before[3] & (termios.ICANON | termios.ECHO), "line mode")

    def close(self):
        if self.status is None or os.WIFSTOPPED(self.status):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.close()


# qo ctl

@case("ctl_status")
def _():
    out = qo("ctl", "status").out
    assert "qod 0.1.0, process 10, running, up" in out, out
    assert "configuration /etc/qo/qod.conf, generation 1" in out, out
    assert re.search(r"^worker 2 +102 +ready +1 .* 2/16 .*killed by signal 9",
                     out, re.M), out
    assert "last reload" not in out
    d = json.loads(qo("ctl", "status", "--json").out)
    eq(d["children"][1]["role"], "worker")


@case("ctl_lines")
def _():
    for words, line in (
            (["reload"], "reload"), (["drain"], "drain"), (["stop"], "stop"),
            (["stop", "--now"], "stop now"), (["reopen"], "reopen"),
            (["upgrade"], "upgrade"), (["quiet"], "quiet"),
            (["resume"], "resume"), (["more"], "more"), (["less"], "less")):
        p = qo("ctl", *words)
        eq(p.out, "did %s\n" % line)
        eq(qod.lines[-1], line)
        eq(json.loads(qo("ctl", *(words + ["--json"])).out)["ok"], True)


@case("ctl_failed_reload")
def _():
    qod.answer = json.dumps({"ok": False, "message":
                             "a.conf:3: no key \"x\"\nb.conf:4: bad\x1b[2J"})
    try:
        p = qo("ctl", "reload", code=1)
        eq(p.out, "")
        eq(p.err, 'qo ctl reload: a.conf:3: no key "x"\n'
                  'qo ctl reload: b.conf:4: bad\\x1b[2J\n')
        eq(json.loads(qo("ctl", "reload", "--json", code=1).out)["ok"], False)
    finally:
        qod.answer = None


@case("ctl_nonsense")
def _():
    for text in ("", "{", "[]", "\x00\xff", "x" * 100000):
        qod.answer = text
        for sub in ("status", "reload"):
            p = qo("ctl", sub, code=7 if text == "" else 1)
            eq(p.err.count("\n"), 1)
            assert p.err.startswith("qo ctl %s: qod" % sub), p.err
    qod.answer = None


@case("ctl_timeout")
def _():
    qod.hold.clear()
    try:
        p = qo("ctl", "drain", "--timeout", "200ms", code=6)
        eq(p.err, "qo ctl drain: qod did not answer in time\n")
    finally:
        qod.hold.set()


@case("ctl_no_qod")
def _():
    nobody = os.path.join(tmp, "nobody.sock")
    p = qo("ctl", "status", code=7, env={"QO_QOD_CONTROL": nobody})
    eq(p.err, "qo ctl status: qod is not running: nobody listens at %s\n" %
       nobody)
    s = socket.socket(socket.AF_UNIX)  # left behind by one that was killed
    s.bind(nobody)
    s.close()
    p = qo("ctl", "status", code=7, env={"QO_QOD_CONTROL": nobody})
    assert "qod is not running" in p.err, p.err
    p = qo("ctl", "stop", code=7, env={"QO_QOD_CONTROL": "/" + "a" * 200})
    assert "File name too long" in p.err, p.err


@case("ctl_bad_configuration")
def _():
    # What qod has not read yet must not keep us from asking and stopping it.
    for text in ("[worker]\nslots = many\n", "[nonsense]\n", "a b c\n",
                 "[qod]\ncontrol = %s\nleese = 5\n" % qod.path):
        bad = os.path.join(tmp, "bad.conf")
        with open(bad, "w") as f:
            f.write(text)
        env = {"QO_CONFIG": bad}
        env_none = {k: v for k, v in ENV.items() if k != "QO_QOD_CONTROL"}
        if "control" in text:
            p = subprocess.run([QO, "-c", bad, "ctl", "reload"],
                               env=env_none, stdout=subprocess.PIPE,
                               timeout=PATIENCE)
            eq((p.returncode, p.stdout), (0, b"did reload\n"))
        eq(qo("ctl", "reload", env=env).out, "did reload\n")
    qo("-c", os.path.join(tmp, "none.conf"), "ctl", "status", code=0)
    p = subprocess.run([QO, "-c", os.path.join(tmp, "none.conf"), "ctl",
                        "status"], env=env_none, stderr=subprocess.PIPE,
                       timeout=PATIENCE)
    eq(p.returncode, 2)
    assert b"none.conf" in p.stderr, p.stderr
    p = qo("ctl", "status", code=7, env={"QO_QOD_CONTROL": ""})
    assert "there is no control socket" in p.err, p.err


@case("ctl_denied")
def _():
    if os.geteuid() != 0:
        raise Skip("only root can become somebody else")
    os.chmod(qod.path, 0o600)
    os.chmod(tmp, 0o755)

    def nobody():
        os.setgid(65534)
        os.setuid(65534)
    try:
        p = qo("ctl", "status", code=4, preexec_fn=nobody)
    except PermissionError:
        raise Skip("the programs are where only root can reach them")
    assert "Permission denied" in p.err and qod.path in p.err, p.err


@case("ctl_usage")
def _():
    p = qo("ctl", code=2)
    assert "ctl needs one of: status, reload" in p.err, p.err
    qo("ctl", "reload", "--timeout", "soon", code=2)
    qo("ctl", "status", "now", code=2)


# qo top

@case("top_plain")
def _():
    out = qo("top").out
    assert "\x1b" not in out
    assert "running 6 of 48   ready 120   oldest 12s   failed 7" in out, out
    assert "completed -" in out, out
    assert re.search(r"^worker 1 +101 +ready +2/16 ", out, re.M), out
    assert re.search(r"^00000001-0000-4000-8000-000000000001  image.resize  "
                     r"+2 .* 2001  worker 1$", out, re.M), out
    two = qo("top", "-n", "2", "-i", "200ms").out
    eq(two.count("TASK "), 2)
    rate = re.findall(r"completed ([0-9]+)/s", two)
    eq(len(rate), 1)
    assert int(rate[0]) > 0


@case("top_json")
def _():
    d = json.loads(qo("top", "--json").out)
    eq(d["source"], "qod")
    eq((d["running"], d["slots"], d["ready"], d["failed"]), (6, 48, 120, 7))
    eq(len(d["workers"]), 4)
    eq(len(d["tasks"]), 6)
    eq(d["rates"]["completed"], None)
    d = json.loads(qo("top", "--json", "-n", "2", "-i", "200ms").out)
    assert d["rates"]["completed"] > 0


@case("top_usage")
def _():
    for args in (["-n", "0"], ["-n", "x"], ["-i", "1"], ["-i", "10ms"],
                 ["x"]):
        qo("top", *args, code=2)


@case("top_live")
def _():
    with Terminal("top", "-i", "200ms") as t:
        # A rate: the second look at least.
        t.wait_for(lambda: re.search("completed [1-9]", t.screen.text))
        eq(sorted(t.screen.modes), ["1049"])  # no cursor, no wrapping
        assert "q quit  p pause  s sort by time" in t.screen.text
        seen = t.screen.text
        t.wait_for(lambda: t.screen.text != seen)
        # In place: cleared once, never scrolled.
        eq((t.screen.cleared, t.screen.scrolled), (1, 0))
        assert t.screen.styles > 0
        t.type(b"q")
        t.ended()


@case("top_keys")
def _():
    with Terminal("top", "-i", "200ms", rows=10) as t:
        t.shows("more)")
        assert "worker 0" in t.screen.text
        for down, up in ((b"jjjj", b"kkkk"), (b"\x1b[B" * 4, b"\x1b[A" * 4),
                         (b"\x1bOB" * 4, b"\x1bOA" * 4), (b" ", b"b"),
                         (b"\x1b[6~", b"\x1b[5~"), (b"G", b"g")):
            t.type(down)
            t.wait_for(lambda: "monitor" not in t.screen.text, repr(down))
            t.type(up)
            t.shows("monitor")
        # A sequence in pieces, and keys that mean nothing.
        t.type(b"\x1b")
        t.type(b"[")
        t.type(b"Bx\x1bZ\x1b[99;99Xjjj")
        t.wait_for(lambda: "monitor" not in t.screen.text)
        t.type(b"s")
        t.shows("sort by type")
        t.type(b"s")
        t.shows("sort by worker")
        t.type(b"p")
        t.shows("p go on")
        n = len(qod.lines)
        t.type(b"s")
        t.shows("sort by time")
        time.sleep(0.6)  # nothing may come: there is nothing to wait for
        assert len(qod.lines) <= n + 1
        t.type(b"p")
        t.wait_for(lambda: len(qod.lines) > n + 2)
        t.type(b"q")
        t.ended()


@case("top_size")
def _():
    with Terminal("top", "-i", "200ms", rows=24, cols=100) as t:
        t.shows("WORKER  ")
        for rows, cols in ((10, 40), (5, 20), (2, 9), (1, 1), (30, 200)):
            while t.read(0.05):  # what was on its way in the old size
                pass
            os.kill(t.pid, signal.SIGSTOP)
            t.wait_state(True)
            while t.read(0.05):
                pass
            t.screen.resize(rows, cols)
            t.screen.x = t.screen.y = 0
            # It may have been stopped with a picture on its way.
            t.screen.loose = 2
            t.resize(rows, cols)
            os.kill(t.pid, signal.SIGCONT)
            t.status = None
            t.wait_for(lambda: not t.screen.loose and
                       t.screen.text.startswith("qod 0.1.0"[:cols]))
        t.shows("killed by signal 9 (Killed)")
        eq(t.screen.scrolled, 0)
        t.type(b"q")
        t.ended()


@case("top_long_names")
def _():
    # A long type gives way to what is beside it, on a terminal only.
    qod.type = "image." + 12 * "thumbnail."
    try:
        assert qod.type + "  " in qo("top").out
        for cols in (80, 100, 200):
            with Terminal("top", "-i", "200ms", rows=40, cols=cols) as t:
                t.shows("worker 2")
                t.wait_for(lambda: re.search(
                    r"^00000001-0000-4000-8000-000000000001  image\.[^ ]+  "
                    r"+2 .* 2001  worker 1$", t.screen.text, re.M))
                t.type(b"q")
                t.ended()
    finally:
        qod.type = "image.resize"
    for args in (["top"], ["ctl", "status"]):
        for line in qo(*args).out.split("\n"):
            eq(line, line.rstrip())


@case("top_signals")
def _():
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        with Terminal("top") as t:
            t.shows("q quit")
            os.kill(t.pid, sig)
            t.ended()
    with Terminal("top") as t:
        t.shows("q quit")
        t.type(b"\x03")
        t.ended()


@case("top_suspend")
def _():
    with Terminal("top", "-i", "200ms") as t:
        t.shows("q quit")
        for _ in range(2):
            t.type(b"\x1a")
            t.wait_state(True)
            while t.read(0.1):
                pass
            t.is_restored()
            t.screen.resize(24, 100)
            os.kill(t.pid, signal.SIGCONT)
            t.status = None
            t.shows("q quit")
            eq(sorted(t.screen.modes), ["1049"])
        t.type(b"q")
        t.ended()


@case("top_colour")
def _():
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        with Terminal("top", env=env) as t:
            t.shows("q quit")
            t.type(b"q")
            t.ended()
            eq(t.screen.styles, 1)  # the reset when it leaves


@case("top_hostile_text")
def _():
    qod.type = "a\x1b[2J\r\n\x07\u202eb"
    try:
        with Terminal("top") as t:  # the screen refuses control characters
            t.shows("a\\x1b[2J")
            eq((t.screen.cleared, t.screen.scrolled), (1, 0))
            t.type(b"q")
            t.ended()
    finally:
        qod.type = "image.resize"


@case("top_qod_goes_and_comes")
def _():
    with Terminal("top", "-i", "200ms") as t:
        t.shows("q quit")
        qod.stop()
        t.shows("qod is not running")
        assert "worker 0" in t.screen.text  # what was known last
        qod.start()
        t.wait_for(lambda: "not running" not in t.screen.text)
        t.type(b"q")
        t.ended()


@case("top_terminal_goes")
def _():
    t = Terminal("top")
    t.shows("q quit")
    os.close(t.fd)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if os.waitpid(t.pid, os.WNOHANG)[0] == t.pid:
            return
        time.sleep(0.05)
    os.kill(t.pid, signal.SIGKILL)
    os.waitpid(t.pid, 0)
    raise AssertionError("it stayed behind")


@case("top_no_qod_no_store")
def _():
    env = {"QO_QOD_CONTROL": os.path.join(tmp, "none"),
           "QO_S3_ENDPOINT": "http://127.0.0.1:1", "QO_S3_BUCKET": "queue",
           "QO_S3_ACCESS_KEY": "a", "QO_S3_SECRET_KEY": "b"}
    p = qo("top", code=7, env=env)
    assert "can not be reached" in p.err, p.err
    eq(p.out, "")


# The bucket

store = Store()
s3 = store.client()
BUCKET = {"QO_QOD_CONTROL": os.path.join(tmp, "none"),
          "QO_S3_ENDPOINT": store.url, "QO_S3_BUCKET": "queue",
          "QO_S3_INDEX_BUCKET": "queue-index",
          "QO_S3_ACCESS_KEY": store.key[0],
          "QO_S3_SECRET_KEY": store.key[1]}


def put_worker(name, completed, silent=0):
    now = time.time()

    def stamp(t):
        return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(t))
    body = json.dumps({
        "worker_id": name, "host": "h", "pid": 77, "version": "0.1.0",
        "started_at": stamp(now - 60), "last_heartbeat": stamp(now - silent),
        "shards": ["0"], "current_task": str(uuid.UUID(int=5, version=4)),
        "current_tasks": [str(uuid.UUID(int=5, version=4))], "slots": 4,
        "tasks_completed": completed, "tasks_failed": 1})
    a = s3("PUT", "/queue-index/workers/%s.json" % name, body=body.encode())
    eq(a.status, 200)


@case("top_bucket")
def _():
    qo("init", env=BUCKET)
    for _ in range(3):
        qo("submit", "--type", "t", "--input", "1", env=BUCKET)
    put_worker("alpha", 10)
    put_worker("beta", 20, silent=100)
    out = qo("top", env=BUCKET).out
    assert out.startswith("bucket queue\n"), out
    assert "running 2 of 8   ready 3   oldest " in out, out
    assert re.search(r"^alpha +77 +alive +1/4 +10 ", out, re.M), out
    assert re.search(r"^beta +77 +stale .*last heard of [1-4]m", out, re.M), out
    d = json.loads(qo("top", "--json", env=BUCKET).out)
    eq((d["source"], d["ready"]), ("bucket", 3))
    eq([w["name"] for w in d["workers"]], ["alpha", "beta"])
    # Asked for, though a qod is here.
    d = json.loads(qo("top", "--json", "--bucket",
                      env=dict(BUCKET, QO_QOD_CONTROL=qod.path)).out)
    eq(d["source"], "bucket")


@case("top_bucket_live")
def _():
    with Terminal("top", "-i", "200ms", env=BUCKET) as t:
        t.shows("alpha")
        put_worker("alpha", 1000)
        t.shows("1000")
        store.stop()
        t.shows("127.0.0.1")  # the reason, and what was known last
        assert "alpha" in t.screen.text
        t.type(b"q")
        t.ended()


store.close()
qod.stop()
finish()
