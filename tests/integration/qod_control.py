"""qo ctl and a real qod: what is asked is done, the answer comes when it is
done, and nobody who talks to the control socket can stop the master."""

import grp
import json
import os
import pwd
import re
import signal
import socket
import stat
import subprocess
import time

from qod_lib import BIN, Qod, Skip, alive, case, eq, finish, until

QO = os.path.join(BIN, "qo")


def qo(q, *args, code=0, **more):
    p = subprocess.run([QO, "-c", q.path("conf")] + list(args),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120, **more)
    p.out, p.err = p.stdout.decode(), p.stderr.decode()
    if code is not None and p.returncode != code:
        raise AssertionError("qo %s: exit %d, want %d: %s" % (
            " ".join(args), p.returncode, code, p.out + p.err))
    return p


def status(q):
    return json.loads(qo(q, "ctl", "status", "--json").out)


def connect(q):
    s = socket.socket(socket.AF_UNIX)
    s.connect(q.path("sock"))  # waits while too many wait
    s.settimeout(60)
    return s


def tell(q, line):
    """A client that has said this."""
    while True:
        s = connect(q)
        began = time.monotonic()
        try:
            s.sendall(line)
            return s
        except ConnectionError:
            s.close()
            if time.monotonic() - began < 4:
                raise
            # It has 5 s to say something, and we stood still.


def answer(s):
    with s:
        return b"".join(iter(lambda: s.recv(65536), b""))


def ask(q, line):
    return answer(tell(q, line))


def become(uid, gid):
    def change():
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    return change


def open_way(q):
    """Others than root may go to its directory and to the programs."""
    d = os.path.dirname(q.dir)
    os.chmod(d, os.stat(d).st_mode | 0o711)
    d = BIN
    while d != "/":
        if not os.stat(d).st_mode & 1:
            raise Skip("the programs are where only root can reach them")
        d = os.path.dirname(d)


@case("status")
def _():
    with Qod() as q:
        q.does("qo-worker", "slots 3")
        s = status(q)
        eq(s["ok"], True)
        eq(s["pid"], q.proc.pid)
        eq(s["state"], "running")
        eq(s["config"], q.path("conf"))
        eq((s["generation"], s["last_reload"], s["lost"]), (1, None, 0))
        roles = [(c["role"], c["index"]) for c in s["children"]]
        for want in (("store", 0), ("monitor", 0), ("worker", 0),
                     ("worker", 1)):
            assert want in roles, roles
        for c in s["children"]:
            assert alive(c["pid"]), c
            eq((c["state"], c["restarts"], c["generation"]), ("ready", 0, 1))
            eq((c["last_exit"], c["next_restart_ms"]), (None, None))
            assert c["uptime_ms"] >= 0
        # One that dies is shown with how it ended, and with its tasks while
        # it runs.
        victim = [c for c in s["children"] if c["role"] == "worker"][0]
        os.kill(victim["pid"], signal.SIGKILL)

        def back():
            found = [c for c in status(q)["children"]
                     if c["role"] == "worker" and c["index"] == 0
                     and c["restarts"] == 1 and c["state"] == "ready"]
            return found and found[0]
        c = until("restart", back)
        assert c["pid"] != victim["pid"]
        assert "signal 9" in c["last_exit"], c
        eq(len(c["tasks"]), 3)
        eq(c["gauges"]["running"], 3)
        for t in c["tasks"]:
            assert re.fullmatch("[0-9a-f-]{36}", t["id"]), t
            assert alive(t["handler_pid"]), t
        text = qo(q, "ctl", "status").out
        assert re.search(r"^worker 0 +%d +ready .*signal 9" % c["pid"], text,
                         re.M), text
        # Who does not get an answer for 5 s looks elsewhere.
        until("a task", lambda: c["tasks"][0]["id"] in qo(
            q, "top", code=None).out)
        eq(q.stop(), 0)


