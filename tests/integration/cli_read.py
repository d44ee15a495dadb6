"""The commands of qo that look at tasks, on a real store: what they print,
how they end, and that nothing in the bucket can stop or fool them.  Tasks are
written by hand, as the layout says."""

import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid

from qo_lib import BIN, PATIENCE, put_file, remote_store, run, until
from store_lib import Skip, Store, case, directory, eq, finish

QO = os.path.join(BIN, "qo")
SHARED = os.environ.get("QO_SHARED", "../shared")
store = Store()
s3 = store.client()
tmp = directory("qo-cli-read.")


def config(name, bucket, index, extra=""):
    return put_file(os.path.join(tmp, name),
                    remote_store(store, bucket, index) + extra)


CONF = config("qod.conf", "queue", "queue-index")


def qo(*args, conf=None, **kw):
    return run("qo", "-c", conf or CONF, *args, **kw)


def stamp(delta=0.0):
    t = datetime.datetime.utcfromtimestamp(time.time() + delta)
    return t.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def minute(delta=0.0):
    return "%010d" % int((time.time() + delta) // 60)


def new_id():
    return str(uuid.uuid4())


def task(**kw):
    tid = kw.pop("id", None) or new_id()
    t = {"id": tid, "shard": tid[0], "task_type": "t", "status": "pending",
         "input": None, "output": None, "timeout_seconds": 300,
         "max_retries": 3, "retry_count": 0, "available_at": stamp(-1),
         "lease_expires_at": None, "lease_id": None, "worker_id": None,
         "attempt": 0, "generation": 1, "rev": 1, "updated_by": new_id(),
         "created_at": stamp(-1), "updated_at": stamp(-1),
         "completed_at": None, "last_error": None, "errors": [],
         "cancel_requested": False, "reschedule_count": 0, "format": 1}
    t.update(kw)
    return t


def put(bucket, key, body):
    a = s3("PUT", "/%s/%s" % (bucket, key), body=body)
    eq(a.status, 200, key)
    return a


def key_of(tid):
    return "tasks/%s/%s.json" % (tid[0], tid)


INDEX = {"pending": "ready", "running": "leases", "failed": "failed"}


def write(t, text=None, entry=True, bucket="queue", index="queue-index"):
    """The index entry, then the task; returns its id."""
    if entry and t["status"] in INDEX:
        name = INDEX[t["status"]]
        if name == "ready":
            name = {"high": "ready-high", "low": "ready_low"}.get(
                t.get("priority"), name)
        at = {"pending": t["available_at"], "running": t["lease_expires_at"],
              "failed": t["completed_at"]}[t["status"]]
        when = datetime.datetime.strptime(at, "%Y-%m-%dT%H:%M:%S.%fZ")
        when = when.replace(tzinfo=datetime.timezone.utc).timestamp()
        put(index, "%s/%s/%010d/%s.%d.%s" % (
            name, t["shard"], int(when // 60), t["id"], t["generation"],
            os.urandom(4).hex()), b"")
    put(bucket, key_of(t["id"]), text or json.dumps(t, separators=(",", ":")))
    return t["id"]


def running(**kw):
    d = dict(status="running", attempt=1, worker_id="w1", lease_id=new_id(),
             lease_expires_at=stamp(3500), rev=2, updated_at=stamp())
    d.update(kw)
    return task(**d)


def failed(**kw):
    d = dict(status="failed", attempt=2, completed_at=stamp(), rev=4,
             last_error="it broke", updated_at=stamp())
    d.update(kw)
    return task(**d)


def ids(out):
    return re.findall(r"^([0-9a-f]{8}-[0-9a-f-]{27})", out, re.M)


qo("init")

# status, why


@case("status-pending")
def _():
    tid = write(task(available_at=stamp(3590), retry_count=1, attempt=1,
                     last_error="no \x1b[31mroute"))
    out = qo("status", tid).out
    assert re.search(r"^status +pending, due in 5\dm", out, re.M), out
    assert re.search(r"^attempts +1, 1 of 3 retries used", out, re.M), out
    assert "\x1b" not in out and "route" in out
    why = qo("why", tid).out
    eq(len(why.splitlines()), 1)
    assert re.search(r"not due until 20.*\(in 5\dm", why), why
    assert "retry 1 of 3 after: no" in why, why


@case("status-running")
def _():
    tid = write(running(progress={"pct": 12.50},
                        lease_expires_at=stamp(3590)))
    out = qo("status", tid).out
    assert re.search(r"^status +running, lease ends in 5\dm", out, re.M)
    assert re.search(r"^worker +w1$", out, re.M), out
    assert re.search(r"^progress +\{\"pct\":12.5\}", out, re.M), out
    assert re.search(r"running on w1, attempt 1, .* lease until 20.*\(in "
                     r"5\dm", qo("why", tid).out)
    tid = write(running(lease_expires_at=stamp(-30)))
    assert "lease ran out at" in qo("why", tid).out
    tid = write(running(cancel_requested=True, cancelled_by="me",
                        cancel_reason="too slow"))
    assert qo("why", tid).out.startswith(
        "cancel requested by me (too slow), still running on w1")


@case("why-ended-and-paused")
def _():
    tid = write(failed())
    why = qo("why", tid).out
    assert why.startswith("failed after 2 attempts because: it broke"), why
    tid = write(task(status="completed", completed_at=stamp()))
    assert qo("why", tid).out.startswith("completed")
    tid = write(task(status="archived", archived_from="expired"))
    assert "was expired" in qo("why", tid).out
    tid = write(task())
    assert "waits for a worker that takes type t" in qo("why", tid).out
    qo("pause")
    assert "the queue is paused" in qo("why", tid).out
    qo("resume")
    qo("pause", "--type", "t")
    assert "type t are paused" in qo("why", tid).out
    qo("resume", "--type", "t")


@case("status-json-is-the-record")
def _():
    t = task(input={"a": "\u0085\x7f\x1b"}, status="completed")
    text = json.dumps(t).replace('"input": {', '"input": {"n": 1e400, ')
    tid = write(t, text)
    p = qo("status", "--json", tid)
    got = json.loads(p.out)
    eq(got["input"]["a"], "\u0085\x7f\x1b")
    assert "1e400" in p.out


@case("bad-arguments")
def _():
    tid = new_id()
    for args, word in (
            (["status", "nonsense"], "UUID"),
            (["status", tid.upper()], "UUID"),
            (["status", "../../control/queue"], "UUID"),
            (["why", ""], "UUID"),
            (["history", tid[:-1]], "UUID"),
            (["logs", "x"], "UUID"),
            (["wait", tid, "x"], "UUID"),
            (["status"], "ID"),
            (["wait", tid, "--timeout", "-1s"], "--timeout"),
            (["wait", tid, "--timeout", "soon"], "--timeout"),
            (["logs", tid, "--attempt", "0"], "--attempt"),
            (["list", "--status", "done"], "completed"),
            (["list", "--limit", "0"], "--limit"),
            (["list", "--limit", "ten"], "--limit"),
            (["list", "--limit", "99999999999999999999"], "--limit"),
            (["list", "--shard", "g"], "--shard"),
            (["list", "--shard", "00"], "--shard"),
            (["list", "--tag", "novalue"], "--tag"),
            (["list", "--type", "no spaces"], "--type"),
            (["list", "--json", "--jsonl"], "--json"),
            (["tail", "--type", "no spaces"], "--type")):
        p = qo(*args, code=2)
        eq(p.out, "", args)
        eq(len(p.err.splitlines()), 1, args)
        assert word in p.err, (args, p.err)


@case("not-found")
def _():
    tid = new_id()
    for cmd in ("status", "why", "history", "logs", "wait"):
        p = qo(cmd, tid, code=3)
        assert tid in p.err, p.err
        eq(p.out, "")
    tid = write(task())
    qo("logs", tid, code=3)


# wait


@case("wait")
def _():
    done = write(task(status="completed", completed_at=stamp()))
    eq(qo("wait", done).out, done + " completed\n")
    bad = write(failed(), entry=False)
    eq(qo("wait", done, bad, code=1).out.count("\n"), 2)
    for status in ("cancelled", "expired"):
        qo("wait", write(task(status=status)), code=1)
    qo("wait", write(task(status="archived", archived_from="completed")))
    pending = write(task())
    # Each is looked at once, however short the time.
    eq(qo("wait", done, "--timeout", "0s").out, done + " completed\n")
    for time_ in ("0s", "300ms"):
        p = qo("wait", done, pending, "--timeout", time_, code=6)
        eq(p.out, done + " completed\n")
        assert "1 of 2" in p.err, p.err


@case("wait-until-it-ends")
def _():
    ts = [task() for _ in range(20)]
    for t in ts:
        write(t)
    p = subprocess.Popen([QO, "-c", CONF, "wait"] +
                         [t["id"] for t in ts], stdout=subprocess.PIPE)
    for t in ts:
        t.update(status="completed", rev=2)
        write(t)
    out = p.communicate(timeout=PATIENCE)[0].decode()
    eq(p.returncode, 0)
    eq(sorted(ids(out)), sorted(t["id"] for t in ts))


# list, stats, with all that a bucket may hold


def fresh(name, versioned=True):
    """A queue of its own: (conf, bucket, index bucket)."""
    conf = config(name + ".conf", name, name + "-index",
                  "" if versioned else "versioning = off\n")
    qo("init", conf=conf)
    return conf, name, name + "-index"


@case("list-corrupt")
def _():
    conf, b, x = fresh("corrupt")
    good = write(task(), bucket=b, index=x)
    bad = {}
    for text in ("not json", "", "[]", '{"id":4}', "{\"id\":",
                 json.dumps(task()), json.dumps(task(format=7)),
                 "\xff\xfe"):
        t = task()
        if '"format": 7' in text:
            text = text.replace(json.loads(text)["id"], t["id"]).replace(
                '"shard": "%s"' % json.loads(text)["shard"],
                '"shard": "%s"' % t["shard"])
        write(t, text or " ", bucket=b, index=x)
        bad[key_of(t["id"])] = text
    put(x, "ready/0/nonsense", b"")
    put(b, "tasks/0/nonsense", b"{}")
    p = qo("list", conf=conf)
    eq(ids(p.out), [good])
    for key, text in bad.items():
        assert key in p.err, (key, text, p.err)
    assert "ready/0/nonsense" in p.err
    eq(len(p.err.splitlines()), len(bad) + 1)
    eq([t["id"] for t in json.loads(qo("list", "--json", conf=conf).out)],
       [good])
    p = qo("list", "--status", "completed", conf=conf)
    eq(ids(p.out), [])
    assert "tasks/0/nonsense" in p.err
    tid = list(bad)[0][8:44]
    p = qo("status", tid, conf=conf, code=1)
    assert key_of(tid) in p.err
    qo("wait", tid, conf=conf, code=1)


@case("list-filters")
def _():
    conf, b, x = fresh("filters")
    w = {}
    for i, t in enumerate((
            task(task_type="mail.send", tags={"team": "a", "n": "1"}),
            task(task_type="mail.send", tags={"team": "b"}),
            task(task_type="pdf", priority="high"),
            running(task_type="pdf"), failed(), failed(task_type="pdf"),
            task(status="completed"), task(status="cancelled"),
            task(status="expired"),
            task(status="archived", archived_from="completed"))):
        w[i] = write(t, bucket=b, index=x)
        time.sleep(0.005)
    # A stale entry of a task that has ended.
    put(x, "ready/%s/%s/%s" % (w[6][0], minute(), w[6]), b"")

    def listed(*args):
        return ids(qo("list", *args, conf=conf).out)

    eq(listed(), [w[i] for i in (5, 4, 3, 2, 1, 0)])
    eq(listed("--limit", "2"), [w[5], w[4]])
    eq(listed("--status", "pending"), [w[i] for i in (2, 1, 0)])
    eq(listed("--status", "running"), [w[3]])
    eq(listed("--status", "failed"), [w[5], w[4]])
    eq(listed("--status", "failed", "--type", "pdf"), [w[5]])
    eq(listed("--type", "mail.send"), [w[1], w[0]])
    eq(listed("--tag", "team=a"), [w[0]])
    eq(listed("--tag", "team=a", "--tag", "n=2"), [])
    for i, status in ((6, "completed"), (7, "cancelled"), (8, "expired"),
                      (9, "archived")):
        p = qo("list", "--status", status, conf=conf)
        eq(ids(p.out), [w[i]])
        assert "listed 10 objects, read 10" in p.err, p.err
    got = []
    for h in "0123456789abcdef":
        found = listed("--shard", h)
        assert all(i[0] == h for i in found), found
        got += found
    eq(sorted(got), sorted(w[i] for i in range(6)))
    lines = qo("list", "--jsonl", conf=conf).out.splitlines()
    eq([json.loads(t)["id"] for t in lines],
       [w[i] for i in (5, 4, 3, 2, 1, 0)])
    st = json.loads(qo("stats", "--json", conf=conf).out)
    eq((st["ready"], st["delayed"], st["running"], st["failed"]),
       (4, 0, 1, 2))
    eq(st["priorities"]["high"]["ready"], 1)
    assert 0 <= st["oldest_ready_seconds"] < 600, st


@case("list-many")
def _():
    conf, b, x = fresh("many")
    ts = [task(status="completed" if i % 5 == 0 else "pending",
               available_at=stamp(7200 if i % 5 == 1 else -1))
          for i in range(2500)]
    for t in ts:
        write(t, bucket=b, index=x)
    p = qo("list", conf=conf)
    eq(len(ids(p.out)), 100)
    assert "--limit" in p.err, p.err
    got = json.loads(qo("list", "--json", "--limit", "5000", conf=conf).out)
    eq(len(got), 2000)
    eq({t["id"] for t in got},
       {t["id"] for t in ts if t["status"] == "pending"})
    p = qo("list", "--status", "completed", "--limit", "5000", conf=conf)
    eq(len(ids(p.out)), 500)
    assert "listed 2500 objects, read 2500" in p.err, p.err
    p = qo("list", "--status", "completed", "--limit", "3", conf=conf)
    eq(len(ids(p.out)), 3)
    assert int(re.search(r"read (\d+)", p.err).group(1)) < 100, p.err
    st = json.loads(qo("stats", "--json", conf=conf).out)
    eq((st["ready"], st["delayed"]), (1500, 500))
    out = qo("stats", conf=conf).out
    assert re.search(r"^ready +1500 ", out, re.M), out


@case("hostile-data")
def _():
    path = os.path.join(SHARED, "strings", "blns.json")
    if not os.path.exists(path):
        raise Skip("%s can not be read" % path)
    with open(path) as f:
        strings = json.load(f)
    conf, b, x = fresh("hostile")
    want = {}
    for s in strings:
        t = task(input={"s": s, s: [s]}, tags={"t": s}, last_error="e" + s,
                 output=s)
        s = t["last_error"].replace("\0", "")
        t["last_error"] = s
        want[write(t, bucket=b, index=x)] = t
    got = json.loads(qo("list", "--json", "--limit", "9999", conf=conf).out)
    eq({t["id"]: t for t in got} == want, True)
    lines = qo("list", "--jsonl", "--limit", "9999", conf=conf).out
    eq(len([json.loads(t) for t in lines.split("\n")[:-1]]), len(want))
    table = qo("list", "--limit", "9999", conf=conf).out
    eq(len(ids(table)), len(want))
    for tid in list(want)[:40]:
        out = qo("status", tid, conf=conf).out
        bad = [c for c in out if ord(c) < 32 and c != "\n" or ord(c) == 127]
        eq(bad, [])
        eq(json.loads(qo("status", "--json", tid, conf=conf).out), want[tid])
        eq(len(qo("why", tid, conf=conf).out.splitlines()), 1)


@case("pretty-printed-by-hand")
def _():
    conf, b, x = fresh("pretty")
    t = task(input={"a": [1, 2]})
    write(t, json.dumps(t, indent=4), bucket=b, index=x)
    lines = qo("list", "--jsonl", conf=conf).out.splitlines()
    eq([json.loads(s) for s in lines], [t])
    eq(json.loads(qo("list", "--json", conf=conf).out), [t])


# history


def life(conf, b, x):
    """Versions from submitted to failed, with three renewals."""
    t = task()
    write(t, bucket=b, index=x)
    t.update(status="running", attempt=1, worker_id="w1", lease_id="l1",
             lease_expires_at=stamp(60), rev=2)
    write(t, bucket=b, index=x)
    for _ in range(3):
        t.update(lease_expires_at=stamp(90), rev=t["rev"] + 1,
                 updated_at=stamp())
        write(t, entry=False, bucket=b, index=x)
    t.update(status="pending", retry_count=1, generation=2, lease_id=None,
             worker_id=None, lease_expires_at=None, rev=6,
             last_error="no route", available_at=stamp(30))
    write(t, bucket=b, index=x)
    t.update(status="running", attempt=2, worker_id="w2", lease_id="l2",
             lease_expires_at=stamp(60), rev=7)
    write(t, bucket=b, index=x)
    t.update(status="failed", rev=8, completed_at=stamp(), mine=[1])
    write(t, bucket=b, index=x)
    return t


@case("history")
def _():
    conf, b, x = fresh("versions")
    t = life(conf, b, x)
    out = qo("history", t["id"], conf=conf).out
    lines = out.splitlines()
    eq([re.split("  +", s)[1] for s in lines],
       ["submitted", "claimed", "renewed 3 times", "to be retried",
        "claimed", "failed"])
    assert "w1" in lines[1] and "attempt 1" in lines[1]
    assert "no route" in lines[3] and "w2" in lines[4]
    eq(len(qo("history", "--all", t["id"], conf=conf).out.splitlines()), 8)
    out = qo("history", "--diff", t["id"], conf=conf).out
    assert '    status: "pending" -> "running"' in out, out
    assert "    mine: (none) -> [1]" in out, out
    assert "updated_by" not in out
    got = json.loads(qo("history", "--json", "--all", "--diff", t["id"],
                        conf=conf).out)
    eq([v["task"]["rev"] for v in got], list(range(1, 9)))
    eq(got[-1]["task"], t)
    assert {"member": "status", "old": "running", "new": "failed"} in \
        got[-1]["changes"]
    # A neighbour whose key begins with ours, garbage, and a delete.
    put(b, key_of(t["id"]) + "x", b"{}")
    put(b, key_of(t["id"]), b"garbage")
    s3("DELETE", "/%s/%s" % (b, key_of(t["id"])))
    p = qo("history", t["id"], conf=conf)
    assert key_of(t["id"]) in p.err, p.err
    assert "deleted" in p.out.splitlines()[-1], p.out
    eq(len(p.out.splitlines()), 7)


@case("history-unversioned")
def _():
    conf, b, x = fresh("plain", versioned=False)
    t = life(conf, b, x)
    p = qo("history", t["id"], conf=conf)
    eq(len(p.out.splitlines()), 1)
    assert "keeps no versions" in p.err, p.err


# logs, workers, tail


@case("logs")
def _():
    t = running(attempt=2)
    write(t)
    for n in (1, 2):
        put("queue-index", "logs/%s/%s/%d.log" % (t["shard"], t["id"], n),
            b"line of %d\n\xff\x00\x1b[31m" % n)
    eq(qo("logs", t["id"], errors="replace").stdout, b"line of 2\n\xff\x00\x1b[31m")
    eq(qo("logs", t["id"], "--attempt", "1", errors="replace").stdout[:9],
       b"line of 1")
    qo("logs", t["id"], "--attempt", "3", code=3)


@case("workers")
def _():
    eq(qo("workers").out, "")
    eq(json.loads(qo("workers", "--json").out), [])
    for name, age in (("w-a", 1), ("w-b", 100), ("w-c", 4000)):
        put("queue-index", "workers/%s.json" % name, json.dumps({
            "worker_id": name, "host": "h", "pid": 1, "version": "1",
            "started_at": stamp(-5000), "last_heartbeat": stamp(-age),
            "shards": ["0"], "current_task": None, "current_tasks": ["x"],
            "slots": 16, "tasks_completed": 1, "tasks_failed": 0}))
    put("queue-index", "workers/bad.json", b"{}")
    put("queue-index", "workers/odd", b"{}")
    p = qo("workers")
    eq([s.split()[:3] for s in p.out.splitlines()[1:]],
       [["w-a", "alive", "1/16"], ["w-b", "stale", "1/16"],
        ["w-c", "dead", "1/16"]])
    assert "workers/bad.json" in p.err and "workers/odd" in p.err
    eq([w["worker_id"] for w in json.loads(qo("workers", "--json").out)],
       ["w-a", "w-b", "w-c"])


def delete_entries(x, tid):
    a = s3("GET", "/" + x, "list-type=2")
    for key in a.all("Key"):
        if tid in key:
            s3("DELETE", "/%s/%s" % (x, key))


@case("tail")
def _():
    conf, b, x = fresh("tail")
    old = write(task(), bucket=b, index=x)
    out = os.path.join(tmp, "tail.out")
    with open(out, "w") as f:
        p = subprocess.Popen([QO, "-c", conf, "tail", "--type", "t"],
                             stdout=f, stderr=subprocess.PIPE)

    def seen(tid, n, last):
        def told():
            with open(out) as f:
                whole = f.read().split("\n")[:-1]
            return [s for s in whole if tid in s]
        until("line %d, %s" % (n, last), lambda: len(told()) >= n)
        eq([s.split()[1] for s in told()][n - 1:], [last])

    try:
        # Its first look is over when it sees one of these.
        def shown():
            write(task(), bucket=b, index=x)
            time.sleep(0.2)
            return os.path.getsize(out) > 0
        until("a first line", shown)
        t = task()
        write(t, bucket=b, index=x)
        seen(t["id"], 1, "pending")
        write(task(task_type="other"), bucket=b, index=x)
        # The entry comes before the task, and the ready entry stays a while.
        t.update(status="running", attempt=1, worker_id="w1", lease_id="l1",
                 lease_expires_at=stamp(60), rev=2)
        put(x, "leases/%s/%s/%s.1.00000000" % (
            t["shard"], minute(60), t["id"]), b"")
        time.sleep(6)   # it may take a minute
        write(t, entry=False, bucket=b, index=x)
        seen(t["id"], 2, "running")
        t.update(status="completed", completed_at=stamp(), rev=3)
        write(t, bucket=b, index=x)
        delete_entries(x, t["id"])
        seen(t["id"], 3, "completed")
        with open(out) as f:
            text = f.read()
        assert old not in text and "other" not in text
    finally:
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=PATIENCE)[1].decode()
    eq(err, "")
    eq(p.returncode, 0)


# What it costs


@case("status-takes-two-requests")
def _():
    tid = write(task())
    p = subprocess.run(["strace", "-f", "-e", "trace=sendto,send", QO, "-c",
                        CONF, "status", tid], stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE) if shutil.which("strace") \
        else None
    if p is None or p.returncode != 0:
        raise Skip("strace does not work here")
    eq(len(re.findall(rb'"GET /', p.stderr)), 2)


@case("unreachable")
def _():
    conf = os.path.join(tmp, "dead.conf")
    with open(CONF) as f, open(conf, "w") as g:
        g.write(re.sub("endpoint = .*", "endpoint = http://127.0.0.1:1",
                       f.read()))
    os.chmod(conf, 0o600)
    for cmd in (["list"], ["stats"], ["workers"], ["status", new_id()]):
        qo(*cmd, conf=conf, code=7)


store.close()
finish()
