"""The embedded store under hostile clients: the checks 28 to 40 of the
security checklist, each a case with its number."""

import base64
import hashlib
import hmac
import os
import random
import resource
import socket
import subprocess
import tempfile
import time
import xml.dom.minidom
import zlib

from qo_lib import until
from store_lib import (BINARY, EMPTY, Client, Store, amz_date, case, eq,
                       finish, presign, raw, sign, signing_key)

store = Store()
c = store.client()
HOST = "host: %s:%d\r\n" % (store.host, store.port)
c.put("/bkt")
c.put("/bkt/ok", b"good")


def status(answer):
    parts = answer.split(b" ", 2)
    return int(parts[1]) if len(parts) > 1 and parts[0] == b"HTTP/1.1" else 0


def alive():
    eq(c.get("/bkt/ok").body, b"good")


def run(*args, keys=None, timeout=240):
    """Starts a store that should refuse; its exit status and its words."""
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(d + "/data", 0o700)
        if keys is not None:
            with open(d + "/data/keys", "w") as f:
                f.write(keys)
            os.chmod(d + "/data/keys", 0o600)
        p = subprocess.run([BINARY, "-d", d + "/data"] + list(args),
                           capture_output=True, timeout=timeout)
    return p.returncode, p.stderr.decode()


@case("28_binds_loopback_and_refuses_weak_keys_elsewhere")
def _():
    eq(store.host, "127.0.0.1")
    weak = "[k]\naccess_key = minioadmin\nsecret_key = minioadmin\n"
    rc, text = run("-l", "0.0.0.0:0", keys=weak)
    eq(rc, 78)
    assert "weak" in text, text
    rc, text = run("-l", "0.0.0.0:0", "-n", keys=weak)
    eq(rc, 78)
    rc, text = run("-l", "127.0.0.1:0", "-n", keys=weak)
    eq(rc, 0)
    for secret in ("short0123", "aaaaaaaaaaaaaaaaaaaaaaaa",
                   "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"):
        rc, _ = run("-l", "0.0.0.0:0", "-n", keys="[k]\naccess_key = abc\n"
                    "secret_key = %s\n" % secret)
        eq(rc, 78, secret)


BAD_HEADS = {
    "both lengths": "PUT /bkt/s HTTP/1.1\r\n%scontent-length: 5\r\n"
                    "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "two equal lengths": "PUT /bkt/s HTTP/1.1\r\n%scontent-length: 5\r\n"
                         "content-length: 5\r\n\r\nhello",
    "two lengths": "PUT /bkt/s HTTP/1.1\r\n%scontent-length: 5\r\n"
                   "content-length: 6\r\n\r\nhello",
    "length list": "PUT /bkt/s HTTP/1.1\r\n%scontent-length: 5, 5\r\n\r\nhello",
    "length +5": "PUT /bkt/s HTTP/1.1\r\n%scontent-length: +5\r\n\r\nhello",
    "length 0x5": "PUT /bkt/s HTTP/1.1\r\n%scontent-length: 0x5\r\n\r\nhello",
    "length -0": "PUT /bkt/s HTTP/1.1\r\n%scontent-length: -0\r\n\r\n",
    "te gzip": "PUT /bkt/s HTTP/1.1\r\n%stransfer-encoding: gzip\r\n\r\n",
    "te gzip, chunked": "PUT /bkt/s HTTP/1.1\r\n%s"
                        "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "te twice": "PUT /bkt/s HTTP/1.1\r\n%stransfer-encoding: chunked\r\n"
                "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "te xchunked": "PUT /bkt/s HTTP/1.1\r\n%stransfer-encoding: xchunked\r\n"
                   "\r\n0\r\n\r\n",
    "blank before colon": "PUT /bkt/s HTTP/1.1\r\n%s"
                          "transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
    "obs-fold": "GET /bkt/ok HTTP/1.1\r\n%sx-a: 1\r\n 2\r\n\r\n",
    "bare LF": "GET /bkt/ok HTTP/1.1\n%s\r\n",
    "bare LF in headers": "GET /bkt/ok HTTP/1.1\r\n%sx: 1\nx-b: 2\r\n\r\n",
    "bare CR": "GET /bkt/ok HTTP/1.1\r\n%sx: a\rb\r\n\r\n",
    "NUL": "GET /bkt/ok HTTP/1.1\r\n%sx: a\0b\r\n\r\n",
    "name with blank": "GET /bkt/ok HTTP/1.1\r\n%sx y: a\r\n\r\n",
    "name with (": "GET /bkt/ok HTTP/1.1\r\n%sx(y: a\r\n\r\n",
    "no colon": "GET /bkt/ok HTTP/1.1\r\n%snonsense\r\n\r\n",
    "two hosts": "GET /bkt/ok HTTP/1.1\r\n%shost: other\r\n\r\n",
    "blank in the path": "GET /bkt/ok HTTP/1.1 HTTP/1.1\r\n%s\r\n",
    "bad version": "GET /bkt/ok HTTP/1.x\r\n%s\r\n",
}
BAD_CHUNKS = {
    "17 digits": "00000000000000005\r\nhello\r\n0\r\n\r\n",
    "sign": "+5\r\nhello\r\n0\r\n\r\n",
    "minus": "-5\r\nhello\r\n0\r\n\r\n",
    "0x": "0x5\r\nhello\r\n0\r\n\r\n",
    "bare LF": "5\nhello\r\n0\r\n\r\n",
    "no CRLF behind": "5\r\nhelloXX0\r\n\r\n",
    "extension": "5;x=y\r\nhello\r\n0\r\n\r\n",
    "extension with ctl": "5;\x01\r\nhello\r\n0\r\n\r\n",
    "blank": "5 \r\nhello\r\n0\r\n\r\n",
    "trailer content-length": "5\r\nhello\r\n0\r\ncontent-length: 1\r\n\r\n",
    "trailer host": "5\r\nhello\r\n0\r\nhost: x\r\n\r\n",
    "trailer authorization": "5\r\nhello\r\n0\r\nauthorization: x\r\n\r\n",
    "not hex": "zz\r\nhello\r\n0\r\n\r\n",
}


