"""Conditional writers in parallel on one key; one wins, the others get 412.
All requests of a round are written before any answer is read."""

import hashlib
import os
import socket

from store_lib import Store, case, eq, finish, sign

WRITERS = 20
ROUNDS = int(os.environ.get("QO_ROUNDS", "500"))

store = Store()
c = store.client()


def connect():
    s = socket.create_connection((store.host, store.port), 240)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def request(path, body, **headers):
    h = {"host": c.host(), "content-length": str(len(body))}
    h.update({k.replace("_", "-"): v for k, v in headers.items()})
    sign("PUT", path, "", h, hashlib.sha256(body).hexdigest(), store.key)
    return ("PUT %s HTTP/1.1\r\n" % path + "".join(
        "%s: %s\r\n" % kv for kv in h.items()) + "\r\n").encode() + body


def answer(s):
    """Status and headers of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = s.recv(65536)
        if not piece:
            raise AssertionError("connection closed")
        data += piece
    head, rest = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    h = dict(x.lower().split(": ", 1) for x in lines[1:])
    left = int(h.get("content-length", 0)) - len(rest)
    while left > 0:
        piece = s.recv(65536)
        if not piece:
            raise AssertionError("connection closed")
        left -= len(piece)
    return int(lines[0].split()[1]), h


def race(bucket, socks, rounds):
    for n in range(rounds):
        # The first creates, every other replaces what the last one won.
        if n % 10 == 0:
            path = "/%s/k%d" % (bucket, n)
            cond = {"if_none_match": "*"}
        else:
            cond = {"if_match": etag}
        bodies = [b"round %d writer %d" % (n, i) for i in range(WRITERS)]
        for s, data in [(s, request(path, b, **cond))
                        for s, b in zip(socks, bodies)]:
            s.sendall(data)
        got = [answer(s) for s in socks]
        won = [i for i, (status, _) in enumerate(got) if status == 200]
        eq(len(won), 1, "round %d: %s" % (n, [x[0] for x in got]))
        eq(sorted(set(x[0] for x in got)), [200, 412])
        etag = got[won[0]][1]["etag"]
        eq(etag, '"%s"' % hashlib.md5(bodies[won[0]]).hexdigest())
    eq(c.get(path).body, bodies[won[0]])


def parallel(bucket):
    socks = [connect() for _ in range(WRITERS)]
    try:
        race(bucket, socks, ROUNDS)
    finally:
        for s in socks:
            s.close()


@case("one_winner_unversioned")
def _():
    c.put("/plain")
    parallel("plain")


@case("one_winner_versioned")
def _():
    c.put("/versioned")
    c("PUT", "/versioned", "versioning", "<VersioningConfiguration><Status>"
      "Enabled</Status></VersioningConfiguration>")
    parallel("versioned")


eq(store.stop(), 0)
store.close()
finish()
