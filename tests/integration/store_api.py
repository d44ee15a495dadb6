"""Objects, versions, conditions, listings: what S3 says to each request."""

import base64
import hashlib
import subprocess
import urllib.parse
import zlib

from store_lib import BINARY, Store, case, eq, finish, md5_64, quote

store = Store()
c = store.client()


def versioned(name):
    c.put("/" + name)
    r = c("PUT", "/" + name, "versioning",
          "<VersioningConfiguration><Status>Enabled</Status>"
          "</VersioningConfiguration>")
    eq(r.status, 200)


@case("buckets")
def _():
    eq(c.put("/first").status, 200)
    r = c.put("/first")
    eq((r.status, r.code), (409, "BucketAlreadyOwnedByYou"))
    eq(c("HEAD", "/first").status, 200)
    eq(c("HEAD", "/nothere").status, 404)
    eq(c("HEAD", "/nothere").body, b"")
    eq(c.get("/first", "location").one("LocationConstraint"), None)
    assert "first" in c.get("/").all("Name")
    for bad in ("a", "Upper", "a..b", "-ab", "192.168.1.1", "a" * 64, "a_b"):
        eq(c.put("/" + bad).code, "InvalidBucketName", bad)
    eq(c.put("/qo").status, 200)  # our default, shorter than S3's names
    c.put("/first/x", b"1")
    eq(c("DELETE", "/first").code, "BucketNotEmpty")
    c("DELETE", "/first/x")
    eq(c("DELETE", "/first").status, 204)
    eq(c.get("/first").code, "NoSuchBucket")
    eq(c.put("/first/x", b"1").code, "NoSuchBucket")


@case("put_get_head")
def _():
    c.put("/b-one")
    for key in ("a b/ü+%", "../x", "a//b", "\\", "&<>\"'", "x" * 1024, "~"):
        r = c.put("/b-one/" + key, b"data " + key.encode())
        eq(r.status, 200, key)
        eq(r.etag, '"%s"' % hashlib.md5(b"data " + key.encode()).hexdigest())
        r = c.get("/b-one/" + key)
        eq((r.status, r.body), (200, b"data " + key.encode()), key)
        h = c("HEAD", "/b-one/" + key)
        eq((h.status, h.body), (200, b""))
        eq(h.headers["content-length"], str(len(r.body)))
        eq(h.headers["content-type"], "binary/octet-stream")
        eq(c("DELETE", "/b-one/" + key).status, 204)
        eq(c.get("/b-one/" + key).code, "NoSuchKey")
    eq(c.put("/b-one/" + "x" * 1025, b"").code, "KeyTooLongError")
    eq(c("DELETE", "/b-one/nothere").status, 204)
    eq(c.put("/b-one/empty").status, 200)
    eq(c.get("/b-one/empty").body, b"")


@case("metadata_is_kept")
def _():
    kept = {"content-type": "text/html", "cache-control": "max-age=5",
            "content-disposition": 'attachment; filename="x"',
            "content-language": "de", "expires": "Thu, 01 Jan 2037 00:00:00 GMT",
            "x-amz-meta-one": "1", "x-amz-meta-two": "zwei"}
    h = dict(kept)
    h["content-encoding"] = "aws-chunked,gzip"
    eq(c("PUT", "/b-one/m", body=b"x", headers=h).status, 200)
    r = c.get("/b-one/m")
    for k, v in kept.items():
        eq(r.headers[k], v, k)
    eq(r.headers["content-encoding"], "gzip")
    r = c("GET", "/b-one/m", "response-content-type=text%2Fplain"
          "&response-cache-control=no-store")
    eq(r.headers["content-type"], "text/plain")
    eq(r.headers["cache-control"], "no-store")
    r = c("GET", "/b-one/m", "response-content-type=a%0d%0aSet-Cookie:%20x")
    eq(r.status, 400)
    r = c.put("/b-one/m2", b"", x_amz_meta_big="x" * 2100)
    eq(r.code, "MetadataTooLarge")
    for name in ("x-amz-server-side-encryption", "x-amz-tagging",
                 "x-amz-object-lock-mode", "x-amz-grant-read"):
        r = c("PUT", "/b-one/m3", body=b"", headers={name: "x"})
        eq((r.status, r.code), (501, "NotImplemented"), name)
    eq(c.put("/b-one/m3", b"", x_amz_storage_class="GLACIER").code,
       "InvalidStorageClass")


