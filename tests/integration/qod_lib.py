"""What the tests of qod share: a qod of their own, its notify socket, and
processes that are given up on at the end."""

import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from qo_lib import BIN, PATIENCE, alive, children, killed, lines, until
from store_lib import BUILD, Skip, case, eq, finish  # noqa: F401

CHILD = os.path.abspath(os.path.join(BUILD, "tests", "tools", "role_child"))
PROGRAMS = ("qo-store", "qo-monitor", "qo-worker")


counter = 0


def address():
    """Of nobody else: each test, and each qod in it, has a loopback address
    of its own."""
    global counter
    counter += 1
    pid = os.getpid()
    return "127.%d.%d.%d:9710" % (1 + (pid >> 8) % 250, pid % 256,
                                  1 + counter % 250)


def link_or_copy(src, dst):
    try:
        os.link(src, dst)
    except OSError:
        shutil.copy2(src, dst)


def end_sleeper(pid):
    """If it is one: the number may be somebody else's by now."""
    try:
        if os.readlink("/proc/%d/exe" % pid).endswith("sleep"):
            os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass


class Qod:
    """With fake = True the roles are role_child, told by does()."""

    def __init__(self, text="", fake=True, workers=2, env=None, start=True,
                 store=True, **more):
        self.dir = tempfile.mkdtemp(prefix="qod.")
        self.fake = fake
        self.proc = None
        self.more = more
        self.states = []
        self.url = address()
        if fake:
            os.mkdir(self.path("libexec"))
            for p in PROGRAMS:
                link_or_copy(CHILD, self.path("libexec/" + p))
        self.text = text
        self.workers = workers
        self.store = store
        self.write()
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(self.path("notify"))
        self.notify.setblocking(False)
        self.env = dict(os.environ, NOTIFY_SOCKET=self.path("notify"),
                        ROLE_CHILD=self.dir, TMPDIR=self.dir, **(env or {}))
        atexit.register(self.close)
        if start:
            self.start()

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, text=None):
        """The configuration; text replaces the caller's part of it."""
        if text is not None:
            self.text = text
        lines = ["[qod]", "pidfile = " + self.path("pid"),
                 "control = " + self.path("sock")]
        if os.geteuid() == 0 and "user =" not in self.text:
            lines.append("allow_root = yes")
        if self.fake:
            lines.append("libexec = " + self.path("libexec"))
        sections = {"qod": lines,
                    "store": ["[store]", "listen = " + self.url,
                              "data = " + self.path("store")],
                    "worker": ["[worker]", "processes = %d" % self.workers],
                    "monitor": ["[monitor]", "listen = off"]}
        section = None
        rest = []
        for line in self.text.splitlines():
            m = re.match(r"\[(\w+)\]$", line.strip())
            if m:
                section = m.group(1) if m.group(1) in sections else None
                if section:
                    continue
            elif line.strip().startswith("["):
                section = None
            if section:
                key = line.split("=")[0].strip()
                sections[section] = [
                    x for x in sections[section]
                    if x.split("=")[0].strip() != key]
                sections[section].append(line.strip())
            else:
                rest.append(line)
        with open(self.path("conf.tmp"), "w") as f:
            for s in sections.values():
                f.write("\n".join(s) + "\n")
            f.write("\n".join(rest) + "\n")
        os.chmod(self.path("conf.tmp"), 0o600)
        os.rename(self.path("conf.tmp"), self.path("conf"))

    def does(self, program, text=""):
        with open(self.path("does.tmp"), "w") as f:
            f.write(text + "\n")
        os.rename(self.path("does.tmp"), self.path(program + ".does"))

    def command(self, *args):
        return [os.path.join(BIN, "qod"), "-f", self.path("conf")] + list(args)

    def start(self, wait=True, args=(), **more):
        self.log = open(self.path("log"), "ab")
        n = len(self.poll_states())
        self.proc = subprocess.Popen(
            self.command(*args), stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, env=self.env, start_new_session=True,
            **dict(self.more, **more))
        if wait:
            self.wait_state("READY=1", since=n)

    def run(self, *args, **more):
        """To its end: (status, what it said)."""
        p = subprocess.run(self.command(*args), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           env=self.env, timeout=PATIENCE,
                           **dict(self.more, **more))
        return p.returncode, p.stdout.decode()

    def poll_states(self):
        while True:
            try:
                self.states.append(self.notify.recv(4096).decode())
            except BlockingIOError:
                return self.states

    def wait_state(self, text, since=0):
        """The first message of systemd's protocol that has this in it."""
        def look():
            if self.proc is not None and self.proc.poll() is not None:
                raise AssertionError("qod ended: " + self.log_text())
            found = [s for s in self.poll_states()[since:] if text in s]
            return found[0] if found else None
        return until(text + " in " + repr(self.states), look)

    def send(self, signo):
        self.proc.send_signal(signo)

    def obeyed(self):
        """When it has seen all signals that it was sent before."""
        n = self.log_text().count("log opened again")
        self.send(signal.SIGUSR1)
        self.wait_log("log opened again", n + 1)

    def log_text(self):
        return "".join(x + "\n" for x in lines(self.path("log")))

    def wait_log(self, pattern, count=1):
        def look():
            over = self.proc is not None and self.proc.poll() is not None
            found = re.findall(pattern, self.log_text())
            if len(found) < count and over:
                raise AssertionError("qod ended")
            return found if len(found) >= count else None
        try:
            return until(pattern, look)
        except AssertionError as e:
            raise AssertionError("%s, not in the log: %s\n%s" % (
                e, pattern, self.log_text()))

    def heard(self, pattern=""):
        """[(child, pid, message)] of role_child."""
        said = [x.split(" ", 2) for x in lines(self.path("heard"))]
        return [(c, int(p), m) for c, p, m in said
                if re.search(pattern, c + " " + m)]

    def wait_heard(self, pattern, count=1):
        return until("heard " + pattern + ": " + self.log_text()[-2000:],
                     lambda: (lambda h: h if len(h) >= count else None)(
                         self.heard(pattern)))

    def pids(self, name=""):
        """Role processes that run now, by what the kernel calls them."""
        found = []
        for pid in children(self.proc.pid):
            try:
                with open("/proc/%d/comm" % pid) as f:
                    comm = f.read()
            except OSError:
                continue
            if comm.startswith("qo-" + name):
                found.append(pid)
        return found

    def stop(self, sig=signal.SIGTERM):
        pids = children(self.proc.pid)
        self.proc.send_signal(sig)
        rc = self.wait_end()
        left = [p for p in pids if alive(p) and not killed(p)]
        if left:
            raise AssertionError("left behind: %r" % left)
        return rc

    def wait_end(self):
        """Its status, once it has ended."""
        try:
            rc = self.proc.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError("qod did not end: " + self.log_text())
        self.finish_process()
        return rc

    def finish_process(self):
        self.proc = None
        self.log.close()

    def close(self):
        if self.proc is not None:
            # All that it started is in its session.
            pids = children(self.proc.pid)
            if self.proc.poll() is None:
                self.proc.kill()
                self.proc.wait()
            for p in pids:
                try:
                    os.kill(p, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.finish_process()
        # What role_child started has a session of its own.
        for _, _, message in self.heard("handler"):
            end_sleeper(int(message.split()[1]))
        self.notify.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
