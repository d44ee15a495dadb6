import os
import re
import shutil
import signal
import socket
import time

import qo_lib
from qod_lib import (BIN, PATIENCE, Qod, alive, case, children, eq, finish,
                     until)


def reload(q):
    """SIGHUP and the answer to systemd."""
    n = len(q.poll_states())
    q.send(signal.SIGHUP)
    q.wait_state("RELOADING=1", since=n)
    return q.wait_state("READY=1", since=n)


@case("reload_without_a_gap")
def _():
    with Qod() as q:
        old = q.pids("worker") + q.pids("monitor")
        store = q.pids("store")
        q.does("qo-worker", "late 300")
        state = reload(q)
        assert "STATUS=Ready, generation 2" in state, state
        until("old ones gone", lambda: not any(alive(p) for p in old))
        q.wait_log("msg=ended child=worker", count=2)
        heard = q.heard("")
        # The new ones were ready before an old one was told to drain.
        log = q.log_text()
        ready = [m.start() for m in re.finditer(
            r"ready child=worker.* generation=2", log)]
        ended = [m.start() for m in re.finditer(r"msg=ended child=worker",
                                                log)]
        assert len(ready) == 2 and len(ended) == 2, log
        assert max(ready) < min(ended), log
        eq(len([1 for c, p, m in heard if m == "drain -1"]), 3)
        # The store was left alone, and nothing came back that was replaced.
        eq(q.pids("store"), store)
        time.sleep(0.3)
        eq(len(q.pids()), 4)
        eq(len(q.heard("started")), 7)
        mono = [s for s in q.states if "MONOTONIC_USEC=" in s]
        assert re.search(r"MONOTONIC_USEC=\d+", mono[0]), mono
        eq(q.stop(), 0)


@case("bad_reload_changes_nothing")
def _():
    with Qod() as q:
        pids = q.pids()
        q.write("[worker]\nslots = none\n")
        state = reload(q)
        assert re.search(r"STATUS=The last reload failed: /.*:\d+: "
                         r"\[worker\] slots", state), state
        assert re.search(r"level=error .*conf:\d+: \[worker\] slots",
                         q.log_text()), q.log_text()
        assert "the old configuration goes on\" generation=1" in q.log_text()
        eq(q.pids(), pids)
        eq(q.heard("drain"), [])
        # And a good one after it.
        q.write("")
        assert "generation 2" in reload(q)
        eq(q.stop(), 0)


@case("missing_file_at_reload")
def _():
    with Qod() as q:
        pids = q.pids()
        os.unlink(q.path("conf"))
        assert "failed" in reload(q)
        eq(q.pids(), pids)
        q.write()
        assert "generation 2" in reload(q)
        eq(q.stop(), 0)


@case("what_can_not_change")
def _():
    with Qod() as q:
        pids = q.pids()
        for text in ("[store]\ndata = %s\n" % q.path("other"),
                     "[store]\nlisten = 127.0.0.2:9710\n",
                     "[qod]\npidfile = %s\n" % q.path("other"),
                     "[s3]\nendpoint = https://s3.example.org\n"
                     "bucket = abc\n"):
            q.write(text)
            state = reload(q)
            assert "can not change while qod runs: restart it" in state, repr(state)
        eq(q.pids(), pids)
        q.write("")
        assert "generation 2" in reload(q)
        eq(q.stop(), 0)


@case("new_processes_that_fail")
def _():
    # Exit 78 ends the attempt at once.
    with Qod() as q:
        pids = q.pids()
        q.does("qo-worker", "exit 78")
        state = reload(q)
        assert "failed: worker." in state, state
        until("as before", lambda: sorted(q.pids()) == sorted(pids))
        eq([1 for c, p, m in q.heard("drain") if p in pids], [])
        q.does("qo-worker")
        assert "STATUS=Ready" in reload(q)
        eq(q.stop(), 0)


@case("reload_out_of_a_failed_start")
def _():
    # Nothing is ready yet, and never will be: the next one may replace it.
    with Qod(start=False) as q:
        q.does("qo-worker", "late -1")
        q.start(wait=False)
        q.wait_heard("worker.. started", 2)
        q.does("qo-worker")
        q.send(signal.SIGHUP)
        state = q.wait_state("READY=1")
        assert "generation 2" in state, state
        until("old ones gone", lambda: len(q.pids("worker")) == 2)
        eq(q.stop(), 0)


@case("changed_store_section")
def _():
    with Qod() as q:
        store = q.pids("store")
        q.does("qo-store", "slow 500")
        q.write("[store]\nmax_body = 1MiB\n")
        n = len(q.poll_states())
        q.send(signal.SIGHUP)
        q.wait_heard("store.0 drain 30000")
        # Nobody is refused while there is no store: the socket is qod's.
        host, port = q.url.split(":")
        for _ in range(20):
            socket.create_connection((host, int(port)), 10).close()
            time.sleep(0.02)
        q.wait_state("READY=1", since=n)
        eq(len(q.pids("store")), 1)
        assert q.pids("store") != store
        eq(q.stop(), 0)