@case("ranges_and_conditions_on_get")
def _():
    body = bytes(range(256)) * 10
    etag = c.put("/b-one/r", body).etag
    for spec, want in (("bytes=0-0", body[:1]), ("bytes=5-", body[5:]),
                       ("bytes=-3", body[-3:]), ("bytes=0-99999", body),
                       ("bytes=-99999", body)):
        r = c.get("/b-one/r", range=spec)
        eq((r.status, r.body), (206, want), spec)
    eq(c.get("/b-one/r", range="bytes=5-9").headers["content-range"],
       "bytes 5-9/2560")
    for spec in ("bytes=9-5", "bytes=0-1,3-4", "rows=1-2", "bytes=x"):
        eq(c.get("/b-one/r", range=spec).status, 200, spec)
    for spec in ("bytes=2560-", "bytes=-0"):
        r = c.get("/b-one/r", range=spec)
        eq((r.status, r.code), (416, "InvalidRange"), spec)
    eq(c.get("/b-one/r", if_none_match=etag).status, 304)
    eq(c.get("/b-one/r", if_none_match=etag).body, b"")
    eq(c.get("/b-one/r", if_none_match='"x"').status, 200)
    eq(c.get("/b-one/r", if_match=etag).status, 200)
    eq(c.get("/b-one/r", if_match=etag.strip('"')).status, 200)
    eq(c.get("/b-one/r", if_match='"x"').status, 412)
    when = c("HEAD", "/b-one/r").headers["last-modified"]
    old = "Thu, 01 Jan 2015 00:00:00 GMT"
    eq(c.get("/b-one/r", if_modified_since=when).status, 304)
    eq(c.get("/b-one/r", if_modified_since=old).status, 200)
    eq(c.get("/b-one/r", if_unmodified_since=old).status, 412)
    eq(c.get("/b-one/r", if_unmodified_since=when).status, 200)
    eq(c.get("/b-one/r", if_match=etag, if_unmodified_since=old).status, 200)
    eq(c.get("/b-one/r", range="bytes=0-1", if_range='"x"').status, 200)
    eq(c.get("/b-one/r", range="bytes=0-1", if_range=etag).status, 206)


def conditional(bucket):
    k = "/%s/cas" % bucket
    eq(c.put(k, b"0", if_match='"x"').code, "NoSuchKey")
    eq(c.put(k, b"0", if_match='"x"').status, 404)
    e1 = c.put(k, b"1", if_none_match="*")
    eq(e1.status, 200)
    r = c.put(k, b"1", if_none_match="*")
    eq((r.status, r.code), (412, "PreconditionFailed"))
    eq(c.put(k, b"2", if_match='"wrong"').status, 412)
    e2 = c.put(k, b"2", if_match=e1.etag)
    eq(e2.status, 200)
    eq(c.put(k, b"3", if_match=e1.etag).status, 412)
    e3 = c.put(k, b"3", if_match=e2.etag.strip('"'))
    eq(e3.status, 200)
    eq(c.get(k).body, b"3")
    # RFC 9110's reading where AWS has none.
    eq(c.put(k, b"4", if_none_match=e3.etag).status, 412)
    eq(c.put(k, b"4", if_none_match='"other"').status, 200)
    eq(c.put(k, b"5", if_match="*").status, 200)
    eq(c.put(k + "-no", b"5", if_match="*").status, 404)
    eq(c.put(k, b"6", if_match="*", if_none_match="*").status, 501)
    last = c.get(k).etag
    eq(c("DELETE", k, headers={"if-match": '"x"'}).status, 412)
    eq(c("DELETE", k, headers={"if-match": last}).status, 204)
    eq(c.get(k).status, 404)
    assert c("DELETE", k, headers={"if-match": last}).status in (404, 412)
    eq(c.put(k, b"7", if_match=last).status, 404)
    eq(c.put(k, b"7", if_none_match="*").status, 200)
    c("DELETE", k)


@case("conditional_writes_unversioned")
def _():
    conditional("b-one")


@case("conditional_writes_versioned")
def _():
    versioned("b-ver")
    conditional("b-ver")


@case("strict_aws_switch")
def _():
    with Store("--strict-aws") as s:
        k = s.client()
        k.put("/bkt")
        e = k.put("/bkt/x", b"1").etag
        eq(k.put("/bkt/x", b"1", if_none_match=e).status, 501)
        eq(k.put("/bkt/x", b"1", if_match="*").status, 501)
        eq(k.put("/bkt/x", b"1", if_match=e).status, 200)
        eq(k.put("/bkt/y", b"1", if_none_match="*").status, 200)


