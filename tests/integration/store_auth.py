"""Who may do what: keys and their policies, owners and ACLs, sessions, the
public prefixes, CORS; and what a new keys file changes."""

import os
import re
import signal
import time
import xml.dom.minidom

from qo_lib import until
from store_lib import Client, Store, case, eq, finish, presign

KEYS = "\n".join(
    "[%s]\naccess_key = %sKEY\nsecret_key = %s-0123456789abcdef\n%s" % (
        n, n.upper(), n, rest) for n, rest in (
        ("admin", "owner = one\npolicy = both\n"),
        ("reader", "owner = one\npolicy = read\n"),
        ("writer", "owner = one\npolicy = write\n"),
        ("narrow", "owner = one\nprefixes = in/ also/\n"),
        ("other", "owner = two\n")))

store = Store(keys=KEYS)
key = store.keys
admin, reader, writer, narrow, other = (
    store.client(key[n]) for n in
    ("admin", "reader", "writer", "narrow", "other"))
anon = Client(store, ("", ""))
DENIED = (403, "AccessDenied")


def rc(r):
    return r.status, r.code


def anonymous(method, path, **kw):
    return anon(method, path, signed=False, **kw)


@case("policies")
def _():
    eq(admin.put("/bkt").status, 200)
    eq(admin.put("/bkt/k", b"1").status, 200)
    eq(reader.get("/bkt/k").status, 200)
    eq(reader.get("/bkt", "list-type=2").status, 200)
    for r in (reader.put("/bkt/k", b"2"), reader("DELETE", "/bkt/k"),
              reader.put("/new"), reader("POST", "/bkt/k", "uploads"),
              reader("POST", "/bkt", "delete",
                     "<Delete><Object><Key>k</Key></Object></Delete>"),
              writer.get("/bkt/k"), writer.get("/bkt", "list-type=2"),
              writer("PUT", "/bkt/c", headers={"x-amz-copy-source": "bkt/k"}),
              writer("DELETE", "/bkt"), writer.get("/bkt", "cors")):
        eq(rc(r), DENIED)
    eq(writer.put("/bkt/w", b"2").status, 200)
    eq(writer("DELETE", "/bkt/w").status, 204)
    eq(admin.get("/bkt/k").body, b"1")


@case("prefixes_of_a_key")
def _():
    eq(narrow.put("/bkt/in/x", b"1").status, 200)
    eq(narrow.put("/bkt/also/x", b"1").status, 200)
    eq(narrow.get("/bkt/in/x").status, 200)
    eq(narrow.get("/bkt", "list-type=2&prefix=in/").status, 200)
    for r in (narrow.put("/bkt/out", b"1"), narrow.put("/bkt/in", b"1"),
              narrow.get("/bkt/k"), narrow.get("/bkt", "list-type=2"),
              narrow.get("/bkt", "list-type=2&prefix=i"),
              narrow.get("/bkt", "versions"), narrow.put("/bkt3"),
              narrow("PUT", "/bkt", "versioning", "<x/>"),
              narrow("PUT", "/bkt/in/c",
                     headers={"x-amz-copy-source": "bkt/k"})):
        eq(rc(r), DENIED)
    r = narrow("POST", "/bkt", "delete",
               "<Delete><Object><Key>in/x</Key></Object>"
               "<Object><Key>k</Key></Object></Delete>")
    eq((r.status, r.all("Code"), r.all("Key")),
       (200, ["AccessDenied"], ["in/x", "k"]))
    eq(admin.get("/bkt/k").status, 200)
    eq(admin.get("/bkt/in/x").status, 404)


