"""A worker that dies before, during or after each of its requests leaves the
task with an index entry, and another worker ends it."""

import datetime
import json
import os
import signal
import time

from qo_lib import (BUILD, Program, clean_env, listed, local_store,
                    put_file, read_task, run, until)
from store_lib import Store, case, eq, finish

FAULTY = os.path.abspath(os.path.join(BUILD, "tests", "faulty", "qo-worker"))
POINTS = 150  # more than one task ever passes

store = Store()
client = store.client()
top = os.path.dirname(store.data)
conf = put_file(os.path.join(top, "qod.conf"), local_store(store) +
                "[worker]\nlease = 5m\n"
                "[handler job]\ntype = job\n"
                "command = /bin/sh -c \"echo log >&2; cat\"\n")
# The directory is for what killed workers leave behind.
ENV = clean_env(QO_CONFIG=conf, TMPDIR=top)


def qo(*args):
    return run("qo", *args, env=ENV).out.strip()


def task(id_):
    return read_task(client, id_)


def entries(id_):
    return [k for k in listed(client, "qo-index") if id_ in k]


def minute(t):
    return "%010d" % (datetime.datetime.strptime(
        t, "%Y-%m-%dT%H:%M:%S.%fZ").replace(
            tzinfo=datetime.timezone.utc).timestamp() // 60)


def settled(id_):
    """The task and its entries at one moment: what a worker sent before it
    was killed may come only now."""
    while True:
        t, keys = task(id_), entries(id_)
        if task(id_)["rev"] == t["rev"]:
            return t, keys


def check_entry(id_):
    """R1: an unfinished task has the entry that its state needs."""
    t, keys = settled(id_)
    if t["status"] == "pending":
        want = ("ready/", minute(t["available_at"]))
    elif t["status"] == "running":
        want = ("leases/", minute(t["lease_expires_at"]))
    else:
        return
    found = [k for k in keys
             if k.startswith(want[0]) and k.split("/")[2] == want[1]]
    assert found, "%s is %s and has only %s" % (id_, t["status"], keys)


def reclaim(t):
    """What the monitor does with the tasks of a process that has died."""
    now = time.time() - 1
    t.update(status="pending", generation=t["generation"] + 1, lease_id=None,
             worker_id=None, lease_expires_at=None, rev=t["rev"] + 1,
             retry_count=t["retry_count"] + 1, updated_by="reclaim%f" % now,
             available_at=datetime.datetime.utcfromtimestamp(
                 now).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    client.put("/qo-index/ready/%s/%010d/%s.%d.0badcafe" % (
        t["id"][0], now // 60, t["id"], t["generation"]))
    eq(client.put("/qo/tasks/%s/%s.json" % (t["id"][0], t["id"]),
                  json.dumps(t)).status, 200)


def start(program, *args, **env):
    return Program(program, "-f", conf, *args, env=dict(ENV, **env),
                   log=os.devnull)


def completed(id_, w, dead=None):
    """Once the task is completed or the worker is dead: is it completed?  What
    the dead one holds, also by a claim that comes only now, is taken away."""
    def over():
        t = task(id_)
        if t["status"] == "running" and t["worker_id"] == dead:
            reclaim(t)
        return w.proc.poll() is not None or t["status"] == "completed"
    until("the end of " + id_, over)
    return task(id_)["status"] == "completed"


def crash_at(n):
    """False when a whole life has fewer points than that."""
    id_ = qo("submit", "--type", "job", "--input", "%d" % n)
    w = start(FAULTY, "--id", "faulty", QO_KILL_AT=str(n))
    if completed(id_, w) and w.proc.poll() is None:
        w.signal(signal.SIGTERM)
    code = w.ended()
    check_entry(id_)
    if task(id_)["status"] != "completed":
        with start("qo-worker") as w:
            assert completed(id_, w, "faulty"), \
                "another worker did not end %s" % id_
    t = task(id_)
    eq(t["output"], n)
    assert t["attempt"] <= 2, t["attempt"]
    assert code in (0, -signal.SIGKILL), code
    return code != 0


qo("init")


@case("killed_at_every_point")
def _():
    died = 0
    for n in range(1, POINTS):
        if not crash_at(n):
            break
        died += 1
    # Attach, heartbeat, bell, list, claim, log, commit, the end: three each.
    assert died >= 30, "only %d points were passed" % died
    assert died < POINTS - 1, "it never got through"


finish()
