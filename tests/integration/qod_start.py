import contextlib
import fcntl
import os
import re
import signal
import socket
import subprocess
import time

from qod_lib import BIN, Qod, alive, case, eq, finish, until

SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"


@case("usage")
def _():
    qod = os.path.join(BIN, "qod")

    def run(*args):
        p = subprocess.run([qod] + list(args), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return p.returncode, p.stdout.decode(), p.stderr.decode()
    rc, out, err = run("-V")
    assert rc == 0 and re.match(r"qod \d+\.\d+\.\d+\n$", out), (rc, out)
    eq(run("--version"), (rc, out, err))
    rc, out, err = run("-h")
    assert rc == 0 and out.startswith("usage: qod") and err == "", (rc, out)
    rc, out, err = run("-x")
    assert rc == 2 and "usage: qod" in err, (rc, err)
    rc, out, err = run("-n", "stray")
    assert rc == 2 and '"stray"' in err, (rc, err)
    rc, out, err = run("-n", "-f", "/nonexistent/qod.conf")
    assert rc == 78 and "/nonexistent/qod.conf" in err, (rc, err)


@case("links_nothing_that_can_crash")
def _():
    out = subprocess.run(["ldd", os.path.join(BIN, "qod")],
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    for lib in ("curl", "ssl", "crypto", "sqlite", "expat", "yyjson"):
        assert lib not in out, out


@case("check_says_every_mistake")
def _():
    with Qod("[worker]\nslots = many\n[nonsense]\n[qod]\nlog_level = loud\n",
             start=False) as q:
        rc, out = q.run("-n")
        eq(rc, 78)
        lines = [x for x in out.splitlines()
                 if re.match(r"/.*/conf:\d+: ", x)]
        assert len(lines) >= 3, out
        assert not os.path.exists(q.path("pid"))
        q.write("")
        rc, out = q.run("-n")
        eq((rc, out), (0, "configuration OK\n"))


@case("check_warns_of_handlers_without_user")
def _():
    with Qod("[handler a]\ntype = a\ncommand = /bin/true\n",
             start=False) as q:
        rc, out = q.run("-n")
        eq(rc, 0)
        assert re.search(r"conf:\d+: warning: \[handler a\].* user", out), out


@case("shows_the_effective_configuration_without_secrets")
def _():
    with Qod("[s3]\naccess_key = AKIAEXAMPLE\nsecret_key = %s\n" % SECRET,
             start=False, env={"QO_WORKER_SLOTS": "7"}) as q:
        rc, out = q.run("-T")
        eq(rc, 0)
        assert SECRET not in out, out
        assert re.search(r"^slots = 7$", out, re.M), out
        assert re.search(r"^drain_timeout = 30s$", out, re.M), out


@case("wrong_file_modes")
def _():
    with Qod("[s3]\naccess_key = AKIAEXAMPLE\nsecret_key = %s\n" % SECRET,
             start=False) as q:
        os.chmod(q.path("conf"), 0o644)
        rc, out = q.run()
        eq(rc, 78)
        assert "chmod" in out and SECRET not in out, out


@case("starts_in_order_and_ends")
def _():
    with Qod() as q:
        kids = {c for c, p, m in q.heard("started")}
        eq(kids, {"store.0", "monitor.0", "worker.0", "worker.1"})
        eq(q.heard("started")[0][0], "store.0")
        eq(open(q.path("pid")).read(), "%d\n" % q.proc.pid)
        assert "STATUS=" in q.states[-1], q.states
        eq(q.stop(), 0)
        assert any("STOPPING=1" in s for s in q.poll_states()), q.states
        ends = [c.split(".")[0] for c, p, m in q.heard(" ends")]
        eq(ends, ["worker", "worker", "monitor", "store"])
        assert not os.path.exists(q.path("pid"))


@case("not_ready_before_the_last")
def _():
    with Qod(start=False) as q:
        q.does("qo-worker", "held 1")
        q.start(wait=False)
        q.wait_log(r"ready child=monitor")
        q.wait_heard("worker.. started", 2)
        assert not any("READY=1" in s for s in q.poll_states()), q.states
        q.does("qo-worker")
        q.wait_state("READY=1")
        log = q.log_text()
        eq(log.count("ready child=worker"), 2)
        assert log.rindex("ready child=worker") < log.index(
            "msg=ready ms="), log
        q.stop()


@case("others_wait_for_the_store")
def _():
    with Qod(start=False) as q:
        q.does("qo-store", "late 400")
        q.start()
        log = q.log_text()
        assert log.index("ready child=store") < log.index(
            "ready child=monitor"), log
        eq(q.heard("started")[0][0], "store.0")
        q.stop()


@case("closed_stdio")
def _():
    # Without 0 to 2 the first socket must not become the standard error.
    with Qod(start=False) as q:
        script = 'exec "$0" "$@" <&- >&- 2>&-'
        q.log = open(q.path("log"), "ab")
        q.proc = subprocess.Popen(
            ["/bin/sh", "-c", script] + q.command(), env=q.env,
            start_new_session=True)
        q.wait_state("READY=1")
        for n in range(3):
            eq(os.readlink("/proc/%d/fd/%d" % (q.proc.pid, n)), "/dev/null")
        eq(q.stop(), 0)


@case("children_inherit_only_what_they_need")
def _():
    with Qod(env={"QO_WORKER_SLOTS": "3"}) as q:
        c, pid, m = q.heard("worker.0 started")[0]
        fds = {int(n): os.readlink("/proc/%d/fd/%s" % (pid, n))
               for n in os.listdir("/proc/%d/fd" % pid)}
        eq(fds[0], "/dev/null")
        assert fds[3].startswith("socket:"), fds
        assert not any("qod.conf" in v for v in fds.values()), fds
        # Beyond those of qod: its own epoll and signals.
        own = [v for n, v in fds.items() if n > 5]
        assert not any(v.startswith("socket:") for v in own), fds
        assert not any(q.path("pid") in v for v in own), fds
        with open("/proc/%d/environ" % pid, "rb") as f:
            env = f.read()
        assert b"NOTIFY_SOCKET" not in env and b"QO_WORKER" not in env, env
        with open("/proc/%d/status" % pid) as f:
            status = f.read()
        assert re.search(r"^SigBlk:\s+0+$", status, re.M), status
        q.stop()


@case("second_qod_is_refused")
def _():
    with Qod() as q:
        rc, out = q.run()
        eq(rc, 78)
        assert "another qod runs" in out and str(q.proc.pid) in out, out
        q.stop()
        # A number left behind stops nobody: the lock counts.
        with open(q.path("pid"), "w") as f:
            f.write("1\n")
        q.start()
        eq(q.stop(), 0)


@case("missing_program")
def _():
    with Qod(start=False) as q:
        os.unlink(q.path("libexec/qo-worker"))
        rc, out = q.run()
        eq(rc, 78)
        eq(len(out.splitlines()), 1)
        assert "no program qo-worker in " in out, out
        eq(q.heard(), [])


@case("port_in_use")
def _():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        addr = "127.0.0.1:%d" % s.getsockname()[1]
        with Qod("[store]\nlisten = %s\n" % addr, start=False) as q:
            rc, out = q.run()
            eq(rc, 78)
            assert "can not listen on " + addr in out, out
            eq(q.heard(), [])
            assert not os.path.exists(q.path("pid"))


@contextlib.contextmanager
def data_locked(q, text):
    """As by a store, which says this of itself."""
    os.makedirs(q.path("store"), exist_ok=True)
    with open(q.path("store/lock"), "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.write(text)
        f.flush()
        yield f


@case("data_in_use")
def _():
    # By one that does not end by itself.
    with Qod(start=False) as q:
        with data_locked(q, "4711\n"):
            rc, out = q.run()
            eq(rc, 78)
            eq(len(out.splitlines()), 1)
            assert "store is in use by process 4711" in out, out
            eq(q.heard(), [])
            assert not os.path.exists(q.path("pid"))


@case("store_of_an_earlier_qod_does_not_end")
def _():
    with Qod("[qod]\ndrain_timeout = 300ms\n", start=False) as q:
        with data_locked(q, "4711 orphan\n"):
            rc, out = q.run()
            eq(rc, 78)
            assert "earlier qod (pid 4711)" in out.splitlines()[0], out
            assert "store is in use by process 4711" in out, out
            eq(q.heard(), [])


@case("store_of_an_earlier_qod_notices_late")
def _():
    with Qod(start=False) as q:
        for _ in range(5):
            with data_locked(q, "4711\n") as f:
                q.start(wait=False)
                until("waits", lambda: os.path.exists(q.path("pid")) or
                      q.proc.poll() is not None)
                f.seek(0)
                f.write("4711 orphan\n")
                f.flush()
                # It waits for 5 s only, which may have been over.
                until("said", lambda: q.proc.poll() is not None or re.search(
                    r"earlier qod \(pid 4711\) to end", q.log_text()))
                eq(q.heard(), [])
            if q.proc.poll() is None:
                q.wait_state("READY=1")
                eq(q.stop(), 0)
                return
            eq(q.wait_end(), 78)
        raise AssertionError("never fast enough")


@case("data_directory_without_rights")
def _():
    with Qod("[store]\ndata = /proc/nothing/store\n", start=False) as q:
        rc, out = q.run()
        eq(rc, 78)
        assert re.search(r"conf:\d+: \[store\] data: can not make", out), out
        with open(q.path("store"), "w"):
            pass
        q.write("[store]\ndata = %s\n" % q.path("store"))
        rc, out = q.run()
        eq(rc, 78)
        assert re.search(r"conf:\d+: \[store\] data: .*store", out), out
        eq(q.heard(), [])


@case("root_needs_a_user")
def _():
    if os.geteuid() != 0:
        with Qod("[qod]\nuser = root\n", start=False) as q:
            rc, out = q.run()
            eq(rc, 78)
            assert "only root can" in out, out
        return
    with Qod("[qod]\nallow_root = no\n", start=False) as q:
        rc, out = q.run()
        eq(rc, 78)
        assert re.search(r"set user .* or allow_root = yes", out), out
        q.write("[qod]\nuser = no-such-user\n")
        rc, out = q.run()
        eq(rc, 78)
        assert 'no account "no-such-user"' in out, out


@case("handlers_user_is_checked")
def _():
    with Qod("[handler a]\ntype = a\ncommand = /bin/true\n"
             "user = no-such-user\n", start=False) as q:
        rc, out = q.run("-n")
        eq(rc, 78)
        assert re.search(r"conf:\d+: \[handler a\] user: ", out), out


@case("handlers_program_is_checked")
def _():
    with Qod("[handler a]\ntype = a\ncommand = /nonexistent/program\n",
             start=False) as q:
        rc, out = q.run("-n")
        eq(rc, 78)
        assert re.search(r"conf:\d+: \[handler a\] command: ", out), out


@case("roles_run_as_user")
def _():
    if os.geteuid() != 0:
        return
    with Qod("[qod]\nuser = nobody\n", start=False) as q:
        # For the test child, which writes there.
        os.chmod(q.dir, 0o777)
        for d in (os.path.dirname(q.dir), os.path.dirname(BIN)):
            if not os.stat(d).st_mode & 1:
                return
        q.start()
        pid = q.heard("worker.0 started")[0][1]
        with open("/proc/%d/status" % pid) as f:
            status = f.read()
        uid = re.search(r"^Uid:\s+(.*)$", status, re.M).group(1).split()
        eq(set(uid), {"65534"})
        assert re.search(r"^CapEff:\s+0+$", status, re.M), status
        eq(os.stat(q.path("store")).st_uid, 65534)
        eq(q.stop(), 0)


@case("data_directory_of_systemd")
def _():
    # StateDirectory= makes it, for root; one with something in it is left
    # alone.
    if os.geteuid() != 0:
        return
    with Qod("[qod]\nuser = nobody\n", start=False) as q:
        os.chmod(q.dir, 0o777)
        os.mkdir(q.path("store"), 0o700)
        with open(q.path("store/a"), "w"):
            pass
        rc, out = q.run()
        eq(rc, 78)
        assert "can not be written by user 65534" in out, out
        os.unlink(q.path("store/a"))
        for d in (os.path.dirname(q.dir), os.path.dirname(BIN)):
            if not os.stat(d).st_mode & 1:
                return
        q.start()
        eq(os.stat(q.path("store")).st_uid, 65534)
        eq(q.stop(), 0)


@case("bad_role_at_start_ends_it")
def _():
    with Qod(start=False) as q:
        q.does("qo-worker", "exit 78")
        q.start(wait=False)
        eq(q.wait_end(), 78)
        assert len(re.findall("not started again", q.log_text())) <= 2
        assert 'msg="can not start" child=worker.' in q.log_text()


@case("small_and_asleep")
def _():
    with Qod() as q:
        def status(key):
            with open("/proc/%d/status" % q.proc.pid) as f:
                return int(re.search(key + r":\s+(\d+)", f.read()).group(1))
        if not os.environ["B"].endswith("-san"):
            kb = status("VmRSS")
            assert kb < 4096, kb
        eq(status("Threads"), 1)

        def slept():
            before = status("voluntary_ctxt_switches")
            began = time.monotonic()
            time.sleep(3)
            woken = status("voluntary_ctxt_switches") - before
            return woken <= time.monotonic() - began
        # Nothing happens, so it sleeps: less than one a second.  It was just
        # started, and a busy machine may have it wait for more than time.
        until("three seconds of sleep", slept)
        q.stop()


finish()
