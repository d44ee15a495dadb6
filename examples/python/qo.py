"""Write handlers of the qo task queue in Python.

    import qo

    @qo.handler("mail.send")
    def send(task):
        if not task.input.get("to"):
            raise qo.Fail("the input names no recipient")
        deliver(task.input, key=task.idempotency_key)
        return {"sent": True}

    qo.run()

One file, standard library only, Python 3.8 or newer: copy it beside your
program, or put its directory on PYTHONPATH.  The program works in both modes
of a handler section, `mode = exec` and `mode = serve`, and without a worker:

    echo '{"to": "a@example.org"}' | python3 mail.py

What a function returns is the output of its task and must be JSON.  What it
raises is the verdict: Retry, Fail, Reschedule, Cancelled, WaitSignal,
WaitTasks; any other exception is a retry, with the traceback in the log of
the attempt.  Functions may be `async def`; all of them run in one event loop.

What is printed goes to the log of the attempt, as what is written to
sys.stderr does.  qo-handler(7) has the whole contract.
"""

import asyncio
import datetime
import fcntl
import inspect
import json
import os
import re
import select
import signal
import sys
import threading
import time
import traceback

__all__ = ["Cancelled", "Fail", "Reschedule", "Retry", "Task", "WaitSignal",
           "WaitTasks", "handler", "run"]

# What the worker takes.
DEPTH_MAX = 512  # levels of [] and {}
PROGRESS_DEPTH_MAX = 64
PROGRESS_MAX = 65536
SECONDS_MAX = 315360000
NAP = 0.05  # seconds, the longest that Task.sleep takes to see SIGTERM
EX_DATAERR, EX_TEMPFAIL, EX_PROTOCOL = 65, 75, 76


# Verdicts.

class Verdict(Exception):
    """What ends an attempt otherwise than by returning."""

    def answer(self):
        raise NotImplementedError


class Retry(Verdict):
    """Try again: after `delay` seconds, or when the task's policy says."""

    def __init__(self, message="", delay=None):
        super().__init__(message)
        self.delay = delay

    def answer(self):
        a = {"status": "retry", "error": str(self) or "retry"}
        if self.delay is not None:
            a["delay_seconds"] = _seconds(self.delay)
        return a


class Fail(Verdict):
    """It failed, and trying again would not help."""

    def answer(self):
        return {"status": "failed", "error": str(self) or "failed"}


class Reschedule(Verdict):
    """Run it again after so many seconds; does not count as a retry."""

    def __init__(self, seconds):
        super().__init__("again in %s s" % seconds)
        self.seconds = seconds

    def answer(self):
        return {"status": "reschedule",
                "delay_seconds": _seconds(self.seconds)}


class WaitSignal(Verdict):
    """In a workflow: run the step again when the signal has come, or the
    time is up."""

    def __init__(self, name, timeout=None):
        super().__init__("waits for signal " + name)
        self.name = name
        self.timeout = timeout

    def answer(self):
        a = {"status": "wait_signal", "signal": self.name}
        if self.timeout is not None:
            a["timeout_seconds"] = _seconds(self.timeout)
        return a


class WaitTasks(Verdict):
    """In a workflow: run the step again when these tasks have ended."""

    def __init__(self, ids):
        super().__init__("waits for tasks")
        self.ids = list(ids)

    def answer(self):
        return {"status": "wait_tasks", "ids": self.ids}


class Cancelled(BaseException):
    """The attempt was given up because of Task.cancelled.  Not an Exception,
    so that `except Exception' does not catch it."""

    def answer(self):
        return {"status": "cancelled"}


def _seconds(value):
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    return round(min(max(0, value), SECONDS_MAX), 3)


# Tasks.

class Task:
    """One attempt of one task."""

    def __init__(self, channel, fields, value):
        self._channel = channel
        self._cancelled = False
        #: The id of the task, the same for all attempts.
        self.id = fields.get("task_id") or ""
        self.type = fields.get("task_type") or ""
        #: Rises with every start of this task: a fencing token.
        self.attempt = int(fields.get("attempt") or 1)
        self.lease_id = fields.get("lease_id")
        #: The one that it was submitted with, else its id: the same for all
        #: attempts.
        self.idempotency_key = fields.get("idempotency_key")
        self.workflow_id = fields.get("workflow_id")
        self.step = fields.get("step")
        self.traceparent = fields.get("traceparent")
        #: When SIGTERM comes, an aware datetime in UTC; or None.
        self.deadline = _time(fields.get("deadline"))
        #: What was submitted.
        self.input = value

    def progress(self, value):
        """Says how far it is: any value that is JSON, up to 64 KiB.  In exec
        mode nobody is told."""
        line = _encode({"progress": value}, PROGRESS_DEPTH_MAX)
        if len(line) > PROGRESS_MAX:
            raise ValueError("the progress is larger than 64 KiB")
        self._channel.send(line)

    def log(self, text):
        """Adds a line to the log of this attempt."""
        self._channel.log(str(text))

    @property
    def cancelled(self):
        """True once the attempt shall end: the task was cancelled, its time
        is up, or the worker stops.  What is left is the handler's grace."""
        return self._cancelled

    def sleep(self, seconds):
        """Waits, but no longer than until it is cancelled; says which."""
        # Not on a lock, which the handler of the signal could not have when
        # this thread has it.  A signal just before a nap does not end it.
        end = time.monotonic() + seconds
        while not self._cancelled:
            left = end - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(left, NAP))
        return self._cancelled

    def check(self):
        """Raises Cancelled once the attempt shall end."""
        if self.cancelled:
            raise Cancelled()

    def __repr__(self):
        return "<qo.Task %s %s attempt %d>" % (self.id, self.type,
                                               self.attempt)