@case("owners_and_acls")
def _():
    eq(rc(other.put("/bkt")), (409, "BucketAlreadyExists"))
    for r in (other.get("/bkt/k"), other.get("/bkt/none"),
              other.put("/bkt/k", b"3"), other("DELETE", "/bkt/k"),
              other.get("/bkt", "list-type=2"), other("DELETE", "/bkt"),
              other.get("/bkt", "acl")):
        eq(rc(r), DENIED)
    eq(other("HEAD", "/bkt").status, 403)
    assert "bkt" not in other.get("/").all("Name")
    # The object's ACL opens that object.
    eq(admin("PUT", "/bkt/k", "acl",
             headers={"x-amz-acl": "public-read"}).status, 200)
    eq(other.get("/bkt/k").body, b"1")
    assert "AllUsers" in admin.get("/bkt/k", "acl").body.decode()
    eq(admin("PUT", "/bkt/k", "acl",
             headers={"x-amz-acl": "private"}).status, 200)
    eq(rc(other.get("/bkt/k")), DENIED)
    eq(admin.put("/bkt/au", b"4", x_amz_acl="authenticated-read").status, 200)
    eq(other.get("/bkt/au").status, 200)
    eq(rc(anonymous("GET", "/bkt/au")), DENIED)
    # The bucket's opens listing and writing.
    eq(admin("PUT", "/bkt", "acl",
             headers={"x-amz-acl": "public-read-write"}).status, 200)
    eq(other.get("/bkt", "list-type=2").status, 200)
    eq(other.put("/bkt/theirs", b"5").status, 200)
    eq(admin.get("/bkt/theirs").body, b"5")
    eq(rc(anonymous("PUT", "/bkt/x", body=b"")), DENIED)
    eq(rc(anonymous("GET", "/bkt/k")), DENIED)
    # The document of a GET can be sent back.
    doc = admin.get("/bkt", "acl").body
    eq(admin("PUT", "/bkt", "acl", doc).status, 200)
    eq(admin("PUT", "/bkt", "acl",
             headers={"x-amz-acl": "private"}).status, 200)
    eq(rc(other.put("/bkt/theirs", b"6")), DENIED)
    eq(rc(admin("PUT", "/bkt", "acl", headers={"x-amz-acl": "x"})),
       (400, "InvalidArgument"))
    eq(rc(admin("PUT", "/bkt", "acl", "<nonsense")),
       (400, "MalformedACLError"))


@case("expected_bucket_owner")
def _():
    eq(admin.get("/bkt/k", x_amz_expected_bucket_owner="one").status, 200)
    eq(rc(admin.get("/bkt/k", x_amz_expected_bucket_owner="two")), DENIED)


@case("public_prefixes")
def _():
    admin.put("/bkt/ui/index.html", b"<p>", content_type="text/html")
    r = anonymous("GET", "/bkt/ui/index.html")
    eq((r.status, r.body), (200, b"<p>"))
    eq(anonymous("HEAD", "/bkt/ui/index.html").status, 200)
    eq(anonymous("GET", "/bkt/ui/none").status, 404)
    for r in (anonymous("PUT", "/bkt/ui/x", body=b""),
              anonymous("DELETE", "/bkt/ui/index.html"),
              anonymous("GET", "/bkt", query="prefix=ui/"),
              anonymous("GET", "/bkt/ui/index.html", query="acl"),
              anonymous("GET", "/"), anonymous("GET", "/nobucket"),
              anonymous("GET", "/bkt/k"), anonymous("POST", "/")):
        eq(rc(r), DENIED)
    r = anonymous("GET", "/bkt/ui/index.html",
                  query="response-content-type=x")
    eq(r.status, 400)


def mint(who, query=""):
    return who("POST", "/", "Action=GetSessionToken" + query)


def session(answer):
    return store.client((answer.one("AccessKeyId"),
                         answer.one("SecretAccessKey")),
                        answer.one("SessionToken"))


