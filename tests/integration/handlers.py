"""Handlers under the real worker, store and command line: the examples, those
of qo-handler(7), and all that a handler can do wrong."""

import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time

import qo_lib
from qo_lib import (BUILD, Program, alive, children, clean_env, local_store,
                    put_file, state, until)
from store_lib import Skip, Store, case, eq, finish

store = Store()
top = os.path.dirname(store.data)
bin_ = os.path.join(top, "bin")
os.mkdir(bin_)
# A copy: Python leaves something beside what it imports.
EXAMPLES = os.path.join(top, "examples")
shutil.copytree("examples", EXAMPLES)
os.mkdir(os.path.join(top, "tmp"))
ENV = clean_env(QO_CONFIG=os.path.join(top, "qod.conf"),
                TMPDIR=os.path.join(top, "tmp"))


def script(name, text, mode=0o755):
    return put_file(os.path.join(bin_, name), text, mode)


def write_conf(name, sections, worker=""):
    return put_file(os.path.join(top, name),
                    "[qod]\nlog_level = debug\n" + local_store(store) +
                    "[submit]\nretry_initial_interval = 100ms\n"
                    "[worker]\nslots = 16\n%s\n%s" % (worker, sections))


def qo(*args, code=0, stdin=""):
    return qo_lib.run("qo", *args, code=code, stdin=stdin, env=ENV).out


def submit(type_, value=None, *args):
    return qo("submit", "-t", type_, "-i", "-", *args,
              stdin=json.dumps(value)).strip()


def ended(id_, status="completed"):
    """The task, once it has ended."""
    qo("wait", "-t", "240s", id_,
       code=0 if status == "completed" else 1)
    t = json.loads(qo("status", "--json", id_))
    eq(t["status"], status, t["last_error"])
    return t


# For one that ends well if its time is enough, or the test is quick enough.
PATIENTLY = ("--retries", "100")


def run(type_, value=None, *args, status="completed"):
    return ended(submit(type_, value, *args), status)


class Worker(Program):
    def __init__(self, conf, name):
        super().__init__("qo-worker", "-f", conf, env=ENV,
                         log=os.path.join(top, name + ".log"))
        self.wait_for("msg=ready")

    def children(self):
        """Pids and states of its children."""
        return [(p, state(p)) for p in children(self.proc.pid)]

    def descriptors(self):
        """What it has open, without the connections to the store."""
        d = "/proc/%d/fd" % self.proc.pid
        found = []
        for n in os.listdir(d):
            try:
                found.append(os.readlink(os.path.join(d, n)).split(":")[0])
            except FileNotFoundError:
                pass
        return sorted(x for x in found if x != "socket")


def numbers(name):
    try:
        with open(os.path.join(top, name)) as f:
            return [int(x) for x in f.read().split()]
    except FileNotFoundError:
        return []


qo_init = write_conf("qod.conf", "")
qo("init")


# The examples.

def section_of(path):
    """The handler section in the comment at the top of an example."""
    with open(os.path.join(EXAMPLES, path)) as f:
        text = f.read()
    m = re.search(r"^([^\w\n\[]*)\[handler .*?\n(?=[^a-z\n]*\n)", text,
                  re.S | re.M)
    lines = [line[len(m.group(1)):] for line in m.group(0).splitlines()]
    eq(lines[0][0], "[", path)
    return "\n".join(lines) + "\n"


def example_sections():
    text = "".join(section_of(p) for p in (
        "sh/wordcount.sh", "sh/fetch.sh", "python/csvsum.py", "c/longest.c"))
    if shutil.which("node"):
        text += section_of("node/mail.mjs")
    for old, new in (("/usr/local/share/qo/examples", EXAMPLES),
                     ("/usr/local/libexec/longest", os.path.abspath(
                         os.path.join(BUILD, "examples/c/longest"))),
                     ("/var/tmp", top),
                     ("/var/spool/outbox", os.path.join(top, "outbox"))):
        text = text.replace(old, new)
    return text


