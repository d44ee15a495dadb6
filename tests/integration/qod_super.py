import os
import re
import signal
import time

from qod_lib import Qod, alive, case, children, eq, finish, until


def deaths(q, child):
    """(pid, delay) of each that is started again."""
    return [(int(p), int(n)) for p, n in re.findall(
        r"child=%s child_pid=(\d+) .*restart_ms=(\d+)" % re.escape(child),
        q.log_text())]


@case("crash_loop_backs_off")
def _():
    with Qod(workers=1) as q:
        q.does("qo-worker", "die 9")
        os.kill(q.heard("worker.0 started")[0][1], signal.SIGKILL)
        q.wait_log(r"child=worker.0 .*restart_ms=1600")
        pids, delays = zip(*deaths(q, "worker.0"))
        # One that needed 10 s to die begins anew.
        eq(delays[0], 200)
        for last, ms in zip(delays, delays[1:]):
            assert ms in (200, 2 * last), delays
        assert "killed by signal 9" in q.log_text()
        # One line for each death, and nothing else is touched.
        eq(len(set(pids)), len(pids))
        eq(len(q.heard("monitor.0 started")), 1)
        eq(len(q.heard("store.0 started")), 1)
        # It comes back when the reason is gone.
        q.does("qo-worker")
        until("a worker", lambda: len(q.heard("worker.0 started")) == 2)
        eq(q.stop(), 0)


@case("all_roles_in_a_crash_loop")
def _():
    with Qod() as q:
        for p in ("qo-store", "qo-monitor", "qo-worker"):
            q.does(p, "exit 1")
        pids = q.pids()
        eq(len(pids), 4)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        q.wait_log(r"child=store.0 .*restart_ms=800")
        q.wait_log(r"child=worker.1 .*restart_ms=800")
        eq(q.proc.poll(), None)
        for p in ("qo-store", "qo-monitor", "qo-worker"):
            q.does(p)
        until("all", lambda: len(q.heard("started")) == 8)
        eq(q.stop(), 0)


@case("end_without_being_asked_is_a_crash")
def _():
    with Qod(workers=1) as q:
        q.does("qo-monitor", "exit 0")
        os.kill(q.heard("monitor.0 started")[0][1], signal.SIGKILL)
        q.wait_log(r"child=monitor.0 .*exited with status 0.*restart_ms=")
        q.stop()


@case("exit_78_is_not_started_again")
def _():
    with Qod(workers=1) as q:
        q.does("qo-worker", "exit 78")
        os.kill(q.heard("worker.0 started")[0][1], signal.SIGKILL)
        q.wait_log(r"not started again.* child=worker.0")
        time.sleep(1)
        eq(len(re.findall("not started again", q.log_text())), 1)
        eq(q.proc.poll(), None)
        # A reload begins anew.
        q.does("qo-worker")
        n = len(q.poll_states())
        q.send(signal.SIGHUP)
        q.wait_state("READY=1", since=n)
        eq(len(q.heard("worker.0 started")), 2)
        eq(q.stop(), 0)


@case("two_thousand_orphans")
def _():
    with Qod(workers=1) as q:
        q.does("qo-worker", "orphans 2000")
        os.kill(q.heard("worker.0 started")[0][1], signal.SIGKILL)
        q.wait_log(r"child=worker.0 .*exited with status 1")
        q.does("qo-worker")
        q.wait_log(r"ready child=worker.0", 2)
        # Nothing but the roles is left, no zombie either.
        until("no zombies", lambda: len(children(q.proc.pid)) == 3)
        eq(q.stop(), 0)


def tasks_of(q, n=16):
    """(pid of worker.0, pids of its handlers)"""
    h = q.wait_heard("worker.0 handler", n)
    return h[0][1], [int(m.split()[1]) for c, p, m in h if p == h[0][1]]