@case("a_store_that_does_not_like_it")
def _():
    with Qod() as q:
        q.does("qo-store", "exit 78")
        q.write("[store]\nmax_body = 1MiB\n")
        state = reload(q)
        assert "failed: the store" in state, state
        q.does("qo-store")
        # It is asked for again, with what worked before.
        q.write("")
        state = reload(q)
        assert "STATUS=Ready" in state, repr(state)
        until("a store", lambda: len(q.pids("store")) == 1)
        eq(q.stop(), 0)


@case("a_thousand_hups_then_term")
def _():
    with Qod() as q:
        q.does("qo-worker", "slow 2000")
        began = time.monotonic()
        for i in range(1000):
            q.send(signal.SIGHUP)
            if i % 50 == 0:
                time.sleep(0.05)
        until("some came of it", lambda: "generation=2" in q.log_text())
        # They became few: beside the four that are wanted and the three that
        # may follow them no more than four for each are about to end.
        assert len(q.pids()) <= 4 + 3 + 4 * 4, q.pids()
        n = len([s for s in q.poll_states() if "RELOADING" in s])
        # One a second.
        assert 1 <= n <= time.monotonic() - began + 1, n
        eq(q.stop(), 0)


@case("hup_during_a_reload_is_one_more")
def _():
    with Qod() as q:
        q.does("qo-worker", "held 1")
        n = len(q.poll_states())
        q.send(signal.SIGHUP)
        q.wait_state("RELOADING=1", since=n)
        for _ in range(10):
            q.send(signal.SIGHUP)
            time.sleep(0.01)
        q.obeyed()
        q.does("qo-worker")
        q.wait_log(r"reloaded generation=3")
        time.sleep(1.5)
        assert "generation=4" not in q.log_text()
        eq(q.stop(), 0)


@case("term_during_a_reload")
def _():
    with Qod() as q:
        q.does("qo-worker", "late -1")
        n = len(q.poll_states())
        q.send(signal.SIGHUP)
        q.wait_state("RELOADING=1", since=n)
        until("new ones", lambda: len(q.pids("worker")) == 4)
        eq(q.stop(), 0)


# Another binary.

class Upgradable(Qod):
    """Runs a copy of qod, which can be replaced."""

    def __init__(self, *args, **more):
        super().__init__(*args, start=False, **more)
        shutil.copy2(os.path.join(BIN, "qod"), self.path("qod"))
        self.start()

    def command(self, *args):
        return [self.path("qod")] + super().command(*args)[1:]

    def replace(self, fn):
        fn(self.path("qod.new"))
        os.chmod(self.path("qod.new"), 0o755)
        os.rename(self.path("qod.new"), self.path("qod"))


def script(text):
    def write(path):
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + text)
    return write


def upgrade(q):
    """SIGUSR2 until all that it replaces is replaced."""
    n = len(q.poll_states())
    q.send(signal.SIGUSR2)
    q.wait_state("READY=1", since=n)


@case("upgrade_in_place")
def _():
    with Upgradable() as q:
        pid, old = q.proc.pid, q.pids()
        q.send(signal.SIGTTIN)
        q.wait_log(r"ready child=worker.2")
        old = q.pids()
        eq(len(old), 5)
        q.replace(lambda p: shutil.copy2(os.path.join(BIN, "qod"), p))
        upgrade(q)
        eq(q.proc.pid, pid)
        assert "upgrade: this is qod" in q.log_text()
        until("all replaced", lambda: len(q.pids()) == 5 and
              not set(q.pids()) & set(old))
        # New ones were ready before old ones were told; the store was last.
        heard = [(c, p, m) for c, p, m in q.heard("") if "started" in m or
                 "drain" in m]
        drained = [i for i, h in enumerate(heard) if h[2] == "drain -1"]
        begun = [i for i, h in enumerate(heard) if "started" in h[2] and
                 h[0].startswith("worker") and h[1] not in old]
        assert len(drained) == 4 and len(begun) == 3, heard
        assert max(begun) < min(drained), heard
        last = [i for i, h in enumerate(heard) if h[0] == "store.0"][-2:]
        assert heard[last[0]][2] == "drain 30000", heard
        assert last[0] > max(begun), heard
        # It is still the one that has the pidfile, and still obeys.
        rc, out = q.run()
        eq(rc, 78)
        assert "another qod runs" in out, out
        assert "generation 3" not in "".join(q.states)
        eq(q.stop(), 0)


