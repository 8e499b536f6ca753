#!/usr/bin/env node
// A worker for Agent-Reach in JavaScript, on a plain NATS client: it takes the tasks of one agent and calls a function for each.
//
//   npm ci && node worker.js --nats nats://127.0.0.1:4222 --agent-id parrot --capability echo
//
// It keeps the rules of docs/worker-protocol.md. The agent is the function echo, near the end.

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connect, createInbox, headers } from "@nats-io/transport-node";
import { Inbox, readAssignment } from "./inbox.js";

const EXCESS = 100; // ms that a task may wait for a slot before it is handed back
const RECEIPT_AFTER = 500; // ms after which a task that is held is named in a receipt
const PULL_TIMEOUT = 5000;
const CANCEL_WAIT = 5000;
const DRAIN_TIMEOUT = 30000;

/** An error as JSON says it: a dispatcher's answer, or what an agent throws to fail with a code of its own. */
class Refused extends Error {
  constructor(error) {
    super(error.message);
    Object.assign(this, { error, code: error.code, retryable: error.retryable ?? false });
  }
}

/** What an agent throws when it was told to stop, and has stopped. */
class Stopped extends Error {}

/** A flag that a loop waits for; raised any number of times before it looks, it is seen once. */
class Bell {
  ring = () => {
    this.rung = true;
    this.wake?.();
  };

  async wait(ms) {
    const timer = ms && setTimeout(this.ring, ms);
    if (!this.rung) await new Promise((resolve) => (this.wake = resolve));
    clearTimeout(timer);
    this.rung = false;
  }
}

/** Serves one agent. Each assignment is an asynchronous function once it has a slot; three loops pull, beat, and send receipts. */
class Worker {
  constructor(nats, agentId, capabilities, slots, requestTimeout, agent) {
    Object.assign(this, { nats, agentId, capabilities, requestTimeout, agent });
    this.me = { v: 1, agent_id: agentId, instance_id: randomUUID() };
    this.inbox = new Inbox(slots);
    this.known = 0; // the highest sequence that an answer has told
    this.pullNow = new Bell();
    this.beatNow = new Bell();
    this.stopping = false;
  }

  /** Registers, listens, and asks for work, in this order: two processes must never serve one agent. */
  async run() {
    await this.register();
    this.nats.subscribe(`reach.control.${this.agentId}`, { callback: (_, m) => this.onControl(m) });
    this.nats.subscribe(`reach.feed.assigned.*.${this.agentId}.*`, { callback: (_, m) => this.take(m) });
    await this.nats.flush();
    this.reconnected();
    for (const loop of [this.watchConnection(), this.pullLoop(), this.heartbeatLoop(), this.receiptLoop()]) loop.catch(fail);
  }

  async watchConnection() {
    for await (const status of this.nats.status()) {
      if (status.type === "reconnect") this.reconnected();
    }
  }

  reconnected() {
    this.known = 0; // the ledger may be another one, which counts anew
    this.pullNow.ring();
    this.beatNow.ring();
  }

  // What is asked of dispatchers.

  /** Gives the body of the answer, or of the message that ends an answer of many. */
  ask(subject, body, timeout, each) {
    const inbox = createInbox();
    return new Promise((resolve, reject) => {
      const callback = (error, message) => {
        try {
          if (error) throw error; // the time is over
          if (message.headers?.code === 503) throw new Error("no dispatcher is there");
          if (message.headers?.has("Nats-Service-Error-Code")) throw new Refused(message.json());
          if (each && message.headers?.get("Reach-Pull") !== "end") return each(message);
          resolve(message.json());
        } catch (failure) {
          reject(failure);
        }
        clearTimeout(timer);
        answers.unsubscribe();
      };
      const answers = this.nats.subscribe(inbox, { callback });
      const timer = setTimeout(() => callback(new Error("no answer")), timeout);
      this.nats.publish(subject, JSON.stringify(body), { reply: inbox });
    });
  }

  async register() {
    const { slots } = this.inbox;
    const capabilities = this.capabilities.map((id) => ({ id, max_concurrency: slots }));
    const body = { ...this.me, version: "1.0.0", transport: { type: "node" }, max_concurrency: slots, capabilities };
    for (const wait of delays(100, 5000)) {
      try {
        const answer = await this.ask("reach.api.agent.register", body, PULL_TIMEOUT);
        this.beatEvery = Math.min(15000, answer.heartbeat_interval_ms || 15000);
        this.receiptEvery = Math.min(15000, answer.receipt_interval_ms || 15000);
        this.inbox.draining = this.stopping || answer.state === "draining";
        return;
      } catch (error) {
        if (["INVALID_ARGUMENT", "FAILED_PRECONDITION"].includes(error.code)) fail(error); // no repeat mends this
        await sleep(wait);
      }
    }
  }