examples = Worker(write_conf("examples.conf", example_sections()), "examples")


def late(path, text):
    """The file comes when the first attempt is over."""
    def attempted(id_):
        until("the first attempt", lambda: json.loads(
            qo("status", "--json", id_))["retry_count"] > 0)
        with open(path + ".tmp", "w") as f:
            f.write(text)
        os.rename(path + ".tmp", path)
        return id_
    return attempted


@case("example_wordcount")
def _():
    path = os.path.join(top, "words")
    wait = late(path, "one two\nthree\n")
    t = ended(wait(submit("text.wordcount", path, *PATIENTLY)))
    eq(t["output"], {"lines": 2, "words": 3})
    eq(t["errors"][0]["message"], "the file is not there")
    eq(qo("logs", t["id"]), "attempt %d counts %s\n" % (t["attempt"], path))
    t = run("text.wordcount", {"no": "path"}, status="failed")
    eq(t["attempt"], 1)
    eq(t["last_error"], "exited with status 65: the input is no path in "
       'quotes: {"no":"path"}')


class Site(http.server.BaseHTTPRequestHandler):
    seen = {}

    def do_GET(self):
        n = Site.seen[self.path] = Site.seen.get(self.path, 0) + 1
        if self.path == "/busy" and n == 1:
            self.send_response(503)
            self.send_header("Retry-After", "1")
            body = b""
        elif self.path == "/gone":
            self.send_response(404)
            body = b"no"
        else:
            self.send_response(200)
            body = b"body of " + self.path.encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@case("example_fetch")
def _():
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d" % site.server_port
    t = run("http.fetch", url + "/a")
    path = os.path.join(top, t["id"])
    body = b"body of /a"
    eq(t["output"], {"status": 200, "bytes": len(body), "file": path,
                     "sha256": hashlib.sha256(body).hexdigest()})
    with open(path, "rb") as f:
        eq(f.read(), body)
    t = run("http.fetch", url + "/busy")
    eq((t["retry_count"], t["errors"][0]["message"]), (1, "status 503"))
    t = run("http.fetch", url + "/gone", status="failed")
    eq((t["retry_count"], t["last_error"]), (0, "status 404"))
    t = run("http.fetch", "file:///etc/passwd", status="failed")
    eq(t["retry_count"], 0)
    site.shutdown()
    site.server_close()
    t = run("http.fetch", url + "/a", "--retries", "1", status="failed")
    eq(t["retry_count"], 1)
    eq(t["last_error"][:32], "exited with status 75: curl: (7)")


@case("example_csvsum")
def _():
    source, target = (os.path.join(top, n) for n in ("in.csv", "out.csv"))
    rows = "country,amount\n" + "".join(
        "%s,%d.5\n" % ("nl" if i % 2 else "de", i) for i in range(20000))
    wait = late(source, rows)
    args = {"from": source, "to": target, "key": "country",
            "value": "amount"}
    t = ended(wait(submit("etl.csvsum", args, *PATIENTLY)))
    eq(t["output"], {"groups": 2, "total": "200000000.0"})
    eq(t["errors"][0]["message"], "%s is not there yet" % source)
    with open(target) as f:
        eq(f.read().split(), ["country,amount", "de,99995000.0",
                              "nl,100005000.0"])
    eq(qo("logs", t["id"]), "2 groups in %s\n" % target)
    eq([n for n in os.listdir(top) if n.startswith("out.csv.")], [])
    t = run("etl.csvsum", dict(args, value="none"), status="failed")
    eq(t["last_error"], "the file has no column 'none'")
    t = run("etl.csvsum", {}, status="failed")
    eq((t["retry_count"], t["last_error"][:15]), (0, "the input needs"))


