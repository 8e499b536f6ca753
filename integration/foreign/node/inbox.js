// What a worker holds: the assignments of one agent, from their arrival until a dispatcher has the last word on each.

const REMEMBERED = 4096; // ended tasks, each known by its last sequence

/** A task as it was assigned under one sequence, the fencing token, which begin moves on. */
export class Assignment {
  constructor(sequence, message, lifetime) {
    this.first = this.sequence = sequence;
    this.message = message;
    this.taskId = message.task_id;
    this.attempt = message.attempt ?? 1;
    this.priority = message.priority ?? 5;
    this.step = "waiting"; // for a slot; then beginning, running and finishing, or releasing; at last ended
    this.arrived = Date.now();
    this.listed = 0; // when a receipt last named it
    this.expires = this.arrived + lifetime;
    this.confirmed = false; // nothing of it runs, for certain
    this.stop = new AbortController(); // its reason says why the task is to stop
    this.left = new Promise((resolve) => (this.leave = resolve));
  }

  get live() {
    return this.step === "beginning" || this.step === "running";
  }

  get cause() {
    return this.stop.signal.reason;
  }
}

/** The assignment of this agent that a message carries; null for anything else. */
export function readAssignment(message, agentId) {
  try {
    const body = message.json();
    const sequence = Number(message.headers.get("Nats-Sequence"));
    const named = `reach.task.${body.task_id}.assigned.${body.capability}.${agentId}`;
    if (message.headers.get("Nats-Subject") !== named || !(sequence > 0) || !("idempotent" in body.assignment)) return null;
    const stored = Date.parse(message.headers.get("Nats-Time-Stamp")) || Date.now();
    return new Assignment(sequence, body, Math.max(1000, Date.parse(body.expires_at) - stored || 0));
  } catch {
    return null;
  }
}

/** All that is held, by task, and the slots. Nothing here waits. */
export class Inbox {
  held = new Map();
  ended = new Map();
  busy = 0;
  draining = false;

  constructor(slots) {
    this.slots = slots;
  }

  /** True if the assignment is new. One that is held or has ended is a repeat; a newer one says that the older is void. */
  take(a) {
    const older = this.held.get(a.taskId);
    if (a.first <= Math.max(this.ended.get(a.taskId) ?? 0, older?.sequence ?? 0)) return false;
    if (older) this.void(older);
    this.held.set(a.taskId, a);
    return true;
  }

  /** Ends what is no longer this worker's. What has its result on the way learns that by the answer. */
  void(a) {
    if (a.step === "waiting") this.forget(a);
    else if (a.live) a.stop.abort("superseded");
  }

  /** Ends an assignment here, and remembers it. */
  forget(a) {
    a.step = "ended";
    this.remember(a.taskId, a.sequence);
    if (this.held.get(a.taskId) === a) this.held.delete(a.taskId);
  }

  remember(taskId, sequence) {
    sequence = Math.max(this.ended.get(taskId) ?? 0, sequence);
    this.ended.delete(taskId);
    this.ended.set(taskId, sequence);
    if (this.ended.size > REMEMBERED) this.ended.delete(this.ended.keys().next().value);
  }

  /** What waits for a slot, by priority and then by age. */
  waiting() {
    const waiting = [...this.held.values()].filter((a) => a.step === "waiting");
    return waiting.sort((a, b) => b.priority - a.priority || a.first - b.first);
  }

  /** Gives free slots to what waits, and returns it. */
  start() {
    const ready = this.draining ? [] : this.waiting().slice(0, Math.max(0, this.slots - this.busy));
    for (const a of ready) a.step = "beginning";
    this.busy += ready.length;
    return ready;
  }

  /** Gives the slot back: the agent has nothing of it any more. */
  leave(a) {
    this.busy--;
    a.step = "finishing";
    a.leave();
  }

  /** Takes what a dispatcher, who knows the ledger up to applied, says is not this worker's. A begin's own answer decides. */
  compared(end) {
    for (const a of [...this.held.values()]) {
      if (end.not_yours?.includes(a.sequence) && a.sequence <= end.applied && a.step !== "beginning") this.void(a);
    }
  }

  /** Ends a task up to a sequence. It returns what the agent still has, and whether it is certain that nothing runs. */
  cancel(taskId, upto) {
    this.remember(taskId, upto);
    const a = this.held.get(taskId);
    if (!a || a.first > upto) return { confirmed: false };
    if (a.live) {
      a.stop.abort("canceled");
      return { live: a, confirmed: false };
    }
    const confirmed = a.step === "waiting" || a.step === "releasing";
    if (a.step === "waiting") this.forget(a);
    return { confirmed };
  }

  free() {
    return this.draining ? 0 : Math.max(0, this.slots - this.busy - this.waiting().length);
  }

  sequences() {
    return [...this.held.values()].map((a) => a.sequence).sort((a, b) => a - b);
  }

  /** What a heartbeat says of it. */
  census() {
    const started = [...this.held.values()].filter((a) => a.step !== "waiting" && a.step !== "releasing");
    return {
      state: this.draining ? "draining" : "online",
      in_flight: this.busy,
      queued: this.waiting().length,
      held: this.sequences(),
      in_flight_tasks: started.map((a) => a.taskId).slice(0, 256),
    };
  }

  /** What a receipt has to name now: what is held for long and was not named yet, and from time to time what runs. */
  receipt(after, interval) {
    const now = Date.now();
    const due = [...this.held.values()].filter(
      (a) => now - a.arrived >= after && (a.listed === 0 || (a.step === "running" && now - a.listed >= interval)),
    );
    return due.slice(0, 256).map((a) => {
      a.listed = now;
      return { task_id: a.taskId, attempt: a.attempt, sequence: a.sequence, running: a.step === "running" };
    });
  }
}