@case("29_no_smuggling")
def _():
    bait = "GET /bkt/ok HTTP/1.1\r\n%s\r\n" % HOST
    for name, head in BAD_HEADS.items():
        out = raw(store, (head % HOST + bait).encode("latin-1"))
        assert status(out) in (400, 501, 505), (name, out[:80])
        eq(out.count(b"HTTP/1.1 "), 1, name)
    for name, chunks in BAD_CHUNKS.items():
        h = {"host": c.host(), "transfer-encoding": "chunked"}
        sign("PUT", "/bkt/smuggled", "", h, "UNSIGNED-PAYLOAD", store.key)
        head = "PUT /bkt/smuggled HTTP/1.1\r\n" + "".join(
            "%s: %s\r\n" % kv for kv in h.items()) + "\r\n"
        out = raw(store, (head + chunks + bait).encode("latin-1"))
        assert status(out) == 400, (name, out[:80])
        eq(out.count(b"HTTP/1.1 "), 1, name)
    eq(c.get("/bkt/smuggled").status, 404)
    alive()


@case("30_pipelined_answers_stay_in_step")
def _():
    rng = random.Random(30)
    kinds, parts = [], []
    for i in range(1000):
        kind = rng.choice(("get", "none", "denied", "put", "badsig"))
        kinds.append(kind)
        h = {"host": c.host(), "x-amz-meta-i": str(i)}
        method, path, body = "GET", "/bkt/ok", b""
        if kind == "none":
            path = "/bkt/none%d" % i
        if kind == "put":
            method, path, body = "PUT", "/bkt/p%d" % i, b"%d" % i
        if kind != "denied":
            sign(method, path, "", h, hashlib.sha256(body).hexdigest(),
                 store.key)
        else:
            path = "/bkt/denied%d" % i
        if kind == "badsig":
            h["Authorization"] = h["Authorization"][:-4] + "0000"
            path = "/bkt/ok"
        if body:
            h["content-length"] = str(len(body))
        parts.append(("%s %s HTTP/1.1\r\n" % (method, path) + "".join(
            "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode() + body)
    out = raw(store, b"".join(parts))
    answers = out.split(b"HTTP/1.1 ")[1:]
    eq(len(answers), 1000)
    want = {"get": 200, "none": 404, "denied": 403, "put": 200, "badsig": 403}
    ids = set()
    for i, (kind, a) in enumerate(zip(kinds, answers)):
        eq(int(a.split(b" ", 1)[0]), want[kind], (i, kind))
        ids.add(a.split(b"x-amz-request-id: ")[1].split(b"\r\n")[0])
        if kind == "none":
            assert b"/bkt/none%d<" % i in a, i
        if kind == "denied":
            assert b"/bkt/denied%d<" % i in a, i
    eq(len(ids), 1000)


@case("31_limits_on_heads_and_many_idle_connections")
def _():
    out = raw(store, ("GET /bkt/ok HTTP/1.1\r\n%sx: %s\r\n\r\n"
                      % (HOST, "y" * 33000)).encode())
    eq(status(out), 431)
    out = raw(store, ("GET /%s HTTP/1.1\r\n%s\r\n"
                      % ("u" * 8300, HOST)).encode())
    eq(status(out), 414)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    socks = []
    try:
        for _ in range(2000):
            socks.append(socket.create_connection(
                (store.host, store.port), 240))
        k = store.client()
        eq(k.get("/bkt/ok").body, b"good")
        k.close()
    finally:
        for s in socks:
            s.close()


def begin(at, first):
    """A connection and when it was begun.  A busy machine may hold us up
    before the first byte, until it is closed for being idle: then anew."""
    while True:
        start = time.monotonic()
        s = socket.create_connection((at.host, at.port), 240)
        try:
            s.sendall(first)
        except ConnectionError:
            pass
        if time.monotonic() - start < 2:
            return s, start
        s.close()


@case("31_slow_heads_are_closed")
def _():
    with Store("--hasten", "10") as fast:
        s, start = begin(fast, b"GET /bkt/ok HTT")
        s.settimeout(0.1)
        try:
            while True:
                s.sendall(b"P")
                try:
                    data = s.recv(4096)
                    break
                except socket.timeout:
                    assert time.monotonic() < start + 240
        finally:
            s.close()
        eq(status(data), 408)
        assert time.monotonic() - start >= 0.9


def until_closed(s, start):
    """What the other side says before it closes, and after how long."""
    out = b""
    while True:
        data = s.recv(4096)
        if not data:
            s.close()
            return out, time.monotonic() - start
        out += data


def put_head(s, path, length):
    h = {"host": "%s:%d" % (s.host, s.port), "content-length": str(length)}
    sign("PUT", path, "", h, "UNSIGNED-PAYLOAD", s.key)
    return ("PUT %s HTTP/1.1\r\n" % path + "".join(
        "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode()


@case("31_slow_bodies_and_idle_connections_are_closed")
def _():
    # 2 KiB of a body in 2 s, 4 s idle.
    with Store("--hasten", "15") as s:
        k = s.client()
        k.put("/bkt")
        k.close()
        idle, idle_start = begin(s, b"")
        used, used_start = begin(
            s, b"GET /bkt/none HTTP/1.1\r\nhost: x\r\n\r\n")
        assert used.recv(65536).startswith(b"HTTP/1.1 403 ")
        slow, start = begin(s, put_head(s, "/bkt/slow", 100000))
        fast, last = begin(s, put_head(s, "/bkt/fast", 50 * 4096))
        slow.settimeout(0.1)
        told, gap, left, answer = b"", 0, 50, b""
        while left or not told:
            gap = max(gap, time.monotonic() - last)
            last = time.monotonic()
            assert last < start + 240
            try:
                if left:
                    fast.sendall(b"f" * 4096)
                    left -= 1
                if left == 0 and not answer:
                    answer = fast.recv(4096)
            except ConnectionError:
                answer, left = b"closed", 0
            try:
                if not told:
                    slow.sendall(b"s")
                    told = slow.recv(4096)
                    slow_took = time.monotonic() - start
                else:
                    time.sleep(0.1)
            except socket.timeout:
                pass
        assert told.startswith(b"HTTP/1.1 408 "), told
        assert 1.9 <= slow_took < 240, slow_took
        # A busy machine may have held us up for longer than is allowed.
        assert answer.startswith(b"HTTP/1.1 200 ") or gap > 1.5, answer
        for c1, start in ((idle, idle_start), (used, used_start)):
            out, took = until_closed(c1, start)
            eq(out, b"")
            assert 3.9 <= took < 240, took
        slow.close()
        fast.close()
        eq(k.get("/bkt/slow").status, 404)
        k.close()


@case("32_strange_keys_are_kept_literally")
def _():
    before = set(os.listdir(store.data))
    for path in ("/bkt/../x", "/bkt/%2e%2e/y", "/bkt/a//b", "/bkt/./z",
                 "/bkt/%5c", "/bkt//lead", "/bkt/" + "k" * 1024,
                 "/bkt/%F0%9F%98%80", "/bkt/a%0Ab", "/bkt/%7F"):
        r = c("PUT", path, body=path.encode(), raw=True)
        eq(r.status, 200, path)
        eq(c("GET", path, raw=True).body, path.encode(), path)
    for path, code in (("/bkt/%00", "InvalidURI"), ("/bkt/a%00b", "InvalidURI"),
                       ("/bkt/%ff", "InvalidURI"), ("/bkt/%zz", "InvalidURI"),
                       ("/bkt/%ed%a0%80", "InvalidURI"),
                       ("/bkt/%c0%ae", "InvalidURI"), ("/bkt/%", "InvalidURI"),
                       ("/bkt/" + "k" * 1025, "KeyTooLongError")):
        r = c("PUT", path, body=b"", raw=True)
        eq((r.status, r.code), (400, code), path)
    eq(set(os.listdir(store.data)), before)
    keys = c.get("/bkt", "list-type=2&encoding-type=url").all("Key")
    assert "../x" in keys and "../y" in keys and "a//b" in keys


@case("33_every_flipped_bit_is_refused")
def _():
    # The parts that are signed, one bit at a time.
    body = b"bits"
    h = {"host": c.host(), "x-amz-meta-m": "v", "content-type": "a/b"}
    sign("PUT", "/bkt/bits", "x-id=PutObject", h,
         hashlib.sha256(body).hexdigest(), store.key)
    eq(c.send("PUT", "/bkt/bits", "x-id=PutObject", body, h).status, 200)
    before = c.get("/bkt/bits").headers["last-modified"]
    c("DELETE", "/bkt/bits")

    def flips(text):
        for i in range(len(text)):
            for bit in range(7):
                ch = chr(ord(text[i]) ^ (1 << bit))
                if 0x21 <= ord(ch) < 0x7f and ch not in "%#?&=+ :":
                    yield text[:i] + ch + text[i + 1:]
    count = 0
    for path in flips("/bkt/bits"):
        if not path.startswith("/"):
            continue
        r = c.send("PUT", path, "x-id=PutObject", body, h)
        assert r.status in (400, 403), (path, r)
        count += 1
    for q in flips("x-id=PutObject"):
        r = c.send("PUT", "/bkt/bits", q, body, h)
        assert r.status in (400, 403, 501), (q, r)
        count += 1
    for m in ("POST", "DELETE", "GET", "HEAD"):
        assert c.send(m, "/bkt/bits", "x-id=PutObject",
                      body if m == "POST" else b"", h).status in \
            (400, 403, 405), m
    for name in ("x-amz-meta-m", "content-type", "x-amz-date",
                 "x-amz-content-sha256", "Authorization"):
        for v in flips(h[name]):
            if v.lower() == h[name].lower() and name == "Authorization":
                continue
            h2 = dict(h)
            h2[name] = v
            r = c.send("PUT", "/bkt/bits", "x-id=PutObject", body, h2)
            assert r.status in (400, 403), (name, v, r)
            count += 1
    for b in flips("bits"):
        r = c.send("PUT", "/bkt/bits", "x-id=PutObject", b.encode(), h)
        assert r.status in (400, 403), (b, r)
    h2 = dict(h, **{"x-amz-acl": "public-read"})
    r = c.send("PUT", "/bkt/bits", "x-id=PutObject", body, h2)
    eq((r.status, r.code), (403, "AccessDenied"))
    eq(c.get("/bkt/bits").status, 404)
    assert count > 500 and before


@case("33_old_and_future_signatures_are_refused")
def _():
    for off, want in ((-870, 200), (870, 200), (-960, 403), (960, 403)):
        r = c("GET", "/bkt/ok", date=amz_date(time.time() + off))
        eq(r.status, want, off)
        if want == 403:
            eq(r.code, "RequestTimeTooSkewed")
    for bad in ("20260101", "x", "20261301T000000Z", ""):
        r = c("GET", "/bkt/ok", date=bad or " ")
        assert r.status in (400, 403), bad
    r = c("GET", "/bkt/ok", region="eu-west-1")
    eq((r.status, r.code), (400, "AuthorizationHeaderMalformed"))
    for auth in ("AWS key:sig", "Basic eDp5", "Bearer x",
                 "AWS4-ECDSA-P256-SHA256 Credential=a"):
        r = c.send("GET", "/bkt/ok", "", b"", {
            "host": c.host(), "Authorization": auth})
        assert r.status in (400, 403, 501), (auth, r)
    r = c.send("GET", "/bkt/ok", "AWSAccessKeyId=a&Signature=b&Expires=1",
               b"", {"host": c.host()})
    eq((r.status, r.code), (400, "InvalidRequest"))


@case("33_replays_are_refused_when_asked_for")
def _():
    def signed(s, method, path, body=b""):
        h = {"host": "%s:%d" % (s.host, s.port), "x-amz-meta-n": path}
        sign(method, path, "", h, hashlib.sha256(body).hexdigest(), s.key)
        return method, path, "", body, h
    with Store("--replay-cache") as s:
        k = s.client()
        eq(k.put("/bkt").status, 200)
        put = signed(s, "PUT", "/bkt/a", b"one")
        get = signed(s, "GET", "/bkt/a")
        delete = signed(s, "DELETE", "/bkt/a")
        eq(k.send(*put).status, 200)
        eq(k.send(*get).status, 200)
        eq(k.send(*get).status, 200)
        eq(k.send(*delete).status, 204)
        for again in (put, delete):
            r = k.send(*again)
            eq((r.status, r.code), (403, "AccessDenied"))
        eq(k.send(*get).status, 404)
        # A signature that was refused is none that was seen.
        put = signed(s, "PUT", "/bkt/b", b"two")
        bad = dict(put[4], **{"x-amz-meta-n": "other"})
        eq(k.send(*put[:4], bad).code, "SignatureDoesNotMatch")
        eq(k.send(*put).status, 200)
        q = presign(s, "PUT", "/bkt/c", s.key)
        h = {"host": k.host()}
        eq(k.send("PUT", "/bkt/c", q, b"three", h).status, 200)
        eq(k.send("PUT", "/bkt/c", q, b"three", h).code, "AccessDenied")
        k.close()
    # Not by default: it would stand in the way of retries.
    put = signed(store, "PUT", "/bkt/again", b"x")
    eq([c.send(*put).status for _ in range(3)], [200] * 3)


@case("34_unknown_key_and_bad_signature")
def _():
    r = Client(store, ("NOSUCHKEY", "x" * 40)).get("/bkt/ok")
    eq((r.status, r.code), (403, "InvalidAccessKeyId"))
    r = Client(store, (store.key[0], "x" * 40)).get("/bkt/ok")
    eq((r.status, r.code), (403, "SignatureDoesNotMatch"))


def chunked(chunks, kind="STREAMING-AWS4-HMAC-SHA256-PAYLOAD", spoil=None,
            declared=None, trailer=None, bad_trailer=False, inside_http=False,
            path="/bkt/stream"):
    """A PUT in aws-chunked coding; spoil is the index of a bad signature."""
    data = b"".join(chunks)
    h = {"host": c.host(), "content-encoding": "aws-chunked",
         "x-amz-decoded-content-length": str(
             len(data) if declared is None else declared)}
    if trailer:
        h["x-amz-trailer"] = trailer[0]
    if inside_http:
        h["transfer-encoding"] = "chunked"
    sig = sign("PUT", path, "", h, kind, store.key)
    date = h["x-amz-date"]
    scope = date[:8] + "/us-east-1/s3/aws4_request"
    key = signing_key(store.key[1], date[:8])
    signed = "UNSIGNED" not in kind
    body = b""
    for i, piece in enumerate(list(chunks) + [b""]):
        line = b"%x" % len(piece)
        if signed:
            text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", date, scope, sig,
                              EMPTY, hashlib.sha256(piece).hexdigest()])
            sig = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
            sent = sig if spoil != i else "0" * 64
            line += b";chunk-signature=" + sent.encode()
        body += line + b"\r\n" + piece + (b"\r\n" if piece else b"")
    if trailer:
        line = "%s:%s\n" % trailer
        body += ("%s:%s\r\n" % trailer).encode()
        if signed:
            text = "\n".join(["AWS4-HMAC-SHA256-TRAILER", date, scope, sig,
                              hashlib.sha256(line.encode()).hexdigest()])
            sig = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
            body += b"x-amz-trailer-signature:" + (
                b"0" * 64 if bad_trailer else sig.encode()) + b"\r\n"
    body += b"\r\n"
    if inside_http:
        body = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 777]),
                                            body[i:i + 777])
                        for i in range(0, len(body), 777)) + b"0\r\n\r\n"
    return c.send("PUT", path, "", body, h)


