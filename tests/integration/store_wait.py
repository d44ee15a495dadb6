"""The long poll on LIST, lifecycle rules carried out, drain, and sleep."""

import os
import select
import signal
import socket
import subprocess
import threading
import time

from qo_lib import until
from store_lib import BINARY, EMPTY, Client, Store, case, eq, finish, sign

store = Store()
c = store.client()
c.put("/bkt")
c.put("/bkt2")


def seq():
    return int(c.get("/bkt", "list-type=2&max-keys=1").headers["x-qo-seq"])


class Waiter(threading.Thread):
    """One LIST that waits, on a connection of its own."""

    def __init__(self, prefix, since, seconds=200):
        super().__init__(daemon=True)
        self.client = Client(store, store.key)
        self.args = ("list-type=2&prefix=" + prefix,
                     "%d; since=%d" % (seconds, since))
        self.answer = None
        self.took = None
        self.start()

    def run(self):
        start = time.monotonic()
        self.answer = self.client.get(
            "/bkt", self.args[0], x_qo_wait=self.args[1])
        self.took = time.monotonic() - start

    def get(self):
        """Long before 200 s are over, also on a busy machine."""
        self.join(150)
        if self.answer is None:
            raise AssertionError("no answer")
        self.client.close()
        return self.answer


def established(on):
    """Connections that the store has."""
    return len(os.listdir("/proc/%d/fd" % on.proc.pid))