@case("versions_and_markers")
def _():
    versioned("b-vv")
    v1 = c.put("/b-vv/k", b"one").vid
    v2 = c.put("/b-vv/k", b"two").vid
    assert v1 and v2 and v1 != v2
    eq(c.get("/b-vv/k", "versionId=" + v1).body, b"one")
    eq(c.get("/b-vv/k").vid, v2)
    d = c("DELETE", "/b-vv/k")
    eq(d.headers["x-amz-delete-marker"], "true")
    r = c.get("/b-vv/k")
    eq((r.status, r.code), (404, "NoSuchKey"))
    eq(r.headers["x-amz-delete-marker"], "true")
    r = c.get("/b-vv/k", "versionId=" + d.vid)
    eq((r.status, r.code), (405, "MethodNotAllowed"))
    eq(r.headers["allow"], "DELETE")
    eq(c.get("/b-vv/k", "versionId=nosuchversion").code, "NoSuchVersion")
    r = c.get("/b-vv", "versions")
    eq(r.all("VersionId"), [d.vid, v2, v1])
    eq(r.all("IsLatest"), ["true", "false", "false"])
    r = c("DELETE", "/b-vv/k", "versionId=" + d.vid)
    eq((r.status, r.headers["x-amz-delete-marker"]), (204, "true"))
    eq(c.get("/b-vv/k").body, b"two")
    eq(c("DELETE", "/b-vv/k", "versionId=" + v2).status, 204)
    eq(c.get("/b-vv/k").body, b"one")


@case("versions_paging")
def _():
    versioned("b-vp")
    want = []
    for k in ("a", "b/1", "b/2", "c"):
        ids = [c.put("/b-vp/" + k, str(i).encode()).vid for i in range(3)]
        want += [(k, i) for i in reversed(ids)]
    for page in (1, 2, 5, 1000):
        got, km, vm = [], "", ""
        while True:
            q = "versions&max-keys=%d" % page
            if km:
                q += "&key-marker=" + quote(km, "")
            if vm:
                q += "&version-id-marker=" + vm
            r = c.get("/b-vp", q)
            got += list(zip(r.all("Key"), r.all("VersionId")))
            if r.one("IsTruncated") == "false":
                break
            km, vm = r.one("NextKeyMarker"), r.one("NextVersionIdMarker")
        eq(got, want, page)
    r = c.get("/b-vp", "versions&delimiter=/")
    eq(sorted(set(r.all("Key"))), ["a", "c"])
    assert "<CommonPrefixes><Prefix>b/</Prefix>" in r.body.decode()
    eq(c.get("/b-vp", "versions&version-id-marker=x").code, "InvalidArgument")


@case("null_versions_and_suspended")
def _():
    c.put("/b-nv")
    c.put("/b-nv/k", b"null one")
    versioned("b-nv")
    v = c.put("/b-nv/k", b"two").vid
    r = c.get("/b-nv", "versions")
    eq(r.all("VersionId"), [v, "null"])
    eq(c.get("/b-nv/k", "versionId=null").body, b"null one")
    c("PUT", "/b-nv", "versioning",
      "<VersioningConfiguration><Status>Suspended</Status>"
      "</VersioningConfiguration>")
    eq(c.get("/b-nv", "versioning").one("Status"), "Suspended")
    c.put("/b-nv/k", b"null two")
    eq(c.get("/b-nv", "versions").all("VersionId"), ["null", v])
    eq(c.get("/b-nv/k").body, b"null two")
    c("DELETE", "/b-nv/k")
    r = c.get("/b-nv", "versions")
    eq(r.all("VersionId"), ["null", v])
    assert "<DeleteMarker>" in r.body.decode()
    eq(c("PUT", "/b-nv", "versioning", "<VersioningConfiguration/>").status,
       400)


