"""qo-worker: claim, run, renew, commit, drain; with the real store, the real
command line and real handlers."""

import atexit
import datetime
import hashlib
import json
import os
import re
import signal
import subprocess
import time

from qo_lib import (PATIENCE, Program, alive, children, clean_env, lines,
                    listed, local_store, put_file, read_task, remote_store,
                    run, script, until)
from store_lib import BUILD, Store, case, eq, finish

PROXY = os.path.join(BUILD, "tests", "tools", "faultproxy")

store = Store()
client = store.client()
top = os.path.dirname(store.data)
workers = []


# Handlers.

script(top + "/echo", "#!/bin/sh\ncat\n")
script(top + "/note", """#!/bin/sh
# Writes a line when it starts, then its input.
date +%%s.%%N >>"%s/started"
echo "$QO_TASK_ID $QO_ATTEMPT" >>"%s/notes"
cat
""" % (top, top))
script(top + "/flaky", """#!/bin/sh
echo "attempt $QO_ATTEMPT" >&2
[ "$QO_ATTEMPT" -ge 3 ] || exit 1
echo '"done"'
""")
script(top + "/bad", "#!/bin/sh\necho 'no such data' >&2\nexit 65\n")
script(top + "/again", """#!/bin/sh
[ "$QO_ATTEMPT" -ge 2 ] ||
	{ echo '{"status":"reschedule","delay_seconds":1}' >&3; exit 0; }
echo 7
""")
script(top + "/sleeper", """#!/bin/sh
echo "$QO_TASK_ID $$" >>"%s/pids"
exec sleep 600
""" % top)
script(top + "/brief", """#!/bin/sh
# Takes as long as its input says.
read -r n
echo "$QO_TASK_ID $$" >>"%s/pids"
sleep "$n"
echo "\\"$QO_ATTEMPT\\""
""" % top)
script(top + "/waiter", """#!/bin/sh
# Waits for the file that its input names.
IFS='"' read -r _ name _
while [ ! -e "%s/$name" ]; do sleep 0.02; done
echo "\\"$QO_ATTEMPT\\""
""" % top)
script(top + "/big", """#!/usr/bin/python3
import hashlib, json, sys
data = sys.stdin.buffer.read()
print(json.dumps({"sha": hashlib.sha256(data).hexdigest(), "pad": "x" * 500000}))
""")
script(top + "/server", """#!/usr/bin/python3
import json, os, sys, time
for line in sys.stdin:
    t = json.loads(line)
    name = t["input"].get("wait")
    if name:
        print(json.dumps({"progress": {"half": True}}), flush=True)
        print(json.dumps({"log": "working"}), flush=True)
    while name and not os.path.exists("%s/" + name):
        time.sleep(0.02)
    time.sleep(t["input"].get("sleep", 0))
    print(json.dumps({"status": "completed", "output": t["input"]}), flush=True)
""" % top)

HANDLERS = "".join("[handler %s]\ntype = %s\ncommand = %s/%s\n" % (n, n, top, n)
                   for n in ("echo", "note", "flaky", "bad", "again",
                             "sleeper", "brief", "waiter", "big"))
HANDLERS += ("[handler server]\ntype = server.*\ncommand = %s/server\n"
             "mode = serve\ninstances = 2\n" % top)


def write_conf(name, worker="", qod="", handlers=HANDLERS, prefix="",
               where=None):
    return put_file(os.path.join(top, name),
                    "[qod]\nlog_level = debug\n%s\n%sprefix = %s\n"
                    "[submit]\nretry_initial_interval = 100ms\n"
                    "[worker]\n%s\n%s" % (
                        qod, where or local_store(store) + "[s3]\n", prefix,
                        worker, handlers))


# Nobody here gives back what has lost its lease on a machine that stood still:
# a long one, and a shorter one for the cases in which it has to end.
conf = write_conf("qod.conf", "lease = 5m\nslots = 8")
short = write_conf("short.conf", "lease = 10s\nslots = 8")
# The directory is for what killed workers leave behind.
ENV = clean_env(QO_CONFIG=conf, TMPDIR=top)


def qo(*args, stdin=""):
    return run("qo", *args, stdin=stdin, env=ENV).out.strip()


def submit(type_, input_=None, *args):
    more = [] if input_ is None else ["--input", json.dumps(input_)]
    return qo("submit", "--type", type_, *more, *args)