@case("example_mail")
def _():
    if not shutil.which("node"):
        raise Skip("no node here")
    outbox = os.path.join(top, "outbox")
    ada = {"to": "ada@example.org", "name": "Ada"}
    id_ = submit("mail.welcome", ada, "-k", "welcome-ada", *PATIENTLY)
    until("the first attempt", lambda: json.loads(
        qo("status", "--json", id_))["retry_count"] > 0)
    os.mkdir(outbox)
    t = ended(id_)
    eq(t["errors"][0]["message"], "the outbox is closed")
    eq(t["output"]["again"], False)
    eq(os.listdir(outbox), [t["output"]["id"] + ".eml"])
    with open(os.path.join(outbox, t["output"]["id"] + ".eml")) as f:
        eq(f.read(), "To: ada@example.org\nSubject: Welcome\n\nHello Ada!\n")
    eq(submit("mail.welcome", ada, "-k", "welcome-ada"), id_)
    # However it comes that it runs again, there is one message.
    qo("replay", id_)
    t = ended(id_)
    eq((t["output"]["again"], t["attempt"]), (True, t["attempt"]))
    eq(qo("logs", id_), "was sent before\n")
    eq(len(os.listdir(outbox)), 1)
    t = run("mail.welcome", {"to": "nobody"}, status="failed")
    eq(t["last_error"], 'no address: "nobody"')


@case("example_longest")
def _():
    path = os.path.join(top, "lines")
    wait = late(path, "a\n\nabcd\nab")
    t = ended(wait(submit("text.longest", {"file": path}, *PATIENTLY)))
    eq(t["output"], {"lines": 4, "line": 3, "length": 4})
    eq(t["errors"][0]["message"], path + ": No such file or directory")
    eq(qo("logs", t["id"]), "attempt %d reads %s\n" % (t["attempt"], path))
    t = run("text.longest", None, status="failed")
    eq(t["last_error"], 'the input has no string "file"')


@case("example_longest_is_cancelled")
def _():
    """In the middle of a read that would never end."""
    path = os.path.join(top, "endless")
    os.mkfifo(path)
    id_ = submit("text.longest", {"file": path})
    out = os.open(path, os.O_WRONLY)  # once it reads
    os.write(out, b"x\n")
    qo("cancel", id_)
    t = ended(id_, "cancelled")
    eq(t["attempt"], 1)
    os.close(out)


@case("examples_end_in_peace")
def _():
    kids = [p for p, _ in examples.children()]
    assert kids, "no serving process"
    examples.stop()
    for p in kids:
        until("its processes to end", lambda: not alive(p))


# Those of the manual page.

def page_examples():
    with open("man/qo-handler.7") as f:
        text = f.read().split(".Sh EXAMPLES", 1)[1]
    found = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", text, re.S | re.M)
    for old, new in (("\\(aq", "'"), ("\\(dq", '"'), ("\\e", "\\"),
                     ("\\&", "")):
        found = [x.replace(old, new) for x in found]
    return found


def page_program(lang, texts):
    """The greeter in this language, as a command."""
    first = {"sh": "#!/bin/sh", "python": "#!/usr/bin/env python3",
             "node": "#!/usr/bin/env node", "c": "#include"}[lang]
    text, = [x for x in texts if x.startswith(first)]
    if lang == "c":
        script("greet.c", text)
        path = os.path.join(bin_, "greet-c")
        san = ["-fsanitize=address,undefined"] if "-san" in BUILD else []
        subprocess.run(
            ["cc", "-Wall", "-Wextra", "-Werror"] + san + [
                "-Ilib", "-o", path, os.path.join(bin_, "greet.c"),
                os.path.join(BUILD, "libqo.a")], check=True)
        return path
    name = {"sh": "greet.sh", "python": "greet.py", "node": "greet.mjs"}
    return script(name[lang], text)


