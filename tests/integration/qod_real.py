import json
import os
import re
import shutil
import signal
import time
import urllib.request

import prom_lib
from qo_lib import lines, run, script
from qod_lib import BIN, Qod, alive, case, eq, finish, until

FAST = "[worker]\nslots = 16\n"
# Says that it runs, waits for the file `go', says that it is done.  Ends
# without that when the test has.
WAIT = """[handler {name}]
type = {type}
command = /bin/sh -c 'echo $QO_TASK_ID $QO_ATTEMPT $$ >>{dir}/began;
 while [ -d {dir} ] && [ ! -e {dir}/go ]; do sleep 0.05; done;
 echo {name} $QO_TASK_ID $QO_ATTEMPT >>{dir}/done'
"""
QUICK = """[handler {name}]
type = {type}
command = /bin/sh -c 'echo {name} $QO_TASK_ID $QO_ATTEMPT >>{dir}/done'
"""


class Real(Qod):
    def __init__(self, text="", **more):
        super().__init__(text, fake=False, start=False, **more)

    def handlers(self, *wanted, more=FAST):
        """(template, name, type)..."""
        text = "".join(t.format(name=n, type=k, dir=self.dir).replace(
            "\n ", " ") for t, n, k in wanted)
        self.write(more + text)

    def qo(self, *args, stdin=""):
        return run("qo", "-c", self.path("conf"), *args, stdin=stdin).out

    def submit(self, n, kind="t"):
        """Their ids."""
        line = json.dumps({"type": kind}) + "\n"
        out = self.qo("submit", "--batch", "-", stdin=line * n)
        return [json.loads(x)["id"] for x in out.splitlines()]

    def tasks(self, status):
        return json.loads(self.qo("list", "--json", "-n", "10000", "-s",
                                  status))

    def lines(self, name):
        return [x.split() for x in lines(self.path(name))]

    def go(self):
        open(self.path("go"), "w").close()

    def took(self):
        m = re.findall(r"reloaded generation=\d+ ms=(\d+)", self.log_text())
        return int(m[-1])

    def metrics(self):
        """What /metrics says; no counter is ever less than it was."""
        url = "http://%s/metrics" % self.url.replace(":9710", ":9711")

        def get():
            try:
                with urllib.request.urlopen(url, timeout=60) as r:
                    return r.read().decode()
            except OSError:
                return None     # one monitor follows the other
        now, types = prom_lib.read(until("an answer", get))
        for key, value in getattr(self, "counted", {}).items():
            assert now.get(key, -1) >= value, (key, value, now.get(key))
        self.counted = {k: v for k, v in now.items() if types.get(
            k.split("{")[0]) != "gauge"}
        return now

    def ended(self, handler, kind, outcome):
        return self.metrics().get(
            'qo_tasks_total{handler="%s",type="%s",outcome="%s"}' % (
                handler, kind, outcome), 0)


def reload(q):
    n = len(q.poll_states())
    q.send(signal.SIGHUP)
    return q.wait_state("READY=1", since=n)


def say(what, ms):
    print("# %s: %d ms" % (what, ms), flush=True)


@case("start_work_and_end")
def _():
    with Real() as q:
        q.handlers((QUICK, "h", "t"))
        began = time.monotonic()
        q.start()
        say("start to ready", (time.monotonic() - began) * 1000)
        with open("/proc/%d/status" % q.proc.pid) as f:
            kb = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
        print("# qod has %d KiB" % kb)
        ids = q.submit(20)
        until("all done", lambda: len(q.lines("done")) == 20)
        eq({x[1] for x in q.lines("done")}, set(ids))
        until("completed", lambda: len(q.tasks("completed")) == 20)
        began = time.monotonic()
        eq(q.stop(), 0)
        say("stop when idle", (time.monotonic() - began) * 1000)
        # And all of it is there after a new start.
        q.start()
        eq(len(q.tasks("completed")), 20)
        eq(q.stop(), 0)


@case("handlers_know_the_configuration")
def _():
    with Real() as q:
        q.write("[handler h]\ntype = t\ncommand = "
                "/bin/sh -c 'echo $QO_CONFIG >>%s'\n" % q.path("done"))
        q.start()
        q.submit(1)
        until("done", lambda: len(q.lines("done")) == 1)
        eq(q.lines("done")[0], [os.path.realpath(q.path("conf"))])
        eq(q.stop(), 0)