@case("reload")
def _():
    with Qod() as q:
        eq(qo(q, "ctl", "reload").out, "generation 2\n")
        s = status(q)
        eq((s["generation"], s["last_reload"]["ok"]), (2, True))
        q.write("[worker]\nslots = none\n")
        p = qo(q, "ctl", "reload", code=1)
        assert re.search(r"^qo ctl reload: /.*conf:\d+: \[worker\] slots",
                         p.err), p.err
        s = status(q)
        eq((s["generation"], s["last_reload"]["ok"]), (2, False))
        assert "[worker] slots" in s["last_reload"]["message"], s
        assert "last reload" in qo(q, "ctl", "status").out
        assert "failed, /" in qo(q, "ctl", "status").out
        q.write("")
        qo(q, "ctl", "reload")
        eq(status(q)["last_reload"]["ok"], True)


@case("reload_answers_when_it_has_ended")
def _():
    with Qod() as q:
        q.does("qo-worker", "late 700")
        began = time.monotonic()
        qo(q, "ctl", "reload")
        assert time.monotonic() - began >= 0.7
        q.does("qo-worker", "exit 78")
        p = qo(q, "ctl", "reload", code=1)
        assert "worker" in p.err and "78" in p.err, p.err
        q.does("qo-worker", "late 600000")
        p = qo(q, "ctl", "reload", "--timeout", "100ms", code=6)


@case("many_reloads_at_once")
def _():
    with Qod() as q:
        q.does("qo-worker", "held 1")
        clients = [tell(q, b"reload\n") for _ in range(10)]
        # When the first has begun, all were read.
        until("begun", lambda: status(q)["state"] == "reloading")
        q.does("qo-worker")
        answers = [json.loads(answer(s)) for s in clients]
        eq([a["ok"] for a in answers], [True] * 10)
        # Those that came while one was under way share the next.
        assert status(q)["generation"] in (2, 3), answers


@case("quiet_and_resume")
def _():
    with Qod() as q:
        qo(q, "ctl", "quiet")
        q.wait_heard("quiet", 2)
        eq(status(q)["state"], "quiet")
        qo(q, "ctl", "resume")
        q.wait_heard("resume", 2)
        eq(status(q)["state"], "running")


@case("drain")
def _():
    with Qod(start=False) as q:
        q.does("qo-worker", "slots 2")
        q.start()
        # Tasks run, so it waits; and goes on waiting for as long as they do.
        p = qo(q, "ctl", "drain", "--timeout", "1s", code=6)
        q.wait_heard("quiet", 2)
        eq(status(q)["state"], "quiet")
        s = tell(q, b"drain\n")
        p = ask(q, b"resume\n")
        assert json.loads(p)["ok"], p
        eq(json.loads(answer(s))["ok"], False)
    with Qod() as q:
        eq(qo(q, "ctl", "drain").out, "drained: nothing runs\n")
        eq(status(q)["state"], "quiet")
        assert q.proc.poll() is None


@case("more_and_less")
def _():
    with Qod(workers=2) as q:
        eq(qo(q, "ctl", "more").out, "3 worker processes\n")
        until("a third", lambda: len(q.pids("worker")) == 3)
        qo(q, "ctl", "less")
        eq(qo(q, "ctl", "less").out, "1 worker process\n")
        until("one", lambda: len(q.pids("worker")) == 1)
        qo(q, "ctl", "less", code=1)


@case("reopen")
def _():
    with Qod(start=False) as q:
        q.write("[qod]\nlog = %s\n" % q.path("events"))
        q.start()
        until("the log", lambda: os.path.exists(q.path("events")))
        os.rename(q.path("events"), q.path("events.1"))
        qo(q, "ctl", "reopen")
        until("a new log", lambda: os.path.exists(q.path("events")))
        eq(q.stop(), 0)


@case("stop")
def _():
    with Qod() as q:
        pids = q.pids()
        eq(qo(q, "ctl", "stop").out, "stopping\n")
        eq(q.wait_end(), 0)
        assert not any(alive(p) for p in pids)
        assert not os.path.exists(q.path("sock"))
        p = qo(q, "ctl", "status", code=7)
        assert "qod is not running" in p.err, p.err


