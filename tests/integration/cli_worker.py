"""qo worker: becomes a qo-worker that has qo's own configuration and does
work."""

import json
import os

from qo_lib import Program, clean_env, put_file, run, script, until
from store_lib import Store, case, directory, eq, finish

store = Store()
tmp = directory("qo-cli-worker.")
CONF = put_file(os.path.join(tmp, "qod.conf"),
                "[s3]\nendpoint = %s\nbucket = queue\n"
                "[handler hello]\ntype = hello\ncommand = /bin/cat\n"
                % store.url)
ENV = clean_env(QO_S3_ACCESS_KEY=store.key[0], QO_S3_SECRET_KEY=store.key[1])


def qo(*args, env=None, **kw):
    return run("qo", "-c", CONF, *args, env=dict(ENV, **(env or {})), **kw)


@case("works")
def _():
    qo("init")
    with Program("qo", "-c", CONF, "worker", "--id", "me", "--shards",
                 "0-7,8,9,a-f", env=ENV, log=os.path.join(tmp, "log")) as p:
        tid = qo("submit", "--type", "hello", "--input", '{"a":1}').out.strip()
        qo("wait", tid, "--timeout", "240s")
        eq(json.loads(qo("status", tid, "--json").out)["output"], {"a": 1})
        workers = until("its record", lambda: json.loads(
            qo("workers", "--json").out))
        eq([w["worker_id"] for w in workers], ["me"])
        # The same process, not a child of qo.
        eq(workers[0]["pid"], p.proc.pid)
        with open("/proc/%d/comm" % p.proc.pid) as f:
            eq(f.read(), "qo-worker\n")
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
    script(os.path.join(tmp, "qo-worker"), "#!/bin/sh\necho \"$@\"\n")
    p = qo("worker", "--id", "x", env={"QO_QOD_LIBEXEC": tmp})
    eq(p.out, "-f %s --id x\n" % CONF)


store.close()
finish()
