"""qo-monitor alone, with the real store, qo and qo-worker: workers that are
killed, two monitors at once, the endpoint and its hostile clients."""

import json
import os
import re
import signal
import socket
import time

import prom_lib
from qo_lib import Program, put_file, remote_store, run, script, until
from qod_lib import address
from store_lib import Store, case, directory, eq, finish

LONG = 120      # seconds that nothing here takes
tmp = directory("qo-monitor.")
os.environ["TMPDIR"] = tmp      # for what killed workers leave behind
store = Store(data=os.path.join(tmp, "data"))
procs = []

HANG = script(os.path.join(tmp, "hang"), "#!/bin/sh\nexec sleep 1000\n")


def config(name, monitor="", lease="4s", port=None, listen="off"):
    return put_file(os.path.join(tmp, name),
                    "[store]\nlisten = 127.0.0.1:%d\ndata = %s\n"
                    "[monitor]\ncheck_interval = 200ms\nlisten = %s\n%s"
                    "[worker]\nlease = %s\nlease_max = %s\nslots = 64\n"
                    "poll_max = 200ms\nheartbeat = 1s\n"
                    "[handler hang]\ntype = hang\ncommand = %s\n"
                    "[handler ok]\ntype = ok\ncommand = /bin/true\n" % (
                        port or store.port, store.data, listen, monitor,
                        lease, lease, HANG))


CONF = config("qod.conf")


class Daemon(Program):
    def __init__(self, name, *args):
        super().__init__(name, *args, start_new_session=True,
                         log=os.path.join(tmp, "log%d" % len(procs)))
        procs.append(self)

    def kill_all(self):
        """With its handlers, as the death of a host would."""
        os.killpg(self.proc.pid, signal.SIGKILL)
        self.ended()


def monitor(extra="", **kw):
    """With an address of its own, .listen."""
    listen = address()
    m = Daemon("qo-monitor", "-f", config(
        "monitor%d.conf" % len(procs), extra, listen=listen, **kw))
    m.listen = listen
    m.wait_for(r"metrics on port \d+ of " + re.escape(listen))
    return m


def qo(*args):
    return run("qo", "-c", CONF, *args).out


def submit(kind, *args):
    return qo("submit", "-t", kind, *args).strip()


def task(tid):
    return json.loads(qo("status", "--json", tid))


def becomes(tid, what, fn):
    """The task, as soon as fn is true of it."""
    def look():
        t = task(tid)
        return t if fn(t) else None
    return until("%s to be %s" % (tid, what), look)


def when(tid, status):
    return becomes(tid, status, lambda t: t["status"] == status)


def connect(listen):
    host, port = listen.split(":")
    return socket.create_connection((host, int(port)), timeout=LONG)


