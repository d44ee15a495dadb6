"""qo schedule, on a real store: what it prints, what it writes, how it ends."""

import json
import os
import re

from qo_lib import put_file, remote_store, run
from store_lib import Store, case, directory, eq, finish

store = Store()
s3 = store.client()
tmp = directory("qo-cli-schedule.")
CONF = put_file(os.path.join(tmp, "qod.conf"), remote_store(store))


def qo(*args, code=0, stdin=""):
    p = run("qo", "-c", CONF, *args, code=code, stdin=stdin)
    if code == 2:
        eq(p.err.count("\n"), 1, "lines of a mistake")
    return p


def add(*args, **kw):
    return qo("schedule", "add", *args, **kw)


def record(name):
    r = s3.get("/queue/schedules/%s.json" % name)
    eq(r.status, 200, name)
    return json.loads(r.body)


def refuse(says, *args, code=2):
    err = add(*args, code=code).err
    if says not in err:
        raise AssertionError("%r does not say %r" % (err, says))


qo("init")


@case("schedule add")
def _():
    out = add("nightly", "--cron", "30 4 * * *", "--timezone",
              "Europe/Berlin", "--type", "report.build", "--input", "-",
              "--timeout", "90s", "--retries", "2", "--priority", "high",
              "--tag", "team=x", "--expires", "2h", "--catch-up", "last",
              "--overlap", "cancel", stdin='{"n": 1e400}').out
    eq(out.splitlines()[0], "added nightly")
    times = re.findall(r"\w{3} (\d{4}-\d\d-\d\d) 04:30:00 \+0[12]:00, in ", out)
    eq(len(set(times)), 5, "five times in the zone")
    raw = s3.get("/queue/schedules/nightly.json").body.decode()
    r = json.loads(raw)
    eq(list(r), ["id", "cron", "timezone", "task_type", "input", "options",
                 "catch_up", "overlap", "paused", "last_due", "last_decision",
                 "last_task_id", "next_due", "rev", "updated_by",
                 "created_at", "updated_at", "format"])
    eq('"input":{"n":1e400}' in raw, True, "the number as it was")
    eq(r["options"], {"timeout": 90, "retries": 2, "expires": "2h",
                      "tags": {"team": "x"}, "priority": "high"})
    eq((r["catch_up"], r["overlap"], r["paused"]), ("last", "cancel", False))


@case("schedule add again")
def _():
    err = add("nightly", "--cron", "@daily", "--type", "t", code=5).err
    eq("--replace" in err, True)
    out = add("nightly", "--cron", "@daily", "--type", "t", "--replace").out
    eq(out.splitlines()[0], "replaced nightly")
    r = record("nightly")
    eq((r["rev"], r["cron"], r["timezone"], r["input"], r["options"]),
       (2, "@daily", "UTC", None, {}))


@case("schedule add refuses")
def _():
    t = ("--type", "t")
    refuse("--cron: hour, column 3: 24 is not in", "x", "--cron",
           "0 24 * * *", *t)
    refuse("--cron: day-of-month, column 5: L:", "x", "--cron", "0 0 L * *",
           *t)
    refuse("no such date", "x", "--cron", "0 0 30 2 *", *t)
    refuse("--cron is missing", "x", *t)
    refuse("--type is missing", "x", "--cron", "@daily")
    refuse("this version runs no workflows", "x", "--cron", "@daily",
           "--workflow", "w")
    refuse("--timezone: no time zone Mars/Base", "x", "--cron", "@daily", *t,
           "--timezone", "Mars/Base")
    refuse("--timezone: ../../etc/passwd is no", "x", "--cron", "@daily", *t,
           "--timezone", "../../etc/passwd")
    refuse("--type: ", "x", "--cron", "@daily", "--type", "workflow.x")
    refuse("--input: ", "x", "--cron", "@daily", *t, "--input", "{")
    refuse("--overlap: ", "x", "--cron", "@daily", *t, "--overlap", "queue")
    refuse("--catch-up: ", "x", "--cron", "@daily", *t, "--catch-up", "some")
    refuse("the id of a schedule", "a/b", "--cron", "@daily", *t)
    refuse("the id of a schedule", "..", "--cron", "@daily", *t)
    big = os.path.join(tmp, "big")
    with open(big, "w") as f:
        json.dump("x" * 300000, f)
    refuse("--input: 300002 bytes, at most", "x", "--cron", "@daily", *t,
           "--input", "@" + big)
    eq(s3.get("/queue/schedules/x.json").status, 404)