@case("list_v1_v2")
def _():
    c.put("/b-ls")
    keys = ["a", "a b", "a+b", "b/1", "b/2", "c/d/e", "é", "~", "&<"]
    for k in keys:
        c.put("/b-ls/" + k, b"x")
    order = sorted(keys, key=lambda k: k.encode())
    r = c.get("/b-ls", "list-type=2")
    eq(r.all("Key"), order)
    eq(r.one("KeyCount"), str(len(keys)))
    for page in (1, 2, 3):
        for v2 in (True, False):
            got, token = [], None
            while True:
                q = "max-keys=%d" % page
                if v2:
                    q += "&list-type=2"
                if token:
                    q += ("&continuation-token=" if v2 else "&marker=") + \
                        quote(token, "")
                r = c.get("/b-ls", q)
                got += r.all("Key")
                if r.one("IsTruncated") == "false":
                    break
                token = r.one("NextContinuationToken") if v2 else \
                    r.all("Key")[-1]
            eq(got, order, (page, v2))
    r = c.get("/b-ls", "list-type=2&delimiter=/")
    eq(r.all("Key"), [k for k in order if "/" not in k])
    prefixes = [p for p in r.all("Prefix") if p]
    eq(prefixes, ["b/", "c/"])
    r = c.get("/b-ls", "list-type=2&delimiter=/&prefix=c/")
    assert "<Prefix>c/d/</Prefix>" in r.body.decode()
    # Every page of one, prefixes included, in order and once each.
    got, token = [], None
    for _ in range(20):
        q = "list-type=2&delimiter=/&max-keys=1"
        if token:
            q += "&continuation-token=" + quote(token, "")
        r = c.get("/b-ls", q)
        got += r.all("Key") + [p for p in r.all("Prefix") if p]
        token = r.one("NextContinuationToken")
        if not token:
            break
    eq(got, sorted([k for k in keys if "/" not in k] + ["b/", "c/"],
                   key=lambda k: k.encode()))
    r = c.get("/b-ls", "list-type=2&encoding-type=url")
    eq([urllib.parse.unquote(k) for k in r.all("Key")], order)
    eq(r.one("EncodingType"), "url")
    r = c.get("/b-ls", "list-type=2&start-after=b/1")
    eq(r.all("Key")[0], "b/2")
    eq(c.get("/b-ls", "list-type=2&max-keys=0").one("IsTruncated"), "false")
    eq(c.get("/b-ls", "list-type=2&max-keys=-1").code, "InvalidArgument")
    eq(c.get("/b-ls", "list-type=2&continuation-token=x").code,
       "InvalidArgument")
    eq(c.get("/b-ls", "encoding-type=x").code, "InvalidArgument")
    assert c.get("/b-ls", "list-type=2&fetch-owner=true").one("Owner")
    assert c.get("/b-ls", "list-type=2").one("Owner") is None


@case("multi_delete")
def _():
    c.put("/b-md")
    for i in range(5):
        c.put("/b-md/k%d" % i, b"x")

    def delete(inner, **kw):
        body = "<Delete>%s</Delete>" % inner
        return c("POST", "/b-md", "delete", body,
                 headers={"content-md5": md5_64(body.encode())}, **kw)
    r = delete("<Object><Key>k0</Key></Object><Object><Key>no</Key></Object>")
    eq(r.status, 200)
    eq(r.all("Key"), ["k0", "no"])
    r = delete("<Quiet>true</Quiet><Object><Key>k1</Key></Object>")
    eq(r.all("Key"), [])
    r = delete("<Object><Key>k2</Key><ETag>\"bad\"</ETag></Object>"
               "<Object><Key>k3</Key></Object>")
    eq(r.all("Code"), ["PreconditionFailed"])
    eq(c.get("/b-md", "list-type=2").all("Key"), ["k2", "k4"])
    eq(delete("".join("<Object><Key>%d</Key></Object>" % i
                      for i in range(1001))).code, "MalformedXML")
    eq(delete("".join("<Object><Key>%d</Key></Object>" % i
                      for i in range(1000))).status, 200)
    eq(delete("").code, "MalformedXML")
    eq(delete("<Object></Object>").code, "MalformedXML")
    eq(c("POST", "/b-md", "delete", "<Delete>",
         headers={"content-md5": md5_64(b"x")}).code, "BadDigest")