def _time(text):
    if not text:
        return None
    m = re.match(r"(\d+-\d+-\d+T\d+:\d+:\d+)(\.\d+)?(Z|\+00:00)$", text)
    if m is None:
        return None
    t = datetime.datetime.strptime(m.group(1), "%Y-%m-%dT%H:%M:%S")
    micros = ((m.group(2) or ".")[1:] + "000000")[:6]
    return t.replace(microsecond=int(micros), tzinfo=datetime.timezone.utc)


# Handlers.

_handlers = {}  # type, or beginning with * behind it: (function, interrupt)


def handler(task_type="*", interrupt=False):
    """Decorator: the function handles tasks of this type; with * at its end,
    of all types that begin so.

    A cancelled coroutine gets asyncio.CancelledError.  A plain function looks
    at task.cancelled; with interrupt=True, Cancelled is raised in it,
    wherever it is, as Ctrl-C raises KeyboardInterrupt."""

    def add(function):
        if task_type in _handlers:
            raise ValueError("two handlers for " + task_type)
        _handlers[task_type] = (function, interrupt)
        return function

    if callable(task_type):  # @qo.handler without parentheses
        function, task_type = task_type, "*"
        return add(function)
    return add


def _find(task_type):
    if task_type in _handlers:
        return _handlers[task_type]
    found = [p for p in _handlers
             if p.endswith("*") and task_type.startswith(p[:-1])]
    if found:
        return _handlers[max(found, key=len)]
    # By hand nobody says a type.
    if not task_type and len(_handlers) == 1:
        return next(iter(_handlers.values()))
    raise Retry("no function of this program handles the type %r" % task_type)


# Text.