@case("dead_worker_is_recovered")
def _():
    with Qod("[worker]\nslots = 16\n", workers=1, start=False) as q:
        q.does("qo-worker", "slots 16")
        q.start()
        pid, handlers = tasks_of(q)
        q.does("qo-worker")
        assert all(alive(h) for h in handlers)
        os.kill(pid, signal.SIGKILL)
        lost = q.wait_heard("monitor.0 lost ", 16)
        until("handlers gone", lambda: not any(map(alive, handlers)))
        eq(len({m for c, p, m in lost}), 16)
        assert all(m.endswith("%08x-0000-4000-9000-%012d" % (pid, i))
                   for i, m in enumerate(sorted(m for c, p, m in lost)))
        q.wait_log("all tasks of dead processes are settled")
        q.wait_log(r"ready child=worker.0", 2)
        eq(q.stop(), 0)
        eq(len(q.heard("monitor.0 lost ")), 16)


@case("next_monitor_is_told_again")
def _():
    with Qod("[worker]\nslots = 16\n", workers=1, start=False) as q:
        q.does("qo-worker", "slots 4")
        q.does("qo-monitor", "unsettled 1")
        q.start()
        pid, handlers = tasks_of(q, 4)
        q.does("qo-worker")
        os.kill(pid, signal.SIGKILL)
        lost = q.wait_heard("monitor.0 lost ", 4)
        q.does("qo-monitor")
        os.kill(lost[0][1], signal.SIGKILL)
        q.wait_heard("monitor.0 lost ", 8)
        q.wait_log("all tasks of dead processes are settled")
        eq(q.stop(), 0)


@case("tasks_wait_for_a_monitor")
def _():
    # It is down when the worker dies.
    with Qod("[worker]\nslots = 16\n", workers=1, start=False) as q:
        q.does("qo-worker", "slots 4")
        q.start()
        pid, handlers = tasks_of(q, 4)
        q.does("qo-worker")
        q.does("qo-monitor", "exit 1")
        os.kill(q.heard("monitor.0 started")[0][1], signal.SIGKILL)
        q.wait_log(r"child=monitor.0 .*restart_ms=400")
        os.kill(pid, signal.SIGKILL)
        q.wait_log("gone with its tasks.* tasks=4")
        q.does("qo-monitor")
        q.wait_heard("monitor.0 lost ", 4)
        q.wait_log("all tasks of dead processes are settled")
        eq(q.stop(), 0)


def hand_back(q):
    """True when it was done within the time that a stop waits for it."""
    q.does("qo-worker", "slots 4\nslow 3600000\n")
    q.does("qo-monitor", "unsettled 1")
    q.start()
    pid, handlers = tasks_of(q, 4)
    q.send(signal.SIGTERM)
    q.wait_heard("worker.0 drain 600000")
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)

    def in_time():
        return time.monotonic() - began < 9
    told = until("told", lambda: q.heard("monitor.0 lost ")[3:] or
                 not in_time())
    time.sleep(0.5)
    early = q.heard("monitor.0 drain")
    if not in_time():
        return False
    eq(early, [])
    # The monitor is started again even now, and answers.
    q.does("qo-monitor")
    try:
        os.kill(told[0][1], signal.SIGKILL)
    except ProcessLookupError:
        if in_time():
            raise
        return False
    until("told again", lambda: q.heard("monitor.0 lost ")[7:] or
          not in_time())
    if not q.heard("monitor.0 lost ")[7:]:
        return False
    eq(q.wait_end(), 0)
    ends = [c for c, p, m in q.heard(" ends")]
    eq(ends, ["monitor.0", "store.0"])
    return True


@case("stop_waits_until_tasks_are_handed_back")
def _():
    for _ in range(10):
        with Qod("[qod]\ndrain_timeout = 10m\n[worker]\nslots = 16\n",
                 workers=1, start=False) as q:
            if hand_back(q):
                return
    raise AssertionError("never fast enough")


def freeze(q):
    """How many were taken for stuck."""
    q.does("qo-worker", "slots 3")
    q.start()
    pid, handlers = tasks_of(q, 3)
    q.does("qo-worker")
    if alive(pid):  # else the machine did it
        os.kill(pid, signal.SIGSTOP)
    q.wait_log(r"is stuck: SIGKILL.* child_pid=%d " % pid)
    q.wait_heard("monitor.0 lost .*%08x-" % pid, 3)
    until("handlers gone", lambda: not any(map(alive, handlers)))
    n = len(re.findall("is stuck", q.log_text()))
    eq(q.stop(), 0)
    return n


