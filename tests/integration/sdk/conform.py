"""What sdk.py asks of every language's handlers: here in Python."""

import asyncio
import os
import subprocess
import sys
import time
from signal import SIGTERM

sys.path.insert(0, os.path.join(os.path.dirname(__file__),
                                "../../../examples/python"))
import qo  # noqa: E402


@qo.handler("echo")
def echo(task):
    return {"id": task.id, "type": task.type, "attempt": task.attempt,
            "lease": task.lease_id, "key": task.idempotency_key,
            "step": task.step, "input": task.input}


@qo.handler("talk")
def talk(task):
    print("printed", end="")
    task.progress({"percent": 50})
    task.log('line 1\twith "quotes"')


@qo.handler("fail")
def fail(task):
    raise qo.Fail('no "file"\n')


@qo.handler("retry")
async def retry(task):
    await asyncio.sleep(0)
    raise qo.Retry("busy", delay=1.5)


@qo.handler("policy")
def policy(task):
    raise qo.Retry("busy")


@qo.handler("reschedule")
def reschedule(task):
    raise qo.Reschedule(60)


@qo.handler("cancel")
def cancel(task):
    raise qo.Cancelled()


@qo.handler("signal")
def signal(task):
    raise qo.WaitSignal("go", timeout=5)


@qo.handler("tasks")
def tasks(task):
    raise qo.WaitTasks(["a", 'b"'])


@qo.handler("bad")
def bad(task):
    return float("nan")


@qo.handler("deep")
def deep(task):
    value = []
    for _ in range(task.input - 1):
        value = [value]
    return value


@qo.handler("progress")
def progress(task):
    def tell(value):
        try:
            task.progress(value)
            return 0
        except ValueError:
            return -1

    def nested(n):
        return [nested(n - 1)] if n > 1 else []

    return [tell(" " * 65000), tell(" " * 65535), tell(nested(64)),
            tell(nested(65))]


@qo.handler("child")
def child(task):
    subprocess.run("cat; echo child", shell=True, check=True)
    if sys.stdin.read() != "":
        raise qo.Fail("standard input had something")


@qo.handler("wait")
def wait(task):
    task.log("waiting")
    while not task.sleep(60):
        pass


# What only this language has.

@qo.handler("wait.traced")
def wait_traced(task):
    """SIGTERM before the n-th line of what a sleep does."""
    n = task.input

    def trace(frame, event, arg):
        nonlocal n
        n -= event == "line"
        if event == "line" and n == 0:
            os.kill(os.getpid(), SIGTERM)
        return trace

    sys.settrace(trace)
    task.sleep(0.1)
    sys.settrace(None)
    return [n <= 0, task.cancelled]


@qo.handler("wait.async")
async def wait_async(task):
    task.log("waiting")
    await asyncio.sleep(600)


@qo.handler("wait.interrupt", interrupt=True)
def wait_interrupt(task):
    task.log("waiting")
    time.sleep(600)


@qo.handler("wait.child")
def wait_child(task):
    task.log("waiting")
    subprocess.run(["sleep", "600"], check=True)


@qo.handler("wait.stubborn")
async def wait_stubborn(task):
    try:
        task.log("waiting")
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        return "finished all the same"


@qo.handler("throw")
def throw(task):
    raise ValueError("caf\u00e9 \ud800")


@qo.handler("exit")
def leave(task):
    sys.exit(3)


@qo.handler("async.*")
async def asynchronous(task):
    await asyncio.sleep(0)
    return [task.type, id(asyncio.get_running_loop())]


@qo.handler("unserial")
def unserial(task):
    return {"a": object()}


@qo.handler("threads")
def threads(task):
    import threading
    crowd = [threading.Thread(target=lambda: [
        task.progress("x" * 5000) for _ in range(50)]) for _ in range(4)]
    for t in crowd:
        t.start()
    for t in crowd:
        t.join()


qo.run()
