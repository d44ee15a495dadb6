"""What the tests of qo-store share: a store of their own, a signer that is
written independently of the C one, a client on plain sockets, and cases that
print `ok NAME' or `not ok NAME: why'.  Standard library only."""

import atexit
import base64
import configparser
import datetime
import hashlib
import hmac
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

BUILD = os.environ.get("B", "build")
BINARY = os.path.join(BUILD, "bin", "qo-store")
EMPTY = hashlib.sha256(b"").hexdigest()


# Cases.

failures = 0
# A test that is told to end ends what it started and removes what it wrote.
signal.signal(signal.SIGTERM, signal.default_int_handler)


def directory(prefix):
    """A new one, which is gone when the test has ended."""
    path = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


class Skip(Exception):
    pass


def hidden(e):
    """Our processes hide their memory: some of /proc is for root alone."""
    return (isinstance(e, PermissionError) and os.geteuid() != 0 and
            str(e.filename).startswith("/proc/"))


def case(name):
    """Decorator: runs the function at once as one case."""

    def wrap(fn):
        global failures
        try:
            fn()
            print("ok " + name, flush=True)
        except Skip as e:
            print("skip %s: %s" % (name, str(e).split("\n")[0]), flush=True)
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt):
                raise
            if hidden(e):
                print("skip %s: only root sees %s" % (name, e.filename),
                      flush=True)
                return fn
            failures += 1
            text = str(e).splitlines()[0] if str(e) else ""
            where = traceback.extract_tb(e.__traceback__)[-1]
            print("not ok %s: %s %s (line %d: %s)" % (
                name, type(e).__name__, text, where.lineno, where.line),
                flush=True)
        return fn

    return wrap


def finish():
    sys.exit(1 if failures else 0)


def eq(got, want, what=""):
    if got != want:
        raise AssertionError("%s got %r, want %r" % (what, got, want))


# The store.