  /** Sends a begin, finish or release, and the same again until a dispatcher has the last word; that is returned. */
  async deliver(verb, a, more) {
    const write = randomBytes(8).toString("hex");
    const body = { ...this.me, task_id: a.taskId, attempt: a.attempt, sequence: a.sequence, write_id: write, ...more };
    for (const wait of delays(50, 2000)) {
      if (Date.now() > a.expires || (verb === "begin" && a.cause)) return {};
      try {
        const answer = await this.ask(`reach.${verb}.${this.agentId}`, body, this.requestTimeout);
        this.known = Math.max(this.known, answer.sequence ?? 0);
        if (["stored", "already_yours", "superseded"].includes(answer.outcome)) return answer;
      } catch (error) {
        if (verb !== "finish" && error instanceof Refused && !error.retryable) return {};
        // Else it was not sent, or not answered: whether it was stored, only the same again can tell.
      }
      await sleep(wait);
    }
  }

  // What arrives.

  /** Takes an assignment in, whichever way it came, and says whether it is new. What is none is ignored. */
  take(message) {
    const a = readAssignment(message, this.agentId);
    if (!a || !this.inbox.take(a)) return false;
    const unfit = this.unfit(a);
    if (unfit) this.finish(a, { state: "rejected", error: unfit, ran: "no" }, now());
    this.start();
    setTimeout(() => this.release(a), this.inbox.draining ? 0 : EXCESS);
    return true;
  }

  unfit(a) {
    if ((a.message.v ?? 1) > 1) {
      return { code: "FAILED_PRECONDITION", reason: "UNSUPPORTED_VERSION", message: "this worker speaks version 1 of the wire" };
    }
    if (this.capabilities.includes(a.message.capability)) return null;
    return { code: "FAILED_PRECONDITION", reason: "UNKNOWN_CAPABILITY", message: "this agent does not offer that" };
  }

  onControl(message) {
    if (message.headers?.has("Nats-Subject")) {
      this.take(message);
      return this.answer(message);
    }
    let word;
    try {
      word = message.json() ?? {};
    } catch {
      return this.refuse(message, "INVALID_ARGUMENT", "this is no control");
    }
    switch (word.do) {
      case "cancel":
        return this.cancel(message, word);
      case "drain":
      case "resume":
        this.setDraining(word.do === "drain" || this.stopping);
        return this.answer(message);
      case "ping":
        return this.answer(message);
      default:
        return this.refuse(message, "UNIMPLEMENTED", "do takes cancel, drain, resume or ping");
    }
  }

  answer(message, more) {
    message.respond(JSON.stringify({ v: 1, ok: true, instance_id: this.me.instance_id, ...more }));
  }

  refuse(message, code, text) {
    const head = headers();
    head.set("Nats-Service-Error-Code", code);
    head.set("Nats-Service-Error", text);
    message.respond(JSON.stringify({ code, message: text, retryable: false }), { headers: head });
  }

  async cancel(message, word) {
    let { live, confirmed } = this.inbox.cancel(word.task_id, word.sequence || Number.MAX_SAFE_INTEGER);
    if (live) {
      await Promise.race([live.left, sleep(CANCEL_WAIT, null, { ref: false })]);
      confirmed = live.confirmed;
    }
    this.answer(message, { confirmed });
  }

  // What runs.

  start() {
    for (const a of this.inbox.start()) this.carry(a);
  }

  /** Sees an assignment through: the right to begin, the agent, the result. */
  async carry(a) {
    const started = now();
    const result = (await this.begin(a)) && (await this.call(a));
    this.inbox.leave(a);
    this.start();
    if (result && a.cause !== "canceled" && a.cause !== "superseded") await this.finish(a, result, started);
    else this.forget(a); // a dispatcher has ended or moved it: nobody is to hear of a result
  }

  /** What must not run twice is begun by request; without the answer stored or already_yours it does not start. */
  async begin(a) {
    if (!a.message.assignment.idempotent) {
      const answer = await this.deliver("begin", a);
      if (answer.outcome !== "stored" && answer.outcome !== "already_yours") {
        a.confirmed = true;
        return false;
      }
      a.sequence = answer.sequence ?? a.sequence;
    }
    a.step = "running";
    return true;
  }

  /** Calls the agent, under the run limit, and says how that ended. */
  async call(a) {
    if (a.cause) {
      a.confirmed = true;
      return failed("UNAVAILABLE", "the worker stopped before the task began", "no", "WORKER_STOPPED");
    }
    const limit = setTimeout(() => a.stop.abort("run limit"), a.message.assignment.run_timeout_ms || 30000);
    console.log("run", a.taskId);
    try {
      return { state: "completed", result: (await this.agent(a.message.payload ?? null, a.stop.signal)) ?? null };
    } catch (error) {
      if (error instanceof Refused) return { state: "failed", ran: "yes", error: { ...error.error, details: { origin: "agent" } } };
      if (!(error instanceof Stopped)) return failed("INTERNAL", `the agent broke: ${error.name}`, "yes"); // that is its answer
      a.confirmed = true;
      console.log("stopped", a.taskId);
      return a.cause === "run limit"
        ? failed("DEADLINE_EXCEEDED", "the agent did not answer within the run limit", "yes", "RUN_LIMIT")
        : failed("UNAVAILABLE", "the worker stopped before the agent had answered", "unknown", "WORKER_STOPPED");
    } finally {
      clearTimeout(limit);
    }
  }