@case("page_examples")
def _():
    texts = page_examples()
    section, = [x for x in texts if x.startswith("[handler")]
    for name in ("python/qo.py", "node/qo.cjs"):
        shutil.copy(os.path.join(EXAMPLES, name), bin_)
    types, sections = [], ""
    for lang in ("sh", "python", "node", "c"):
        if lang == "node" and not shutil.which("node"):
            continue
        if lang == "sh" and not shutil.which("jq"):
            continue
        program = page_program(lang, texts)
        for mode in ("exec", "serve")[:1 if lang == "sh" else 2]:
            name = "greet-%s-%s" % (lang, mode)
            types.append(name)
            sections += section.replace("/usr/local/libexec/greet", program) \
                .replace("handler greet", "handler " + name) \
                .replace("type = greet", "type = " + name) \
                .replace("user = nobody\n", "") + "mode = %s\n" % mode
    # The modules know functions by type.
    for n in ("greet.py", "greet.mjs"):
        path = os.path.join(bin_, n)
        if os.path.exists(path):
            with open(path) as f:
                text = f.read()
            script(n, text.replace('handler("greet"', 'handler("greet-*"'))
    w = Worker(write_conf("page.conf", sections), "page")
    for type_ in types:
        t = run(type_, {"name": "Ada \"\u00e9\""})
        eq(t["output"], {"hello": "Ada \"\u00e9\""}, type_)
        eq(qo("logs", t["id"]), "greeting Ada \"\u00e9\"\n", type_)
        t = run(type_, {"name": "Godot"})
        eq((t["output"], t["attempt"], t["retry_count"]),
           ({"hello": "Godot"}, 2, 1), type_)
        eq(t["errors"][0]["message"], "not here yet", type_)
        t = run(type_, {}, status="failed")
        eq((t["attempt"], t["last_error"].split(": ")[-1]),
           (1, "the input has no name"), type_)
    w.stop()
    for lang, tool in (("sh", "jq"), ("node", "node")):
        if not shutil.which(tool):
            raise Skip("all but the one for %s: no %s here" % (lang, tool))


# What goes wrong.

PY = "#!/usr/bin/python3\nimport json, os, signal, sys, time\n"
SERVE = PY + """
def out(text):
    os.write(1, text.encode())
def verdict(**kw):
    out(json.dumps(kw) + "\\n")
def done():
    verdict(status="completed", output="fine")
def each(fn):
    for line in iter(sys.stdin.readline, ""):
        task = json.loads(line)
        done() if task["input"] == "good" else fn()
"""