def crc(data):
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


TRAILED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
UNSIGNED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
NAME = "x-amz-checksum-crc32"


@case("35_aws_chunked_bodies")
def _():
    pieces = [b"a" * 65536, b"b" * 65536, b"tail"]
    data = b"".join(pieces)
    for inside in (False, True):
        eq(chunked(pieces, inside_http=inside).status, 200)
        r = c.get("/bkt/stream")
        eq(r.body == data, True)
        assert "content-encoding" not in r.headers
        for kind in (TRAILED, UNSIGNED):
            r = chunked(pieces, kind, trailer=(NAME, crc(data)),
                        inside_http=inside)
            eq((r.status, r.headers.get(NAME)), (200, crc(data)), kind)
    etag = c.get("/bkt/stream").etag
    blobs = sorted(os.listdir(os.path.join(store.data, "blobs"))) \
        if os.path.isdir(os.path.join(store.data, "blobs")) else []
    big = [b"x" * (1 << 20)] * 3 + [b"y"]
    for name, r in {
        "first signature": chunked(big, spoil=0),
        "last data signature": chunked(big, spoil=3),
        "signature of the end": chunked(big, spoil=4),
        "short": chunked(big, declared=(3 << 20) + 2),
        "long": chunked(big, declared=3 << 20),
        "wrong checksum": chunked(big, UNSIGNED, trailer=(NAME, crc(b"x"))),
        "wrong checksum, signed": chunked(big, TRAILED,
                                          trailer=(NAME, crc(b"x"))),
        "trailer signature": chunked(big, TRAILED, trailer=(
            NAME, crc(b"".join(big))), bad_trailer=True),
        "other trailer": chunked(big, UNSIGNED,
                                 trailer=("x-amz-checksum-nope", "x")),
        "ecdsa": chunked(big, "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"),
    }.items():
        assert 400 <= r.status < 500 or r.status == 501, (name, r)
        eq(c.get("/bkt/stream").etag, etag, name)
    left = sorted(os.listdir(os.path.join(store.data, "blobs"))) \
        if os.path.isdir(os.path.join(store.data, "blobs")) else []
    eq(left, blobs)