@case("session_tokens")
def _():
    r = mint(admin)
    eq(r.status, 200)
    eq(r.headers["cache-control"], "no-store")
    ro = session(r)
    eq(ro.get("/bkt/k").body, b"1")
    eq(ro.get("/bkt", "list-type=2").status, 200)
    op = session(mint(admin, "&Scope=operator"))
    eq(op.put("/bkt/k", b"1").status, 200)
    for r in (ro.put("/bkt/k", b"2"), ro("DELETE", "/bkt/k"),
              op.put("/newbucket"), op("DELETE", "/bkt"), mint(op), mint(ro),
              op("PUT", "/bkt", "acl", headers={"x-amz-acl": "private"})):
        eq(rc(r), DENIED)
    # Never more than the key itself.
    eq(rc(session(mint(reader, "&Scope=operator")).put("/bkt/k", b"2")),
       DENIED)
    eq(rc(session(mint(narrow)).get("/bkt/k")), DENIED)
    for q in ("&DurationSeconds=1", "&DurationSeconds=x", "&Scope=root",
              "&DurationSeconds=999999"):
        eq(rc(mint(admin, q)), (400, "ValidationError"), q)
    for q, code in (("Action=AssumeRole", "InvalidAction"),
                    ("Action=GetSessionToken&DurationSeconds=1",
                     "ValidationError"),
                    ("Action=GetSessionToken&Scope=all", "ValidationError")):
        r = admin("POST", "/", q)
        eq((r.status, r.code), (400, code))
        doc = xml.dom.minidom.parseString(r.body)
        eq(doc.documentElement.tagName, "ErrorResponse")
        eq(doc.documentElement.namespaceURI,
           "https://sts.amazonaws.com/doc/2011-06-15/")
        eq((r.one("Type"), r.one("RequestId")),
           ("Sender", r.headers["x-amz-request-id"]))
    r = mint(Client(store, ("NOSUCHKEY", "x" * 40)))
    eq((r.status, r.code), (403, "InvalidClientTokenId"))
    # A token with one digit changed, one of another key, none at all.
    bad = session(mint(admin))
    last = bad.token[-1]
    bad.token = bad.token[:-1] + ("0" if last != "0" else "1")
    eq(rc(bad.get("/bkt/k")), (400, "InvalidToken"))
    bad.token = bad.token.replace("1.r.", "1.o.")
    eq(rc(bad.get("/bkt/k")), (400, "InvalidToken"))
    bad.token = mint(admin).one("SessionToken")
    eq(rc(bad.get("/bkt/k")), (400, "InvalidToken"))
    bad.token = None
    eq(bad.get("/bkt/k").code, "InvalidAccessKeyId")


@case("sessions_survive_a_restart_and_end_with_their_key")
def _():
    ro = session(mint(admin))
    eq(store.stop(), 0)
    store.start()
    for k in (admin, ro, other, anon, reader, writer, narrow):
        k.close()
    eq(ro.get("/bkt/k").status, 200)
    new = KEYS.replace("admin-0123456789abcdef", "changed-0123456789abcdef")
    store.write_keys(new)
    store.proc.send_signal(signal.SIGHUP)
    until("the new keys", lambda: ro.get("/bkt/k").status != 200)
    eq(rc(ro.get("/bkt/k")), (400, "InvalidToken"))
    eq(admin.get("/bkt/k").code, "SignatureDoesNotMatch")
    store.write_keys(KEYS)
    store.proc.send_signal(signal.SIGHUP)
    until("the old keys", lambda: admin.get("/bkt/k").status == 200)


@case("a_bad_keys_file_keeps_the_old_keys")
def _():
    for text in ("[x]\naccess_key = A\n", "", "garbage", "[a]\nfoo = bar\n"):
        store.write_keys(text)
        before = store.log_text().count("old access keys stay")
        store.proc.send_signal(signal.SIGHUP)
        until("refused: %r" % text, lambda: store.log_text().count(
            "old access keys stay") > before)
        eq(admin.get("/bkt/k").status, 200)
    os.chmod(os.path.join(store.data, "keys"), 0o644)
    store.write_keys(KEYS)
    store.proc.send_signal(signal.SIGHUP)


@case("presigned_urls")
def _():
    def ask(query, path="/bkt/k", method="GET", **kw):
        return anon.send(method, path, query, b"", dict(
            {"host": anon.host()}, **kw))
    q = presign(store, "GET", "/bkt/k", key["admin"])
    eq(ask(q).body, b"1")
    eq(ask(q, method="DELETE").code, "SignatureDoesNotMatch")
    eq(ask(q, path="/bkt/in/x").code, "SignatureDoesNotMatch")
    eq(ask(q + "&versionId=x").code, "SignatureDoesNotMatch")
    old = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - 100))
    eq(rc(ask(presign(store, "GET", "/bkt/k", key["admin"], 60, old))),
       DENIED)
    eq(ask(presign(store, "GET", "/bkt/k", key["admin"], 200, old)).status,
       200)
    for bad in (-1, 604801, "x"):
        r = ask(presign(store, "GET", "/bkt/k", key["admin"], bad))
        eq(rc(r), (400, "AuthorizationQueryParametersError"), bad)
    q = presign(store, "PUT", "/bkt/pre", key["admin"],
                headers={"if-none-match": "*"})
    eq(ask(q, "/bkt/pre", "PUT").status, 403)
    eq(ask(q, "/bkt/pre", "PUT", **{"if-none-match": "*"}).status, 200)
    eq(ask(q, "/bkt/pre", "PUT", **{"if-none-match": "*"}).status, 412)


