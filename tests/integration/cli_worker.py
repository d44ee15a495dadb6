"""qo worker: becomes a qo-worker that has qo's own configuration and does
work."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from store_lib import BUILD, Store, case, eq, finish

BIN = os.path.abspath(os.path.join(BUILD, "bin"))
QO = os.path.join(BIN, "qo")
store = Store()
tmp = tempfile.mkdtemp(prefix="qo-cli-worker.")
CONF = os.path.join(tmp, "qod.conf")
ENV = {k: v for k, v in os.environ.items()
       if not k.startswith(("QO_", "AWS_"))}
ENV["QO_S3_ACCESS_KEY"], ENV["QO_S3_SECRET_KEY"] = store.key

with open(CONF, "w") as f:
    f.write("[s3]\nendpoint = %s\nbucket = queue\n"
            "[handler hello]\ntype = hello\ncommand = /bin/cat\n" % store.url)


def qo(*args, code=0, env=None, conf=CONF):
    p = subprocess.run([QO, "-c", conf] + list(args),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120,
                       env=dict(ENV, **(env or {})))
    p.out, p.err = p.stdout.decode(), p.stderr.decode()
    if p.returncode != code:
        raise AssertionError("qo %s: exit %d, want %d: %s" % (
            " ".join(args), p.returncode, code, p.err[:400]))
    return p


@case("works")
def _():
    qo("init")
    log = open(os.path.join(tmp, "log"), "w+b")
    p = subprocess.Popen([QO, "-c", CONF, "worker", "--id", "me",
                          "--shards", "0-7,8,9,a-f"], env=ENV, stderr=log,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        tid = qo("submit", "--type", "hello", "--input", '{"a":1}').out.strip()
        qo("wait", tid, "--timeout", "60s")
        eq(json.loads(qo("status", tid, "--json").out)["output"], {"a": 1})
        end = time.time() + 60
        while time.time() < end:
            workers = json.loads(qo("workers", "--json").out)
            if workers:
                break
            time.sleep(0.1)
        eq([w["worker_id"] for w in workers], ["me"])
        # The same process, not a child of qo.
        eq(workers[0]["pid"], p.pid)
        with open("/proc/%d/comm" % p.pid) as f:
            eq(f.read(), "qo-worker\n")
        p.send_signal(signal.SIGTERM)
        eq(p.wait(60), 0)
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()
        log.close()
    eq(json.loads(qo("workers", "--json").out), [])


@case("refuses")
def _():
    for args, why in ((["--id", "a b"], "--id: a b is not a name"),
                      (["--id", "../x"], "is not a name"),
                      (["--shards", "g"], "--shards: "),
                      (["--shards", ""], "--shards: "), (["now"], "now")):
        assert why in qo("worker", *args, code=2).err


@case("finds_its_program")
def _():
    p = qo("worker", code=1, env={"QO_QOD_LIBEXEC": tmp})
    eq(p.err, "qo worker: [qod] libexec: no program qo-worker in %s\n" % tmp)
    with open(os.path.join(tmp, "qo-worker"), "w") as f:
        f.write("#!/bin/sh\necho \"$@\"\n")
    os.chmod(os.path.join(tmp, "qo-worker"), 0o755)
    p = qo("worker", "--id", "x", env={"QO_QOD_LIBEXEC": tmp})
    eq(p.out, "-f %s --id x\n" % CONF)


store.close()
shutil.rmtree(tmp, ignore_errors=True)
finish()