@case("upgrade_again_and_again")
def _():
    with Upgradable(workers=1) as q:
        for i in range(3):
            upgrade(q)
            q.wait_log("reloaded generation=%d" % (i + 2))
        until("three left", lambda: len(q.pids()) == 3)
        with open("/proc/%d/status" % q.proc.pid) as f:
            assert re.search(r"^SigBlk:\s+0+$", f.read(), re.M)
        fds = os.listdir("/proc/%d/fd" % q.proc.pid)
        assert len(fds) < 24, fds
        eq(q.stop(), 0)


@case("signals_in_the_middle_of_an_upgrade")
def _():
    # Between the old image and the handlers of the new one any of these is
    # death, unless it is held back.
    with Upgradable(workers=1) as q:
        q.send(signal.SIGUSR2)
        end = time.monotonic() + PATIENCE
        while q.log_text().count("upgrade: this is qod") < 3:
            assert time.monotonic() < end, q.log_text()[-2000:]
            for _ in range(200):
                q.send(signal.SIGHUP)
                q.send(signal.SIGUSR1)
            q.send(signal.SIGUSR2)
            eq(q.proc.poll(), None)
        eq(q.stop(), 0)


# As the next qod would be, which checks until the file `go' is there.
SLOW_CHECK = """[ "$1" = -n ] || exec %s "$@"
while [ -d %s ] && [ ! -e %s/go ]; do sleep 0.02; done
"""


@case("signals_seen_with_the_end_of_the_check")
def _():
    # All of them wait when it looks; the check's end is not the last.
    with Upgradable() as q:
        q.replace(script(SLOW_CHECK % (os.path.join(BIN, "qod"), q.dir,
                                       q.dir)))
        q.send(signal.SIGUSR2)
        q.wait_log("checks the configuration")
        check, = set(children(q.proc.pid)) - set(q.pids())
        q.send(signal.SIGSTOP)
        until("it stands still", lambda: qo_lib.state(q.proc.pid) == "T")
        open(q.path("go"), "w").close()
        until("the check has ended", lambda: qo_lib.state(check) == "Z")
        q.send(signal.SIGWINCH)
        q.send(signal.SIGCONT)
        q.wait_log("upgrade: this is qod")
        q.wait_log("no more tasks are claimed")
        eq(q.stop(), 0)


@case("stop_during_the_check")
def _():
    with Upgradable() as q:
        q.replace(script("exec sleep 600\n"))
        q.send(signal.SIGUSR2)
        q.wait_log("checks the configuration")
        check, = set(children(q.proc.pid)) - set(q.pids())
        eq(q.stop(), 0)
        until("nothing is left", lambda: not alive(check))


@case("upgrade_is_refused")
def _():
    with Upgradable() as q:
        pids = q.pids()
        # It does not like the configuration.
        q.replace(script("exit 78\n"))
        q.send(signal.SIGUSR2)
        q.wait_log(r"-n exited with status 78, this one goes on")
        # It likes it, and can not be run after all.
        q.replace(script("rm -f \"$0\"\n"))
        q.send(signal.SIGUSR2)
        q.wait_log(r"can not run .*, this one goes on")
        eq(q.pids(), pids)
        eq(q.heard("drain"), [])
        q.send(signal.SIGTTIN)
        q.wait_log(r"ready child=worker.2")
        eq(q.stop(), 0)


@case("tasks_outlive_the_upgrade")
def _():
    # A worker dies before, nobody has settled its tasks; another dies after
    # with tasks that the old image knew of.
    with Upgradable("[worker]\nslots = 4\n") as q:
        q.does("qo-worker", "slots 2\nslow 3600000\n")
        first, second = [p for c, p, m in sorted(q.heard("worker.. started"))]
        os.kill(first, signal.SIGKILL)
        os.kill(second, signal.SIGKILL)
        h = q.wait_heard("worker.. handler", 4)
        pids = sorted({p for c, p, m in h})
        q.wait_log("ready child=worker", 4)
        q.does("qo-monitor", "unsettled 1")
        os.kill(pids[0], signal.SIGKILL)
        q.wait_heard("monitor.0 lost .*%08x-" % pids[0], 2)
        q.does("qo-worker", "slow 3600000")
        q.does("qo-monitor")
        upgrade(q)
        q.wait_heard("monitor.0 lost .*%08x-" % pids[0], 4)
        handlers = [int(m.split()[1]) for c, p, m in h if p == pids[1]]
        os.kill(pids[1], signal.SIGKILL)
        q.wait_heard("monitor.0 lost .*%08x-" % pids[1], 2)
        until("handlers gone", lambda: not any(alive(x) for x in handlers))
        q.does("qo-worker")
        eq(q.stop(), 0)


finish()
