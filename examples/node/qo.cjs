// @ts-check
/**
 * Write handlers of the qo task queue in JavaScript.
 *
 *     const qo = require("./qo.cjs");
 *     // or: import * as qo from "./qo.cjs";
 *
 *     qo.handler("mail.send", async (task) => {
 *       if (!task.input.to) throw new qo.Fail("the input names no recipient");
 *       await deliver(task.input, { key: task.idempotencyKey, signal: task.signal });
 *       return { sent: true };
 *     });
 *
 *     qo.run();
 *
 * One file without dependencies, Node 18 or newer: copy it beside your
 * program.  The program works in both modes of a handler section, `mode = exec`
 * and `mode = serve`, and without a worker:
 *
 *     echo '{"to": "a@example.org"}' | node mail.js
 *
 * What a function returns is the output of its task.  What it throws is the
 * verdict: Retry, Fail, Reschedule, Cancelled, WaitSignal, WaitTasks; anything
 * else is a retry, with the stack in the log of the attempt.
 *
 * console.log goes to the log of the attempt, as console.error does.  A child
 * process must not inherit standard input and output, which belong to the
 * worker: { stdio: ["ignore", 2, 2] }.  qo-handler(7) has the whole contract.
 */
"use strict";

const fs = require("node:fs");
const util = require("node:util");

// What the worker takes.
const DEPTH_MAX = 512; // levels of [] and {}
const PROGRESS_DEPTH_MAX = 64;
const PROGRESS_MAX = 65536;
const SECONDS_MAX = 315360000;
const EX_DATAERR = 65;
const EX_TEMPFAIL = 75;
const EX_PROTOCOL = 76;

/** What ends an attempt otherwise than by returning. */
class Verdict extends Error {
  /** @returns {Record<string, unknown>} */
  answer() {
    throw new Error("not a verdict");
  }
}

/** Try again: after `delay` seconds, or when the task's policy says. */
class Retry extends Verdict {
  /**
   * @param {string} [message]
   * @param {{ delay?: number }} [options]
   */
  constructor(message = "retry", options = {}) {
    super(message);
    this.name = "Retry";
    this.delay = options.delay;
  }

  answer() {
    /** @type {Record<string, unknown>} */
    const a = { status: "retry", error: this.message };
    if (this.delay !== undefined) a.delay_seconds = seconds(this.delay);
    return a;
  }
}

/** It failed, and trying again would not help. */
class Fail extends Verdict {
  /** @param {string} [message] */
  constructor(message = "failed") {
    super(message);
    this.name = "Fail";
  }

  answer() {
    return { status: "failed", error: this.message };
  }
}

/** Run it again after so many seconds; does not count as a retry. */
class Reschedule extends Verdict {
  /** @param {number} delay seconds */
  constructor(delay) {
    super(`again in ${delay} s`);
    this.name = "Reschedule";
    this.delay = delay;
  }

  answer() {
    return { status: "reschedule", delay_seconds: seconds(this.delay) };
  }
}

/** The attempt was given up because of task.cancelled. */
class Cancelled extends Verdict {
  constructor() {
    super("cancelled");
    this.name = "Cancelled";
  }

  answer() {
    return { status: "cancelled" };
  }
}

/** In a workflow: run the step again when the signal has come, or the time is
 * up. */
class WaitSignal extends Verdict {
  /**
   * @param {string} signal
   * @param {{ timeout?: number }} [options] timeout in seconds
   */
  constructor(signal, options = {}) {
    super(`waits for signal ${signal}`);
    this.name = "WaitSignal";
    this.signal = signal;
    this.timeout = options.timeout;
  }

  answer() {
    /** @type {Record<string, unknown>} */
    const a = { status: "wait_signal", signal: this.signal };
    if (this.timeout !== undefined) a.timeout_seconds = seconds(this.timeout);
    return a;
  }
}

