"""Two real monitors and schedules: every time that is due becomes exactly one
task, soon, and whatever happens to a monitor.  What is expected is counted
here; ids are derived here, from what the layout says."""

import datetime
import hashlib
import json
import os
import time

from qo_lib import Program, put_file, remote_store, run, until
from store_lib import Store, case, directory, eq, finish

store = Store()
s3 = store.client()
tmp = directory("qo-schedules.")
CONF = put_file(os.path.join(tmp, "qod.conf"), remote_store(store) +
                "[monitor]\ncheck_interval = 1s\nlisten = off\n")
SELDOM = put_file(os.path.join(tmp, "seldom.conf"), remote_store(store) +
                  "[monitor]\ncheck_interval = 1h\nlisten = off\n")
monitors = []


def start(conf=CONF):
    monitors.append(Program("qo-monitor", "-f", conf, log=os.path.join(
        tmp, "log.%d" % len(monitors))))


def logs():
    return "".join(m.text() for m in monitors)


def qo(*args):
    return run("qo", "-c", CONF, *args).out


def record(name):
    return json.loads(qo("schedule", "show", name, "--json"))


def text(t):
    t = datetime.datetime.fromtimestamp(t, datetime.timezone.utc)
    return t.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def derived(name, due):
    """A UUID of version 8 from prefix, kind and text."""
    h = hashlib.sha256(b"\0sched\0" + ("%s:%s" % (name, due)).encode())
    b = bytearray(h.digest()[:16])
    b[6] = b[6] & 0x0f | 0x80
    b[8] = b[8] & 0x3f | 0x80
    h = b.hex()
    return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))


def runs(name):
    """{due time: task} of all tasks of this schedule in the bucket."""
    out = {}
    tasks = json.loads(qo("list", "--json", "--limit", "5000"))
    for t in tasks:
        if t.get("submitted_by") != "schedule:" + name:
            continue
        due = t["available_at"]
        eq(t["id"], derived(name, due), "id of the run at " + due)
        eq(due in out, False, "twice: " + due)
        out[due] = t
    return out


def settled(name):
    r = record(name)
    return "firing" not in r and r["last_due"] is not None


qo("init")


@case("schedules of two monitors")
def _():
    qo("schedule", "add", "tick", "--cron", "@every 2s", "--type", "t",
       "--catch-up", "all")
    first = record("tick")["next_due"]
    start()
    start()
    until("six runs", lambda: len(runs("tick")) >= 6)
    # One dies, another takes its place: nothing is lost, nothing twice.
    monitors[0].kill()
    n = len(runs("tick"))
    until("three more", lambda: len(runs("tick")) >= n + 3)
    monitors[1].kill()
    time.sleep(3)
    start()
    start()
    n = len(runs("tick"))
    until("four more", lambda: len(runs("tick")) >= n + 4)
    qo("schedule", "pause", "tick")
    until("the last to end", lambda: settled("tick"))
    t0 = datetime.datetime.fromisoformat(first.replace("Z", "+00:00"))
    last = datetime.datetime.fromisoformat(
        record("tick")["last_due"].replace("Z", "+00:00"))
    want = [text(t) for t in range(int(t0.timestamp()),
                                   int(last.timestamp()) + 1, 2)]
    eq(sorted(runs("tick")), want)
    eq(len(want) >= 12, True, "%d runs" % len(want))


@case("schedules do not fire early")
def _():
    # A monitor whose first answers took long has a vague idea of the time.
    early = [due for due, t in runs("tick").items() if t["created_at"] < due]
    eq(len(early) < len(runs("tick")) / 2, True, "early: %s" % early)


@case("schedules: a minute, a zone, a broken one beside it")
def _():
    s3.put("/queue/schedules/broken.json", b'{"id":"broken"}')
    s3.put("/queue/schedules/hand.json",
           b'{"id":"hand","cron":"* * * * *","timezone":"Asia/Kolkata",'
           b'"task_type":"t","mine":1}')
    until("its next time", lambda: record("hand")["next_due"] is not None)
    until("its run", lambda: len(runs("hand")) >= 1)
    r = record("hand")
    eq(r["mine"], 1, "kept")
    eq(list(runs("hand"))[0].endswith(":00.000000Z"), True)
    qo("schedule", "delete", "hand")

    def told():
        return [x for x in logs().splitlines() if "broken" in x]
    until("both to tell", lambda: len(told()) >= 2)
    said = told()
    eq(len(said), 2, "each monitor says so once: %s" % said)
    eq("cron: is missing" in said[0], True)


@case("schedules: overlap skip, deleted, once")
def _():
    qo("schedule", "add", "skip", "--cron", "@every 1s", "--type", "t",
       "--overlap", "skip")
    until("a skip", lambda: record("skip")["last_decision"] == "skipped")
    eq(len(runs("skip")), 1)
    qo("schedule", "delete", "skip")
    for m in monitors[2:]:
        m.stop()
    qo("schedule", "add", "once", "--cron", "@every 1s", "--type", "t",
       "--catch-up", "last")
    time.sleep(1.1)
    run("qo-monitor", "-f", CONF, "--once")
    eq(len(runs("once")) >= 1, True)
    eq(settled("once"), True)


@case("schedules fire when they are due")
def _():
    # Not when the monitor looks again, which is in an hour.
    qo("schedule", "delete", "once")
    qo("schedule", "add", "soon", "--cron", "@every 2s", "--type", "t")
    start(SELDOM)
    until("five runs", lambda: len(runs("soon")) >= 5)
    monitors[-1].stop()


finish()