# name: (program, options of the section, what last_error begins with)
BAD_EXEC = {
    "verdict-text": ("#!/bin/sh\necho hello >&3\n", "", "bad verdict: "),
    "verdict-status": ("#!/bin/sh\necho '{\"status\":\"great\"}' >&3\n", "",
                       'bad verdict: status "great"'),
    "verdict-two": ("#!/bin/sh\nfor i in 1 2; do "
                    "echo '{\"status\":\"completed\"}' >&3; done\n", "",
                    "bad verdict: "),
    "verdict-wait": ("#!/bin/sh\necho '{\"status\":\"wait_signal\","
                     "\"signal\":\"x\"}' >&3\n", "",
                     "the verdict wait_signal is for steps of a workflow"),
    "latin1": ("#!/bin/sh\nprintf 'caf\\351'\n", "",
               "the output is not UTF-8"),
    "deep": (PY + "print('[' * 600 + ']' * 600)\n", "", "the output: "),
    "flood": ("#!/bin/sh\nexec yes\n", "",
              "the output is larger than output_max (65536 bytes)"),
    "flood-verdict": ("#!/bin/sh\nexec yes >&3\n", "",
                      "the verdict is larger than output_max"),
    "status": ("#!/bin/sh\necho first >&2\necho 'the reason' >&2\nexit 3\n",
               "", "exited with status 3: the reason"),
    "fails": ("#!/bin/sh\nexit 65\n", "", "exited with status 65"),
    "own-list": ("#!/bin/sh\nexit 9\n", "fail_exit = 9\n",
                 "exited with status 9"),
    "signal": ("#!/bin/sh\nkill -ABRT $$\n", "", "killed by signal 6"),
    "mute": ("#!/bin/sh\nexec sleep 1000\n", "timeout = 1s\n",
             "ran longer than 1 s"),
    "ignores-term": ("#!/bin/sh\ntrap '' TERM\n: >%s/ignores-term.began\n"
                     "while :; do sleep 0.05; done\n" % top,
                     "timeout = 1s\ngrace = 200ms\n",
                     "ran longer than 1 s, and had to be killed"),
    "stops-itself": ("#!/bin/sh\nkill -STOP $$\nsleep 1000\n",
                     "timeout = 1s\n", "ran longer than 1 s"),
    "cpu": ("#!/bin/sh\nwhile :; do :; done\n", "cpu_seconds = 1\n",
            "killed by signal "),
    "memory": (PY + "x = bytearray(1 << 30)\n", "memory_max = 256MiB\n",
               "exited with status 1: MemoryError"),
    "files": (PY + "f = [open('/dev/null') for _ in range(100)]\n",
              "files_max = 32\n", "exited with status 1: OSError"),
    "bad-shebang": ("#!/no/such/interpreter\n", "", ""),
}
BAD_SERVE = {
    "s-text": ("each(lambda: out('hello\\n'))", "", "bad answer: "),
    "s-no-status": ("each(lambda: out('{}\\n'))", "",
                    "bad answer: no status"),
    "s-latin1": ("each(lambda: os.write(1, b'{\"log\":\"\\xe9\"}\\n'))", "",
                 "bad answer: "),
    "s-exits": ("each(lambda: sys.exit('the reason'))", "",
                "the serving process exited with status 1 before it "
                "answered: the reason"),
    "s-exits-0": ("each(lambda: sys.exit(0))", "",
                  "the serving process exited with status 0 before it "
                  "answered"),
    "s-start": ("sys.exit('not today')", "",
                "the serving process exited with status 1 before it "
                "answered: not today"),
    "s-signal": ("each(lambda: os.kill(os.getpid(), 11))", "",
                 "the serving process killed by signal 11"),
    "s-closes-out": ("each(lambda: (os.close(1), time.sleep(1000)))", "",
                     "the serving process closed its stdout before it "
                     "answered"),
    "s-two": ("each(lambda: out('{\"status\":\"completed\"}\\n' * 2))", "",
              "bad answer: more than one verdict"),
    "s-line": ("each(lambda: [out('x' * 4096) for _ in range(100)] and "
               "time.sleep(1000))", "",
               "bad answer: a line is longer than output_max"),
    "s-output": ("each(lambda: verdict(status='completed', "
                 "output='x' * 70000))", "", "bad answer: "),
    "s-progress": ("each(lambda: (verdict(progress='x' * 70000), done()))",
                   "", "bad answer: progress: "),
    "s-mute": ("each(lambda: time.sleep(1000))", "timeout = 1s\n",
               "ran longer than 1 s"),
    "s-ignores-term": ("signal.signal(15, signal.SIG_IGN)\n"
                       "open('%s/s-ignores-term.began', 'w').close()\n"
                       "each(lambda: time.sleep(1000))" % top,
                       "timeout = 1s\ngrace = 200ms\n",
                       "ran longer than 1 s, and had to be killed"),
    "s-waits": ("each(lambda: verdict(status='wait_tasks', ids=['x']))", "",
                "the verdict wait_tasks is for steps of a workflow"),
}
GOOD = {
    "good": "#!/bin/sh\ncat\n",
    "messy": "#!/bin/sh\nmkdir a && echo x >a/b && echo 1\n",
    # Who wants no input, or no pipes, or leaves somebody behind, is fine.
    "no-reader": "#!/bin/sh\nexec 0<&-\necho '\"fine\"'\n",
    "closes-all": "#!/bin/sh\nexec 0<&- 1>&- 2>&- 3>&-\nsleep 0.1\n",
    "log-flood": PY + "for i in range(20000): print('line', i, "
    "file=sys.stderr)\n",
    "forker": "#!/bin/sh\nfor i in 1 2 3 4 5; do sleep 1000 & "
    "echo $! >>%s/left; done\necho 5\n" % top,
    "daemon": "#!/bin/sh\n(setsid sh -c 'echo $$ >>%s/left; "
    "exec sleep 1000' &)\nwhile [ ! -s %s/left ]; do sleep 0.01; done\n"
    "echo 6\n" % (top, top),
}