  async finish(a, result, started) {
    a.step = "finishing";
    await this.deliver("finish", a, { partial: false, chunks: 0, started_at: started, finished_at: now(), ...result });
    this.forget(a);
  }

  /** Hands back what still waits. */
  async release(a) {
    if (a.step !== "waiting") return;
    a.step = "releasing";
    await this.deliver("release", a);
    this.forget(a);
  }

  forget(a) {
    this.inbox.forget(a);
    this.pullNow.ring();
  }

  // What is said without being asked.

  async pullLoop() {
    let wait = delays(50, 5000);
    for (;;) {
      await this.pullNow.wait();
      const free = this.inbox.free();
      const body = {
        ...this.me,
        free: Object.fromEntries(this.capabilities.map((id) => [id, free])),
        free_total: free,
        held: this.inbox.sequences(),
        after: this.known,
      };
      let more = false;
      try {
        const each = (message) => (more = this.take(message) || more);
        this.inbox.compared(await this.ask(`reach.pull.${this.agentId}`, body, PULL_TIMEOUT, each));
        wait = delays(50, 5000);
      } catch {
        more = true;
        await sleep(wait.next().value);
      }
      if (more) this.pullNow.ring(); // there may be more, or what came is not known
    }
  }

  async heartbeatLoop() {
    for (;;) {
      try {
        await this.beat();
      } catch (error) {
        if (error.code === "NOT_FOUND") await this.register();
        else if (error instanceof Refused && !error.retryable) fail("another process serves this agent");
        // Else the next one may be heard.
      }
      await this.beatNow.wait(this.beatEvery);
    }
  }

  async beat(more) {
    const body = { ...this.me, version: "1.0.0", capabilities: this.capabilities, time: now(), ...this.inbox.census(), ...more };
    this.inbox.compared(await this.ask(`reach.heartbeat.${this.agentId}`, body, this.requestTimeout, (m) => this.take(m)));
  }

  async receiptLoop() {
    for (;;) {
      await sleep(RECEIPT_AFTER);
      const tasks = this.inbox.receipt(RECEIPT_AFTER, this.receiptEvery);
      if (tasks.length > 0) this.nats.publish(`reach.receipt.${this.agentId}`, JSON.stringify({ ...this.me, time: now(), tasks }));
    }
  }

  setDraining(draining) {
    this.inbox.draining = draining;
    if (draining) for (const a of this.inbox.waiting()) this.release(a);
    this.pullNow.ring();
    this.beatNow.ring();
  }

  /** Takes nothing new, hands back what waits, lets what runs come to its end, and says goodbye. */
  async drain() {
    this.stopping = true;
    this.setDraining(true);
    const late = Date.now() + DRAIN_TIMEOUT;
    while (this.inbox.held.size > 0 && Date.now() < late + CANCEL_WAIT) {
      if (Date.now() > late) for (const a of this.inbox.held.values()) a.stop.abort("stopping");
      await sleep(20);
    }
    await this.beat({ state: "offline" }).catch(() => {}); // silence will say it
  }
}

/** The agent: gives back what it gets. With wait_ms it takes its time, with fail it fails, so that both can be seen. */
async function echo(payload, signal) {
  if (payload?.wait_ms) {
    await sleep(payload.wait_ms, null, { signal }).catch(() => {
      throw new Stopped();
    });
  }
  if (payload?.fail) throw new Refused(payload.fail);
  return payload;
}

function failed(code, message, ran, reason) {
  return { state: "failed", ran, error: { code, reason, message, retryable: code === "UNAVAILABLE" } };
}

/** Waits between repeats: each twice the one before, up to most; a random part of each is left out. */
function* delays(first, most) {
  for (; ; first = Math.min(2 * first, most)) yield first * (0.5 + Math.random() / 2);
}

function now() {
  return new Date().toISOString();
}

function fail(why) {
  console.error("worker:", why);
  process.exit(1);
}

const { values } = parseArgs({
  options: {
    nats: { type: "string", default: "nats://127.0.0.1:4222" },
    "agent-id": { type: "string" },
    capability: { type: "string", multiple: true },
    "max-concurrency": { type: "string", default: "1" },
    "request-timeout-ms": { type: "string", default: "2000" },
  },
});
const nats = await connect({
  servers: values.nats.split(","),
  name: "reach example worker",
  waitOnFirstConnect: true,
  maxReconnectAttempts: -1,
  reconnectTimeWait: 250,
});
const [slots, timeout] = [Number(values["max-concurrency"]), Number(values["request-timeout-ms"])];
const worker = new Worker(nats, values["agent-id"], values.capability, slots, timeout, echo);
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.once(signal, async () => {
    await worker.drain();
    process.exit(0);
  });
}
await worker.run();
