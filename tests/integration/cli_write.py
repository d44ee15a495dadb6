"""qo submit, cancel, replay, archive, unarchive and bench with the real
binaries on a store of their own."""

import datetime
import json
import os
import pty
import re
import select
import subprocess
import threading
import time

from qo_lib import (BIN, PATIENCE, clean_env, listed, local_store, put_file,
                    read_task, run)
from store_lib import BUILD, Store, case, eq, finish

QO = os.path.join(BIN, "qo")
GONE = "11111111-1111-4111-8111-111111111111"

store = Store()
client = store.client()
dir_ = os.path.dirname(store.data)
conf = put_file(os.path.join(dir_, "qod.conf"),
                local_store(store) + "[submit]\nretries = 9\n")
ENV = clean_env(QO_CONFIG=conf, TZ="IST-5:30")


def qo(*args, env=None, **kw):
    return run("qo", *args, env=dict(ENV, **(env or {})), **kw)


def keys(bucket):
    """Every version of every key with its ETag: any write shows."""
    a = client("GET", "/" + bucket, query="versions=")
    eq(a.status, 200)
    assert a.one("IsTruncated") == "false", "too many keys for this test"
    return sorted(re.findall(r"<(Version|DeleteMarker)>(.*?)</\1>",
                             a.body.decode(), re.S))


def snapshot():
    return keys("qo"), keys("qo-index")


def task(id_):
    return read_task(client, id_)


def raw_task(id_):
    return client.get("/qo/tasks/%s/%s.json" % (id_[0], id_)).body.decode()


def submit(*args, **kw):
    return qo("submit", *args, **kw).out.strip()


def later(seconds):
    t = datetime.datetime.utcnow() + datetime.timedelta(seconds=seconds)
    return t.strftime("%Y-%m-%dT%H:%M:%SZ")


def make_failed(error, type_="job", age=0):
    """A task that has failed, as a worker leaves it."""
    id_ = submit("--type", type_)
    t = task(id_)
    at = datetime.datetime.utcnow() - datetime.timedelta(seconds=age)
    now = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    minute = int(at.replace(tzinfo=datetime.timezone.utc).timestamp()) // 60
    t.update(status="failed", last_error=error, completed_at=now,
             updated_at=now, rev=2, attempt=1, retry_count=0)
    for k in listed(client, "qo-index", "ready/%s/" % id_[0]):
        if id_ in k:
            client("DELETE", "/qo-index/" + k)
    client.put("/qo-index/failed/%s/%010d/%s.1.0badcafe" % (
        id_[0], minute, id_))
    eq(client.put("/qo/tasks/%s/%s.json" % (id_[0], id_),
                  json.dumps(t)).status, 200)
    return id_