def task(id_):
    return read_task(client, id_)


def ends(id_, status, patience=PATIENCE):
    """Waits until the task has that status."""
    def there():
        t = task(id_)
        if t["status"] in ("completed", "failed", "cancelled", "expired") and \
                t["status"] != status:
            raise AssertionError("%s is %s, not %s: %s" % (
                id_, t["status"], status, t["last_error"]))
        return t if t["status"] == status else None
    return until("%s to be %s" % (id_, status), there, patience)


def entries(prefix):
    return listed(client, "qo-index", prefix)


def noted(name):
    """The lines that the handlers have written there."""
    return lines(os.path.join(top, name))


def touch(name):
    open(os.path.join(top, name), "w").close()


def handlers_of(id_):
    """The processes that have run the task, as far as they have said so."""
    return [int(x.split()[1]) for x in noted("pids") if x.startswith(id_)]


def handler_of(id_):
    """The process that runs the task: it starts after the claim is written."""
    return until("the handler", lambda: handlers_of(id_))[-1]


class Proxy:
    """In front of the store; .env is for those who are to use it."""

    def __init__(self, *rules):
        self.history = os.path.join(top, "history")
        self.proc = subprocess.Popen(
            [PROXY, "-o", self.history, store.url, *rules],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        url = self.proc.stdout.readline().decode().strip()
        self.env = dict(ENV, QO_STORE_LISTEN=url[len("http://"):])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.communicate()


class Worker(Program):
    def __init__(self, *args, conf_=None, wait=True, env=ENV):
        super().__init__(
            "qo-worker", "-f", conf_ or conf, *args, env=env,
            log=os.path.join(top, "worker%d.log" % len(workers)))
        workers.append(self)
        if wait:
            self.wait_for("msg=ready")

    @property
    def id(self):
        return re.search(r'msg="claiming tasks" worker=(\S+)',
                         self.text()).group(1)


def removed(w):
    """It has ended, and so has its record.  A store that stands still for
    long can not be told: then the worker says so."""
    assert "workers/%s.json" % w.id not in entries("workers/") or \
        re.search("the heartbeat (was not removed|may come back)",
                  w.text()), w.text()[-500:]


@atexit.register
def end():
    for w in workers:
        w.kill()
    # Of a worker that is killed alone the handlers die, but not what they
    # started, in a directory of ours.
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/cwd" % pid).startswith(top + "/"):
                os.kill(int(pid), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass


qo("init")


# One worker for what needs nothing special.

main = Worker()


@case("completes")
def _():
    id_ = submit("echo", {"a": [1, 2.50]})
    t = ends(id_, "completed")
    eq(t["output"], {"a": [1, 2.50]})
    eq(t["attempt"], 1)
    eq(t["worker_id"], main.id)
    until("the entries to go", lambda: not [
        k for p in ("ready/", "leases/") for k in entries(p) if id_ in k])


@case("retries")
def _():
    id_ = submit("flaky")
    t = ends(id_, "completed")
    eq(t["attempt"], 3)
    eq(t["retry_count"], 2)
    eq(t["output"], "done")
    eq(qo("logs", id_), "attempt 3")
    eq(len(entries("logs/%s/%s/" % (id_[0], id_))), 3)
    eq(main.text().count("msg=retried task=" + id_), 2)
    id_ = submit("flaky", None, "--retries", "1")
    ends(id_, "failed")
    until("it to be said", lambda: "msg=failed task=" + id_ in main.text())
    eq(main.text().count("msg=retried task=" + id_), 1)


@case("fails_for_good")
def _():
    t = ends(submit("bad"), "failed")
    eq(t["attempt"], 1)
    assert "no such data" in t["last_error"], t["last_error"]


@case("reschedules")
def _():
    t = ends(submit("again"), "completed")
    eq(t["output"], 7)
    eq(t["retry_count"], 0)
    eq(t["reschedule_count"], 1)


@case("times_out")
def _():
    id_ = submit("sleeper", None, "--timeout", "2s", "--retries", "0")
    t = ends(id_, "failed")
    eq(t["errors"][0]["kind"], "timeout")
    # One that was slow to start may never have come to say who it is.
    until("the handler to die",
          lambda: not any(alive(p) for p in handlers_of(id_)))


@case("cancels_a_running_task")
def _():
    id_ = submit("sleeper")
    ends(id_, "running")
    qo("cancel", id_)
    before = time.monotonic()
    t = ends(id_, "cancelled")
    # The renewal alone would come after 150 s; a bell is a matter of
    # milliseconds.  The limit is for a very busy machine.
    assert time.monotonic() - before < 60
    eq(t["cancel_requested"], True)
    until("the lease entry to go", lambda: not [
        k for k in entries("leases/") if id_ in k])
    until("the bell to be taken down", lambda: not entries("bell/"))


@case("large_input_and_output")
def _():
    pad = {"pad": "y" * 600000}
    text = json.dumps(pad, separators=(",", ":"))
    with open(os.path.join(top, "input.json"), "w") as f:
        f.write(text)
    id_ = qo("submit", "--type", "big", "--input", "@" + top + "/input.json")
    t = ends(id_, "completed")
    assert t["input_ref"].startswith("payloads/%s/input." % id_)
    eq(t["output_ref"], "payloads/%s/1.output.json" % id_)
    out = json.loads(client.get("/qo/" + t["output_ref"]).body)
    eq(out["sha"], hashlib.sha256(text.encode()).hexdigest())
    eq(len(out["pad"]), 500000)


def pause(*args):
    """Returns when the worker has heard of it."""
    before = main.text().count("paused")
    qo("pause", *args)
    until("the worker to hear of the pause",
          lambda: main.text().count("paused") > before)


def changed_while_paused(type_, change):
    """A task that somebody has tampered with before it is claimed."""
    pause()
    try:
        id_ = qo("submit", "--type", type_, "--input",
                 "@" + top + "/input.json")
        change(id_, task(id_))
    finally:
        qo("resume")
    return id_


@case("input_of_another_task_is_refused")
def _():
    other = submit("echo", {"secret": 1})

    def change(id_, t):
        t["input_ref"] = "tasks/%s/%s.json" % (other[0], other)
        t["rev"] += 1
        client.put("/qo/tasks/%s/%s.json" % (id_[0], id_), json.dumps(t))
    t = ends(changed_while_paused("big", change), "failed")
    assert "not among the payloads" in t["last_error"], t["last_error"]


@case("input_that_was_changed_is_refused")
def _():
    def change(id_, t):
        client.put("/qo/" + t["input_ref"], '{"pad":"z"}')
    t = ends(changed_while_paused("big", change), "failed")
    assert "not the one that was submitted" in t["last_error"]


@case("input_that_is_gone")
def _():
    def change(id_, t):
        client("DELETE", "/qo/" + t["input_ref"])
    t = ends(changed_while_paused("big", change), "failed")
    assert "can not be used" in t["last_error"], t["last_error"]


@case("serve_mode_and_busy_handlers")
def _():
    # More than its two instances can take at once, and others between.
    ids = [submit("server.x", {"n": n, "sleep": 0.3}) for n in range(8)]
    other = submit("echo", 1)
    ends(other, "completed")
    for n, id_ in enumerate(ids):
        eq(ends(id_, "completed")["output"], {"n": n, "sleep": 0.3})


@case("claims_ahead_for_a_quick_handler")
def _():
    ids = qo("submit", "--batch", "-", stdin="\n".join(
        '{"type":"server.quick","input":{"n":%d}}' % n
        for n in range(200))).splitlines()
    ids = [re.search(r"[0-9a-f-]{36}", x).group(0) for x in ids]
    eq(len(ids), 200)
    # What was claimed ahead is given back when its handler stands still for
    # two seconds, at no cost.
    for id_ in ids:
        eq(ends(id_, "completed")["retry_count"], 0)
    # It becomes slow: the same.
    ids = [submit("server.slow", {"sleep": 3}) for _ in range(7)]
    for id_ in ids:
        eq(ends(id_, "completed")["retry_count"], 0)
    eq(len({task(id_)["worker_id"] for id_ in ids}), 1)


@case("progress_rides_on_a_renewal")
def _():
    id_ = submit("server.p", {"wait": "progress"})
    t = until("progress", lambda: (lambda t: t if t.get("progress") else None)(
        task(id_)))
    eq(t["progress"], {"half": True})
    eq(t["status"], "running")
    touch("progress")
    t = ends(id_, "completed")
    eq(t["attempt"], 1)
    eq(qo("logs", id_), "working")


@case("starts_when_due")
def _():
    id_ = submit("note", None, "--delay", "2s")
    due = datetime.datetime.strptime(
        task(id_)["available_at"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(
            tzinfo=datetime.timezone.utc).timestamp()
    ends(id_, "completed")
    started = float(noted("started")[-1])
    # The server's seconds are known to a part of a second.
    assert started > due - 1.1, "started %.3f s early" % (due - started)


@case("a_task_that_follows_its_entry_slowly")
def _():
    # Its writer takes 1.5 s from the one to the other.
    with Proxy("pass PUT key=^/qo/tasks/ delay=1500") as p:
        def latency():
            began = time.monotonic()
            id_ = run("qo", "submit", "--type", "echo",
                      env=p.env).out.strip()
            there = time.monotonic()
            assert there - began > 1.4, there - began
            ends(id_, "completed")
            return time.monotonic() - there
        # It is not left to the next list, half a minute later; but a writer
        # that stood still for longer is.
        took = until("one that is not late", lambda: (
            lambda s: s if s < 22 else None)(latency()))
    print("# a task that came 1.5 s after its entry: completed %d ms later" %
          (took * 1000), flush=True)


@case("heartbeat")
def _():
    key = "workers/%s.json" % main.id
    eq(entries("workers/"), [key])
    id_ = submit("sleeper")
    ends(id_, "running")
    rec = until("the heartbeat", lambda: (
        lambda r: r if r["current_tasks"] == [id_] else None)(
            json.loads(client.get("/qo-index/" + key).body)))
    eq(rec["current_task"], id_)
    eq(rec["slots"], 8)
    eq(rec["pid"], main.proc.pid)
    eq(rec["shards"], list("0123456789abcdef"))
    assert rec["tasks_completed"] > 5, rec
    qo("cancel", id_)
    ends(id_, "cancelled")


@case("pause_of_a_type")
def _():
    pause("--type", "note")
    try:
        id_ = submit("note")
        ends(submit("echo"), "completed")
        time.sleep(1)
        eq(task(id_)["status"], "pending")
    finally:
        qo("resume", "--type", "note")
    ends(id_, "completed")


@case("pause_of_the_queue")
def _():
    pause()
    try:
        id_ = submit("echo")
        time.sleep(1)
        eq(task(id_)["status"], "pending")
    finally:
        qo("resume")
    ends(id_, "completed")


@case("no_descriptor_is_left_open")
def _():
    def fds():
        return len(os.listdir("/proc/%d/fd" % main.proc.pid))
    ends(submit("echo"), "completed")
    before = fds()
    ids = [submit("echo") for _ in range(40)]
    for id_ in ids:
        ends(id_, "completed")
    # Connections may have come and gone.
    until("descriptors to be closed", lambda: fds() <= before + 16)
    until("no children but the two of serve mode",
          lambda: len(children(main.proc.pid)) <= 2)


@case("goes_on_when_the_store_comes_back")
def _():
    port = store.port
    eq(store.stop(), 0)
    time.sleep(1)
    store.args = ["-l", "127.0.0.1:%d" % port]
    store.start()
    client.close()
    ends(submit("echo"), "completed")


@case("ends_in_peace")
def _():
    main.stop()
    removed(main)
    eq(entries("leases/"), [])


# Workers of their own.

@case("starvation")
def _():
    qo("submit", "--batch", "-", stdin="\n".join(
        '{"type":"nobody.serves","priority":"%s"}' % ("high" if i % 3 else
                                                      "normal")
        for i in range(2500)))
    with Worker() as w:
        for p in ("low", "normal", "high"):
            ends(submit("echo", None, "--priority", p), "completed")
        assert "nobody.serves" not in w.text()


@case("unknown_type_fails_when_asked_to")
def _():
    id_ = submit("nobody.at.all", 5)
    with Worker(conf_=write_conf("fail.conf", "unknown_type = fail\n"
                                 "shards = %s" % id_[0])):
        t = ends(id_, "failed")
        eq(t["last_error"], "no handler serves tasks of type nobody.at.all")


@case("priorities")
def _():
    # A queue of its own: nothing else is in it.
    one = write_conf("one.conf", "slots = 1", prefix="one/")
    qo("-c", one, "init")
    before = len(noted("notes"))
    ids = [qo("-c", one, "submit", "--type", "note", "--priority", p)
           for p in ["low"] * 3 + ["normal"] * 3 + ["high"] * 3]
    with Worker(conf_=one):
        until("all of them", lambda: len(noted("notes")) == before + 9)
    order = [ids.index(x.split()[0]) // 3 for x in noted("notes")[before:]]
    # Those of high priority first; of eight one is for the next below.
    eq(order[:3], [2, 2, 2])
    assert order.index(0) > order.index(1), order


@case("drain_waits")
def _():
    with Worker(conf_=write_conf("drain.conf", "slots = 4",
                                 "drain_timeout = 1h")) as w:
        quick, slow = submit("waiter", "quick"), submit("sleeper")
        ends(quick, "running")
        ends(slow, "running")
        w.signal(signal.SIGTERM)
        until("the drain", lambda: "draining" in w.text())
        late = submit("echo")
        touch("quick")
        eq(ends(quick, "completed")["attempt"], 1)
        time.sleep(0.5)
        assert w.proc.poll() is None
        qo("cancel", slow)
        ends(slow, "cancelled")
        eq(w.ended(), 0, w.text()[-500:])
        eq(task(late)["status"], "pending")
        removed(w)


def given_back(id_):
    t = task(id_)
    eq(t["status"], "pending")
    eq(t["retry_count"], 0)
    eq(t["generation"], 2)
    eq([k for k in entries("leases/") if id_ in k], [])
    eq(len([k for k in entries("ready/") if id_ in k]), 1)
    qo("cancel", id_)


@case("drain_gives_back")
def _():
    # The grace is also for a store that does not answer.
    with Worker(conf_=write_conf("limit.conf", "", "drain_timeout = 1s",
                                 HANDLERS + "grace = 60s\n")) as w:
        id_ = submit("sleeper")
        ends(id_, "running")
        pid = handler_of(id_)
        w.signal(signal.SIGTERM)
        eq(w.ended(), 0, w.text()[-500:])
        assert not alive(pid)
        given_back(id_)
        removed(w)


@case("second_term_is_now")
def _():
    with Worker(conf_=write_conf("slow.conf", "", "drain_timeout = 10m")) as w:
        id_ = submit("sleeper")
        ends(id_, "running")
        w.signal(signal.SIGTERM)
        until("the drain", lambda: "draining" in w.text())
        time.sleep(0.5)
        assert w.proc.poll() is None
        w.signal(signal.SIGTERM)
        eq(w.ended(), 0, w.text()[-500:])
        given_back(id_)


@case("the_last_heartbeat_is_removed")
def _():
    # It is still under way when the worker ends.
    with Proxy("pass PUT key=^/qo-index/workers/ delay=1500") as p:
        with Worker("--id", "brief", env=p.env) as w:
            pass
        until("the write to be over", lambda: [
            x for x in lines(p.history) if " PUT /qo-index/workers/" in x])
        removed(w)


def reclaim(id_):
    """What the monitor does when a lease has run out."""
    t = task(id_)
    eq(t["status"], "running")
    now = time.time()
    t.update(status="pending", generation=t["generation"] + 1, lease_id=None,
             worker_id=None, lease_expires_at=None, rev=t["rev"] + 1,
             retry_count=t["retry_count"] + 1, updated_by="reclaim%d" % now,
             available_at=datetime.datetime.utcfromtimestamp(
                 now - 1).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    client.put("/qo-index/ready/%s/%010d/%s.%d.0badcafe" % (
        id_[0], (now - 1) // 60, id_, t["generation"]))
    eq(client.put("/qo/tasks/%s/%s.json" % (id_[0], id_),
                  json.dumps(t)).status, 200)


def lease_is_over(id_):
    t = datetime.datetime.strptime(
        task(id_)["lease_expires_at"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(
            tzinfo=datetime.timezone.utc).timestamp()
    return time.time() > t


@case("kill_9_takes_the_handlers_along")
def _():
    with Worker() as w:
        id_ = submit("brief", 600)
        ends(id_, "running")
        pid = handler_of(id_)
        assert alive(pid)
        w.kill()
        until("the handler to die", lambda: not alive(pid))
        qo("cancel", id_)
        t = task(id_)
        eq(t["status"], "running")
        eq(t["cancel_requested"], True)


@case("stopped_past_its_lease")
def _():
    with Worker("--id", "frozen", conf_=short) as a:
        id_ = submit("waiter", "frozen")
        a.wait_for("msg=claimed task=" + id_)
        a.signal(signal.SIGSTOP)
        touch("frozen")
        until("the lease to end", lambda: lease_is_over(id_))
        reclaim(id_)
        with Worker("--id", "other"):
            t = ends(id_, "completed")
            eq(t["attempt"], 2)
            eq(t["worker_id"], "other")
            a.signal(signal.SIGCONT)
            until("the stale result",
                  lambda: "stale result dropped" in a.text())
            line, = [x for x in a.text().split("\n")
                     if "stale result dropped" in x]
            assert re.search(r' task=%s type=waiter attempt=1 lease=[0-9a-f-]+ '
                             'reason="' % id_, line), line
            eq(task(id_), t)
            a.stop()


@case("two_workers_share")
def _():
    with Worker() as a, Worker() as b:
        ids = [submit("note", n) for n in range(60)]
        done = [ends(id_, "completed") for id_ in ids]
        eq([t["attempt"] for t in done], [1] * 60)
        eq({t["worker_id"] for t in done} <= {a.id, b.id}, True)


@case("shards")
def _():
    id_ = submit("echo")
    with Worker("--shards", "".join(
            c for c in "0123456789abcdef" if c != id_[0])[:1], "--id",
                "elsewhere"):
        time.sleep(1)
        eq(task(id_)["status"], "pending")
    with Worker("--shards", id_[0]):
        ends(id_, "completed")


@case("two_processes_of_one_qod")
def _():
    # The store runs already: for this qod it is somebody else's.
    pair = write_conf("pair.conf", "processes = 2\nslots = 4",
                      "allow_root = yes\ncontrol = %s/pair.sock\n"
                      "stuck_after = 1h" % top,
                      HANDLERS + "[monitor]\nlisten =\n", "pair/",
                      remote_store(store, "pair-bucket", "pair-index"))
    qo("-c", pair, "init")
    p = Program("qod", "-f", pair, env=ENV, log=os.path.join(top, "pair.log"))

    def records():
        keys = listed(client, "pair-index", "pair/workers/")
        return [json.loads(client.get("/pair-index/" + k).body) for k in keys]

    def all_done(n):
        ids = {qo("-c", pair, "submit", "--type", "note") for _ in range(n)}
        until("all of them",
              lambda: ids <= {x.split()[0] for x in noted("notes")})
    try:
        until("two workers", lambda: len(records()) == 2)
        a, b = records()
        eq(sorted(a["shards"] + b["shards"]), list("0123456789abcdef"))
        eq(len(a["shards"]), 8)
        all_done(20)
        # One of them is stopped: the other helps.
        os.kill(a["pid"], signal.SIGSTOP)
        all_done(12)
        os.kill(a["pid"], signal.SIGCONT)
    finally:
        p.signal(signal.SIGTERM)
        try:
            p.ended()
        finally:
            p.kill()


@case("refusals")
def _():
    def says(code, *args):
        return run("qo-worker", *args, code=code, env=ENV)
    says(0, "-n", "-f", conf)
    says(64, "--no-such-option")
    says(64, "operand")
    eq(says(0, "-V").out.split()[0], "qo-worker")
    says(78, "-f", top + "/none.conf")
    err = says(78, "-n", "-f", write_conf("bad.conf", "slots = no")).err
    assert "bad.conf:" in err, err
    err = says(78, "-n", "-f", write_conf(
        "nohandler.conf", handlers="[handler x]\ntype = x\n"
        "command = /no/such/program\n")).err
    assert "/no/such/program" in err and "nohandler.conf:" in err, err
    err = says(78, "-n", "-f", conf, "--shards", "xyz").err
    assert "--shards" in err, err


@case("a_store_that_failed_the_probe_is_refused")
def _():
    a = client.get("/qo/control/queue.json")
    good = a.body
    rec = json.loads(good)
    rec["probe"] = dict(rec["probe"], verdict="fail",
                        failed=["race-if-match"])
    client.put("/qo/control/queue.json", json.dumps(rec))
    try:
        w = Worker(wait=False)
        eq(w.ended(), 78, w.text())
        assert "race-if-match" in w.text(), w.text()
    finally:
        client.put("/qo/control/queue.json", good)


finish()