CORS = ("<CORSConfiguration><CORSRule>"
        "<AllowedOrigin>https://*.example.org</AllowedOrigin>"
        "<AllowedMethod>GET</AllowedMethod><AllowedMethod>PUT</AllowedMethod>"
        "<AllowedHeader>x-amz-*</AllowedHeader>"
        "<AllowedHeader>Authorization</AllowedHeader>"
        "<ExposeHeader>ETag</ExposeHeader>"
        "<ExposeHeader>x-amz-version-id</ExposeHeader>"
        "<MaxAgeSeconds>99</MaxAgeSeconds></CORSRule><CORSRule>"
        "<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>"
        "<AllowedHeader>*</AllowedHeader>"
        "</CORSRule></CORSConfiguration>")


def preflight(origin, method, headers=None):
    h = {"host": anon.host(), "origin": origin,
         "access-control-request-method": method}
    if headers:
        h["access-control-request-headers"] = headers
    return anon.send("OPTIONS", "/bkt/k", "", b"", h)


@case("38_cors")
def _():
    eq(preflight("https://a.example.org", "GET").status, 403)
    eq(admin("PUT", "/bkt", "cors", CORS).status, 200)
    r = preflight("https://a.example.org", "PUT", "x-amz-date, authorization")
    eq(r.status, 200)
    eq(r.headers["access-control-allow-origin"], "https://a.example.org")
    eq(r.headers["access-control-max-age"], "99")
    eq(r.headers["access-control-expose-headers"], "ETag, x-amz-version-id")
    eq(r.headers["vary"], "Origin")
    assert "access-control-allow-credentials" not in r.headers
    eq(preflight("https://a.example.org", "PUT", "x-other").status, 403)
    eq(preflight("https://a.example.org", "DELETE").status, 403)
    eq(preflight("https://evil.test", "PUT").status, 403)
    r = preflight("https://evil.test", "GET", "range")
    eq(r.headers["access-control-allow-origin"], "*")
    r = admin.get("/bkt/k", origin="https://a.example.org")
    eq(r.headers["access-control-allow-origin"], "https://a.example.org")
    eq(r.headers["access-control-expose-headers"], "ETag, x-amz-version-id")
    r = admin.get("/bkt/none", origin="https://a.example.org")
    eq((r.status, r.headers["access-control-allow-origin"]),
       (404, "https://a.example.org"))
    eq(admin.get("/bkt/k").headers["vary"], "Origin")
    eq(anon.send("OPTIONS", "/bkt/k", "", b"",
                 {"host": anon.host()}).status, 400)
    got = admin.get("/bkt", "cors")
    eq(got.all("AllowedOrigin"), ["https://*.example.org", "*"])
    for bad in ("<CORSConfiguration/>", "<x/>", CORS.replace("GET", "LOOK"),
                CORS.replace("https://*.", "https://*.*."),
                CORS.replace("99", "-1"), CORS + "x"):
        eq(rc(admin("PUT", "/bkt", "cors", bad)), (400, "MalformedXML"))


@case("38_cors_star_is_not_for_sessions")
def _():
    ro = session(mint(admin))
    r = ro.get("/bkt/k", origin="https://evil.test")
    assert "access-control-allow-origin" not in r.headers
    r = ro.get("/bkt/k", origin="https://a.example.org")
    eq(r.headers["access-control-allow-origin"], "https://a.example.org")
    eq(preflight("https://evil.test", "GET",
                 "x-amz-security-token").status, 403)
    eq(preflight("https://a.example.org", "GET",
                 "x-amz-security-token").status, 200)
    eq(admin("DELETE", "/bkt", "cors").status, 204)
    eq(preflight("https://a.example.org", "GET").status, 403)


@case("no_secret_in_the_log")
def _():
    log = store.log_text()
    for text in ("0123456789abcdef", "Signature=", "X-Amz-Signature"):
        assert text not in log, text


eq(store.stop(), 0)
store.close()
finish()