@case("what_is_announced_is_no_conflict")
def _():
    # The entry of a retry is written before its task: a worker that looks in
    # between was not late, and here is no other who could have been first.
    with Real(workers=1) as q:
        q.write(FAST + "[submit]\nretry_initial_interval = 10ms\n"
                "[handler h]\ntype = t\ncommand = /bin/false\n")
        q.start()
        for _ in range(10):
            q.submit(1)
        until("all failed", lambda: len(q.tasks("failed")) == 10)

        def counters():
            now = json.loads(q.qo("ctl", "status", "--json"))
            return [c["counters"] for c in now["children"]
                    if c["role"] == "worker"][0]
        # What is done is counted after it.
        until("all counted", lambda: counters().get("failed") == 10)
        n = counters()
        eq((n["retried"], n["failed"]), (30, 10))
        eq(n.get("claim_conflicts", 0), 0)
        eq(q.stop(), 0)


@case("worker_killed_with_16_tasks")
def _():
    with Real(workers=1) as q:
        # No lease ends before we give up.
        q.handlers((WAIT, "h", "t"), more=FAST + "lease = 5m\n")
        q.start()
        q.submit(16)
        until("16 run", lambda: len(q.lines("began")) == 16)
        until("known", lambda: len(q.tasks("running")) == 16)
        handlers = [int(x[2]) for x in q.lines("began")]
        began = time.monotonic()
        os.kill(q.pids("worker")[0], signal.SIGKILL)
        q.wait_log("all tasks of dead processes are settled")
        ms = (time.monotonic() - began) * 1000
        say("16 tasks of a killed worker are back", ms)
        until("handlers gone", lambda: not any(map(alive, handlers)))
        until("again", lambda: len(q.lines("began")) == 32)
        eq({x[1] for x in q.lines("began")[16:]}, {"2"})
        q.go()
        until("completed", lambda: len(q.tasks("completed")) == 16)
        eq(len(q.lines("done")), 16)
        eq(q.stop(), 0)


@case("worker_killed_with_what_left_its_handlers")
def _():
    # Each handler leaves one outside of its group before it waits, and that
    # one another: they too end with the worker, before the next attempt is
    # far.
    with Real(workers=1) as q:
        leaver = script(q.path("leaver"), """#!/bin/sh
cd %s
setsid sh -c 'setsid sleep 1000 & echo $! $$ >>left; exec sleep 1000' &
echo "$QO_TASK_ID" >>began
while [ ! -e go ]; do sleep 0.05; done
""" % q.dir)
        q.write(FAST + "[handler h]\ntype = t\ncommand = %s\n" % leaver)
        q.start()
        q.submit(4)
        until("4 run", lambda: len(q.lines("began")) == 4)
        until("known", lambda: len(q.tasks("running")) == 4)
        left = [int(p) for x in until(
            "8 left", lambda: len(q.lines("left")) == 4 and q.lines("left"))
                for p in x]
        assert all(map(alive, left)), left
        os.kill(q.pids("worker")[0], signal.SIGKILL)
        until("gone", lambda: not any(map(alive, left)))
        q.go()
        until("completed", lambda: len(q.tasks("completed")) == 4)
        eq(q.stop(), 0)


@case("frozen_worker")
def _():
    with Real(workers=1) as q:
        q.handlers((WAIT, "h", "t"), more="[qod]\nstuck_after = 5s\n" + FAST)
        q.start()
        q.submit(4)
        until("4 run", lambda: len(q.lines("began")) == 4)
        until("known", lambda: len(q.tasks("running")) == 4)
        os.kill(q.pids("worker")[0], signal.SIGSTOP)
        q.wait_log("is stuck: SIGKILL")
        until("again", lambda: len(q.lines("began")) >= 8)
        q.go()
        until("completed", lambda: len(q.tasks("completed")) == 4)
        # A machine that stands still freezes others as well.
        if len(re.findall("is stuck: SIGKILL", q.log_text())) == 1:
            eq(len(q.lines("done")), 4)
        eq(q.stop(), 0)


@case("reload_with_32_busy_slots")
def _():
    with Real(workers=2) as q:
        q.handlers((WAIT, "old", "t"))
        q.start()
        ids = q.submit(32)
        until("32 run", lambda: len(q.lines("began")) == 32)
        q.handlers((QUICK, "new", "t"), (QUICK, "other", "u"))
        assert "generation 2" in reload(q)
        say("reload with 32 busy slots", q.took())
        # The new ones work while the old ones still do.
        more = q.submit(5) + q.submit(5, "u")
        until("10 done", lambda: len(q.lines("done")) == 10)
        eq({x[0] for x in q.lines("done")}, {"new", "other"})
        eq({x[1] for x in q.lines("done")}, set(more))
        eq(len(q.pids("worker")), 4)
        q.go()
        until("all done", lambda: len(q.lines("done")) == 42)
        until("old ones gone", lambda: len(q.pids("worker")) == 2)
        until("completed", lambda: len(q.tasks("completed")) == 42)
        # Each once, by the handler that it began with.
        done = q.lines("done")
        eq({x[1] for x in done if x[0] == "old"}, set(ids))
        eq({x[2] for x in done}, {"1"})
        eq(q.stop(), 0)