@case("stop_now")
def _():
    with Qod("[qod]\ndrain_timeout = 10m\n", start=False) as q:
        q.does("qo-worker", "slow 3600000")
        q.start()
        qo(q, "ctl", "stop")
        until("draining", lambda: status(q)["state"] == "stopping")
        p = qo(q, "ctl", "reload", code=1)
        assert "qod is stopping" in p.err, p.err
        qo(q, "ctl", "stop", "--now")
        eq(q.wait_end(), 0)
        assert q.heard("now")


@case("upgrade")
def _():
    with Qod() as q:
        pid = q.proc.pid
        n = len(q.poll_states())
        p = qo(q, "ctl", "upgrade")
        assert "qod" in p.out, p.out
        q.wait_state("READY=1", since=n)
        until("another generation",
              lambda: status(q)["generation"] == 2 and
              status(q)["state"] == "running")
        eq(status(q)["pid"], pid)
        eq(q.stop(), 0)


@case("generations_outlive_the_upgrade")
def _():
    # Three generations of workers at once, and two binaries.
    with Qod(workers=1) as q:
        q.does("qo-worker", "slow 3600000")

        def workers():
            return sorted((c["generation"], c["state"], c["pid"])
                          for c in status(q)["children"]
                          if c["role"] == "worker")
        first = workers()[0][2]
        qo(q, "ctl", "reload")
        until("two", lambda: len(workers()) == 2)
        second = workers()[1][2]
        eq(workers(), [(1, "draining", first), (2, "ready", second)])
        n = len(q.poll_states())
        qo(q, "ctl", "upgrade")
        q.wait_state("READY=1", since=n)
        until("three", lambda: len(workers()) == 3 and
              status(q)["state"] == "running")
        eq(workers()[:2], [(1, "draining", first), (2, "draining", second)])
        eq(workers()[2][:2], (3, "ready"))
        # The store, which there is one of, was replaced.
        eq([c["generation"] for c in status(q)["children"]
            if c["role"] == "store"], [3])
        qo(q, "ctl", "stop", "--now")
        eq(q.wait_end(), 0)


@case("upgrade_refused")
def _():
    with Qod() as q:
        q.write("[worker]\nslots = none\n")
        p = qo(q, "ctl", "upgrade", code=1)
        assert "78" in p.err or "slots" in p.err, p.err
        eq(status(q)["state"], "running")


@case("who_may_ask")
def _():
    with Qod() as q:
        eq(stat.S_IMODE(os.stat(q.path("sock")).st_mode), 0o600)
        if os.geteuid() != 0:
            raise Skip("only root can become somebody else")
        open_way(q)
        os.chmod(q.dir, 0o755)
        os.chmod(q.path("conf"), 0o644)
        p = qo(q, "ctl", "status", code=4, preexec_fn=become(65534, 65534))
        assert q.path("sock") in p.err, p.err
        assert "Permission denied" in p.err, p.err