class Store:
    def __init__(self, *args, data=None, keys=None, env=None, log=None):
        self.own = data is None
        self.data = data or os.path.join(
            tempfile.mkdtemp(prefix="qo-store."), "data")
        self.args = list(args)
        self.keys_text = keys
        self.env = env
        self.log_path = log + "/log" if log else self.data + ".log"
        self.proc = None
        atexit.register(self.close)
        self.start()

    def start(self, wait=True):
        if self.keys_text is not None:
            os.makedirs(self.data, 0o700, exist_ok=True)
            self.write_keys(self.keys_text)
        self.log = open(self.log_path, "ab")
        args = [BINARY, "-d", self.data]
        if "-l" not in self.args and "-s" not in self.args:
            args += ["-l", "127.0.0.1:0"]
        self.proc = subprocess.Popen(
            args + self.args, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.log, env=self.env)
        self.ready = self.proc.stdout.readline().decode()
        m = re.match(r"qo-store ready http://(.*):(\d+)$", self.ready)
        self.host, self.port = (m.group(1), int(m.group(2))) if m else \
            (None, None)
        if wait and not self.ready:
            raise RuntimeError("qo-store did not start: " + self.log_text())
        if wait:
            self.read_keys()

    def write_keys(self, text):
        path = os.path.join(self.data, "keys")
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o600)

    def read_keys(self):
        ini = configparser.ConfigParser(interpolation=None)
        ini.read(os.path.join(self.data, "keys"))
        self.keys = {s: (ini[s]["access_key"], ini[s]["secret_key"])
                     for s in ini.sections()}
        self.key = self.keys[ini.sections()[0]]

    def log_text(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    @property
    def url(self):
        return "http://%s:%d" % (self.host, self.port)

    def stop(self, sig=signal.SIGTERM, timeout=240):
        if self.proc is None:
            return None
        self.proc.send_signal(sig)
        try:
            rc = self.proc.wait(timeout)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            raise AssertionError("qo-store did not end")
        finally:
            self.proc.stdout.close()
            self.log.close()
            self.proc = None
        return rc

    def close(self):
        if self.proc is not None:
            self.proc.kill()
            self.proc.wait()
            self.proc.stdout.close()
            self.log.close()
            self.proc = None
        if self.own:
            shutil.rmtree(os.path.dirname(self.data), ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def client(self, key=None, token=None):
        return Client(self, key or self.key, token)


# Signatures.

def quote(s, safe="/"):
    return urllib.parse.quote(s, safe=safe + "-_.~")


def amz_date(t=None):
    t = t if t is not None else time.time()
    return datetime.datetime.utcfromtimestamp(t).strftime("%Y%m%dT%H%M%SZ")


def hm(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signing_key(secret, day, region="us-east-1", service="s3"):
    k = hm(("AWS4" + secret).encode(), day)
    return hm(hm(hm(k, region), service), "aws4_request")


def canonical_query(query):
    pairs = []
    for part in query.split("&") if query else []:
        k, _, v = part.partition("=")
        k = urllib.parse.unquote_plus(k, errors="surrogateescape")
        v = urllib.parse.unquote_plus(v, errors="surrogateescape")
        pairs.append((urllib.parse.quote(k, safe="-_.~", errors="surrogateescape"),
                      urllib.parse.quote(v, safe="-_.~", errors="surrogateescape")))
    return "&".join("%s=%s" % p for p in sorted(pairs))


def canonical(method, path, query, headers, names, payload):
    low = {k.lower(): " ".join(str(v).split()) for k, v in headers.items()}
    return "\n".join(
        [method, path, canonical_query(query)]
        + ["%s:%s" % (n, low[n]) for n in names]
        + ["", ";".join(names), payload])


def string_to_sign(date, scope, canon):
    return "\n".join(["AWS4-HMAC-SHA256", date, scope,
                      hashlib.sha256(canon.encode()).hexdigest()])


def sign(method, path, query, headers, payload, key, date=None,
         region="us-east-1", service="s3", names=None):
    """Adds Authorization to headers; returns the signature."""
    date = date or amz_date()
    headers["x-amz-date"] = date
    if payload is not None:
        headers["x-amz-content-sha256"] = payload
    names = names or sorted(
        k.lower() for k in headers
        if k.lower() == "host" or k.lower().startswith("x-amz-")
        or k.lower() in ("content-type", "content-md5", "if-match",
                         "if-none-match"))
    scope = "%s/%s/%s/aws4_request" % (date[:8], region, service)
    canon = canonical(method, path, query, headers, names, payload)
    sig = hmac.new(signing_key(key[1], date[:8], region, service),
                   string_to_sign(date, scope, canon).encode(),
                   hashlib.sha256).hexdigest()
    headers["Authorization"] = (
        "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s"
        % (key[0], scope, ";".join(names), sig))
    return sig


def presign(store, method, path, key, expires=60, date=None, query="",
            headers=None):
    date = date or amz_date()
    scope = "%s/us-east-1/s3/aws4_request" % date[:8]
    h = {"host": "%s:%d" % (store.host, store.port)}
    h.update(headers or {})
    names = sorted(k.lower() for k in h)
    q = [query] if query else []
    q += ["X-Amz-Algorithm=AWS4-HMAC-SHA256",
          "X-Amz-Credential=" + quote("%s/%s" % (key[0], scope), ""),
          "X-Amz-Date=" + date, "X-Amz-Expires=%s" % expires,
          "X-Amz-SignedHeaders=" + quote(";".join(names), "")]
    query = "&".join(q)
    canon = canonical(method, path, query, h, names, "UNSIGNED-PAYLOAD")
    sig = hmac.new(signing_key(key[1], date[:8]),
                   string_to_sign(date, scope, canon).encode(),
                   hashlib.sha256).hexdigest()
    return query + "&X-Amz-Signature=" + sig


# Requests.

class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {k.lower(): v for k, v in headers}
        self.body = body

    @property
    def code(self):
        m = re.search(rb"<Code>(.*?)</Code>", self.body)
        return m.group(1).decode() if m else None

    @property
    def etag(self):
        return self.headers.get("etag")

    @property
    def vid(self):
        return self.headers.get("x-amz-version-id")

    def all(self, tag):
        return [unxml(x) for x in re.findall(
            "<%s>(.*?)</%s>" % (tag, tag), self.body.decode(), re.S)]

    def one(self, tag):
        found = self.all(tag)
        return found[0] if found else None

    def __repr__(self):
        return "<%d %s>" % (self.status, self.code)


def unxml(s):
    for a, b in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'),
                 ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&")):
        s = s.replace(a, b)
    return s


class Client:
    """One keep-alive connection with credentials."""

    def __init__(self, store, key, token=None):
        self.store = store
        self.key = key
        self.token = token
        self.conn = None

    def close(self):
        if self.conn is not None:
            self.conn.close()
            self.conn = None

    def host(self):
        return "%s:%d" % (self.store.host, self.store.port)

    def __call__(self, method, path, query="", body=b"", headers=None,
                 signed=True, payload=None, date=None, raw=False, **kw):
        """path is a key's text unless raw; query is as sent."""
        if not raw:
            path = quote(path)
        h = {"host": self.host()}
        h.update(headers or {})
        if isinstance(body, str):
            body = body.encode()
        if signed:
            if self.token:
                h["x-amz-security-token"] = self.token
            # The canonical path has one spelling of each byte.
            plain = urllib.parse.unquote_to_bytes(path)
            sign(method, urllib.parse.quote(plain, safe="/-_.~"), query, h,
                 payload or hashlib.sha256(body).hexdigest(),
                 self.key, date, **kw)
        return self.send(method, path, query, body, h)

    def send(self, method, path, query, body, headers):
        url = path + ("?" + query if query else "")
        for attempt in (0, 1):
            fresh = self.conn is None
            if fresh:
                self.conn = http.client.HTTPConnection(
                    self.store.host, self.store.port, timeout=240)
            try:
                self.conn.putrequest(method, url, skip_host=True,
                                     skip_accept_encoding=True)
                for k, v in headers.items():
                    self.conn.putheader(k, v)
                if body or method in ("PUT", "POST"):
                    if "transfer-encoding" not in {
                            k.lower() for k in headers}:
                        self.conn.putheader("content-length", len(body))
                try:
                    self.conn.endheaders(body or None)
                except ConnectionError:
                    if self.conn.sock is None:
                        raise
                    # Refused before all was sent: the answer is there.
                r = self.conn.getresponse()
                data = r.read()
            except (ConnectionError, http.client.BadStatusLine):
                self.close()
                if fresh or attempt:
                    raise
                continue
            if r.will_close:
                self.close()
            return Answer(r.status, r.getheaders(), data)

    def put(self, path, body=b"", **headers):
        return self("PUT", path, body=body, headers={
            k.replace("_", "-"): v for k, v in headers.items()})

    def get(self, path, query="", **headers):
        return self("GET", path, query, headers={
            k.replace("_", "-"): v for k, v in headers.items()})


def raw(store, data, timeout=240, half=True):
    """Sends bytes, reads until the other side closes (or the time is up)."""
    s = socket.create_connection((store.host, store.port), timeout)
    out = b""
    try:
        try:
            s.sendall(data)
            if half:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before all was sent: the answer is there
        while True:
            chunk = s.recv(65536)
            if not chunk:
                return out
            out += chunk
    except socket.timeout:
        return out + b"\n*TIMEOUT*"
    except ConnectionError:
        return out
    finally:
        s.close()


def md5_64(body):
    return base64.b64encode(hashlib.md5(body).digest()).decode()
