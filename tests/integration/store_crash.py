"""What an acknowledged write is worth: the store is killed under load again
and again, its disk fills up, its disk turns read-only."""

import hashlib
import http.client
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from qo_lib import until
from store_lib import BINARY, Client, Skip, Store, case, eq, finish

KILLS = int(os.environ.get("QO_KILLS", "5"))
WRITERS = 8


def body(key, n):
    """Anyone can tell whether this is whole: it says what it must be."""
    rng = random.Random("%s %d" % (key, n))
    size = rng.choice((10, 1000, 20000, 1 << 20, (1 << 20) + 1, 3 << 20)) \
        if n % 20 == 0 else rng.randrange(2000)
    line = ("%s %d;" % (key, n)).encode()
    return line + hashlib.sha256(line).digest() * (size // 32)


class Writer(threading.Thread):
    """Puts and deletes keys of its own; remembers what was acknowledged."""

    def __init__(self, store, me):
        super().__init__(daemon=True)
        self.store = store
        self.me = me
        self.sure = {}   # key: n of the last acknowledged, 0: deleted
        self.maybe = {}  # key: what was sent and not acknowledged
        self.n = 0
        self.count = 0
        self.stopping = False

    def run(self):
        c = Client(self.store, self.store.key)
        rng = random.Random(self.me)
        try:
            while not self.stopping:
                self.n += 1
                key = "w%d/%d" % (self.me, rng.randrange(40))
                delete = rng.random() < 0.1 and self.sure.get(key)
                n = 0 if delete else self.n
                self.maybe.setdefault(key, []).append(n)
                if delete:
                    r = c("DELETE", "/bkt/" + key)
                else:
                    r = c.put("/bkt/" + key, body(key, n))
                if r.status not in (200, 204):
                    raise AssertionError("%s" % r)
                self.sure[key] = n
                self.maybe[key] = []
                self.count += 1
        except (OSError, http.client.HTTPException):
            pass  # the store was killed
        finally:
            c.close()


def verify(store, writers):
    c = store.client()
    for w in writers:
        for key in set(w.sure) | set(w.maybe):
            r = c.get("/bkt/" + key)
            allowed = [w.sure.get(key, 0)] + w.maybe.get(key, [])
            if r.status == 404:
                if 0 not in allowed:
                    raise AssertionError("%s is lost: %s" % (key, allowed))
                w.sure[key] = 0
            else:
                eq(r.status, 200, key)
                for n in allowed:
                    if n and r.body == body(key, n):
                        w.sure[key] = n
                        break
                else:
                    raise AssertionError("%s holds %r, allowed %s" % (
                        key, r.body[:40], allowed))
            w.maybe[key] = []
    c.close()


@case("kill_9_under_load_%d_times" % KILLS)
def _():
    with Store() as store:
        store.client().put("/bkt")
        writers = [Writer(store, i) for i in range(WRITERS)]
        rng = random.Random(9)
        for round in range(KILLS):
            for w in writers:
                w.start()
            time.sleep(0.2 + rng.random() * 0.5)
            # A disk may be busy with other things.
            until("writes", lambda: sum(w.count for w in writers) > 20)
            store.proc.send_signal(signal.SIGKILL)
            store.proc.wait()
            for w in writers:
                w.join()
            store.stop(signal.SIGKILL)
            store.start()
            fresh = []
            for w in writers:
                n = Writer(store, w.me)
                n.sure, n.maybe, n.n = w.sure, w.maybe, w.n
                fresh.append(n)
            writers = fresh
            verify(store, writers)
        eq(store.stop(), 0)
        out = subprocess.run([BINARY, "--check", "-d", store.data],
                             capture_output=True)
        eq(out.returncode, 0, out.stdout)


class Mount:
    """A small tmpfs; skips the case where mounting is not allowed."""

    def __init__(self, size):
        self.dir = tempfile.mkdtemp(prefix="qo-disk.")
        p = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size,
                            "qo-test", self.dir], capture_output=True)
        if p.returncode != 0:
            os.rmdir(self.dir)
            raise Skip("can not mount a tmpfs: %s" %
                       p.stderr.decode().strip())

    def options(self, text):
        p = subprocess.run(["mount", "-o", "remount," + text, self.dir],
                           capture_output=True)
        if p.returncode != 0:
            raise Skip("can not remount: %s" % p.stderr.decode().strip())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        until("an unmounted disk", lambda: subprocess.run(
            ["umount", self.dir], capture_output=True).returncode == 0)
        os.rmdir(self.dir)