/** In a workflow: run the step again when these tasks have ended. */
class WaitTasks extends Verdict {
  /** @param {Iterable<string>} ids */
  constructor(ids) {
    super("waits for tasks");
    this.name = "WaitTasks";
    this.ids = [...ids];
  }

  answer() {
    return { status: "wait_tasks", ids: this.ids };
  }
}

/** @param {number} n */
function seconds(n) {
  return n > 0 ? Math.round(Math.min(n, SECONDS_MAX) * 1000) / 1000 : 0;
}

/** One attempt of one task. */
class Task {
  #channel;
  #abort = new AbortController();

  /**
   * @param {Channel} channel
   * @param {Record<string, any>} fields
   * @param {any} input
   */
  constructor(channel, fields, input) {
    this.#channel = channel;
    /** The id of the task, the same for all attempts. @type {string} */
    this.id = fields.task_id ?? "";
    /** @type {string} */
    this.type = fields.task_type ?? "";
    /** Rises with every start of this task: a fencing token. */
    this.attempt = Number(fields.attempt ?? 1);
    /** @type {string | undefined} */
    this.leaseId = fields.lease_id ?? undefined;
    /** The one that it was submitted with, else its id: the same for all
     * attempts. @type {string | undefined} */
    this.idempotencyKey = fields.idempotency_key ?? undefined;
    /** @type {string | undefined} */
    this.workflowId = fields.workflow_id ?? undefined;
    /** @type {string | undefined} */
    this.step = fields.step ?? undefined;
    /** @type {string | undefined} */
    this.traceparent = fields.traceparent ?? undefined;
    /** When SIGTERM comes. @type {Date | undefined} */
    this.deadline = fields.deadline ? new Date(fields.deadline) : undefined;
    /** What was submitted. @type {any} */
    this.input = input;
  }

  /** Says how far it is: any value that is JSON, up to 64 KiB.  In exec mode
   * nobody is told. @param {unknown} value */
  progress(value) {
    const line = encode({ progress: value ?? null }, PROGRESS_DEPTH_MAX);
    if (Buffer.byteLength(line) > PROGRESS_MAX)
      throw new RangeError("the progress is larger than 64 KiB");
    this.#channel.send(line);
  }

  /** Adds a line to the log of this attempt. @param {unknown} text */
  log(text) {
    this.#channel.log(String(text));
  }

  /** Aborted once the attempt shall end; for fetch() and others. */
  get signal() {
    return this.#abort.signal;
  }

  /** True once the attempt shall end: the task was cancelled, its time is up,
   * or the worker stops.  What is left is the handler's grace. */
  get cancelled() {
    return this.#abort.signal.aborted;
  }

  /** @param {Task} task */
  static cancel(task) {
    task.#abort.abort(new Cancelled());
  }
}

/** @typedef {(task: Task) => unknown} Handler */

/** Type, or beginning with * behind it. @type {Map<string, Handler>} */
const handlers = new Map();

/**
 * The function handles tasks of this type; with * at its end, of all types
 * that begin so.
 * @param {string} type
 * @param {Handler} fn
 */
function handler(type, fn) {
  if (typeof type !== "string" || typeof fn !== "function")
    throw new TypeError("qo.handler(type, function)");
  if (handlers.has(type)) throw new Error(`two handlers for ${type}`);
  handlers.set(type, fn);
  return fn;
}

/** @param {string} type @returns {Handler} */
function find(type) {
  const exact = handlers.get(type);
  if (exact) return exact;
  const patterns = [...handlers.keys()]
    .filter((p) => p.endsWith("*") && type.startsWith(p.slice(0, -1)))
    .sort((a, b) => b.length - a.length);
  const found = handlers.get(patterns[0] ?? "");
  if (found) return found;
  // By hand nobody says a type.
  if (type === "" && handlers.size === 1) return [...handlers.values()][0];
  throw new Retry(`no function of this program handles the type "${type}"`);
}

/** A message as one line of JSON, its value being nested in at most so many
 * levels; throws when it can not be said so.
 * @param {Record<string, unknown>} value */