@case("multipart")
def _():
    c.put("/b-mp")
    up = c("POST", "/b-mp/big", "uploads",
           headers={"content-type": "text/x", "x-amz-meta-a": "b"})
    uid = up.one("UploadId")
    p1, p2 = b"a" * (5 << 20), b"b" * 100
    q = "partNumber=%d&uploadId=" + uid
    e1 = c("PUT", "/b-mp/big", q % 1, p1).etag
    e2 = c("PUT", "/b-mp/big", q % 2, p2).etag
    eq(c("PUT", "/b-mp/big", q % 0, p2).code, "InvalidArgument")
    eq(c("PUT", "/b-mp/big", q % 10001, p2).code, "InvalidArgument")
    eq(c("PUT", "/b-mp/big", "partNumber=1&uploadId=nope", p2).code,
       "NoSuchUpload")
    eq(c.get("/b-mp", "uploads").all("UploadId"), [uid])
    r = c.get("/b-mp/big", "max-parts=1&uploadId=" + uid)
    eq((r.all("PartNumber"), r.one("NextPartNumberMarker")), (["1"], "1"))
    eq(c.get("/b-mp/big").status, 404)

    def done(parts, **kw):
        return c("POST", "/b-mp/big", "uploadId=" + uid,
                 "<CompleteMultipartUpload>" + "".join(
                     "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>"
                     % p for p in parts) + "</CompleteMultipartUpload>", **kw)
    eq(done([(1, e1), (3, e2)]).code, "InvalidPart")
    eq(done([(1, e2), (2, e2)]).code, "InvalidPart")
    eq(done([(2, e2), (1, e1)]).code, "InvalidPartOrder")
    eq(done([]).code, "MalformedXML")
    c.put("/b-mp/big", b"there")
    eq(done([(1, e1), (2, e2)], headers={"if-none-match": "*"}).status, 412)
    c("DELETE", "/b-mp/big")
    r = done([(1, e1), (2, e2)], headers={"if-none-match": "*"})
    eq(r.status, 200)
    md5s = hashlib.md5(p1).digest() + hashlib.md5(p2).digest()
    want = '"%s-2"' % hashlib.md5(md5s).hexdigest()
    eq(r.one("ETag"), want)
    r = c.get("/b-mp/big")
    eq((r.body == p1 + p2, r.etag), (True, want))
    eq((r.headers["content-type"], r.headers["x-amz-meta-a"]), ("text/x", "b"))
    eq(c.get("/b-mp/big", range="bytes=5242879-5242881").body, b"abb")
    # Once more is no mistake; with other parts it is.
    r = done([(1, e1), (2, e2)], headers={"if-none-match": "*"})
    eq((r.status, r.one("ETag")), (200, want))
    eq(done([(1, e1)]).code, "InvalidPart")
    uid = c("POST", "/b-mp/x", "uploads").one("UploadId")
    c("PUT", "/b-mp/x", "partNumber=1&uploadId=" + uid, b"1")
    c("PUT", "/b-mp/x", "partNumber=2&uploadId=" + uid, b"2")
    r = c.get("/b-mp/x", "uploadId=" + uid)
    small = list(zip([1, 2], r.all("ETag")))
    r = c("POST", "/b-mp/x", "uploadId=" + uid, "<CompleteMultipartUpload>"
          + "".join("<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>"
                    % p for p in small) + "</CompleteMultipartUpload>")
    eq(r.code, "EntityTooSmall")
    eq(c("DELETE", "/b-mp/x", "uploadId=" + uid).status, 204)
    eq(c("DELETE", "/b-mp/x", "uploadId=" + uid).code, "NoSuchUpload")
    # Parts of what was made of parts.
    for method in ("GET", "HEAD"):
        for n, off, part in ((1, 0, p1), (2, len(p1), p2)):
            r = c(method, "/b-mp/big", "partNumber=%d" % n)
            eq((r.status, r.headers["x-amz-mp-parts-count"],
                r.headers["content-range"], r.headers["content-length"]),
               (206, "2", "bytes %d-%d/%d" % (
                   off, off + len(part) - 1, len(p1 + p2)), str(len(part))))
            if method == "GET":
                eq(r.body == part, True)
        eq(c(method, "/b-mp/big", "partNumber=3").status, 416)
    eq(c.get("/b-mp/big", "partNumber=3").code, "InvalidPartNumber")
    eq(c.get("/b-mp/big", "partNumber=0").code, "InvalidArgument")
    eq(c.get("/b-mp/big", "partNumber=1", range="bytes=0-1").code,
       "InvalidRequest")
    c.put("/b-mp/plain", b"plain")
    r = c.get("/b-mp/plain", "partNumber=1")
    eq((r.status, r.body), (206, b"plain"))
    eq("x-amz-mp-parts-count" in r.headers, False)
    eq(c.get("/b-mp/plain", "partNumber=2").status, 416)


