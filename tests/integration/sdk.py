"""Handlers in C, Python and JavaScript, spoken to over pipes as the worker
does.  The same is asked of the three languages; then what one alone has."""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from qo_lib import state
from store_lib import BUILD, Skip, case, directory, eq, finish

LIBC = ctypes.CDLL(None)
LIMIT = 120  # seconds that nothing here takes unless it hangs
HERE = os.path.join("tests", "integration", "sdk")
NODE = shutil.which("node")
tmp = directory("qo-sdk.")

COMMANDS = {
    "c": [os.path.join(BUILD, HERE, "conform")],
    "python": ["/usr/bin/python3", os.path.join(HERE, "conform.py")],
    "node": NODE and [NODE, os.path.join(HERE, "conform.mjs")],
}


def command(lang):
    if not COMMANDS[lang]:
        raise Skip("no node here")
    return COMMANDS[lang]


class Peer:
    """A handler, and the worker's ends of its pipes."""

    def __init__(self, argv, serve=True, env=None, result=False,
                 group=False):
        env = dict(env or {}, PATH=os.environ["PATH"],
                   PYTHONDONTWRITEBYTECODE="1")
        if serve:
            env.update(QO_MODE="serve", QO_HANDLER="h")
        fds = ()
        if result:
            self.result, w = os.pipe()
            env["QO_RESULT_FD"] = str(w)
            fds = (w,)
        self.err = tempfile.TemporaryFile()
        self.proc = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.err, env=env, pass_fds=fds, bufsize=0,
            start_new_session=group)
        for fd in fds:
            os.close(fd)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.kill()
        self.proc.wait()
        for f in (self.proc.stdin, self.proc.stdout, self.err):
            f.close()

    def say(self, data):
        fd = self.proc.stdin.fileno()
        while data:
            data = data[os.write(fd, data):]

    def task(self, task_type, value=None, **more):
        fields = {"task_id": "id-1", "task_type": task_type, "attempt": 3,
                  "lease_id": "L", "deadline": "2026-01-28T12:00:00.250000Z"}
        fields.update(more)
        fields["input"] = value
        self.say(json.dumps(fields).encode() + b"\n")

    def read(self, fd):
        if not select.select([fd], [], [], LIMIT)[0]:
            raise AssertionError("silent; its log: " + self.log())
        return os.read(fd, 65536)

    def hear(self):
        """The next line as a value; None at the end."""
        while b"\n" not in self.buffer:
            more = self.read(self.proc.stdout.fileno())
            if not more:
                eq(self.buffer, b"", "half a line")
                return None
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, *args, **kw):
        self.task(*args, **kw)
        return self.hear()

    def log(self):
        # Its own offset: the handler's must stay where it is.
        size = os.fstat(self.err.fileno()).st_size
        return os.pread(self.err.fileno(), size, 0).decode()

    def end(self, status=0):
        """No more tasks."""
        self.proc.stdin.close()
        eq(self.hear(), None, "after the end of input:")
        eq(self.proc.wait(LIMIT), status, "exit status (%s)" % self.log())

    def verdict(self):
        text = b""
        while True:
            more = self.read(self.result)
            if not more:
                break
            text += more
        os.close(self.result)
        return json.loads(text)


def wait_for(true):
    limit = time.monotonic() + LIMIT
    while not true():
        if time.monotonic() > limit:
            raise AssertionError("waited in vain")
        time.sleep(0.01)


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return f.read().split()


def completed(output):
    return {"status": "completed", "output": output}


def all_of(name):
    """Decorator: a case for each language."""

    def wrap(fn):
        for lang in COMMANDS:
            case("%s_%s" % (name, lang))(lambda: fn(lang))
        return fn

    return wrap


@all_of("echo")
def _(lang):
    with Peer(command(lang)) as p:
        value = {"a": [1, "\u00e9\U0001f600\n", None, {"b": True}]}
        eq(p.ask("echo", value, idempotency_key='k"\u00e9'), completed(
            {"id": "id-1", "type": "echo", "attempt": 3, "lease": "L",
             "key": 'k"\u00e9', "step": None, "input": value}))
        # The next has nothing of the one before.
        eq(p.ask("echo", 0, step="s", task_id="2", new={"x": 1}), completed(
            {"id": "2", "type": "echo", "attempt": 3, "lease": "L",
             "key": None, "step": "s", "input": 0}))
        p.end()