@case("frozen_worker_is_killed")
def _():
    # The others are not, unless the machine freezes them as well.
    for _ in range(10):
        with Qod("[qod]\nstuck_after = 8s\n[worker]\nslots = 16\n", workers=2,
                 start=False) as q:
            if freeze(q) == 1:
                return
    raise AssertionError("the others are killed, too")


@case("kill_9_of_qod")
def _():
    with Qod() as q:
        pids = q.pids()
        eq(len(pids), 4)
        q.proc.kill()
        q.proc.wait()
        until("all gone", lambda: not any(alive(p) for p in pids))
        eq(len(q.heard(" drain ")), 4)
        # Nothing of it is in the way of the next one.
        q.start()
        eq(q.stop(), 0)


@case("term_to_the_process_group")
def _():
    with Qod() as q:
        q.does("qo-worker", "slow 500")
        pids = q.pids()
        os.killpg(q.proc.pid, signal.SIGTERM)
        eq(q.wait_end(), 0)
        eq(len(q.heard(r"worker.\d drain 30000")), 2)
        ends = [c.split(".")[0] for c, p, m in q.heard(" ends")]
        eq(ends, ["worker", "worker", "monitor", "store"])
        assert not any(alive(p) for p in pids)


@case("second_term_is_now")
def _():
    for sig in (signal.SIGTERM, signal.SIGQUIT):
        with Qod("[qod]\ndrain_timeout = 10m\n") as q:
            q.does("qo-worker", "slow 3600000")
            q.send(signal.SIGTERM)
            q.wait_heard(r"worker.\d drain", 2)
            q.send(sig)
            eq(q.wait_end(), 0)
            eq(len(q.heard(r"worker.\d now")), 2)
            assert q.heard("store.0 ends")


@case("deaf_process_is_killed")
def _():
    with Qod("[qod]\ndrain_timeout = 100ms\n", workers=1) as q:
        q.does("qo-worker", "deaf 1")
        began = time.monotonic()
        eq(q.stop(), 0)
        assert "does not end: SIGKILL" in q.log_text()
        assert time.monotonic() - began > 9


@case("more_and_less_workers")
def _():
    with Qod(workers=1) as q:
        q.send(signal.SIGTTIN)
        q.wait_log(r"ready child=worker.1")
        q.send(signal.SIGTTIN)
        q.wait_log(r"ready child=worker.2")
        eq(q.heard("worker.2 started")[0][2].split()[1], "3")
        q.send(signal.SIGTTOU)
        q.wait_heard("worker.2 drain -1")
        until("two", lambda: len(q.pids("worker")) == 2)
        for _ in range(3):
            n = q.log_text().count("workers=")
            q.send(signal.SIGTTOU)
            until("said", lambda: q.log_text().count("workers=") > n)
        until("one", lambda: len(q.pids("worker")) == 1)
        # Beyond the limit was not counted.
        q.send(signal.SIGTTIN)
        until("two", lambda: len(q.pids("worker")) == 2)
        eq(q.stop(), 0)


@case("quiet_and_reopen")
def _():
    with Qod(workers=1, start=False) as q:
        q.write("[qod]\nlog = %s\n" % q.path("file.log"))
        q.start()
        q.send(signal.SIGWINCH)
        q.wait_heard("worker.0 quiet")
        eq(q.heard("(store|monitor).0 quiet"), [])
        # One that is started again is quiet as well.
        os.kill(q.heard("worker.0 started")[0][1], signal.SIGKILL)
        q.wait_heard("worker.0 quiet", 2)
        os.rename(q.path("file.log"), q.path("file.log.1"))
        q.send(signal.SIGUSR1)
        until("reopened", lambda: os.path.exists(q.path("file.log")))
        # A new generation claims.
        n = len(q.poll_states())
        q.send(signal.SIGHUP)
        q.wait_state("READY=1", since=n)
        time.sleep(0.2)
        eq(len(q.heard("worker.0 quiet")), 2)
        eq(q.stop(), 0)


@case("watchdog")
def _():
    with Qod(env={"WATCHDOG_USEC": "2000000"}) as q:
        q.wait_state("WATCHDOG=1")
        n = len(q.poll_states())
        q.wait_state("WATCHDOG=1", since=n)
        q.stop()


finish()