def bad_sections():
    text = ""
    for name, (program, options, _) in list(BAD_EXEC.items()) + list(
            BAD_SERVE.items()):
        serving = name.startswith("s-")
        path = script(name, SERVE + program if serving else program)
        text += "[handler %s]\ntype = %s\ncommand = %s\n%s%s" % (
            name, name, path, options,
            "mode = serve\ninstances = 1\n" if serving else "")
    for name, program in GOOD.items():
        text += "[handler %s]\ntype = %s\ncommand = %s\n" % (
            name, name, script(name, program))
    text += "[handler s-idle]\ntype = s-idle\ncommand = %s\nmode = serve\n" \
        "instances = 1\n" % script("s-idle", SERVE + """
for line in iter(sys.stdin.readline, ""):
    done()
    time.sleep(0.2)
    out("I am bored\\n")
""")
    text += "[handler no-exec]\ntype = no-exec\ncommand = %s\n" % script(
        "no-exec", "#!/bin/sh\n", 0o644)
    text += "[handler missing]\ntype = missing\ncommand = %s/none\n" % bin_
    text += "[handler cwd]\ntype = cwd\ncommand = %s/good\n" \
        "cwd = %s/no-such\n" % (bin_, top)
    text += "[handler user]\ntype = user\ncommand = %s/good\n" \
        "user = no-such-user\n" % bin_
    return text


bad = Worker(write_conf("bad.conf", bad_sections(),
                        "inline_max = 32KiB\n"
                        "output_max = 64KiB\nlog_max = 4KiB"), "bad")


def fails(name, why):
    t = run(name, None, "--retries", "0", status="failed")
    while "had to be killed" in why and not os.path.exists(
            os.path.join(top, name + ".began")):
        # On a busy machine its time was over before it could ignore that.
        t = run(name, None, "--retries", "0", status="failed")
    if not t["last_error"].startswith(why):
        raise AssertionError("%s: last_error %r" % (name, t["last_error"]))
    eq((t["attempt"], t["output"]), (1, None), name)
    return t


for name in BAD_EXEC:
    case("bad_" + name)(lambda: fails(name, BAD_EXEC[name][2]))


def bad_serve(name):
    fails(name, BAD_SERVE[name][2])
    if name != "s-start":
        eq(run(name, "good", *PATIENTLY)["output"], "fine")


for name in BAD_SERVE:
    case("bad_" + name)(lambda: bad_serve(name))


@case("bad_s-idle")
def _():
    for _ in range(3):
        eq(run("s-idle", None, *PATIENTLY)["output"], "fine")
        until("it to be replaced", lambda:
              "it wrote to stdout without a task" in bad.text())


@case("bad_programs")
def _():
    for name, why in (("missing", "none"), ("no-exec", "no-exec"),
                      ("cwd", "no-such"), ("user", "no-such-user")):
        t = run(name, None, "--retries", "0", status="failed")
        if why not in t["last_error"]:
            raise AssertionError("%s: %s" % (name, t["last_error"]))


@case("retries_are_counted")
def _():
    t = run("status", None, "--retries", "2", status="failed")
    eq((t["attempt"], t["retry_count"], len(t["errors"])), (3, 2, 3))
    for name in ("fails", "own-list"):
        t = run(name, None, "--retries", "2", status="failed")
        eq((t["attempt"], t["retry_count"]), (1, 0), name)