@all_of("verdicts")
def _(lang):
    with Peer(command(lang)) as p:
        eq(p.ask("fail"), {"status": "failed", "error": 'no "file"\n'})
        eq(p.ask("retry"), {"status": "retry", "error": "busy",
                            "delay_seconds": 1.5})
        eq(p.ask("policy"), {"status": "retry", "error": "busy"})
        eq(p.ask("reschedule"), {"status": "reschedule",
                                 "delay_seconds": 60})
        eq(p.ask("cancel"), {"status": "cancelled"})
        eq(p.ask("signal"), {"status": "wait_signal", "signal": "go",
                             "timeout_seconds": 5})
        eq(p.ask("tasks"), {"status": "wait_tasks", "ids": ["a", 'b"']})
        p.end()


@all_of("printing_is_logging")
def _(lang):
    with Peer(command(lang)) as p:
        eq(p.ask("talk"), {"progress": {"percent": 50}})
        eq(p.hear(), {"log": 'line 1\twith "quotes"'})
        eq(p.hear(), completed(None))
        eq(p.log(), "printed")
        p.end()


@all_of("children_and_stdio")
def _(lang):
    with Peer(command(lang)) as p:
        # The second is on its way when the child could read it.
        p.task("child")
        p.task("echo", 1)
        eq(p.hear(), completed(None))
        eq(p.hear()["output"]["input"], 1)
        eq(p.log(), "child\n")
        p.end()


@all_of("bad_output")
def _(lang):
    with Peer(command(lang)) as p:
        a = p.ask("bad")
        eq(a["status"], "retry")
        eq(a["error"][:32], "the handler's output is no JSON:")
        eq(p.ask("echo", 5)["output"]["input"], 5)
        p.end()


@all_of("depth_of_output")
def _(lang):
    with Peer(command(lang)) as p:
        eq(p.ask("deep", 512)["status"], "completed")
        a = p.ask("deep", 513)
        eq((a["status"], a["error"][:37]),
           ("retry", "the handler's output is no JSON: nest"))
        p.end()


@all_of("progress_limits")
def _(lang):
    with Peer(command(lang)) as p:
        eq(len(p.ask("progress")["progress"]) >= 65000, True)
        if isinstance(p.hear()["progress"], list) is False:
            raise AssertionError("no nested one")
        eq(p.hear(), completed([0, -1, 0, -1]))
        p.end()


@all_of("large")
def _(lang):
    with Peer(command(lang)) as p:
        value = "x" * 3000000
        eq(p.ask("echo", value)["output"]["input"], value)
        p.end()


@all_of("lines_in_pieces")
def _(lang):
    with Peer(command(lang)) as p:
        line = json.dumps({"task_id": "7", "task_type": "echo",
                           "input": "\u00e9"}, ensure_ascii=False).encode()
        for byte in line:
            p.say(bytes([byte]))
        p.say(b"\n" + line + b"\n" + line + b"\n")
        for _ in range(3):
            eq(p.hear()["output"]["input"], "\u00e9")
        p.end()


def cancel(p, task_type, want, when=lambda: True):
    p.task(task_type)
    eq(p.hear(), {"log": "waiting"})
    wait_for(when)
    p.proc.send_signal(signal.SIGTERM)
    eq(p.hear(), want)
    # It was for the task, not for the process.
    eq(p.ask("echo", 9)["output"]["input"], 9)


@all_of("cancel")
def _(lang):
    with Peer(command(lang)) as p:
        for _ in range(3):
            cancel(p, "wait", {"status": "cancelled"})
        p.end()


@all_of("term_when_idle")
def _(lang):
    with Peer(command(lang)) as p:
        p.ask("echo", 1)
        p.proc.send_signal(signal.SIGTERM)
        eq(p.hear(), None)
        eq(p.proc.wait(LIMIT), 0)


