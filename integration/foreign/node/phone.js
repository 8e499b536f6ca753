#!/usr/bin/env node
// A phone on MQTT: it submits tasks to Agent-Reach and serves them, by the rules of docs/mqtt.md.
//
//   npm ci && node phone.js --mqtt mqtt://127.0.0.1:1883 --device phone-1 --serve echo
//   node phone.js --mqtt mqtt://127.0.0.1:1883 --device phone-2 --submit '{"capability":"echo","payload":{"hello":"world"}}'

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import mqtt from "mqtt";

const AGAIN = 5000; // ms after which something that was not answered is said again
const BEAT = 15000; // ms between heartbeats

export class Phone {
  /** memory is what keep was last given: with it, and the same instance, the app goes on after a restart where it was. */
  constructor(url, device, instance, { again = AGAIN, beat = BEAT, memory } = {}) {
    Object.assign(this, { device, instance, keep: () => {} });
    this.tasks = new Map(memory?.tasks ?? []); // that were given to this device: how far each is, and its result
    this.calls = new Map(); // by msg_id: tasks that it has submitted
    this.owed = new Map(); // what was said and not answered, by what answers it
    this.connection = randomUUID();
    const will = { topic: this.topic("offline"), payload: JSON.stringify({ connection: this.connection }), qos: 1, retain: false };
    this.client = mqtt.connect(url, { clientId: device, clean: false, protocolVersion: 4, reconnectPeriod: 250, will });
    this.client.on("connect", () => {
      this.client.subscribe(this.topic("in/+"), { qos: 1 });
      this.hello("hello");
      this.repeat();
    });
    this.client.on("message", (topic, body) => this.hear(topic.split("/").pop(), JSON.parse(body)));
    this.timers = [setInterval(() => this.repeat(), again), setInterval(() => this.hello("heartbeat"), beat)];
  }

  /** Submits a message, and gives the task when it has ended. */
  submit(message) {
    const call = { ...message, msg_id: message.msg_id ?? randomUUID() };
    return new Promise((resolve, reject) => {
      this.calls.set(call.msg_id, { resolve, reject });
      this.say(`submit ${call.msg_id}`, "submit", call);
    });
  }

  /** Serves capabilities: run gets a message and gives the result. */
  serve(capabilities, run) {
    this.run = run;
    this.say("register", "register", { instance_id: this.instance, capabilities });
    return new Promise((resolve) => (this.registered = resolve));
  }

  close() {
    this.timers.forEach(clearInterval);
    if (this.run) this.publish("offline", { connection: this.connection });
    return this.client.endAsync();
  }

  topic = (last) => `reach/v1/${this.device}/${last}`;

  publish(verb, body) {
    if (this.client.connected) this.client.publish(this.topic(verb), JSON.stringify(body), { qos: 1 });
  }

  /** Says something now, and again until it is answered. */
  say(answer, verb, body) {
    this.owed.set(answer, { verb, body });
    this.publish(verb, body);
  }

  repeat() {
    for (const { verb, body } of this.owed.values()) this.publish(verb, body);
  }

  hello(verb) {
    if (verb === "heartbeat" && !this.run) return;
    const held = [...this.tasks.values()].filter((task) => !task.over).map((task) => task.sequence);
    this.publish(verb, { connection: this.connection, held });
  }

  hear(kind, body) {
    const handlers = {
      accepted: this.accepted, result: this.result, error: this.error, registered: this.isRegistered, task: this.take, ok: this.ok,
      cancel: this.cancel,
    };
    handlers[kind]?.call(this, body);
  }

  accepted(task) {
    this.owed.delete(`submit ${task.msg_id}`);
  }

  result(task) {
    this.publish("ack", { task_id: task.task_id });
    this.owed.delete(`submit ${task.msg_id}`);
    this.calls.get(task.msg_id)?.resolve(task); // a second time changes nothing
  }

  error({ about, msg_id, error }) {
    if (error.retryable) return; // it is said again
    this.owed.delete(`submit ${msg_id}`);
    if (about === "submit") this.calls.get(msg_id)?.reject(Object.assign(new Error(error.message), error));
    else console.error(about, error.code, error.message);
  }

  isRegistered() {
    this.owed.delete("register");
    this.registered?.();
  }

  /** A task is handed over. One that is known, up to its sequence, is a repeat. */
  take({ task_id, attempt, sequence, begin, message }) {
    if ((this.tasks.get(task_id)?.sequence ?? 0) >= sequence) return;
    this.tasks.set(task_id, { attempt, sequence, message });
    this.say(`receipt ${task_id}`, "receipt", { task_id, attempt, sequence, begin });
  }

  ok({ about, task_id, outcome, sequence }) {
    if (outcome === "try_again") return; // it is said again
    const task = this.tasks.get(task_id);
    this.owed.delete(`${about} ${task_id}`);
    if (!task) return;
    if (outcome === "superseded" || about === "result") this.finish(task);
    else if (about === "receipt" && !task.begun) this.begin(task_id, task, sequence);
  }

  async begin(task_id, task, sequence) {
    Object.assign(task, { begun: true, sequence });
    this.keep({ tasks: [...this.tasks] }); // before the work begins: it must not begin again
    const answer = { task_id, attempt: task.attempt, sequence };
    try {
      answer.result = (await this.run(task.message)) ?? null;
    } catch (failure) {
      answer.error = { code: "INTERNAL", message: String(failure.message) };
    }
    if (task.over) return; // it was canceled
    this.say(`result ${task_id}`, "result", answer);
    this.keep({ tasks: [...this.tasks] });
  }

  cancel({ task_id, sequence }) {
    for (const [id, task] of this.tasks) {
      if (id === task_id || task.sequence === sequence) {
        this.owed.delete(`receipt ${id}`);
        this.owed.delete(`result ${id}`);
        this.finish(task);
        this.publish("stopped", { task_id: id, confirmed: !task.begun });
      }
    }
  }

  finish(task) {
    Object.assign(task, { over: true, message: undefined });
    this.keep({ tasks: [...this.tasks] });
  }
}

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({
    options: { mqtt: { type: "string" }, device: { type: "string" }, serve: { type: "string" }, submit: { type: "string" } },
  });
  const phone = new Phone(values.mqtt, values.device, "example");
  if (values.serve) {
    await phone.serve([values.serve], async (message) => message.payload);
    console.log("registered");
    process.on("SIGTERM", () => phone.close());
  }
  if (values.submit) {
    console.log(JSON.stringify(await phone.submit(JSON.parse(values.submit)).catch(({ code, message }) => ({ error: { code, message } }))));
    await phone.close();
  }
}
