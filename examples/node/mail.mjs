#!/usr/bin/env node
// mail.mjs - send a message, once, however often it is asked to.
//
// A stand-in for a mail service: the outbox is a directory.  A task can run
// twice: its worker may die after the message has left and before that was
// noted.  So every message has its task's idempotency key as its name, which is
// the same for all attempts, and a second one is noticed.
// Services that send mail or charge cards take such a key with their requests.
//
//	[handler mail]
//	type = mail.*
//	command = node /usr/local/share/qo/examples/node/mail.mjs
//	mode = serve
//	env.OUTBOX = /var/spool/outbox
//
//	qo submit -t mail.welcome -k welcome-ada \
//	    -i '{"to": "ada@example.org", "name": "Ada"}'
import { createHash } from "node:crypto";
import { rename, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import * as qo from "./qo.cjs";

const outbox = process.env.OUTBOX ?? "outbox";

async function deliver(key, text, signal) {
  const name = createHash("sha256").update(key).digest("hex").slice(0, 32);
  const file = path.join(outbox, `${name}.eml`);
  if (await stat(file).catch(() => undefined)) return { id: name, again: true };
  try {
    await writeFile(`${file}.${process.pid}`, text, { signal });
    await rename(`${file}.${process.pid}`, file);
  } catch (e) {
    if (e.code === "ENOENT") throw new qo.Retry("the outbox is closed", { delay: 1 });
    throw e;
  }
  return { id: name, again: false };
}

qo.handler("mail.welcome", async (task) => {
  const { to, name } = task.input ?? {};
  if (typeof to !== "string" || !/^[^@\s]+@[^@\s]+$/.test(to))
    throw new qo.Fail(`no address: ${JSON.stringify(to)}`);
  const text = `To: ${to}\nSubject: Welcome\n\nHello ${name ?? "there"}!\n`;
  const sent = await deliver(task.idempotencyKey ?? "by hand", text, task.signal);
  console.log(sent.again ? "was sent before" : "sent");
  return { to, ...sent };
});

qo.run();