@all_of("term_before_task")
def _(lang):
    """SIGTERM that was for the last task, and the next one is there when it
    is noticed: it must not be taken for the next one's."""
    for _ in range(5):
        with Peer(command(lang)) as p:
            p.ask("echo", 1)
            p.proc.send_signal(signal.SIGSTOP)
            os.waitpid(p.proc.pid, os.WUNTRACED)
            # To its main thread, as of one that runs: when all threads of
            # node go on at once, another might take it, and be late.
            eq(LIBC.tgkill(p.proc.pid, p.proc.pid, signal.SIGTERM), 0)
            p.task("wait")
            p.proc.send_signal(signal.SIGCONT)
            eq(p.hear(), None)
            eq(p.proc.wait(LIMIT), 0)


@all_of("no_task")
def _(lang):
    for line in (b"hello\n", b"[]\n", b'{"task_id":"x"}\n'):
        with Peer(command(lang)) as p:
            p.say(line)
            p.end(76)


ENV = {"QO_TASK_ID": "id", "QO_ATTEMPT": "4", "QO_LEASE_ID": "L",
       "QO_IDEMPOTENCY_KEY": "k", "QO_DEADLINE": "2026-01-28T12:00:00Z",
       "QO_STEP": ""}


@all_of("exec")
def _(lang):
    env = dict(ENV, QO_TASK_TYPE="echo")
    with Peer(command(lang), False, env, True) as p:
        p.say(b' {"a":\n1} ')
        p.end()  # and nothing on standard output
        eq(p.verdict(), completed(
            {"id": "id", "type": "echo", "attempt": 4, "lease": "L",
             "key": "k", "step": None, "input": {"a": 1}}))
    env["QO_TASK_TYPE"] = "talk"
    with Peer(command(lang), False, env, True) as p:
        p.end()
        eq(p.verdict(), completed(None))
        for text in ("printed", 'line 1\twith "quotes"\n'):
            if text not in p.log():
                raise AssertionError("not in the log: " + text)


@all_of("exec_cancel")
def _(lang):
    env = dict(ENV, QO_TASK_TYPE="wait")
    with Peer(command(lang), False, env, True) as p:
        p.proc.stdin.close()
        wait_for(lambda: "waiting" in p.log())
        p.proc.send_signal(signal.SIGTERM)
        eq(p.verdict(), {"status": "cancelled"})
        eq(p.proc.wait(LIMIT), 0)


@all_of("by_hand")
def _(lang):
    def run(task_type, text, status):
        p = subprocess.run(
            command(lang), input=text, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=LIMIT,
            env={"PATH": os.environ["PATH"], "QO_TASK_TYPE": task_type,
                 "PYTHONDONTWRITEBYTECODE": "1"})
        eq(p.returncode, status, p.stderr.decode())
        return p

    eq(json.loads(run("echo", b"[1]", 0).stdout)["input"], [1])
    eq(json.loads(run("echo", b"", 0).stdout)["input"], None)
    p = run("retry", b"1", 75)
    eq((p.stdout, json.loads(p.stderr)["error"]), (b"", "busy"))
    eq(run("fail", b"1", 65).stdout, b"")
    p = run("echo", b"{", 65)
    eq(json.loads(p.stderr)["error"][:21], "the input is no JSON:")


@all_of("worker_is_gone")
def _(lang):
    """Nobody reads any more: it ends, and not in peace."""
    with Peer(command(lang)) as p:
        p.ask("echo", 1)
        p.proc.stdout.close()
        p.task("echo", 1)
        if p.proc.wait(LIMIT) == 0:
            raise AssertionError("exit 0")


# Python alone.

@case("python_exceptions")
def _():
    with Peer(command("python")) as p:
        a = p.ask("throw")
        lines = a["log"].split("\n")
        eq((lines[0], lines[-1]), ("Traceback (most recent call last):",
                                   "ValueError: caf\u00e9 \ufffd"))
        if "qo.py" in a["log"] or "conform.py" not in a["log"]:
            raise AssertionError("frames: " + a["log"])
        eq(p.hear(), {"status": "retry",
                      "error": "ValueError: caf\u00e9 \ufffd"})
        p.task("exit")
        eq(p.hear()["log"].split("\n")[-1], "SystemExit: 3")
        eq(p.hear(), {"status": "retry", "error": "SystemExit: 3"})
        a = p.ask("unserial")
        eq(a["status"], "retry")
        a = p.ask("nobody")
        eq((a["status"], "'nobody'" in a["error"]), ("retry", True))
        p.end()