@case("multipart_checksums")
def _():
    def crc(data):
        return zlib.crc32(data).to_bytes(4, "big")

    def b64(data):
        return base64.b64encode(data).decode()
    c.put("/b-mpsum")
    p1, p2 = b"a" * (5 << 20), b"b" * 100
    uid = c("POST", "/b-mpsum/k", "uploads", headers={
        "x-amz-checksum-algorithm": "CRC32"}).one("UploadId")
    etags = [c("PUT", "/b-mpsum/k", "partNumber=%d&uploadId=%s" % (n, uid), p,
               headers={"x-amz-checksum-crc32": b64(crc(p))}).etag
             for n, p in ((1, p1), (2, p2))]

    def done(sums):
        return c("POST", "/b-mpsum/k", "uploadId=" + uid,
                 "<CompleteMultipartUpload>" + "".join(
                     "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag>"
                     "<ChecksumCRC32>%s</ChecksumCRC32></Part>" % p
                     for p in zip((1, 2), etags, sums))
                 + "</CompleteMultipartUpload>")
    eq(done([b64(crc(p1)), b64(crc(p1))]).code, "InvalidPart")
    want = b64(crc(crc(p1) + crc(p2))) + "-2"
    for _ in range(2):
        r = done([b64(crc(p1)), b64(crc(p2))])
        eq((r.status, r.one("ChecksumCRC32"), r.one("ChecksumType")),
           (200, want, "COMPOSITE"))
    r = c("HEAD", "/b-mpsum/k", headers={"x-amz-checksum-mode": "ENABLED"})
    eq((r.headers["x-amz-checksum-crc32"], r.headers["x-amz-checksum-type"]),
       (want, "COMPOSITE"))
    # A copy is one piece: the checksum of parts says nothing about it.
    eq(c.put("/b-mpsum/copy", x_amz_copy_source="/b-mpsum/k").status, 200)
    r = c("HEAD", "/b-mpsum/copy", headers={"x-amz-checksum-mode": "ENABLED"})
    eq("x-amz-checksum-crc32" in r.headers, False)
    r = c.put("/b-mpsum/one", b"1", x_amz_checksum_crc32=b64(crc(b"1")))
    r = c("GET", "/b-mpsum/one", headers={"x-amz-checksum-mode": "ENABLED"})
    eq((r.headers["x-amz-checksum-crc32"], r.headers["x-amz-checksum-type"]),
       (b64(crc(b"1")), "FULL_OBJECT"))
    eq(c.get("/b-mp", "uploads").all("UploadId"), [])


@case("copy")
def _():
    c.put("/b-cp")
    c.put("/b-cp2")
    big = b"z" * (3 << 20)
    etag = c("PUT", "/b-cp/ä b", body=b"src", headers={
        "content-type": "text/a", "x-amz-meta-m": "1"}).etag
    c.put("/b-cp/big", big)
    src = "/b-cp/" + quote("ä b")
    r = c("PUT", "/b-cp2/dst", headers={"x-amz-copy-source": src})
    eq((r.status, r.one("ETag")), (200, etag))
    r = c.get("/b-cp2/dst")
    eq((r.body, r.headers["content-type"], r.headers["x-amz-meta-m"]),
       (b"src", "text/a", "1"))
    r = c("PUT", "/b-cp2/dst", headers={
        "x-amz-copy-source": src[1:], "content-type": "text/b",
        "x-amz-metadata-directive": "REPLACE"})
    eq(r.status, 200)
    r = c.get("/b-cp2/dst")
    eq((r.headers["content-type"], r.headers.get("x-amz-meta-m")),
       ("text/b", None))
    eq(c("PUT", "/b-cp2/big", headers={
        "x-amz-copy-source": "b-cp/big"}).status, 200)
    eq(c.get("/b-cp2/big").body == big, True)
    eq(c("PUT", "/b-cp/big", headers={
        "x-amz-copy-source": "b-cp/big"}).code, "InvalidRequest")
    eq(c("PUT", "/b-cp/x", headers={
        "x-amz-copy-source": "b-cp/none"}).code, "NoSuchKey")
    eq(c("PUT", "/b-cp/x", headers={"x-amz-copy-source": src,
       "x-amz-copy-source-if-match": '"x"'}).status, 412)
    uid = c("POST", "/b-cp/mp", "uploads").one("UploadId")
    r = c("PUT", "/b-cp/mp", "partNumber=1&uploadId=" + uid, headers={
        "x-amz-copy-source": "b-cp/big",
        "x-amz-copy-source-range": "bytes=1-10"})
    eq(r.one("ETag"), '"%s"' % hashlib.md5(b"z" * 10).hexdigest())