@case("store_killed")
def _():
    # Workers wait for it and go on.
    with Real() as q:
        q.handlers((WAIT, "h", "t"))
        q.start()
        q.submit(8)
        until("8 run", lambda: len(q.lines("began")) == 8)
        os.kill(q.pids("store")[0], signal.SIGKILL)
        q.go()
        until("completed", lambda: len(q.tasks("completed")) == 8)
        eq(len(q.lines("done")), 8)
        q.submit(8)
        until("completed", lambda: len(q.tasks("completed")) == 16)
        eq(q.stop(), 0)


def give_back(q):
    """True when the workers had the time to do it themselves."""
    q.handlers((WAIT, "h", "t"),
               more="[qod]\ndrain_timeout = 300ms\n" + FAST)
    q.start()
    q.submit(6)
    until("6 run", lambda: len(q.lines("began")) == 6)
    os.killpg(q.proc.pid, signal.SIGTERM)
    eq(q.wait_end(), 0)
    if "does not end: SIGKILL" in q.log_text():
        return False
    for x in q.lines("began"):
        assert not alive(int(x[2])), x
    q.go()
    q.start()
    until("completed", lambda: len(q.tasks("completed")) == 6)
    # Given back is no failed attempt.
    eq({t["retry_count"] for t in q.tasks("completed")}, {0})
    eq(q.stop(), 0)
    return True


@case("stop_gives_back_what_runs")
def _():
    for _ in range(10):
        with Real() as q:
            if give_back(q):
                return
    raise AssertionError("never fast enough")


# Those that are left wait for as long as the test.
PATIENT = "[qod]\ndrain_timeout = 10m\n" + FAST


@case("kill_9_of_qod_with_tasks")
def _():
    with Real() as q:
        q.handlers((WAIT, "h", "t"), more=PATIENT)
        q.start()
        q.submit(6)
        until("6 run", lambda: len(q.lines("began")) == 6)
        pids = q.pids()
        q.proc.kill()
        q.proc.wait()
        time.sleep(1)
        q.go()
        # They commit what runs, and end, the store last.
        until("all gone", lambda: not any(map(alive, pids)))
        eq(len(q.lines("done")), 6)
        q.start()
        eq(len(q.tasks("completed")), 6)
        eq({x[2] for x in q.lines("done")}, {"1"})
        eq(q.stop(), 0)


WAITS = r"waiting for the qo-store of an earlier qod \(pid %d\) to end"


def kill_master(q):
    """Another begins at once: the pids of the old store and all others."""
    store, old = q.pids("store")[0], q.pids()
    # Long before it could say that it is alone.
    os.kill(store, signal.SIGSTOP)
    try:
        q.proc.kill()
        q.proc.wait()
        q.finish_process()
        q.start(wait=False)
        q.wait_log(WAITS % store)
    finally:
        os.kill(store, signal.SIGCONT)
    return store, old


@case("start_while_the_store_of_a_killed_qod_ends")
def _():
    with Real() as q:
        q.handlers((WAIT, "h", "t"), more=PATIENT)
        q.start()
        n = len(q.poll_states())
        q.submit(6)
        until("6 run", lambda: len(q.lines("began")) == 6)
        store, old = kill_master(q)
        until("told", lambda: any("EXTEND_TIMEOUT_USEC=" in s
                                  for s in q.poll_states()))
        # It is the one qod by now, and what it is told is not forgotten.
        rc, out = q.run()
        eq(rc, 78)
        assert "another qod runs" in out, out
        q.send(signal.SIGHUP)
        assert alive(store)
        eq(len(q.poll_states()[n:]), 1)
        q.go()
        q.wait_state("READY=1", since=n)
        # The data is free a moment before the process is gone.
        until("all gone", lambda: not any(map(alive, old)))
        q.wait_log("reloaded generation=2")
        eq(len(q.tasks("completed")), 6)
        q.submit(6)
        until("completed", lambda: len(q.tasks("completed")) == 12)
        eq(len(q.lines("done")), 12)
        eq({x[2] for x in q.lines("done")}, {"1"})
        eq(q.stop(), 0)


@case("stop_while_the_store_of_a_killed_qod_ends")
def _():
    with Real() as q:
        q.handlers((WAIT, "h", "t"), more=PATIENT)
        q.start()
        q.submit(6)
        until("6 run", lambda: len(q.lines("began")) == 6)
        store, old = kill_master(q)
        eq(q.stop(), 0)
        assert alive(store)
        assert not os.path.exists(q.path("pid"))
        q.go()
        until("all gone", lambda: not any(map(alive, old)))
        eq(len(q.lines("done")), 6)


