"""What a worker holds: the assignments of one agent, from their arrival until a dispatcher has the last word on each."""

import json
import threading
import time
from datetime import datetime, timezone

REMEMBERED = 4096  # ended tasks, each known by its last sequence


class Assignment:
    """A task as it was assigned under one sequence, the fencing token, which begin moves on."""

    def __init__(self, sequence, message, lifetime):
        self.first = self.sequence = sequence
        self.message, self.task_id, self.attempt = message, message["task_id"], message.get("attempt", 1)
        self.step = "waiting"  # for a slot; then beginning, running and finishing, or releasing; at last ended
        self.arrived, self.listed = time.monotonic(), None  # listed: when a receipt last named it
        self.expires = self.arrived + lifetime
        self.cause, self.confirmed = None, False  # why it is to stop; whether nothing of it runs, for certain
        self.stop, self.left = threading.Event(), threading.Event()

    def cancel(self, cause):
        self.cause = self.cause or cause
        self.stop.set()

    def live(self):
        return self.step in ("beginning", "running")


def read_assignment(message, agent_id):
    """The assignment of this agent that a message carries; None for anything else."""
    try:
        body, headers = json.loads(message.data), message.headers
        named = f"reach.task.{body['task_id']}.assigned.{body['capability']}.{agent_id}"
        if headers["Nats-Subject"] != named or "idempotent" not in body["assignment"]:
            return None
        stored = parse_time(headers["Nats-Time-Stamp"]) if "Nats-Time-Stamp" in headers else time.time()
        return Assignment(int(headers["Nats-Sequence"]), body, max(1, parse_time(body["expires_at"]) - stored))
    except (ValueError, KeyError, TypeError):
        return None


def parse_time(text):
    """Seconds since 1970 of an RFC 3339 time in UTC, as all times of the wire are."""
    return datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp()


class Inbox:
    """All that is held, by task, and the slots. Any thread may call it; none waits for long."""

    def __init__(self, slots):
        self.slots, self.busy = slots, 0
        self.held, self.ended = {}, {}
        self.draining = False
        self.lock = threading.RLock()

    def take(self, a):
        """True if the assignment is new. One that is held or has ended is a repeat; a newer one says that the older is void."""
        with self.lock:
            older = self.held.get(a.task_id)
            if a.first <= max(self.ended.get(a.task_id, 0), older.sequence if older else 0):
                return False
            if older:
                self.void(older)
            self.held[a.task_id] = a
            return True

    def void(self, a):
        """Ends what is no longer this worker's. What has its result on the way learns that by the answer."""
        if a.step == "waiting":
            self.forget(a)
        elif a.live():
            a.cancel("superseded")

    def forget(self, a):
        """Ends an assignment here, and remembers it."""
        with self.lock:
            a.step = "ended"
            self.remember(a.task_id, a.sequence)
            if self.held.get(a.task_id) is a:
                del self.held[a.task_id]

    def remember(self, task_id, sequence):
        self.ended[task_id] = max(self.ended.pop(task_id, 0), sequence)
        if len(self.ended) > REMEMBERED:
            del self.ended[next(iter(self.ended))]

    def waiting(self):
        """What waits for a slot, by priority and then by age."""
        with self.lock:
            waiting = [a for a in self.held.values() if a.step == "waiting"]
            return sorted(waiting, key=lambda a: (-a.message.get("priority", 5), a.first))

    def start(self):
        """Gives free slots to what waits, and returns it."""
        with self.lock:
            ready = [] if self.draining else self.waiting()[: self.slots - self.busy]
            for a in ready:
                a.step = "beginning"
            self.busy += len(ready)
            return ready

    def leave(self, a):
        """Gives the slot back: the agent has nothing of it any more."""
        with self.lock:
            self.busy -= 1
            a.step = "finishing"
            a.left.set()

    def move(self, a, step):
        """Takes a waiting assignment to another step, and says whether it still waited."""
        with self.lock:
            waited = a.step == "waiting"
            if waited:
                a.step = step
            return waited

    def compared(self, end):
        """Takes what a dispatcher says is not this worker's, as far as it knows the ledger. A begin's own answer decides."""
        with self.lock:
            for a in list(self.held.values()):
                if a.sequence in end.get("not_yours", ()) and a.sequence <= end["applied"] and a.step != "beginning":
                    self.void(a)

    def cancel(self, task_id, upto):
        """Ends a task up to a sequence. It returns what the agent still has, and whether it is certain that nothing runs."""
        with self.lock:
            self.remember(task_id, upto)
            a = self.held.get(task_id)
            if a is None or a.first > upto:
                return None, False
            if a.live():
                a.cancel("canceled")
                return a, False
            if a.step == "waiting":
                self.forget(a)
                return None, True
            return None, a.step == "releasing"

    def free(self):
        with self.lock:
            return 0 if self.draining else max(0, self.slots - self.busy - len(self.waiting()))

    def sequences(self):
        with self.lock:
            return sorted(a.sequence for a in self.held.values())

    def census(self):
        """What a heartbeat says of it."""
        with self.lock:
            started = sorted(a.task_id for a in self.held.values() if a.step not in ("waiting", "releasing"))
            return {"state": "draining" if self.draining else "online", "in_flight": self.busy, "queued": len(self.waiting()),
                    "held": self.sequences(), "in_flight_tasks": started[:256]}

    def receipt(self, after, interval):
        """What a receipt has to name now: what is held for long and was not named yet, and from time to time what runs."""
        with self.lock:
            clock = time.monotonic()
            due = [a for a in self.held.values() if clock - a.arrived > after and (
                a.listed is None or a.step == "running" and clock - a.listed > interval)][:256]
            for a in due:
                a.listed = clock
            return [{"task_id": a.task_id, "attempt": a.attempt, "sequence": a.sequence, "running": a.step == "running"}
                    for a in due]