@case("schedule list")
def _():
    add("b", "--cron", "@every 90m", "--type", "t", "--paused")
    out = qo("schedule", "list").lines
    eq(len(out), 3)
    eq(out[1].split()[0:2], ["b", "@every"])
    eq("paused" in out[1], True)
    eq("+00:00" in out[2], True)
    rows = json.loads(qo("schedule", "list", "--json").out)
    eq([r["id"] for r in rows], ["b", "nightly"])
    eq(rows[1], record("nightly"))
    eq(len(qo("schedule", "list", "--jsonl").lines), 2)
    qo("schedule", "list", "--json", "--jsonl", code=2)


@case("schedule list with a broken one")
def _():
    s3.put("/queue/schedules/broken.json", b'{"id":"broken"}')
    p = qo("schedule", "list", code=8)
    eq(len(p.lines), 3)
    eq("schedules/broken.json: schedule: cron: is missing" in p.err, True)
    # What can not be read can be deleted.
    eq("cron" in qo("schedule", "show", "broken", code=1).err, True)
    qo("schedule", "delete", "broken")


@case("schedule show")
def _():
    out = qo("schedule", "show", "nightly").out
    eq(len(re.findall("00:00:00 [+]00:00, in ", out)), 5)
    eq(json.loads(qo("schedule", "show", "nightly", "--json").out),
       record("nightly"))
    eq("there is no schedule nix" in
       qo("schedule", "show", "nix", code=3).err, True)


@case("schedule pause, resume")
def _():
    qo("schedule", "pause", "nightly")
    r = record("nightly")
    eq((r["paused"], r["next_due"]), (True, None))
    eq("already" in qo("schedule", "pause", "nightly").out, True)
    eq(record("nightly"), r)
    out = qo("schedule", "resume", "nightly").out
    eq(len(re.findall(", in ", out)), 5)
    r = record("nightly")
    eq((r["paused"], r["next_due"][10:]), (False, "T00:00:00.000000Z"))
    qo("schedule", "pause", "nix", code=3)
    qo("schedule", "resume", "nix", code=3)


@case("schedule run-now")
def _():
    before = record("b")
    one = qo("schedule", "run-now", "b").out.strip()
    two = json.loads(qo("schedule", "run-now", "b", "--json").out)["id"]
    eq(one != two, True)
    for i in (one, two):
        t = json.loads(qo("status", i, "--json").out)
        eq((t["task_type"], t["status"]), ("t", "pending"))
    eq(record("b"), before, "the schedule knows nothing of it")
    qo("schedule", "run-now", "nix", code=3)


@case("schedule of a workflow")
def _():
    s3.put("/queue/schedules/w.json",
           b'{"id":"w","cron":"@daily","workflow":"order","kept":[1]}')
    eq("workflow" in qo("schedule", "run-now", "w", code=1).err, True)
    qo("schedule", "pause", "w")
    r = record("w")
    eq((r["workflow"], r["kept"], "task_type" in r), ("order", [1], False))
    qo("schedule", "delete", "w")


@case("schedule and fsck")
def _():
    due = "2026-01-01T00:00:00Z"
    s3.put("/queue/schedules/left.json", json.dumps({
        "id": "left", "cron": "@daily", "task_type": "t", "paused": True,
        "last_due": due, "updated_at": due, "firing": [due]}).encode())
    s3.put("/queue/schedules/late.json", json.dumps({
        "id": "late", "cron": "@daily", "task_type": "t",
        "next_due": "2099-01-01T00:00:00Z"}).encode())
    out = qo("fsck", code=1).out
    for line in (r"^schedule-run +schedules/left\.json: 1 of 1 runs from "
                 r"2026-01-01T\S+ on have no task$",
                 r"^schedule-time +schedules/late\.json: next_due "
                 r"2099-01-01T\S+, but \S+ is due before$",
                 r", 2 problems, 0 of them repaired$"):
        if not re.search(line, out, re.M):
            raise AssertionError("%r is not in %r" % (line, out))
    # The one is submitted, the other left to people.
    r = json.loads(qo("fsck", "--repair", "--json", code=1).out)
    eq({p["key"]: p["repaired"] for p in r["problems"]},
       {"schedules/left.json": True, "schedules/late.json": False})
    tasks = json.loads(qo("list", "--json").out)
    eq(len([t for t in tasks if t["submitted_by"] == "schedule:left"]), 1)
    eq("firing" in record("left"), False)
    qo("schedule", "pause", "late")
    qo("schedule", "resume", "late")
    qo("fsck")
    qo("schedule", "delete", "left")
    qo("schedule", "delete", "late")


@case("schedule delete")
def _():
    eq(qo("schedule", "delete", "b").out, "deleted b\n")
    eq(s3.get("/queue/schedules/b.json").status, 404)
    eq(s3.get("/queue/schedules/nightly.json").status, 200)
    qo("schedule", "delete", "b", code=3)


@case("schedule, and no store")
def _():
    store.stop()
    eq(qo("schedule", "list", code=7).err.count("\n"), 1)


store.close()
finish()