@case("other_subresources")
def _():
    c.put("/b-sub")
    for sub, code in (
            ("policy", "NoSuchBucketPolicy"), ("tagging", "NoSuchTagSet"),
            ("encryption", "ServerSideEncryptionConfigurationNotFoundError"),
            ("object-lock", "ObjectLockConfigurationNotFoundError"),
            ("cors", "NoSuchCORSConfiguration"),
            ("lifecycle", "NoSuchLifecycleConfiguration"),
            ("website", "NoSuchWebsiteConfiguration"),
            ("replication", "ReplicationConfigurationNotFoundError"),
            ("inventory", "NotImplemented")):
        eq(c.get("/b-sub", sub).code, code, sub)
    for sub in ("logging", "notification", "requestPayment", "accelerate",
                "acl", "versioning"):
        eq(c.get("/b-sub", sub).status, 200, sub)
    eq(c("PUT", "/b-sub", "policy", "{}").status, 501)
    eq(c("POST", "/b-sub", "").status, 501)
    eq(c("PATCH", "/b-sub/x").status, 405)
    c.put("/b-sub/o", b"x")
    assert "<TagSet>" in c.get("/b-sub/o", "tagging").body.decode()
    eq(c("PUT", "/b-sub/o", "tagging", "<Tagging/>").status, 501)
    eq(c.get("/b-sub/o", "torrent").status, 501)


@case("checksums_of_bodies")
def _():
    c.put("/b-ck")
    body = b"hello checksum"
    crc = base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()
    sha = base64.b64encode(hashlib.sha256(body).digest()).decode()
    r = c("PUT", "/b-ck/k", body=body, headers={"x-amz-checksum-crc32": crc})
    eq((r.status, r.headers["x-amz-checksum-crc32"]), (200, crc))
    r = c.get("/b-ck/k", x_amz_checksum_mode="ENABLED")
    eq(r.headers["x-amz-checksum-crc32"], crc)
    assert "x-amz-checksum-crc32" not in c.get("/b-ck/k").headers
    bad = base64.b64encode(b"abcd").decode()
    for h, want in (
            ({"x-amz-checksum-crc32": bad}, "BadDigest"),
            ({"x-amz-checksum-crc32": "x"}, "InvalidDigest"),
            ({"x-amz-checksum-sha512": sha}, "InvalidRequest"),
            ({"x-amz-checksum-crc32": crc, "x-amz-checksum-sha256": sha},
             "InvalidRequest"),
            ({"x-amz-checksum-crc32": crc,
              "x-amz-sdk-checksum-algorithm": "SHA256"}, "InvalidRequest"),
            ({"content-md5": md5_64(b"other")}, "BadDigest"),
            ({"content-md5": "short"}, "InvalidDigest")):
        r = c("PUT", "/b-ck/bad", body=body, headers=h)
        eq((r.status, r.code), (400, want), h)
    eq(c.get("/b-ck/bad").status, 404)
    r = c("PUT", "/b-ck/s", body=body, headers={"x-amz-checksum-sha256": sha})
    eq(r.status, 200)


@case("every_answer_has_its_ids")
def _():
    for r in (c.get("/"), c.get("/b-one/nokey"), c("HEAD", "/b-one/nokey"),
              c("GET", "/b-one", signed=False)):
        for name in ("date", "x-amz-request-id", "x-amz-id-2"):
            assert name in r.headers, name
        eq(r.headers["x-content-type-options"], "nosniff")
    r = c.get("/b-one/nokey")
    eq(r.one("RequestId"), r.headers["x-amz-request-id"])
    eq(r.one("Resource"), "/b-one/nokey")
    eq(c("HEAD", "/b-one/nokey").body, b"")


@case("it_ends_cleanly_and_checks_out")
def _():
    eq(store.stop(), 0)
    out = subprocess.run([BINARY, "--check", "-d", store.data],
                         capture_output=True)
    eq((out.returncode, out.stdout), (0, (store.data + ": good\n").encode()))


store.close()
finish()
