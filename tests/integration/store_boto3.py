"""A session with boto3: store_boto3.py URL FILE.  Fails by an exception."""

import hashlib
import sys
import urllib.error
import urllib.request

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

url, path = sys.argv[1:]
config = Config(s3={"addressing_style": "path"}, signature_version="s3v4",
                retries={"max_attempts": 1})
s3 = boto3.client("s3", endpoint_url=url, config=config)
B = "boto-one"


def status(call, **kw):
    try:
        return call(**kw)["ResponseMetadata"]["HTTPStatusCode"]
    except ClientError as e:
        return e.response["ResponseMetadata"]["HTTPStatusCode"]


def conditional(name, value, **kw):
    """Debian 12's boto3 knows no IfMatch: the header is added by a hook,
    before the request is signed."""
    def add(request, **_):
        request.headers[name] = value
    s3.meta.events.register("before-sign.s3.PutObject", add)
    try:
        return status(s3.put_object, **kw)
    finally:
        s3.meta.events.unregister("before-sign.s3.PutObject", add)


s3.create_bucket(Bucket=B)
s3.put_bucket_versioning(
    Bucket=B, VersioningConfiguration={"Status": "Enabled"})
one = s3.put_object(Bucket=B, Key="v", Body=b"1", Metadata={"a": "b"})
two = s3.put_object(Bucket=B, Key="v", Body=b"2")
assert one["VersionId"] != two["VersionId"]
got = s3.get_object(Bucket=B, Key="v", VersionId=one["VersionId"])
assert (got["Body"].read(), got["Metadata"]) == (b"1", {"a": "b"})

assert conditional("If-None-Match", "*", Bucket=B, Key="c", Body=b"1") == 200
assert conditional("If-None-Match", "*", Bucket=B, Key="c", Body=b"2") == 412
etag = s3.head_object(Bucket=B, Key="c")["ETag"]
assert conditional("If-Match", etag, Bucket=B, Key="c", Body=b"3") == 200
assert conditional("If-Match", etag, Bucket=B, Key="c", Body=b"4") == 412
assert conditional("If-Match", etag, Bucket=B, Key="none", Body=b"4") == 404
assert s3.get_object(Bucket=B, Key="c")["Body"].read() == b"3"

keys = ["d/%d/ä b+%%%d" % (i % 3, i) for i in range(30)]
for k in keys:
    s3.put_object(Bucket=B, Key=k, Body=k.encode())
r = s3.list_objects_v2(Bucket=B, Prefix="d/", Delimiter="/")
assert [p["Prefix"] for p in r["CommonPrefixes"]] == ["d/0/", "d/1/", "d/2/"]
pages = s3.get_paginator("list_objects_v2").paginate(
    Bucket=B, Prefix="d/", PaginationConfig={"PageSize": 7})
assert [o["Key"] for p in pages for o in p["Contents"]] == \
    sorted(keys, key=lambda k: k.encode())
pages = s3.get_paginator("list_object_versions").paginate(
    Bucket=B, PaginationConfig={"PageSize": 5})
assert sum(len(p.get("Versions", [])) for p in pages) == 34

link = s3.generate_presigned_url(
    "get_object", Params={"Bucket": B, "Key": keys[0]}, ExpiresIn=60)
assert urllib.request.urlopen(link).read() == keys[0].encode()
link = s3.generate_presigned_url(
    "put_object", Params={"Bucket": B, "Key": "up"}, ExpiresIn=60)
urllib.request.urlopen(urllib.request.Request(
    link, data=b"by url", method="PUT"))
assert s3.get_object(Bucket=B, Key="up")["Body"].read() == b"by url"

r = s3.delete_objects(Bucket=B, Delete={
    "Objects": [{"Key": k} for k in keys] + [{"Key": "never"}]})
assert len(r["Deleted"]) == 31 and not r.get("Errors")
assert "Contents" not in s3.list_objects_v2(Bucket=B, Prefix="d/")

s3.upload_file(path, B, "big", Config=TransferConfig(
    multipart_threshold=5 << 20, multipart_chunksize=5 << 20))
head = s3.head_object(Bucket=B, Key="big")
assert head["ContentLength"] == 20 << 20 and head["ETag"].endswith('-4"')
with open(path, "rb") as f:
    want = hashlib.sha256(f.read()).digest()
s3.download_file(B, "big", path + ".back")
with open(path + ".back", "rb") as f:
    assert hashlib.sha256(f.read()).digest() == want

for alg in ("CRC32", "SHA1", "SHA256"):
    r = s3.put_object(Bucket=B, Key="sum", Body=b"abc", ChecksumAlgorithm=alg)
    r = s3.get_object(Bucket=B, Key="sum", ChecksumMode="ENABLED")
    assert r["Checksum" + alg] and r["Body"].read() == b"abc"

s3.put_bucket_lifecycle_configuration(Bucket=B, LifecycleConfiguration={
    "Rules": [{"ID": "x", "Status": "Enabled", "Filter": {"Prefix": "i/"},
               "NoncurrentVersionExpiration": {"NoncurrentDays": 1},
               "Expiration": {"ExpiredObjectDeleteMarker": True}}]})
r = s3.get_bucket_lifecycle_configuration(Bucket=B)
assert r["Rules"][0]["NoncurrentVersionExpiration"]["NoncurrentDays"] == 1
s3.put_bucket_cors(Bucket=B, CORSConfiguration={"CORSRules": [{
    "AllowedOrigins": ["http://a"], "AllowedMethods": ["GET"]}]})
assert s3.get_bucket_cors(Bucket=B)["CORSRules"][0]["AllowedMethods"] == \
    ["GET"]
assert s3.get_bucket_acl(Bucket=B)["Grants"][0]["Permission"] == \
    "FULL_CONTROL"

sts = boto3.client("sts", endpoint_url=url)
cred = sts.get_session_token(DurationSeconds=900)["Credentials"]
guest = boto3.client(
    "s3", endpoint_url=url, config=config,
    aws_access_key_id=cred["AccessKeyId"],
    aws_secret_access_key=cred["SecretAccessKey"],
    aws_session_token=cred["SessionToken"])
assert guest.get_object(Bucket=B, Key="c")["Body"].read() == b"3"
assert status(guest.put_object, Bucket=B, Key="c", Body=b"") == 403

bucket = boto3.resource("s3", endpoint_url=url, config=config).Bucket(B)
bucket.object_versions.delete()
s3.delete_bucket(Bucket=B)