@case("35_a_body_that_ends_early_leaves_nothing")
def _():
    for size in (100, 3 << 20):
        body = b"z" * size
        h = {"host": c.host(), "content-length": str(size)}
        sign("PUT", "/bkt/early", "", h,
             hashlib.sha256(body).hexdigest(), store.key)
        head = "PUT /bkt/early HTTP/1.1\r\n" + "".join(
            "%s: %s\r\n" % kv for kv in h.items()) + "\r\n"
        raw(store, head.encode() + body[:-1])
        eq(c.get("/bkt/early").status, 404)
    alive()


@case("36_hostile_xml")
def _():
    laughs = ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
              '<!ENTITY b "&a;&a;&a;&a;">]><Delete><Object><Key>&b;</Key>'
              '</Object></Delete>')
    extern = ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
              '<Delete><Object><Key>&e;</Key></Object></Delete>')
    many = "<Delete>" + "<Object><Key>k</Key></Object>" * 1001 + "</Delete>"
    deep = "<Delete>" + "<a>" * 100 + "</a>" * 100 + "</Delete>"
    for name, doc in (("laughs", laughs), ("external", extern),
                      ("1001", many), ("deep", deep), ("cut", "<Delete><Obj"),
                      ("empty", ""), ("utf-16", "<Delete/>".encode("utf-16")),
                      ("latin", b"<Delete><Object><Key>\xff</Key></Object>"
                                b"</Delete>")):
        r = c("POST", "/bkt", "delete", doc)
        eq(r.status, 400, name)
    for sub in ("versioning", "cors", "lifecycle", "acl"):
        eq(c("PUT", "/bkt", sub, laughs).status, 400, sub)
    k = store.client()
    r = k("POST", "/bkt", "delete", b"<Delete>" + b" " * (10 << 20))
    eq(r.status, 400)
    alive()