@case("upgrade_under_load")
def _():
    with Real(workers=2) as q:
        shutil.copy2(os.path.join(BIN, "qod"), q.path("qod"))
        plain = q.command
        q.command = lambda *a: [q.path("qod")] + plain(*a)[1:]
        q.handlers((QUICK, "h", "t"),
                   more="[qod]\nlibexec = %s\n" % BIN + FAST)
        q.start()
        pid, ids = q.proc.pid, []
        for i in range(3):
            before = set(q.pids())
            ids += q.submit(100)
            n = len(q.poll_states())
            q.send(signal.SIGUSR2)
            while not any("READY=1" in s for s in q.poll_states()[n:]):
                eq(q.proc.poll(), None)
                ids += q.submit(10)
            until("all new", lambda: len(q.pids()) == 4 and
                  not before & set(q.pids()))
        eq(q.proc.pid, pid)
        until("all done", lambda: len(q.lines("done")) >= len(ids))
        until("completed", lambda: len(q.tasks("completed")) == len(ids))
        # Each was done once: none lost, none twice.  One that was claimed and
        # not begun when its worker was told to drain was given back, which
        # is no retry.
        done = [x[1] for x in q.lines("done")]
        eq(len(done), len(set(done)))
        eq(set(done), set(ids))
        eq({t["retry_count"] for t in q.tasks("completed")}, {0})
        eq(len(re.findall("upgrade: this is qod", q.log_text())), 3)
        eq(q.stop(), 0)


@case("metrics_by_type")
def _():
    with Real(workers=2) as q:
        more = FAST + "unknown_type = fail\n[monitor]\nlisten = %s\n" % (
            q.url.replace(":9710", ":9711"))
        q.handlers((QUICK, "one", "mail.send"), (QUICK, "any", "mail.*"),
                   (WAIT, "slow", "slow"), more=more)
        q.start()
        q.submit(3, "mail.send")
        for kind in ("mail.a", "mail.b", "nobody-1", "nobody-2"):
            q.submit(1, kind)
        until("sent", lambda: q.ended("one", "mail.send", "completed") == 3)
        until("any", lambda: q.ended("any", "mail.*", "completed") == 2)
        # What anybody may submit is no label.
        until("unserved", lambda: q.ended("*", "*", "failed") == 2)
        assert not [k for k in q.metrics() if "nobody" in k or "mail.a" in k]
        # A worker that dies takes no count along, and the monitor knows
        # whose task it gives back.
        q.submit(1, "slow")
        until("it runs", lambda: len(q.tasks("running")) == 1)
        for pid in q.pids("worker"):
            os.kill(pid, signal.SIGKILL)
        until("back", lambda: q.ended("slow", "slow", "retried") == 1)
        eq(q.ended("one", "mail.send", "completed"), 3)
        q.go()
        until("done", lambda: q.ended("slow", "slow", "completed") == 1)
        # A reload changes what a handler serves, another one goes.
        q.handlers((QUICK, "any", "mail.s*"), more=more)
        reload(q)
        until("old ones gone", lambda: len(q.pids("worker")) == 2)
        q.submit(1, "mail.send")
        until("new", lambda: q.ended("any", "mail.s*", "completed") == 1)
        eq(q.ended("any", "mail.*", "completed"), 2)
        eq(q.ended("one", "mail.send", "completed"), 3)
        n = len(q.poll_states())
        q.send(signal.SIGUSR2)
        q.wait_state("READY=1", since=n)
        q.submit(1, "mail.send")
        until("newer", lambda: q.ended("any", "mail.s*", "completed") == 2)
        eq(q.ended("slow", "slow", "completed"), 1)
        eq(q.stop(), 0)


@case("metrics_of_a_task_that_no_attempt_had")
def _():
    with Real(workers=1) as q:
        q.handlers((WAIT, "h", "t"), more="[worker]\nslots = 1\n"
                   "[monitor]\ncheck_interval = 1h\nlisten = %s\n" %
                   q.url.replace(":9710", ":9711"))
        q.start()
        q.submit(1)
        until("it runs", lambda: len(q.tasks("running")) == 1)
        # It is found by the worker alone, and too late: server time is
        # known to a second.
        q.qo("submit", "-t", "t", "--expires", "1s")
        time.sleep(3)
        q.go()
        until("it is counted", lambda: q.ended("h", "t", "expired") == 1)
        eq(len(q.tasks("expired")), 1)
        eq(q.stop(), 0)


@case("many_hups_under_load")
def _():
    with Real(workers=2) as q:
        q.handlers((QUICK, "h", "t"))
        q.start()
        ids = []
        for i in range(20):
            for _ in range(10):
                q.send(signal.SIGHUP)
            ids += q.submit(10)
        until("completed", lambda: len(q.tasks("completed")) == len(ids))
        done = [x[1] for x in q.lines("done")]
        eq((len(done), set(done)), (len(ids), set(ids)))
        eq(q.stop(), 0)


finish()