@case("without_root")
def _():
    """As qod.service has it: qod starts as the account, which reads the
    configuration and the keys by its group, and members of [qod] group may
    ask."""
    root = os.geteuid() == 0
    uid, gid = (65534, 65534) if root else (os.geteuid(), os.getegid())
    group = grp.getgrgid(gid).gr_name
    more = {"preexec_fn": become(uid, gid)} if root else {}
    with Qod(start=False, **more) as q:
        q.write("[qod]\nuser = %s\ngroup = %s\n"
                "[s3]\nendpoint = https://s3.example.org\nbucket = queue\n"
                "access_key_file = %s\n[store]\nenabled = no\n" % (
                    pwd.getpwuid(uid).pw_name, group, q.path("key")))
        with open(q.path("key"), "w") as f:
            f.write("AKIAEXAMPLE\nnot-for-everybody\n")
        for name in ("key", "conf"):
            os.chown(q.path(name), -1, gid)
            os.chmod(q.path(name), 0o640)
        if root:
            open_way(q)
            os.chown(q.dir, uid, gid)
            os.chmod(q.path("notify"), 0o666)
            os.chmod(q.dir, 0o750)
        q.start()
        st = os.stat(q.path("sock"))
        eq((st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)),
           (uid, gid, 0o660))
        qo(q, "ctl", "reload", **more)
        eq(status(q)["generation"], 2)
        if root:
            # A member, in the way that has only the group in common.
            qo(q, "ctl", "status", preexec_fn=become(12345, gid))
            p = qo(q, "ctl", "status", code=2,
                   preexec_fn=become(12345, 12345))
            assert "Permission denied" in p.err, p.err
        # What is not its own it can not give away, and handlers neither.
        q.write(q.text.replace("group = " + group, "group = " +
                               ("root" if gid else "nogroup")))
        os.chown(q.path("conf"), -1, gid)
        os.chmod(q.path("conf"), 0o640)
        eq(q.stop(), 0)
        code, text = q.run()
        eq(code, 78)
        assert re.search(r"conf:\d+: \[qod\] group: .* not a member", text), text
        q.write(q.text.replace("group = ", ";") +
                "[handler a]\ntype = a\ncommand = /bin/true\nuser = root\n")
        os.chown(q.path("conf"), -1, gid)
        os.chmod(q.path("conf"), 0o640)
        code, text = q.run()
        eq(code, 78)
        assert "[handler a] user: only root can" in text, text
        assert "accounts.conf" in text, text


@case("second_qod")
def _():
    with Qod() as q:
        with Qod("[qod]\ncontrol = %s\n" % q.path("sock"), start=False) as r:
            code, text = r.run()
            eq(code, 78)
            assert "another qod is using it" in text, text
        eq(status(q)["state"], "running")


@case("socket_of_a_dead_qod")
def _():
    with Qod() as q:
        pids = q.pids()
        q.send(signal.SIGKILL)
        q.proc.wait()
        q.finish_process()
        until("its children", lambda: not any(alive(p) for p in pids))
        assert os.path.exists(q.path("sock"))
        p = qo(q, "ctl", "status", code=7)
        q.start()
        eq(status(q)["pid"], q.proc.pid)


@case("clients_that_misbehave")
def _():
    with Qod() as q:
        half = [b"sta", b"", b"\0\0", b"\xff" * 200]
        mute = [tell(q, half[i % 4]) for i in range(60)]
        for line in (b"nonsense\n", b"status now\n", b"\x1b[2J\n",
                     b"a" * 10000 + b"\n", b"\n", b"status\0\n",
                     b"\xf0\x9f\n"):
            try:
                a = ask(q, line)
            except ConnectionError:
                continue  # cut off inside of its line
            if a:
                eq(json.loads(a)["ok"], False)
        # What it says of them is one clean line each.
        for line in q.log_text().splitlines():
            assert line.isprintable() or "\ufffd" in line, repr(line)
            assert line.startswith("time="), line
        # It is not held up: a child that dies is back at once.
        victim = q.pids("worker")[0]
        os.kill(victim, signal.SIGKILL)
        until("restart", lambda: len(q.pids("worker")) == 2 and
              victim not in q.pids("worker"))
        for s in mute:
            s.close()
        eq(status(q)["state"], "running")
        for _ in range(200):
            connect(q).close()
        eq(status(q)["state"], "running")
        until("all closed", lambda: len(os.listdir(
            "/proc/%d/fd" % q.proc.pid)) < 40)


@case("it_stays_small")
def _():
    with Qod() as q:
        for _ in range(300):
            ask(q, b"status\n")
        with open("/proc/%d/status" % q.proc.pid) as f:
            rss = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
        if "-san" not in BIN:
            assert rss < 4096, "%d KiB" % rss


finish()