@case("python_async")
def _():
    with Peer(command("python")) as p:
        one, two = p.ask("async.a"), p.ask("async.b")
        eq(one["output"][0], "async.a")
        eq(two["output"][0], "async.b")
        eq(one["output"][1], two["output"][1], "the event loop")
        for _ in range(3):
            cancel(p, "wait.async", {"status": "cancelled"})
        cancel(p, "wait.stubborn", completed("finished all the same"))
        p.end()


@case("python_child_is_killed_too")
def _():
    """The signal goes to the whole group, and subprocess complains."""
    with Peer(command("python"), group=True) as p:
        p.task("wait.child")
        eq(p.hear(), {"log": "waiting"})
        wait_for(lambda: children(p.proc.pid))
        os.killpg(p.proc.pid, signal.SIGTERM)
        eq("CalledProcessError" in p.hear()["log"], True)
        eq(p.hear(), {"status": "cancelled"})
        p.end()


@case("python_interrupt")
def _():
    with Peer(command("python")) as p:
        for _ in range(3):
            # Python itself does not see what comes just before a call that
            # blocks.
            cancel(p, "wait.interrupt", {"status": "cancelled"},
                   lambda: state(p.proc.pid) == "S")
        p.end()


@case("python_term_at_any_line_of_a_sleep")
def _():
    with Peer(command("python")) as p:
        n = 1
        while True:
            output = p.ask("wait.traced", n)["output"]
            if output == [False, False]:
                break
            eq(output, [True, True], "at line %d" % n)
            n += 1
        assert n > 4, n
        p.end()


@case("python_threads")
def _():
    with Peer(command("python")) as p:
        p.task("threads")
        for _ in range(200):
            eq(p.hear(), {"progress": "x" * 5000})
        eq(p.hear(), completed(None))
        p.end()


@case("python_old_syntax")
def _():
    """3.8 is promised: nothing that is newer."""
    import ast
    for name in ("qo.py", "csvsum.py"):
        with open(os.path.join("examples", "python", name)) as f:
            ast.parse(f.read(), feature_version=(3, 8))


# JavaScript alone.

@case("node_exceptions")
def _():
    with Peer(command("node")) as p:
        a = p.ask("throw")
        eq(a["log"].split("\n")[0], "RangeError: caf\u00e9 \ufffd")
        eq(p.hear(), {"status": "retry",
                      "error": "RangeError: caf\u00e9 \ufffd"})
        eq(p.ask("string"), {"log": "'no error'"})
        eq(p.hear(), {"status": "retry", "error": "no error"})
        eq(p.ask("unserial")["status"], "retry")
        eq(p.ask("pre.fix"), completed("pre.fix"))
        a = p.ask("nobody")
        eq((a["status"], '"nobody"' in a["error"]), ("retry", True))
        p.end()


@case("node_abort_signal")
def _():
    with Peer(command("node")) as p:
        for _ in range(3):
            cancel(p, "wait.signal", {"status": "cancelled"})
        p.end()


@case("node_never_settled")
def _():
    with Peer(command("node"), False, dict(ENV, QO_TASK_TYPE="never"),
              True) as p:
        p.end()
        eq(p.verdict(), {"status": "retry", "error":
                         "the handler's promise was never settled"})


@case("node_thrown_outside")
def _():
    with Peer(command("node")) as p:
        eq(p.ask("outside")["log"].split("\n")[0], "Error: in a timer")
        eq(p.hear(), {"status": "retry", "error": "Error: in a timer"})
        p.end(1)


@case("node_commonjs")
def _():
    command("node")
    path = os.path.join(tmp, "h.js")
    with open(path, "w") as f:
        f.write('const { handler, run } = require(%s);\n'
                'handler("t", () => 7);\nrun();\n' %
                json.dumps(os.path.abspath("examples/node/qo.cjs")))
    with Peer([NODE, path]) as p:
        eq(p.ask("t"), completed(7))
        p.end()


finish()