def _encode(value, levels=DEPTH_MAX):
    """A message as one line of JSON, its value being nested in at most so
    many levels.  ValueError or TypeError: it can not be said so."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False,
                      separators=(",", ":"))
    if text.count("[") + text.count("{") > levels and \
            _depth(text) > levels + 1:
        raise ValueError("nested in more than %d levels" % levels)
    return text.encode() + b"\n"


def _depth(text):
    depth = deepest = 0
    for m in re.finditer(r'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', text):
        depth += (m.group(1) is not None) - (m.group(2) is not None)
        deepest = max(deepest, depth)
    return deepest


def _plain(text):
    """Text that can be sent: half surrogates become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _write(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


# The worker's side of it.

class _Channel:
    """Where answers go."""

    def __init__(self, fd, framed):
        self.fd = fd
        self.framed = framed  # serve mode: progress and logs are lines too
        self.lock = threading.Lock()

    def send(self, line):
        if self.framed:
            with self.lock:
                _write(self.fd, line)

    def log(self, text):
        if self.framed:
            self.send(_encode({"log": _plain(text)}))
        else:
            sys.stderr.write(_plain(text) + "\n")
            sys.stderr.flush()

    def verdict(self, line):
        """The last word of an attempt."""
        with self.lock:
            _write(self.fd, line)


class _Runner:
    """Calls functions, and knows which one SIGTERM is for."""

    def __init__(self):
        self.loop = None
        self.task = None
        self.stop = None  # what SIGTERM does to a coroutine
        self.interrupt = False
        self.terminated = False
        self.wake, w = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(w, False)
        signal.signal(signal.SIGTERM, self.on_term)
        signal.set_wakeup_fd(w, warn_on_full_buffer=False)

    def on_term(self, signo, frame):
        self.terminated = True
        if self.task is None:
            return
        self.task._cancelled = True
        if self.stop is not None:
            self.loop.call_soon_threadsafe(self.stop)
        elif self.interrupt:
            self.interrupt = False  # once
            raise Cancelled()

    def is_terminated(self):
        """A call, because Python runs handlers of signals between calls."""
        return self.terminated

    def run_async(self, coroutine):
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            # SIGTERM may come when it is about to wait, and not be seen.
            self.loop.add_reader(self.wake, self.drain)
        job = self.loop.create_task(coroutine)
        self.stop = job.cancel
        if self.task.cancelled:
            job.cancel()
        try:
            return self.loop.run_until_complete(job)
        except asyncio.CancelledError:
            if self.task.cancelled:
                raise Cancelled() from None
            raise
        finally:
            self.stop = None

    def call(self, task):
        function, interrupt = _find(task.type)
        self.task = task
        try:
            self.interrupt = interrupt
            result = function(task)
            self.interrupt = False
            if inspect.isawaitable(result):
                result = self.run_async(_await(result))
        finally:
            self.interrupt = False
        if result is None and task.cancelled:
            raise Cancelled()
        return result

    def answer(self, task):
        """The verdict as a line."""
        try:
            try:
                result = self.call(task)
            finally:
                _flush()
        except (Verdict, Cancelled) as e:
            return _encode_error(e.answer())
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            task.log(_traceback(e))
            if task.cancelled:  # what else should a call do that is cut short
                return _encode_error(Cancelled().answer())
            text = "".join(traceback.format_exception_only(type(e), e))
            return _encode_error({"status": "retry", "error": text.strip()})
        try:
            return _encode({"status": "completed", "output": result})
        except (ValueError, TypeError, RecursionError) as e:
            return _encode_error({
                "status": "retry",
                "error": "the handler's output is no JSON: %s" % e})

    def forget(self):
        """SIGTERM that came before the answer was for this task."""
        self.task = None
        self.terminated = False
        self.drain()

    def drain(self):
        try:
            while os.read(self.wake, 512):
                pass
        except BlockingIOError:
            pass


async def _await(thing):
    return await thing


def _traceback(e):
    """Without the calls in this file that led to the function."""
    tb = e.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename == __file__:
        tb = tb.tb_next
    return "".join(traceback.format_exception(type(e), e, tb)).rstrip("\n")


def _encode_error(answer):
    if "error" in answer:
        answer["error"] = _plain(answer["error"])
    return _encode(answer)


def _flush():
    """What was printed belongs to the log of this attempt."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass


def _take_stdio():
    """Private copies of standard input and output.  In their places are
    /dev/null and the log: neither print nor a child process can get between
    us and the worker."""
    _flush()
    fds = [fcntl.fcntl(n, fcntl.F_DUPFD_CLOEXEC, 3) for n in (0, 1)]
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True,
                               errors="backslashreplace")
    return fds


def _lines(fd, runner):
    """Lines as they come, until the worker wants no more."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.register(runner.wake, select.POLLIN)
    parts = []
    while True:
        if not parts:
            # The worker sends a task only after the answer to the last, so
            # a SIGTERM that was for that one is seen before the task is.
            poll.poll()
            if runner.is_terminated():
                return
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            return
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            parts.append(line)
            yield b"".join(parts)
            parts = []
        if rest:
            parts.append(rest)


def _serve(runner, fd, channel):
    for line in _lines(fd, runner):
        try:
            fields = json.loads(line)
            task = Task(channel, fields, fields["input"])
        except (ValueError, KeyError, TypeError, AttributeError):
            sys.stderr.write("qo: what came from the worker is no task\n")
            return EX_PROTOCOL
        answer = runner.answer(task)
        runner.forget()
        channel.verdict(answer)
    return 0


_FIELDS = ("task_id", "task_type", "attempt", "lease_id", "idempotency_key",
           "workflow_id", "step", "deadline")


def _one(runner, fd, channel, out):
    """Exec mode, or no worker at all."""
    fields = {n: os.environ.get("QO_" + n.upper()) or None for n in _FIELDS}
    fields["traceparent"] = os.environ.get("TRACEPARENT") or None
    with open(fd, "rb") as f:
        text = f.read()
    try:
        value = json.loads(text) if text.strip() else None
    except ValueError as e:
        answer = _encode_error({"status": "failed",
                                "error": "the input is no JSON: %s" % e})
    else:
        answer = runner.answer(Task(channel, fields, value))
    if channel.fd is not None:
        channel.verdict(answer)
        return 0
    said = json.loads(answer)
    if said["status"] == "completed":
        _write(out, _encode(said["output"]))
        return 0
    _write(2, answer)
    return EX_DATAERR if said["status"] == "failed" else EX_TEMPFAIL


def _result_fd():
    text = os.environ.get("QO_RESULT_FD", "")
    if not text.isdigit():
        return None
    try:
        os.set_inheritable(int(text), False)
    except OSError:
        return None
    return int(text)


def run():
    """Takes tasks until the worker wants no more, in exec mode the one that
    the process was started for.  Call it last, from the main thread."""
    if not _handlers:
        raise RuntimeError("no function has @qo.handler")
    serving = os.environ.get("QO_MODE") == "serve"
    result = None if serving else _result_fd()
    fd, out = _take_stdio()
    runner = _Runner()
    if serving:
        status = _serve(runner, fd, _Channel(out, True))
    else:
        status = _one(runner, fd, _Channel(result, False), out)
    if runner.loop is not None:
        runner.loop.run_until_complete(runner.loop.shutdown_asyncgens())
        runner.loop.close()
    if status != 0:
        sys.exit(status)