@case("37_anonymous_gets_nothing")
def _():
    k = Client(store, ("", ""))
    for method, path, q in (
            ("GET", "/", ""), ("GET", "/bkt", ""), ("HEAD", "/bkt", ""),
            ("GET", "/bkt/ok", ""), ("PUT", "/bkt/x", ""),
            ("DELETE", "/bkt/ok", ""), ("POST", "/bkt", "delete"),
            ("PUT", "/newone", ""), ("DELETE", "/bkt", ""),
            ("GET", "/bkt", "acl"), ("GET", "/nothere", ""),
            ("GET", "/bkt", "versions"), ("GET", "/bkt", "uploads"),
            ("POST", "/bkt/x", "uploads"), ("GET", "/bkt", "policy"),
            ("POST", "/", "Action=GetSessionToken")):
        eq(k(method, path, q, signed=False).status, 403, (method, path, q))
    r = k.send("OPTIONS", "/bkt/ok", "", b"", {
        "host": c.host(), "origin": "http://x",
        "access-control-request-method": "GET"})
    eq(r.status, 403)


@case("39_errors_are_xml_and_escaped")
def _():
    for path in ("/bkt/<script>alert(1)</script>", "/bkt/\"'&<>",
                 "/<x>&y", "/bkt/]]>"):
        r = c.get(path)
        assert r.status in (400, 404), r
        eq(r.headers["content-type"], "application/xml")
        eq(r.headers["x-content-type-options"], "nosniff")
        doc = xml.dom.minidom.parseString(r.body)
        eq(doc.documentElement.tagName, "Error")
        assert b"<script" not in r.body
    out = raw(store, b"GARBAGE\r\n\r\n")
    eq(status(out), 400)
    assert b"<Error>" in out and b"x-amz-request-id" in out.lower(), out