def tty(args, answer):
    """Runs qo on a terminal; what it printed there, and its status."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(QO, [QO] + list(args), dict(ENV, TERM="xterm"))
    out, sent = b"", False
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([fd], [], [], 1)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            out += data
        if answer and not sent and b"[y/N]" in out:
            os.write(fd, answer.encode())
            sent = True
    os.close(fd)
    _, status = os.waitpid(pid, 0)
    return out.decode(errors="replace"), os.waitstatus_to_exitcode(status)


qo("init")


RULE = ("<Rule><ID>%s</ID><Filter><Prefix>%s</Prefix></Filter>"
        "<Status>Enabled</Status><NoncurrentVersionExpiration>"
        "<NoncurrentDays>30</NoncurrentDays></NoncurrentVersionExpiration>"
        "</Rule>")
KEPT = "no lifecycle rule for tasks/: the versions of tasks"


@case("init_tells_that_versions_stay")
def _():
    out = qo("init").out
    assert KEPT in out, out
    doc = ("<LifecycleConfiguration>" + RULE % ("history", "tasks/") +
           "</LifecycleConfiguration>")
    eq(client("PUT", "/qo", "lifecycle", doc).status, 200)
    assert KEPT not in qo("init").out
    eq(client("DELETE", "/qo", "lifecycle").status, 204)
    assert KEPT in qo("init").out
    assert KEPT not in qo("init", env={"QO_S3_VERSIONING": "off"}).out


@case("init_leaves_lifecycle_rules_alone")
def _():
    env = {"QO_S3_ENDPOINT": store.url, "QO_S3_BUCKET": "alone",
           "QO_S3_ACCESS_KEY_FILE": store.data + "/keys"}
    assert "set lifecycle rules" in qo("init", env=env).out
    first = client.get("/alone", "lifecycle").body.decode()
    assert "the lifecycle rules are there" in qo("init", env=env).out
    # Somebody adds one, and is not robbed of it.
    more = first.replace("</LifecycleConfiguration>", RULE % (
        "history", "tasks/") + "</LifecycleConfiguration>")
    eq(client("PUT", "/alone", "lifecycle", more).status, 200)
    r = qo("init", env=env)
    assert "the lifecycle rules are there" in r.out, r.out
    assert KEPT not in r.out, r.out
    eq(client.get("/alone", "lifecycle").body.decode(), more)
    # Another queue in the same bucket finds those of the first.
    r = qo("init", env=dict(env, QO_S3_PREFIX="team/"))
    assert "bucket alone has lifecycle rules of its own" in r.err, r.err
    assert KEPT.replace("tasks/", "team/tasks/") in r.out, r.out
    eq(client.get("/alone", "lifecycle").body.decode(), more)


@case("init_whose_answers_are_lost")
def _():
    """The first, second, ... of its writes is made and not answered."""
    for n in range(1, 6):
        proxy = subprocess.Popen(
            [os.path.join(BUILD, "tests", "tools", "faultproxy"), store.url,
             "drop PUT count=2 nth=%d" % n],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            url = proxy.stdout.readline().decode().split()[-1]
            env = {"QO_S3_ENDPOINT": url, "QO_S3_BUCKET": "lost%d" % n,
                   "QO_S3_INDEX_BUCKET": "lost%d-index" % n,
                   "QO_S3_ACCESS_KEY_FILE": store.data + "/keys"}
            out = qo("init", env=env).out
            assert "made the queue" in out, out
            assert "the queue is there" in qo("init", env=env).out
        finally:
            proxy.kill()
            proxy.communicate()


@case("submit")
def _():
    id_ = submit("--type", "mail.send", "--input", ' {"n": 1.50, "e": 1e400}')
    t = task(id_)
    eq(t["task_type"], "mail.send")
    eq(t["status"], "pending")
    eq(t["max_retries"], 9, "from the configuration")
    eq(t["timeout_seconds"], 300)
    assert '"input":{"n":1.50,"e":1e400}' in raw_task(id_), raw_task(id_)
    assert "@" in t["submitted_by"], t["submitted_by"]
    eq(len([k for k in listed(client, "qo-index", "ready/") if id_ in k]), 1)


@case("submit_options")
def _():
    at = later(3600)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    r = qo("submit", "--type", "a/b:c", "--input", "[]", "--timeout", "2m",
            "--retries", "0", "--at", at, "--expires", "2h", "--tag", "a=b",
            "--tag", "c=d e", "--priority", "high", "--json",
            env={"TRACEPARENT": trace})
    eq(len(r.lines), 1)
    line = json.loads(r.out)
    t = task(line["id"])
    eq(line["existed"], False)
    eq(line["available_at"], t["available_at"])
    eq(t["timeout_seconds"], 120)
    eq(t["max_retries"], 0)
    eq(t["available_at"], at[:-1] + ".000000Z")
    eq(t["tags"], {"a": "b", "c": "d e"})
    eq(t["priority"], "high")
    eq(t["traceparent"], trace)
    assert t["expires_at"] > t["available_at"]
    eq(len(listed(client, "qo-index", "ready-high/")), 1)


@case("submit_input_from_file_and_stdin")
def _():
    path = os.path.join(dir_, "in.json")
    with open(path, "w") as f:
        f.write('{\n "x": 1\n}\n')
    eq(task(submit("--type", "a", "--input", "@" + path))["input"], {"x": 1})
    eq(task(submit("--type", "a", "--input", "-", stdin="7"))["input"], 7)
    eq(task(submit("--type", "a"))["input"], None)


@case("submit_large_input")
def _():
    id_ = submit("--type", "a", "--input", "-", stdin='"%s"' % ("x" * 300000))
    t = task(id_)
    eq(t["input"], None)
    a = client.get("/qo/" + t["input_ref"])
    eq(len(a.body), 300002)


@case("submit_with_key")
def _():
    a = submit("--type", "a", "--key", "order 1", "--input", "1")
    eq(submit("--type", "a", "--key", "order 1", "--input", " 1 "), a)
    r = qo("submit", "--type", "a", "--key", "order 1", "--input", "2", code=5)
    assert a in r.err and "conflict" in r.err, r.err
    qo("submit", "--type", "b", "--key", "order 1", "--input", "1", code=5)
    r = qo("submit", "--type", "a", "--key", "order 1", "--input", "1",
            "--json")
    eq(json.loads(r.out)["existed"], True)


deep = "[" * 65 + "]" * 65
big = os.path.join(dir_, "big.json")
with open(big, "wb") as f:
    f.write(b'"' + b"x" * (64 * 1024 * 1024) + b'"')

BAD = [
    (["submit"], "--type"),
    (["submit", "--type", "a b"], "--type"),
    (["submit", "--type", ""], "--type"),
    (["submit", "--type", "x" * 129], "--type"),
    (["submit", "--type", "workflow.x"], "--type"),
    (["submit", "--type", "a", "extra"], "extra"),
    (["submit", "--type", "a", "--input", "{"], "--input"),
    (["submit", "--type", "a", "--input", ""], "--input"),
    (["submit", "--type", "a", "--input", "{} x"], "--input"),
    (["submit", "--type", "a", "--input", '{"a":1,"a":2}'], "--input"),
    (["submit", "--type", "a", "--input", deep], "--input"),
    (["submit", "--type", "a", "--input", "@" + big], "--input"),
    (["submit", "--type", "a", "--input", "@/no/such"], "--input"),
    (["submit", "--type", "a", "--timeout", "-5s"], "--timeout"),
    (["submit", "--type", "a", "--timeout", "0"], "--timeout"),
    (["submit", "--type", "a", "--timeout", "5"], "--timeout"),
    (["submit", "--type", "a", "--timeout", "999999d"], "--timeout"),
    (["submit", "--type", "a", "--timeout", "99999999999999999999s"],
     "--timeout"),
    (["submit", "--type", "a", "--timeout", "1500ms"], "--timeout"),
    (["submit", "--type", "a", "--retries", "-1"], "--retries"),
    (["submit", "--type", "a", "--retries", "1001"], "--retries"),
    (["submit", "--type", "a", "--retries", "3x"], "--retries"),
    (["submit", "--type", "a", "--at", "tomorrow"], "--at"),
    (["submit", "--type", "a", "--at", "2020-01-01T00:00:00Z"], "--at"),
    (["submit", "--type", "a", "--at", later(-2)], "--at"),
    (["submit", "--type", "a", "--at", later(3600), "--delay", "1s"],
     "--at and --delay"),
    (["submit", "--type", "a", "--at", later(3600), "--expires", "10s"],
     "--expires"),
    (["submit", "--type", "a", "--delay", "-1s"], "--delay"),
    (["submit", "--type", "a", "--delay", "1h", "--expires", "1h"],
     "--expires"),
    (["submit", "--type", "a", "--expires", "0"], "--expires"),
    (["submit", "--type", "a", "--key", ""], "--key"),
    (["submit", "--type", "a", "--key", "x" * 1025], "--key"),
    (["submit", "--type", "a", "--tag", "x"], "--tag"),
    (["submit", "--type", "a", "--tag", "=x"], "--tag"),
    (["submit", "--type", "a", "--tag", "x=1", "--tag", "x=2"], "--tag"),
    (["submit", "--type", "a", "--priority", "urgent"], "--priority"),
    (["submit", "--batch", "/no/such"], "--batch"),
    (["submit", "--batch", "/"], "--batch"),
    (["submit", "--batch", "-", "--key", "k"], "--key"),
    (["submit", "--batch", "-", "--type", "a b"], "--type"),
    (["submit", "--nonsense"], "nonsense"),
    (["cancel"], "--where"),
    (["cancel", "not-an-id"], "not-an-id"),
    (["cancel", "A" + GONE[1:]], "A" + GONE[1:]),
    (["replay", GONE, "--where", "type=a"], "--where"),
    (["replay", GONE, "--dry-run"], "--dry-run"),
    (["replay", "--where", ""], "--where"),
    (["replay", "--where", "status=broken"], "status=broken"),
    (["replay", "--where", "state=failed"], "state"),
    (["replay", "--where", "older=1x"], "older="),
    (["cancel", "--where", "status=completed"], "status=completed"),
    (["archive", "--where", "status=pending"], "status=pending"),
    (["cancel", "--where", "type=a", "--rate", "0"], "--rate"),
    (["unarchive", GONE, "--json", "--jsonl"], "--json"),
    (["bench", "sleep"], "submit"),
    (["bench", "submit", "--tasks", "0"], "--tasks"),
    (["bench", "submit", "--inflight", "5000"], "--inflight"),
    (["bench", "submit", "--payload", "1"], "--payload"),
]


@case("bad_input_is_named_and_nothing_is_written")
def _():
    before = snapshot()
    for args, says in BAD:
        r = qo(*args, code=None)
        what = " ".join(args)[:100]
        eq(r.returncode, 2, what)
        eq(r.out, "", what)
        eq(r.err.count("\n"), 1, what + ": " + r.err)
        assert says in r.err, "%s: %s does not name %s" % (what, r.err, says)
    eq(snapshot(), before, "the buckets")


@case("batch")
def _():
    lines = ['{"type":"b1","input":{"n": 1.0}}', "{", "",
             '{"type":"b2","delay":"5m","tags":{"x":"y"}}',
             '{"type":"b3","prio":"high"}', '{"input":5}',
             '{"type":"b4","key":"bk"}', '{"type":"b4","key":"bk"}\r',
             '{"type":"b5","at":"2020-01-01T00:00:00Z"}']
    r = qo("submit", "--batch", "-", "--type", "base", "--retries", "2",
            stdin="\n".join(lines), code=8)
    got = {j["line"]: j for j in map(json.loads, r.lines)}
    eq(sorted(got), [1, 4, 6, 7, 8])
    eq(task(got[1]["id"])["task_type"], "b1")
    eq(task(got[1]["id"])["max_retries"], 2)
    assert '"input":{"n":1.0}' in raw_task(got[1]["id"])
    eq(task(got[4]["id"])["tags"], {"x": "y"})
    eq(task(got[6]["id"])["task_type"], "base")
    eq(got[7]["id"], got[8]["id"])
    eq(sorted([got[7]["existed"], got[8]["existed"]]), [False, True])
    for n in (2, 5, 9):
        assert "line %d: " % n in r.err, r.err
    assert "5 submitted, 3 failed" in r.err, r.err


@case("batch_all_good_and_all_bad")
def _():
    path = os.path.join(dir_, "b.jsonl")
    with open(path, "w") as f:
        f.write('{"type":"g"}\n' * 300)
    r = qo("submit", "--batch", path)
    eq(len(set(json.loads(x)["id"] for x in r.lines)), 300)
    eq(r.err, "")
    eq(qo("submit", "--batch", "-", stdin="").out, "")
    qo("submit", "--batch", "-", stdin="x\ny\n", code=2)


@case("batch_of_a_slow_writer_streams")
def _():
    p = subprocess.Popen([QO, "submit", "--batch", "-"], env=ENV,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        # Half a line does not make it wait with the whole one before.
        p.stdin.write(b'{"type":"s1"}\n{"type":')
        p.stdin.flush()
        t = threading.Timer(PATIENCE, p.kill)
        t.start()
        first = json.loads(p.stdout.readline())
        t.cancel()
        eq(first["task_type"], "s1")
        p.stdin.write(b'"s2"}')
        p.stdin.close()
        eq(json.loads(p.stdout.readline())["task_type"], "s2")
        eq(p.wait(PATIENCE), 0)
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


@case("batch_shows_progress_on_a_terminal")
def _():
    path = os.path.join(dir_, "b.jsonl")
    out, rc = tty(["submit", "--batch", path], None)
    eq(rc, 0)
    assert "submitting" in out, out[-300:]


@case("cancel")
def _():
    a, b = submit("--type", "c"), submit("--type", "c")
    r = qo("cancel", a, b, a, "--reason", "not needed")
    eq(sorted(r.lines), sorted([a + " cancelled", b + " cancelled"]))
    t = task(a)
    eq(t["status"], "cancelled")
    eq(t["cancel_reason"], "not needed")
    assert "@" in t["cancelled_by"]
    eq([k for k in listed(client, "qo-index", "ready/")
        if a in k or b in k], [])
    qo("cancel", a)


@case("states_and_exit_codes")
def _():
    a = submit("--type", "c")
    r = qo("replay", a, code=5)
    assert "pending" in r.err, r.err
    qo("archive", a, code=5)
    qo("unarchive", a, code=5)
    r = qo("cancel", GONE, code=3)
    assert GONE in r.err, r.err
    r = qo("cancel", a, GONE, code=8)
    eq(r.lines, [a + " cancelled"])
    r = qo("cancel", a, GONE, "--json", code=8)
    got = {j["id"]: j for j in json.loads(r.out)}
    eq(got[a]["ok"], True)
    eq(got[GONE]["ok"], False)
    eq(qo("archive", a, "--jsonl").out,
       '{"id":"%s","ok":true,"status":"archived"}\n' % a)
    r = qo("replay", a, code=5)
    assert "unarchive" in r.err
    eq(qo("unarchive", a).lines, [a + " unarchived"])
    eq(task(a)["status"], "cancelled")
    qo("replay", a)
    t = task(a)
    eq((t["status"], t["generation"], t["retry_count"]), ("pending", 2, 0))
    eq(len([k for k in listed(client, "qo-index", "ready/") if a in k]), 1)
    qo("cancel", a)


@case("where")
def _():
    old = make_failed("timeout: after 30s", age=7200)
    new = make_failed("timeout: after 30s")
    other = make_failed("exit status 3", age=7200)
    mail = make_failed("timeout", type_="mail.x", age=7200)
    where = "status=failed,type=job,error~=timeout,older=1h"
    r = qo("replay", "--where", where, "--dry-run")
    assert old in r.out and new not in r.out and other not in r.out and \
        mail not in r.out, r.out
    eq(task(old)["status"], "failed")
    eq(json.loads(qo("replay", "--where", where, "--dry-run", "--json").out)
       [0]["id"], old)
    # One match needs no --yes.
    eq(qo("replay", "--where", where).lines, [old + " replayed"])
    eq(task(old)["status"], "pending")
    for id_ in (new, other, mail):
        eq(task(id_)["status"], "failed", id_)
    eq([k for k in listed(client, "qo-index", "failed/") if old in k], [])
    before = snapshot()
    r = qo("replay", "--where", "type=*", code=2)
    assert "3 tasks match" in r.err and "--yes" in r.err, r.err
    eq(snapshot(), before)
    r = qo("replay", "--where", "type=*", "--yes", "--rate", "100")
    eq(len(r.lines), 3)
    r = qo("replay", "--where", "status=failed", "--yes")
    assert "no task matches" in r.err
    qo("cancel", "--where", "type=job", "--yes")
    qo("cancel", "--where", "type=mail.x*")
    r = qo("archive", "--where", "status=cancelled,type=job", "--yes")
    eq(len(r.lines), 3)
    r = qo("unarchive", "--where", "type=job", "--yes")
    eq(len(r.lines), 3)
    eq(task(old)["status"], "cancelled")


@case("where_asks_on_a_terminal")
def _():
    ids = [submit("--type", "ask") for _ in range(2)]
    out, rc = tty(["cancel", "--where", "type=ask"], "n\n")
    assert "cancel 2 tasks? [y/N]" in out, out
    eq(rc, 1)
    eq([task(i)["status"] for i in ids], ["pending"] * 2)
    out, rc = tty(["cancel", "--where", "type=ask"], "y\n")
    eq(rc, 0, out)
    eq([task(i)["status"] for i in ids], ["cancelled"] * 2)


@case("where_passes_over_what_is_corrupt")
def _():
    ids = [submit("--type", "co") for _ in range(3)]
    key = "/qo/tasks/%s/%s.json" % (ids[0][0], ids[0])
    client.put(key, "not json")
    r = qo("cancel", "--where", "type=co", "--yes")
    eq(sorted(r.lines), sorted(i + " cancelled" for i in ids[1:]))
    assert key[4:] in r.err, r.err
    eq(client.get(key).body, b"not json")
    qo("cancel", ids[0], code=1)
    eq(client.get(key).body, b"not json")
    client("DELETE", key)


def bench(*args):
    return json.loads(qo("bench", *args, "--json").out)


def bench_undisturbed(mode, n, want):
    """With exactly these requests, and few that tasks share.  What was under
    way when the machine stood still is sent again, and a slow one looks more
    often: then it is measured again."""
    for _ in range(10):
        r = bench(mode, "--tasks", str(n), "--inflight", "32")
        eq(r["tasks"], n)
        got = r["requests"]
        if {op: got[op] for op in want} == want and \
                got["LIST"] + got["DELETE"] < 0.1 * n:
            return r
    raise AssertionError("%s: %s, want %s and under %d LIST and DELETE" % (
        mode, got, want, 0.1 * n))


@case("bench_keeps_the_budget_and_cleans_up")
def _():
    tasks, index = listed(client, "qo", "tasks/"), listed(client, "qo-index")
    n = 400
    for mode, puts, gets in (("submit", 2, 0), ("drain", 3, 1),
                             ("mixed", 5, 1)):
        r = bench_undisturbed(mode, n, {"PUT": puts * n, "GET": gets * n})
        if mode == "submit":
            eq(r["requests"]["LIST"] + r["requests"]["DELETE"], 0)
            continue
        eq(r["budget_met"], True)
        t = r["latency_us"]["claim_to_completed"]
        assert 0 < t["p50"] <= t["p95"] <= t["p99"] <= t["max"], t
    cost = (r["requests"]["PUT"] + r["requests"]["LIST"]) * 5e-6 + \
        r["requests"]["GET"] * 4e-7
    assert abs(r["usd_per_million_tasks"] - cost * 1e6 / n) < 0.001
    eq(listed(client, "qo", "tasks/"), tasks)
    eq(listed(client, "qo-index", ""), index)
    out = qo("bench", "mixed", "--tasks", "20").out
    for word in ("tasks/s", "P99", "PUT 5.000", "us-east-1", "budget"):
        assert word in out, out


@case("batch_outlasts_a_restart_of_the_store")
def _():
    p = subprocess.Popen([QO, "submit", "--batch", "-"], env=ENV,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    try:
        p.stdin.write(b'{"type":"r"}\n')
        p.stdin.flush()
        first = p.stdout.readline()
        store.stop()
        p.stdin.write(b'{"type":"r"}\n' * 50)
        p.stdin.flush()
        store.args = ["-l", "%s:%d" % (store.host, store.port)]
        store.start()
        out, err = p.communicate(timeout=PATIENCE)
        eq(p.returncode, 0, err.decode())
        ids = [json.loads(x)["id"] for x in [first] + out.splitlines()]
        eq(len(set(ids)), 51)
        for i in ids:
            eq(task(i)["status"], "pending")
    finally:
        p.kill()
        p.wait()


@case("a_store_that_failed_the_probe_gets_no_work")
def _():
    key = "/qo/control/queue.json"
    good = client.get(key).body
    bad = json.loads(good)
    bad["probe"] = {"verdict": "fail", "failed": ["race-if-match"]}
    client.put(key, json.dumps(bad))
    tasks = listed(client, "qo", "tasks/")
    r = qo("submit", "--type", "a", code=1)
    assert "race-if-match" in r.err and "qo doctor" in r.err, r.err
    qo("bench", "submit", "--tasks", "10", code=1)
    eq(listed(client, "qo", "tasks/"), tasks)
    qo("list")
    client.put(key, good)
    submit("--type", "a")


@case("no_store")
def _():
    store.stop()
    r = qo("submit", "--type", "a", code=7)
    eq(r.err.count("\n"), 1, r.err)
    qo("cancel", GONE, code=7)
    qo("submit", "--type", "a b", code=2)


store.close()
finish()