def fill(c, prefix, size):
    """Writes until it is refused; the keys that were acknowledged."""
    good = []
    for i in range(10000):
        key = "/bkt/%s%d" % (prefix, i)
        r = c.put(key, body(key, 1)[:50] + b"x" * size)
        if r.status != 200:
            eq((r.status, r.code), (503, "ServiceUnavailable"))
            assert b"full" in r.body, r.body
            return good
        good.append(key)
    raise AssertionError("the disk never filled up")


@case("40_disk_full")
def _():
    with Mount("16m") as m, Store(data=m.dir + "/data") as store:
        c = store.client()
        c.put("/bkt")
        start = time.monotonic()
        big = fill(c, "big", 2 << 20)
        small = fill(c, "small", 1000)
        assert big and small
        # Reads go on, nothing is half there.
        listed = []
        token = ""
        while True:
            r = c.get("/bkt", "list-type=2" + token)
            listed += r.all("Key")
            if r.one("IsTruncated") == "false":
                break
            token = "&start-after=" + listed[-1]
        eq(sorted("/bkt/" + k for k in listed), sorted(big + small))
        for key in big + small[:50]:
            r = c.get(key)
            eq(r.body[:20], body(key, 1)[:50][:20], key)
        assert "disk is full" in store.log_text()
        said = store.log_text().count("answered with 503")
        assert said <= 1 + (time.monotonic() - start) // 60, said
        # Space comes back: so does the service, by itself.
        m.options("size=64m")
        eq(c.put("/bkt/after", b"x" * 100000).status, 200)
        eq(c.get("/bkt/after").status, 200)
        eq(c.put("/bkt/after2", b"x" * (2 << 20)).status, 200)
        eq(store.stop(), 0)
        out = subprocess.run([BINARY, "--check", "-d", store.data],
                             capture_output=True)
        eq(out.returncode, 0, out.stdout)


class Image:
    """A small ext4 in a file; skips the case where that is not allowed."""

    def __init__(self, mib):
        self.top = tempfile.mkdtemp(prefix="qo-disk.")
        self.file = self.top + "/image"
        self.dir = self.top + "/disk"
        os.mkdir(self.dir)
        with open(self.file, "wb") as f:
            f.truncate(mib << 20)
        try:
            self.run("mkfs.ext4", "-q", "-F", "-m", "0", self.file)
            self.mount()
        except BaseException:
            shutil.rmtree(self.top)
            raise

    def run(self, *args):
        try:
            p = subprocess.run(args, capture_output=True)
        except FileNotFoundError as e:
            raise Skip("no %s" % e.filename)
        if p.returncode != 0:
            raise Skip("%s: %s" % (args[0], p.stderr.decode().strip()))
        return p.stdout.decode().strip()

    def mount(self):
        self.run("mount", "-o", "loop,errors=remount-ro", self.file, self.dir)

    def umount(self):
        until("an unmounted disk", lambda: subprocess.run(
            ["umount", self.dir], capture_output=True).returncode == 0)

    def break_down(self):
        """As ext4 does after an error: read-only, with all files open."""
        dev = self.run("findmnt", "-no", "SOURCE", self.dir)
        knob = "/sys/fs/ext4/%s/trigger_fs_error" % os.path.basename(dev)
        try:
            with open(knob, "w") as f:
                f.write("1")
        except OSError as e:
            raise Skip("can not make ext4 read-only: %s" % e)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if os.path.ismount(self.dir):
            self.umount()
        shutil.rmtree(self.top)