def ask_to_wait(prefix, since):
    """One LIST that waits, sent; for those who do not want a thread."""
    k = Client(store, store.key)
    h = {"host": k.host(), "x-qo-wait": "200; since=%d" % since}
    sign("GET", "/bkt", "prefix=" + prefix, h, EMPTY, store.key)
    s = socket.create_connection((store.host, store.port), 240)
    s.sendall(("GET /bkt?prefix=%s HTTP/1.1\r\n" % prefix + "".join(
        "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode())
    return s


def queued(local, remote):
    """Bytes that a side of a connection has not had confirmed, and has not
    read."""
    with open("/proc/net/tcp") as f:
        for line in f:
            w = line.split()
            if w[1].endswith(":%04X" % local) and \
                    w[2].endswith(":%04X" % remote):
                return [int(n, 16) for n in w[4].split(":")]
    return [1, 1]  # not there yet


def until_taken(s):
    """The store has read what was sent."""
    ours = s.getsockname()[1]
    until("sent", lambda: queued(ours, store.port)[0] == 0)
    until("taken", lambda: queued(store.port, ours)[1] == 0)


def settle(waiters, seconds=0.3):
    """A wait that should hold: nobody has come back after a moment."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for w in waiters:
            if w.answer is not None:
                raise AssertionError("answered: %s" % w.answer)
        time.sleep(0.02)


@case("a_new_key_wakes")
def _():
    n = seq()
    w = Waiter("ready/", n)
    settle([w])
    c.put("/bkt/other/x", b"")
    c.put("/bkt2/ready/x", b"")
    settle([w])
    c.put("/bkt/ready/1", b"")
    r = w.get()
    eq(r.all("Key"), ["ready/1"])
    assert int(r.headers["x-qo-seq"]) > n


@case("only_creation_wakes")
def _():
    n = seq()
    w = Waiter("ready/", n)
    settle([w])
    c.put("/bkt/ready/1", b"again")
    c("DELETE", "/bkt/ready/1")
    settle([w])
    c.put("/bkt/ready/1", b"made anew")
    eq(w.get().all("Key"), ["ready/1"])


@case("copy_and_multipart_wake_too")
def _():
    w = Waiter("ready/c", seq())
    settle([w], 0.1)
    c("PUT", "/bkt/ready/copy", headers={"x-amz-copy-source": "bkt/ready/1"})
    eq(w.get().status, 200)
    w = Waiter("ready/m", seq())
    uid = c("POST", "/bkt/ready/mp", "uploads").one("UploadId")
    e = c("PUT", "/bkt/ready/mp", "partNumber=1&uploadId=" + uid, b"x").etag
    settle([w], 0.1)
    c("POST", "/bkt/ready/mp", "uploadId=" + uid, "<CompleteMultipartUpload>"
      "<Part><PartNumber>1</PartNumber><ETag>%s</ETag></Part>"
      "</CompleteMultipartUpload>" % e)
    eq(w.get().all("Key"), ["ready/mp"])


@case("at_once_when_one_came_since")
def _():
    n = seq()
    c.put("/bkt/ready/2", b"")
    w = Waiter("ready/", n)
    assert "ready/2" in w.get().all("Key")
    w = Waiter("ready/", seq(), 1)
    w.get()
    assert w.took >= 0.9, w.took


@case("unknown_numbers_are_answered_at_once")
def _():
    eq(Waiter("ready/", 10 ** 9).get().status, 200)
    eq(store.stop(), 0)
    store.start()
    c.close()
    n = seq()
    eq(Waiter("zzz/", n - 1).get().status, 200)
    w = Waiter("zzz/", n, 1)
    w.get()
    assert w.took >= 0.9, w.took


@case("numbers_survive_a_restart")
def _():
    n = seq()
    c.put("/bkt/ready/3", b"")
    assert seq() > n
    n = seq()
    store.stop()
    store.start()
    c.close()
    assert seq() >= n


@case("bad_x_qo_wait")
def _():
    for text in ("x", "5", "5; since=", "5; since=x", "-1; since=1",
                 "5; since=1 ", "5; since=99999999999999999999"):
        r = c.get("/bkt", "list-type=2", x_qo_wait=text)
        if text.endswith(" "):
            continue  # white space is the HTTP part's
        eq((r.status, r.code), (400, "InvalidArgument"), text)
    eq(c.get("/bkt", "list-type=2", x_qo_wait="0; since=1").status, 200)


@case("at_most_256_wait")
def _():
    n = seq()
    ws = [Waiter("lim/", n) for _ in range(257)]
    # Whoever comes last is the one too many.
    refused = until("a refusal", lambda: [
        w for w in ws if w.answer is not None])
    eq([(w.answer.status, w.answer.code) for w in refused],
       [(503, "SlowDown")])
    ws.remove(refused[0])
    settle(ws)
    # Others are served meanwhile.
    eq(c.get("/bkt/ready/1").status, 200)
    c.put("/bkt/lim/x", b"")
    for w in ws:
        eq(w.get().all("Key"), ["lim/x"])


@case("a_waiter_that_leaves_makes_room")
def _():
    n = seq()
    before = established(store)
    for _ in range(300):
        s = socket.create_connection((store.host, store.port))
        s.close()
    for _ in range(3):
        ws = [ask_to_wait("none/", n) for _ in range(100)]
        for s in ws:
            s.close()
    until("they have left", lambda: established(store) <= before + 1)
    w = Waiter("none/", n, 1)
    eq(w.get().status, 200)


@case("drain_ends_waiting_first")
def _():
    n = seq()
    ws = [ask_to_wait("drain/", n) for _ in range(5)]
    for s in ws:
        until_taken(s)
    eq(select.select(ws, [], [], 0.3)[0], [])
    start = time.monotonic()
    store.proc.send_signal(signal.SIGTERM)
    for s in ws:
        answer = s.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        s.close()
    assert time.monotonic() - start < 150
    store.proc.wait(240)
    eq(store.stop(), 0)
    store.start()
    c.close()


@case("idle_does_not_wake")
def _():
    c.close()

    def switches():
        total = 0
        base = "/proc/%d/task" % store.proc.pid
        for t in os.listdir(base):
            with open("%s/%s/status" % (base, t)) as f:
                for line in f:
                    if "ctxt_switches" in line:
                        total += int(line.split()[1])
        return total

    def sleeps():
        before = switches()
        time.sleep(2)
        return switches() == before
    until("a rest", sleeps)  # a checkpoint follows the last write


@case("lifecycle_rules_are_carried_out")
def _():
    with Store("--lifecycle-interval", "100", "--lifecycle-day", "1000") as s:
        k = s.client()
        k.put("/lcyc")
        k("PUT", "/lcyc", "versioning", "<VersioningConfiguration><Status>"
          "Enabled</Status></VersioningConfiguration>")
        for i in range(3):
            k.put("/lcyc/idx/k", str(i).encode())
            k.put("/lcyc/keep/k", str(i).encode())
        k.put("/lcyc/idx/gone", b"")
        k("DELETE", "/lcyc/idx/gone")
        k.put("/lcyc/old/k", b"")
        uid = k("POST", "/lcyc/idx/up", "uploads").one("UploadId")
        doc = ("<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled"
               "</Status><Filter><Prefix>idx/</Prefix></Filter><Expiration>"
               "<ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker>"
               "</Expiration><NoncurrentVersionExpiration><NoncurrentDays>1"
               "</NoncurrentDays></NoncurrentVersionExpiration>"
               "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1"
               "</DaysAfterInitiation></AbortIncompleteMultipartUpload>"
               "</Rule><Rule><Status>Enabled</Status><Prefix>old/</Prefix>"
               "<Expiration><Days>1</Days></Expiration></Rule>"
               "</LifecycleConfiguration>")
        eq(k("PUT", "/lcyc", "lifecycle", doc).status, 200)
        eq(k.get("/lcyc", "lifecycle").all("NoncurrentDays"), ["1"])
        until("the rules", lambda:
              k.get("/lcyc", "versions&prefix=idx/").all("Key") == ["idx/k"]
              and k.get("/lcyc/old/k").status == 404
              and not k.get("/lcyc", "uploads").all("UploadId"))
        eq(k.get("/lcyc/idx/k").body, b"2")
        eq(len(k.get("/lcyc", "versions&prefix=keep/").all("Key")), 3)
        for bad, code in (
                ("<Expiration><Days>0</Days></Expiration>", "InvalidArgument"),
                ("<Expiration><Days>x</Days></Expiration>", "InvalidArgument"),
                ("<Transition><Days>1</Days></Transition>", "NotImplemented"),
                ("", "MalformedXML")):
            r = k("PUT", "/lcyc", "lifecycle", "<LifecycleConfiguration><Rule>"
                  "<Status>Enabled</Status><Prefix/>%s</Rule>"
                  "</LifecycleConfiguration>" % bad)
            eq(r.code, code, bad)
        eq(k("DELETE", "/lcyc", "lifecycle").status, 204)
        eq(k.get("/lcyc", "lifecycle").code, "NoSuchLifecycleConfiguration")
        eq(s.stop(), 0)


@case("check_and_backup_beside_a_running_store")
def _():
    dest = store.data + ".copy"
    for args in (["--check"], ["--backup", dest]):
        out = subprocess.run([BINARY, "-d", store.data] + args,
                             capture_output=True)
        eq(out.returncode, 0, out.stderr)
    with Store(data=dest) as s:
        s.own = False
        k = s.client()
        eq(k.get("/bkt/ready/1").status, 200)


store.close()
finish()