def get(listen, path, method="GET", raw=None):
    """Status, headers, body of one request on a connection of its own."""
    with connect(listen) as s:
        s.sendall(raw or ("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                          "\r\n" % (method, path)).encode())
        data = b""
        while True:
            got = s.recv(65536)
            if not got:
                break
            data += got
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(x.lower().split(": ", 1) for x in lines[1:])
    return int(lines[0].split()[1]) if lines[0] else 0, headers, body.decode()


def metrics(listen):
    """All samples, by name and labels; the text is read strictly."""
    status, headers, text = get(listen, "/metrics")
    eq(status, 200)
    eq(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
    return prom_lib.read(text)[0]


@case("options")
def _():
    out = run("qo-monitor", "-h").out
    assert out.startswith("usage: qo-monitor"), out
    out = run("qo-monitor", "-V").out
    assert re.match(r"qo-monitor \d", out), out
    out = run("qo-monitor", "-n", "-f", CONF).out
    eq(out, "qo-monitor: configuration OK\n")
    run("qo-monitor", "--nonsense", code=64)
    err = run("qo-monitor", "more", code=64).err
    assert "more: no such operand" in err, err
    err = run("qo-monitor", "-f", os.path.join(tmp, "absent"), code=78).err
    assert "absent" in err, err
    bad = config("bad.conf", "orphan_grace = 5m\n")
    err = run("qo-monitor", "-f", bad, code=78).err
    assert re.search(r"bad.conf:\d+: .*orphan_grace", err), err


@case("not_our_store")
def _():
    path = put_file(os.path.join(tmp, "remote.conf"),
                    remote_store(store, "elsewhere", None) +
                    "[monitor]\nlisten = off\n")
    err = run("qo-monitor", "-f", path, code=78).err
    assert "elsewhere" in err and err.count("\n") == 1, err


mon = monitor()


@case("makes_the_queue")
def _():
    until("readyz", lambda: get(mon.listen, "/readyz")[0] == 200)
    assert "made the queue" in mon.text(), mon.text()
    mon.first = submit("ok")
    eq(task(mon.first)["status"], "pending")


@case("endpoint")
def _():
    at = mon.listen
    eq(get(at, "/healthz")[::2], (200, "ok\n"))
    eq(get(at, "/readyz")[::2], (200, "ready\n"))
    status, headers, body = get(at, "/metrics", method="HEAD")
    eq((status, body), (200, ""))
    assert int(headers["content-length"]) > 1000, headers
    eq(get(at, "/")[0], 404)
    eq(get(at, "/metrics/..%2f")[0], 404)
    eq(get(at, "/metrics", method="POST")[0], 405)
    until("one ready task", lambda: metrics(at).get("qo_ready_tasks") == 1)
    m = metrics(at)
    eq(m['qo_processes{role="monitor",state="ready"}'], 1)
    assert m['qo_s3_requests_total{op="list"}'] > 0, m
    assert m["qo_s3_cost_dollars_total"] > 0, m
    assert 0 <= m["qo_oldest_ready_seconds"] < 10 * LONG, m


@case("hostile_clients")
def _():
    at = mon.listen
    for raw in (b"GET /metrics HTTP/1.1\nHost: x\n\n",
                b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n",
                b"GET /metrics HTTP/1.1\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"):
        eq(get(at, "", raw=raw)[0], 400, repr(raw[:40]))
    eq(get(at, "", raw=b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n")[0],
       414)
    eq(get(at, "", raw=b"GET / HTTP/1.1\r\nA: " + b"a" * 20000 +
           b"\r\n\r\n")[0], 431)
    held = [connect(at) for _ in range(100)]
    for s in held:
        s.sendall(b"GET /metr")
    # Full of clients that say nothing more: told so, or served when one of
    # them has to go.
    assert get(at, "/healthz")[0] in (0, 200, 503)
    for s in held:
        s.close()
    until("healthz", lambda: get(at, "/healthz")[0] == 200)


@case("port_in_use")
def _():
    path = config("second.conf", listen=mon.listen)
    err = run("qo-monitor", "-f", path, code=78).err
    assert "[monitor] listen" in err and "in use" in err, err
    eq(len([x for x in err.splitlines() if "warning: " not in x]), 1, err)


@case("worker_completes")
def _():
    w = Daemon("qo-worker", "-f", config("calm.conf", lease="60s"))
    tid = submit("ok")
    eq(when(tid, "completed")["attempt"], 1)
    when(mon.first, "completed")
    w.stop()
    until("nothing to be ready",
          lambda: metrics(mon.listen).get("qo_ready_tasks") == 0)


def die_with(*args):
    """A task that ran in a worker that was killed with all it started."""
    w = Daemon("qo-worker", "-f", CONF)
    tid = submit("hang", *args)
    t = becomes(tid, "claimed", lambda t: t["status"] in ("running", "failed"))
    w.kill_all()
    return tid, t


def given_back(t):
    """Once for each of its claims, which are counted: one, unless the machine
    stood still for longer than a lease."""
    n = t["attempt"]
    assert n >= 1, t
    eq((t["retry_count"], t["generation"]), (n, n + 1), t["id"])
    return n


@case("lease_runs_out_retry")
def _():
    tid, running = die_with("--retries", "50")
    t = when(tid, "pending")
    n = given_back(t)
    eq({e["kind"] for e in t["errors"]}, {"lease_expired"})
    assert running["lease_id"] in [e["lease_id"] for e in t["errors"]], t
    # Counted and told when the answer has come.
    mon.wait_for(r'(?s)(msg="lease ran out" task=%s.*){%d}' % (tid, n))
    m = metrics(mon.listen)
    eq(m["qo_leases_reclaimed_total"], n)
    eq(m['qo_tasks_total{handler="hang",type="hang",outcome="retried"}'], n)
    qo("cancel", tid)


@case("lease_runs_out_failed")
def _():
    tid, _ = die_with("--retries", "0")
    eq(when(tid, "failed")["last_error"],
       "the worker stopped renewing its lease")
    until("counted", lambda: metrics(mon.listen).get("qo_failed_tasks") == 1)


@case("lease_runs_out_cancelled")
def _():
    w = Daemon("qo-worker", "-f", CONF)
    tid = submit("hang", "--retries", "50")
    when(tid, "running")
    os.killpg(w.proc.pid, signal.SIGSTOP)   # before it can hear of it
    qo("cancel", tid)
    w.kill_all()
    when(tid, "cancelled")


@case("stale_workers")
def _():
    w = Daemon("qo-worker", "-f", CONF, "--id", "doomed")
    until("its record", lambda: "doomed" in qo("workers", "--json"))
    w.kill_all()
    # Two: one that is late would find it dead and not tell that it is silent.
    with monitor("worker_stale = 2s\nworker_dead = 1h\n") as other:
        other.wait_for(r'msg="a worker is silent" worker=doomed')
    with monitor("worker_stale = 2s\nworker_dead = 4s\n") as other:
        other.wait_for(r'msg="removed the record of a dead worker" '
                       'worker=doomed')
        until("removed", lambda: "doomed" not in qo("workers", "--json"))


@case("two_monitors")
def _():
    """Sixteen leases at once, two monitors that both want them."""
    with monitor() as other:
        until("readyz", lambda: get(other.listen, "/readyz")[0] == 200)
        w = Daemon("qo-worker", "-f", CONF)
        ids = [submit("hang", "--retries", "50") for _ in range(16)]
        for tid in ids:
            when(tid, "running")
        w.kill_all()
        claims = 0
        for tid in ids:
            t = when(tid, "pending")
            claims += given_back(t)

        def told():
            """By both, of these: one of an earlier case may come late."""
            said = re.findall(r'msg="lease ran out" task=(\S+)',
                              mon.text() + other.text())
            return len([tid for tid in said if tid in ids])
        until("both to tell", lambda: told() >= claims)
        eq(told(), claims)
        for tid in ids:
            qo("cancel", tid)


@case("frozen_monitor")
def _():
    """One that stood still while another did its work does no harm."""
    with monitor() as other:
        until("readyz", lambda: get(other.listen, "/readyz")[0] == 200)
        tid, _ = die_with("--retries", "50")
        time.sleep(1)       # anywhere in its work
        other.proc.send_signal(signal.SIGSTOP)
        when(tid, "pending")
        other.proc.send_signal(signal.SIGCONT)
        n = metrics(other.listen)['qo_s3_requests_total{op="list"}']
        until("its next passes", lambda: metrics(other.listen)[
            'qo_s3_requests_total{op="list"}'] > n + 5)
        t = task(tid)
        eq(t["status"], "pending")
        given_back(t)
        qo("cancel", tid)


@case("killed_monitor")
def _():
    """kill -9 again and again; every lease is given back in the end."""
    w = Daemon("qo-worker", "-f", CONF)
    ids = [submit("hang", "--retries", "50") for _ in range(16)]
    for tid in ids:
        when(tid, "running")
    w.kill_all()
    for n in range(12):
        m = Daemon("qo-monitor", "-f", CONF)
        time.sleep(0.05 * (n + 1))
        m.kill()
    for tid in ids:
        given_back(when(tid, "pending"))
        qo("cancel", tid)


@case("once")
def _():
    tid = submit("nobody", "--expires", "1s")
    mon.stop()
    until("once", lambda: run("qo-monitor", "-f", CONF, "--once") and
          qo("stats", "--json"))
    # Too young to be looked at: left to the workers for a minute.
    assert task(tid)["status"] in ("pending", "expired")


@case("store_away")
def _():
    """It waits for the store, tells so, and ends when it is asked to."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    m = monitor(port=s.getsockname()[1])
    m.wait_for(r'msg="waiting for the store"')
    status, _, body = get(m.listen, "/readyz")
    eq(status, 503)
    assert "queue" in body, body
    eq(get(m.listen, "/healthz")[0], 200)
    eq(metrics(m.listen)["qo_store_up"], 0)
    m.stop()
    eq(m.text().count("waiting for the store"), 1)


@case("clean_in_the_end")
def _():
    qo("fsck", "--offline", "--repair")
    out = qo("fsck", "--offline")
    assert "no-entry" not in out, out


store.stop()
finish()