@case("40_full_ext4")
def _():
    with Image(48) as m, Store(data=m.dir + "/data") as store:
        c = store.client()
        c.put("/bkt")
        eq(c.put("/bkt/before", b"1").status, 200)
        try:
            with open(m.dir + "/ballast", "wb", 0) as f:
                while f.write(b"x" * 65536) == 65536:
                    pass
        except OSError:
            pass
        small = fill(c, "small", 3000)
        r = c.put("/bkt/large", b"x" * (2 << 20))
        eq((r.status, r.code), (503, "ServiceUnavailable"))
        for key in ["/bkt/before"] + small:
            eq(c.get(key).status, 200)
        eq(c.get("/bkt/large").status, 404)
        assert "disk is full" in store.log_text()
        os.unlink(m.dir + "/ballast")
        eq(c.put("/bkt/after", b"2").status, 200)
        eq(c.put("/bkt/large", b"x" * (2 << 20)).status, 200)
        eq(store.stop(), 0)
        out = subprocess.run([BINARY, "--check", "-d", store.data],
                             capture_output=True)
        eq(out.returncode, 0, out.stdout)


@case("40_read_only_disk")
def _():
    # That it goes on when the disk does is test_40_failing_disk's: an ext4
    # that broke down can not be written again without being mounted anew.
    with Image(48) as m, tempfile.TemporaryDirectory() as keep:
        store = Store(data=m.dir + "/data", log=keep)
        try:
            c = store.client()
            c.put("/bkt")
            eq(c.put("/bkt/before", b"1").status, 200)
            eq(c.put("/bkt/large", b"1" * (2 << 20)).status, 200)
            m.break_down()
            start = time.monotonic()
            for key, size in (("small", 1), ("big", 2 << 20), ("small", 2)):
                r = c.put("/bkt/" + key, b"x" * size)
                eq((r.status, r.code), (503, "ServiceUnavailable"), key)
                assert b"read-only" in r.body, r.body
                eq(r.headers["retry-after"], "1")
            eq(c("DELETE", "/bkt/before").status, 503)
            eq(c.get("/bkt/before").body, b"1")
            eq(c.get("/bkt/large").body, b"1" * (2 << 20))
            eq(c.get("/bkt", "list-type=2").all("Key"), ["before", "large"])
            said = store.log_text().count(
                "the disk is read-only: writes are answered with 503 until "
                "that changes")
            assert 1 <= said <= 1 + (time.monotonic() - start) // 60, said
            c.close()
            eq(store.stop(), 0)
            # Repaired, it has all that was acknowledged and nothing else.
            m.umount()
            subprocess.run(["e2fsck", "-p", "-f", m.file],
                           capture_output=True)
            m.mount()
            store.start()
            eq(c.get("/bkt", "list-type=2").all("Key"), ["before", "large"])
            eq(c.put("/bkt/after", b"2").status, 200)
            c.close()
            eq(store.stop(), 0)
            out = subprocess.run([BINARY, "--check", "-d", store.data],
                                 capture_output=True)
            eq(out.returncode, 0, out.stdout)
        finally:
            store.close()


@case("40_start_on_a_read_only_disk")
def _():
    with Mount("32m") as m:
        with Store(data=m.dir + "/data") as store:
            c = store.client()
            c.put("/bkt")
            eq(store.stop(), 0)
        m.options("ro")
        p = subprocess.run([BINARY, "-d", m.dir + "/data", "-l",
                            "127.0.0.1:0"], capture_output=True, timeout=60)
        eq(p.returncode, 1, p.stderr)
        eq(len(p.stderr.splitlines()), 1, p.stderr)


finish()