@case("40_size_limits_before_the_body_is_read")
def _():
    with Store("--max-body", "1MiB") as s:
        k = s.client()
        k.put("/bkt")
        eq(k.put("/bkt/fits", b"x" * (1 << 20)).status, 200)
        h = {"host": k.host(), "content-length": str(1 << 40),
             "expect": "100-continue"}
        sign("PUT", "/bkt/big", "", h, "UNSIGNED-PAYLOAD", s.key)
        out = raw(s, ("PUT /bkt/big HTTP/1.1\r\n" + "".join(
            "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode(),
            half=False)
        eq(status(out), 400)
        assert b"EntityTooLarge" in out and b"100 Continue" not in out
        # Without a length said, it is counted.
        h = {"host": k.host(), "transfer-encoding": "chunked"}
        sign("PUT", "/bkt/big", "", h, "UNSIGNED-PAYLOAD", s.key)
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        out = raw(s, ("PUT /bkt/big HTTP/1.1\r\n" + "".join(
            "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode()
            + chunk * 17 + b"0\r\n\r\n")
        assert b"EntityTooLarge" in out, out[:200]
        k.close()
        eq(k.get("/bkt/big").status, 404)


@case("40_quotas_of_a_key")
def _():
    keys = ("[main]\naccess_key = main\nsecret_key = 0123456789abcdef0\n"
            "[slow]\naccess_key = slow\nsecret_key = 0123456789abcdef1\n"
            "rate = 5\n"
            "[small]\naccess_key = small\nsecret_key = 0123456789abcdef2\n"
            "max_object = 6MiB\n"
            "[little]\naccess_key = little\n"
            "secret_key = 0123456789abcdef3\nowner = other\n"
            "max_bytes = 1KiB\n")
    with Store(keys=keys) as s:
        k, slow, small = (s.client(s.keys[n]) for n in (
            "main", "slow", "small"))
        k.put("/bkt")
        k.put("/bkt/a", b"a")
        # Somebody else's bad signatures are not on the key's account.
        liar = Client(s, ("slow", "x" * 20))
        for _ in range(50):
            eq(liar.get("/bkt/a").status, 403)
        start = time.monotonic()
        answers = [slow.get("/bkt/a") for _ in range(40)]
        took = time.monotonic() - start
        good = sum(r.status == 200 for r in answers)
        eq([r.status for r in answers[:5]], [200] * 5)
        assert good <= 5 + 5 * took + 1, (good, took)
        for r in answers:
            if r.status != 200:
                eq((r.status, r.code), (503, "SlowDown"))
                eq(r.headers["retry-after"], "1")
        # Others are not held up by it, and it comes back by itself.
        eq(k.get("/bkt/a").status, 200)
        until("it is back", lambda: slow.get("/bkt/a").status == 200)

        six = b"x" * (6 << 20)
        eq(small.put("/bkt/fits", six).status, 200)
        r = small.put("/bkt/big", six + b"x")
        eq((r.status, r.code), (400, "EntityTooLarge"))
        small.close()
        k.put("/bkt/large", six + b"x")
        r = small.put("/bkt/copy", x_amz_copy_source="/bkt/large")
        eq((r.status, r.code), (400, "EntityTooLarge"))
        up = small("POST", "/bkt/parts", "uploads").one("UploadId")
        doc = ""
        for n, size in ((1, 5 << 20), (2, 1 << 20)):
            r = small("PUT", "/bkt/parts", "partNumber=%d&uploadId=%s" % (
                n, up), body=six[:size])
            doc += "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>" \
                % (n, r.etag)
        r = small("PUT", "/bkt/parts", "partNumber=2&uploadId=" + up,
                  body=six[:(1 << 20) + 1])
        big = doc[:doc.index("<Part><PartNumber>2")] + \
            "<Part><PartNumber>2</PartNumber><ETag>%s</ETag></Part>" \
            % r.etag
        r = small("POST", "/bkt/parts", "uploadId=" + up,
                  "<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % big)
        eq((r.status, r.code), (400, "EntityTooLarge"))
        eq(k.get("/bkt/parts").status, 404)
        small("PUT", "/bkt/parts", "partNumber=2&uploadId=" + up,
              body=six[:1 << 20])
        r = small("POST", "/bkt/parts", "uploadId=" + up,
                  "<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % doc)
        eq(r.status, 200)
        little = s.client(s.keys["little"])
        little.put("/little")
        eq(little.put("/little/a", b"x" * 1000).status, 200)
        r = little.put("/little/b", b"x" * 25)
        eq((r.status, r.code), (403, "QuotaExceeded"))
        eq(little.get("/little/b").status, 404)
        eq(little.put("/little/b", b"x" * 24).status, 200)
        r = little.put("/little/c", x_amz_copy_source="/little/b")
        eq((r.status, r.code), (403, "QuotaExceeded"))
        eq(little("DELETE", "/little/a").status, 204)
        eq(little.put("/little/c", b"x" * 1000).status, 200)
        for x in (k, slow, small, liar, little):
            x.close()


@case("wire_expect_100_continue")
def _():
    h = {"host": c.host(), "content-length": "5", "expect": "100-continue"}
    sign("PUT", "/bkt/expect", "", h,
         hashlib.sha256(b"hello").hexdigest(), store.key)
    s = socket.create_connection((store.host, store.port), 240)
    s.sendall(("PUT /bkt/expect HTTP/1.1\r\n" + "".join(
        "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode())
    first = s.recv(4096)
    assert first.startswith(b"HTTP/1.1 100 "), first
    s.sendall(b"hello")
    assert s.recv(4096).startswith(b"HTTP/1.1 200 ")
    s.close()
    # Refused: no 100, and the body is not asked for.
    h["x-amz-acl"] = "private"
    s = socket.create_connection((store.host, store.port), 240)
    s.sendall(("PUT /bkt/expect HTTP/1.1\r\n" + "".join(
        "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode())
    assert s.recv(4096).startswith(b"HTTP/1.1 403 ")
    s.close()


@case("wire_unix_socket")
def _():
    path = os.path.join(os.path.dirname(store.data), "sock")
    with Store("-s", path) as s:
        u = socket.socket(socket.AF_UNIX)
        u.settimeout(240)
        u.connect(path)
        h = {"host": "localhost"}
        sign("GET", "/", "", h, EMPTY, s.key)
        u.sendall(("GET / HTTP/1.1\r\n" + "".join(
            "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode())
        assert u.recv(65536).startswith(b"HTTP/1.1 200 ")
        u.close()
        eq(s.stop(), 0)


@case("command_line_mistakes")
def _():
    for args, code in ((["-n"], 0), (["--nope"], 2), (["extra"], 2),
                       (["-l", "nonsense"], 1), (["-h"], 0), (["-V"], 0),
                       (["-f", "/nonexistent"], 78),
                       (["--max-body", "x"], 2)):
        rc, text = run(*args)
        eq(rc, code, (args, text))
    eq(subprocess.run([BINARY], capture_output=True).returncode, 78)
    rc, text = run(keys="[a]\naccess_key = abc\n")
    eq(rc, 78)
    assert "secret_key" in text, text
    # One store, one database.
    p = subprocess.run([BINARY, "-d", store.data, "-l", "127.0.0.1:0"],
                       capture_output=True, timeout=240)
    eq(p.returncode, 1)
    alive()


eq(store.stop(), 0)
store.close()
finish()
