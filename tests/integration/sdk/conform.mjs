// What sdk.py asks of every language's handlers: here in JavaScript.
import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import * as qo from "../../../examples/node/qo.cjs";

qo.handler("echo", (task) => ({
  id: task.id,
  type: task.type,
  attempt: task.attempt,
  lease: task.leaseId ?? null,
  key: task.idempotencyKey ?? null,
  step: task.step ?? null,
  input: task.input,
}));
qo.handler("talk", (task) => {
  process.stdout.write("printed");
  task.progress({ percent: 50 });
  task.log('line 1\twith "quotes"');
});
qo.handler("fail", () => {
  throw new qo.Fail('no "file"\n');
});
qo.handler("retry", async () => {
  await sleep(0);
  throw new qo.Retry("busy", { delay: 1.5 });
});
qo.handler("policy", () => {
  throw new qo.Retry("busy");
});
qo.handler("reschedule", () => {
  throw new qo.Reschedule(60);
});
qo.handler("cancel", () => {
  throw new qo.Cancelled();
});
qo.handler("signal", () => {
  throw new qo.WaitSignal("go", { timeout: 5 });
});
qo.handler("tasks", () => {
  throw new qo.WaitTasks(["a", 'b"']);
});
qo.handler("bad", () => ({ "back\\slash": "half \ud800" }));
qo.handler("deep", (task) => {
  let value = [];
  for (let i = 1; i < task.input; i++) value = [value];
  return value;
});
qo.handler("progress", (task) => {
  const tell = (value) => {
    try {
      task.progress(value);
      return 0;
    } catch (e) {
      if (e instanceof RangeError) return -1;
      throw e;
    }
  };
  const nested = (n) => (n > 1 ? [nested(n - 1)] : []);
  return [tell(" ".repeat(65000)), tell(" ".repeat(65535)), tell(nested(64)),
    tell(nested(65))];
});
qo.handler("child", () => {
  spawnSync("echo", ["child"], { stdio: ["ignore", 2, 2] });
});
qo.handler("wait", async (task) => {
  task.log("waiting");
  while (!task.cancelled) await sleep(10);
});

// What only this language has.

qo.handler("wait.signal", async (task) => {
  task.log("waiting");
  await sleep(600000, null, { signal: task.signal });
});
qo.handler("throw", () => {
  throw new RangeError("caf\u00e9 \ud800");
});
qo.handler("string", async () => {
  throw "no error";
});
qo.handler("never", () => new Promise(() => {}));
qo.handler("outside", () => new Promise(() => {
  setTimeout(() => {
    throw new Error("in a timer");
  }, 1);
}));
qo.handler("unserial", () => ({ a: 1n }));
qo.handler("pre.*", (task) => task.type);

qo.run();