@case("input_that_nobody_reads")
def _():
    big = "x" * 1000000
    eq(run("no-reader", big)["output"], "fine")
    eq(run("closes-all", big)["output"], None)


@case("log_is_bounded")
def _():
    t = run("log-flood")
    text = qo("logs", t["id"])
    assert len(text) <= 4096, len(text)
    lines = text.splitlines()
    eq(lines[-1], "line 19999")
    assert re.match(r"qo: \d+ bytes before this were cut$", lines[0]), lines[0]


@case("what_is_left_behind_is_killed")
def _():
    for name, output in (("forker", 5), ("daemon", 6)):
        eq(run(name)["output"], output)
        left = numbers("left")
        eq(len(left), output if name == "forker" else 1)
        for pid in left:
            until("%s's child to die" % name, lambda: not alive(pid))
        os.unlink(os.path.join(top, "left"))


@case("entry_that_is_ahead_of_its_task")
def _():
    """A retry or a replay puts the entry first: whoever looks then must look
    again."""
    t = run("good", 1)
    gen = t["generation"] + 1
    s3 = store.client()
    now = time.time()
    eq(s3.put("/qo-index/ready/%s/%010d/%s.%d.00c0ffee" % (
        t["shard"], now // 60, t["id"], gen)).status, 200)
    time.sleep(0.3)  # it is told of the entry at once
    t.update(status="pending", generation=gen, rev=t["rev"] + 1,
             updated_by="somebody", lease_id=None, worker_id=None,
             lease_expires_at=None, completed_at=None, output=None,
             available_at=time.strftime("%Y-%m-%dT%H:%M:%S.000000Z",
                                        time.gmtime(now)))
    eq(s3.put("/qo/tasks/%s/%s.json" % (t["shard"], t["id"]),
              json.dumps(t)).status, 200)
    eq(ended(t["id"])["attempt"], 2)


@case("the_worker_went_on")
def _():
    eq(bad.proc.poll(), None)
    eq(run("good", [1])["output"], [1])
    until("no zombie", lambda: all(s != "Z" for _, s in bad.children()))


@case("a_thousand")
def _():
    """No zombie, no descriptor, no file is left of a thousand handlers; the
    last leaves a grandchild."""
    run("good")
    idle = bad.descriptors()
    kids = len(bad.children())
    lines = "".join('{"type":"good","input":%d}\n' % i for i in range(1000))
    ids = [json.loads(x)["id"] for x in
           qo("submit", "-b", "-", stdin=lines).splitlines()]
    eq(len(set(ids)), 1000)
    qo("wait", "-t", "240s", *ids)
    eq(run("messy")["output"], 1)
    eq(run("daemon")["output"], 6)
    pid, = numbers("left")
    until("the grandchild to die", lambda: not alive(pid))
    until("no zombie", lambda: all(s != "Z" for _, s in bad.children()))
    until("no more children", lambda: len(bad.children()) <= kids)
    until("descriptors to be closed: %s" % bad.descriptors(),
          lambda: len(bad.descriptors()) <= len(idle))
    # Empty directories are kept for the next ones, at most one for a slot.
    base, = [n for n in os.listdir(ENV["TMPDIR"])
             if n.startswith("qo-worker.")]
    d = os.path.join(ENV["TMPDIR"], base)
    most = 16 + bad_sections().count("[handler")
    until("directories to be removed", lambda: len(os.listdir(d)) <= most)
    until("files to be removed", lambda: not [
        n for path, _, files in os.walk(d) for n in files if path != d])


@case("nothing_is_left")
def _():
    kids = [p for p, _ in bad.children()]
    bad.stop()
    for p in kids:
        until("its processes to end", lambda: not alive(p))
    eq(os.listdir(ENV["TMPDIR"]), [])


finish()