function encode(value, levels = DEPTH_MAX) {
  const text = JSON.stringify(value);
  // JSON.stringify writes half of a surrogate pair, and only that, as an
  // escape; the worker would refuse it.
  if (/(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/.test(text))
    throw new TypeError("half of a surrogate pair");
  if (text.length > 2 * levels && depth(text) > levels + 1)
    throw new RangeError(`nested in more than ${levels} levels`);
  return text + "\n";
}

/** @param {string} text */
function depth(text) {
  let now = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      while (text.charCodeAt(++i) !== 0x22)
        if (text.charCodeAt(i) === 0x5c) i++;
    } else if (c === 0x5b || c === 0x7b) deepest = Math.max(deepest, ++now);
    else if (c === 0x5d || c === 0x7d) now--;
  }
  return deepest;
}

/** Text that can be sent: half surrogates become U+FFFD.
 * @param {string} text */
function plain(text) {
  return Buffer.from(text, "utf8").toString("utf8");
}

/** @param {number} fd @param {string} text */
function writeAll(fd, text) {
  let data = Buffer.from(text, "utf8");
  while (data.length > 0) {
    try {
      data = data.subarray(fs.writeSync(fd, data));
    } catch (e) {
      if (/** @type {any} */ (e).code !== "EAGAIN") throw e;
      // Not blocking, and full: the reader is slow.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** Where answers go. */
class Channel {
  /** @param {number} fd -1: nowhere @param {boolean} framed */
  constructor(fd, framed) {
    this.fd = fd;
    this.framed = framed; // serve mode: progress and logs are lines too
  }

  /** @param {string} line */
  send(line) {
    if (this.framed) writeAll(this.fd, line);
  }

  /** @param {string} text */
  log(text) {
    if (this.framed) this.send(encode({ log: plain(text) }));
    else writeAll(2, text + "\n");
  }
}

/** @param {unknown} e */
function isVerdict(e) {
  return e instanceof Verdict;
}

/** @param {Record<string, unknown>} answer */
function encodeVerdict(answer) {
  if (typeof answer.error === "string") answer.error = plain(answer.error);
  return encode(answer);
}

/** The verdict for what a function threw. @param {unknown} e @param {Task} task */
function thrown(e, task) {
  if (e instanceof Verdict) return encodeVerdict(e.answer());
  // What else should fetch() and others do when they are aborted?
  const aborted = e instanceof Error && e.name === "AbortError";
  if (!(task.cancelled && aborted))
    task.log(e instanceof Error && e.stack ? e.stack : util.inspect(e));
  if (task.cancelled) return encodeVerdict(new Cancelled().answer());
  return encodeVerdict({ status: "retry", error: String(e) });
}

/** Runs the function and makes its verdict. @param {Task} task */
async function answer(task) {
  let output;
  try {
    output = (await find(task.type)(task)) ?? null;
    if (output === null && task.cancelled) throw new Cancelled();
  } catch (e) {
    return thrown(e, task);
  }
  try {
    return encode({ status: "completed", output });
  } catch (e) {
    const why = e instanceof Error ? e.message : String(e);
    const error = `the handler's output is no JSON: ${why}`;
    return encodeVerdict({ status: "retry", error });
  }
}

/** The task that runs now. @type {Task | undefined} */
let current;
/** Tells its verdict. @type {(line: string) => void} */
let tell = () => {};

/** @param {string} line */
function finish(line) {
  current = undefined;
  tell(line);
}

/** @param {Task} task */
async function runTask(task) {
  current = task;
  const line = await answer(task);
  // Not when it was given up meanwhile.
  if (current === task) finish(line);
}

function watch() {
  process.on("SIGTERM", () => {
    if (current) Task.cancel(current);
    else process.exit(0);
  });
  // Thrown where nobody catches it: what state is left, nobody knows.
  process.on("uncaughtException", (e) => {
    if (current) finish(thrown(isVerdict(e) ? new Error(String(e)) : e, current));
    else console.error(e);
    process.exit(1);
  });
  // Nothing is left that could ever settle the promise.
  process.on("beforeExit", () => {
    if (!current) return;
    finish(encodeVerdict({
      status: "retry",
      error: "the handler's promise was never settled",
    }));
  });
}

/** Tasks as lines, until the worker wants no more. */
function serve() {
  const channel = new Channel(1, true);
  /** @type {Buffer[]} */
  let parts = [];
  /** @type {string[]} */
  const lines = [];
  let ended = false;

  function next() {
    const line = lines.shift();
    if (line === undefined) {
      if (ended) process.exit(0);
      return;
    }
    let task;
    try {
      const fields = JSON.parse(line);
      if (fields.input === undefined) throw new TypeError("no input");
      task = new Task(channel, fields, fields.input);
    } catch {
      console.error("qo: what came from the worker is no task");
      process.exit(EX_PROTOCOL);
    }
    runTask(task);
  }
  // The worker sends a task only after the answer to the last.  A SIGTERM that
  // was for that one is noticed in the second turn of the loop at the latest,
  // and must not be taken for this one's.
  function soon() {
    setImmediate(() => setImmediate(next));
  }

  tell = (line) => {
    writeAll(1, line);
    if (lines.length > 0 || ended) soon();
  };
  process.stdin.on("data", (chunk) => {
    let rest = Buffer.from(chunk);
    let end;
    const idle = !current && lines.length === 0;
    while ((end = rest.indexOf(10)) !== -1) {
      lines.push(Buffer.concat([...parts, rest.subarray(0, end)]).toString());
      parts = [];
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) parts.push(rest);
    if (idle && lines.length > 0) soon();
  });
  process.stdin.on("end", () => {
    ended = true;
    if (!current && lines.length === 0) process.exit(0);
  });
}

function resultFd() {
  const text = process.env.QO_RESULT_FD ?? "";
  if (!/^\d+$/.test(text)) return -1;
  try {
    fs.fstatSync(Number(text));
    return Number(text);
  } catch {
    return -1;
  }
}

function environment() {
  /** @type {Record<string, any>} */
  const fields = {};
  for (const name of ["task_id", "task_type", "attempt", "lease_id",
    "idempotency_key", "workflow_id", "step", "deadline"])
    fields[name] = process.env[`QO_${name.toUpperCase()}`] || undefined;
  fields.traceparent = process.env.TRACEPARENT || undefined;
  return fields;
}

/** Exec mode, or no worker at all. */
function one() {
  const fd = resultFd();
  const channel = new Channel(fd, false);
  const text = fs.readFileSync(0, "utf8");
  let input = null;

  tell = (line) => {
    if (fd !== -1) {
      writeAll(fd, line);
      process.exit(0);
    }
    const said = JSON.parse(line);
    if (said.status === "completed") {
      writeAll(1, JSON.stringify(said.output) + "\n");
      process.exit(0);
    }
    writeAll(2, line);
    process.exit(said.status === "failed" ? EX_DATAERR : EX_TEMPFAIL);
  };
  try {
    if (text.trim() !== "") input = JSON.parse(text);
  } catch (e) {
    const error = `the input is no JSON: ${/** @type {Error} */ (e).message}`;
    return finish(encodeVerdict({ status: "failed", error }));
  }
  runTask(new Task(channel, environment(), input));
}

/**
 * Takes tasks until the worker wants no more, in exec mode the one that the
 * process was started for.  Call it last.
 */
function run() {
  if (handlers.size === 0) throw new Error("no function was given to qo.handler");
  // What is printed is the log's; the answers take another way.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  watch();
  if (process.env.QO_MODE === "serve") serve();
  else one();
}

exports.Cancelled = Cancelled;
exports.Fail = Fail;
exports.Reschedule = Reschedule;
exports.Retry = Retry;
exports.Task = Task;
exports.Verdict = Verdict;
exports.WaitSignal = WaitSignal;
exports.WaitTasks = WaitTasks;
exports.handler = handler;
exports.run = run;
