#!/usr/bin/env python3
"""A worker for Agent-Reach that needs nothing but Python: it takes the tasks of one agent and calls a function for each.

    python3 worker.py --nats nats://127.0.0.1:4222 --agent-id parrot --capability echo

It keeps the rules of docs/worker-protocol.md. The agent is the function `echo`, near the end.
"""

import argparse
import json
import os
import secrets
import signal
import sys
import threading
import time
import uuid
from datetime import datetime, timezone

from inbox import Inbox, read_assignment
from natsline import Nats

EXCESS = 0.1  # seconds that a task may wait for a slot before it is handed back
RECEIPT_AFTER = 0.5  # seconds after which a task that is held is named in a receipt
PULL_TIMEOUT, CANCEL_WAIT, DRAIN_TIMEOUT = 5, 5, 30
LAST_WORDS = ("stored", "already_yours", "superseded")


class Refused(Exception):
    """An error as JSON says it: a dispatcher's answer, or what an agent raises to fail with a code of its own."""

    def __init__(self, error):
        super().__init__(error.get("message", ""))
        self.error, self.code, self.retryable = error, error.get("code"), error.get("retryable", False)


class Stopped(Exception):
    """What an agent raises when it was told to stop, and has stopped."""


class Worker:
    """Serves one agent. Each assignment has a thread of its own once it has a slot; three loops pull, beat, and send receipts."""

    def __init__(self, urls, agent_id, capabilities, slots, request_timeout, agent):
        self.agent_id, self.capabilities, self.agent = agent_id, capabilities, agent
        self.request_timeout, self.beat_every, self.receipt_every = request_timeout, 15, 15
        self.me = {"v": 1, "agent_id": agent_id, "instance_id": str(uuid.uuid4())}
        self.inbox = Inbox(slots)
        self.known = 0  # the highest sequence that an answer has told
        self.pull_now, self.beat_now, self.stopping = threading.Event(), threading.Event(), threading.Event()
        self.nats = Nats(urls, self.reconnected)

    def run(self):
        """Registers, listens, and asks for work, in this order: two processes must never serve one agent."""
        self.register()
        self.nats.subscribe(f"reach.control.{self.agent_id}", self.on_control)
        self.nats.subscribe(f"reach.feed.assigned.*.{self.agent_id}.*", self.take)
        self.reconnected()
        for loop in (self.pull_loop, self.heartbeat_loop, self.receipt_loop):
            in_background(loop)
        self.stopping.wait()
        self.drain()

    def reconnected(self):
        self.known = 0  # the ledger may be another one, which counts anew
        self.pull_now.set()
        self.beat_now.set()

    # What is asked of dispatchers.

    def ask(self, subject, body, timeout, each=None):
        """Gives the body of the answer, or of the message that ends an answer of many."""
        for answer in self.nats.ask(subject, encode(body), timeout):
            if answer.status == "503":
                raise TimeoutError("no dispatcher is there")
            if "Nats-Service-Error-Code" in answer.headers:
                raise Refused(json.loads(answer.data))
            if each is None or answer.headers.get("Reach-Pull") == "end":
                return json.loads(answer.data)
            each(answer)

    def register(self):
        slots = self.inbox.slots
        body = {**self.me, "version": "1.0.0", "transport": {"type": "python"}, "max_concurrency": slots,
                "capabilities": [{"id": name, "max_concurrency": slots} for name in self.capabilities]}
        for wait in delays(0.1, 5):
            try:
                answer = self.ask("reach.api.agent.register", body, PULL_TIMEOUT)
                break
            except (OSError, Refused) as error:
                if getattr(error, "code", "") in ("INVALID_ARGUMENT", "FAILED_PRECONDITION"):
                    fail(error)  # no repeat makes this registration a better one
                if self.stopping.wait(wait):
                    sys.exit(0)
        self.beat_every = min(15, answer.get("heartbeat_interval_ms", 15000) / 1000)
        self.receipt_every = min(15, answer.get("receipt_interval_ms", 15000) / 1000)
        self.inbox.draining = answer["state"] == "draining"

    def deliver(self, verb, a, **more):
        """Sends a begin, finish or release, and the same again until a dispatcher has the last word; that is returned."""
        body = {**self.me, "task_id": a.task_id, "attempt": a.attempt, "sequence": a.sequence,
                "write_id": secrets.token_hex(8), **more}
        for wait in delays(0.05, 2):
            if time.monotonic() > a.expires or verb == "begin" and a.stop.is_set():
                return {}
            try:
                answer = self.ask(f"reach.{verb}.{self.agent_id}", body, self.request_timeout)
                self.known = max(self.known, answer.get("sequence", 0))
                if answer.get("outcome") in LAST_WORDS:
                    return answer
            except Refused as error:
                if verb != "finish" and not error.retryable:
                    return {}
            except OSError:
                pass  # not sent, or not answered: whether it was stored, only the same again can tell
            time.sleep(wait)

    # What arrives.

    def take(self, message):
        """Takes an assignment in, whichever way it came, and says whether it is new. What is none is ignored."""
        a = read_assignment(message, self.agent_id)
        if a is None or not self.inbox.take(a):
            return False
        if self.unfit(a) and self.inbox.move(a, "finishing"):
            in_background(self.finish, a, {"state": "rejected", "error": self.unfit(a), "ran": "no"}, now())
        self.start()
        threading.Timer(0 if self.inbox.draining else EXCESS, self.release, [a]).start()
        return True

    def unfit(self, a):
        if a.message.get("v", 1) > 1:
            return {"code": "FAILED_PRECONDITION", "reason": "UNSUPPORTED_VERSION", "message": "this worker speaks version 1"}
        if a.message["capability"] not in self.capabilities:
            return {"code": "FAILED_PRECONDITION", "reason": "UNKNOWN_CAPABILITY", "message": "this agent does not offer that"}
        return None

    def on_control(self, message):
        if "Nats-Subject" in message.headers:
            self.take(message)
            return self.answer(message)
        try:
            word = json.loads(message.data)
            do, task_id, upto = word.get("do"), word.get("task_id", ""), word.get("sequence") or 2**63
        except (ValueError, AttributeError):
            return self.refuse(message, "INVALID_ARGUMENT", "this is no control")
        if do == "cancel" and isinstance(task_id, str) and isinstance(upto, int):
            return in_background(self.cancel, message, task_id, upto)
        if do not in ("drain", "resume", "ping"):
            return self.refuse(message, "UNIMPLEMENTED", "do takes cancel, drain, resume or ping")
        if do != "ping":
            self.set_draining(do == "drain" or self.stopping.is_set())
        return self.answer(message)

    def answer(self, message, **more):
        if message.reply:
            self.nats.publish(message.reply, encode({"v": 1, "ok": True, "instance_id": self.me["instance_id"], **more}))

    def refuse(self, message, code, text):
        if message.reply:
            headers = {"Nats-Service-Error-Code": code, "Nats-Service-Error": text}
            self.nats.publish(message.reply, encode({"code": code, "message": text, "retryable": False}), headers=headers)

    def cancel(self, message, task_id, upto):
        live, confirmed = self.inbox.cancel(task_id, upto)
        if live:
            confirmed = live.left.wait(CANCEL_WAIT) and live.confirmed
        self.answer(message, confirmed=confirmed)

    # What runs.

    def start(self):
        for a in self.inbox.start():
            in_background(self.carry, a)

    def carry(self, a):
        """Sees an assignment through: the right to begin, the agent, the result."""
        started = now()
        result = self.call(a) if self.begin(a) else None
        self.inbox.leave(a)
        self.start()
        if result and a.cause not in ("canceled", "superseded"):
            self.finish(a, result, started)
        else:
            self.forget(a)  # a dispatcher has ended or moved it: nobody is to hear of a result

    def begin(self, a):
        """What must not run twice is begun by request; without the answer stored or already_yours it does not start."""
        if not a.message["assignment"]["idempotent"]:
            answer = self.deliver("begin", a)
            if answer.get("outcome") not in ("stored", "already_yours"):
                a.confirmed = True
                return False
            a.sequence = answer.get("sequence", a.sequence)
        a.step = "running"
        return True

    def call(self, a):
        """Calls the agent, under the run limit, and says how that ended."""
        if a.stop.is_set():
            a.confirmed = True
            return failed("UNAVAILABLE", "the worker stopped before the task began", "no", "WORKER_STOPPED")
        limit = threading.Timer((a.message["assignment"].get("run_timeout_ms") or 30000) / 1000, a.cancel, ["run limit"])
        limit.start()
        say("run", a.task_id)
        try:
            return {"state": "completed", "result": self.agent(a.message.get("payload", {}), a.stop)}
        except Stopped:
            a.confirmed = True
            say("stopped", a.task_id)
            if a.cause == "run limit":
                return failed("DEADLINE_EXCEEDED", "the agent did not answer within the run limit", "yes", "RUN_LIMIT")
            return failed("UNAVAILABLE", "the worker stopped before the agent had answered", "unknown", "WORKER_STOPPED")
        except Refused as refused:
            return {"state": "failed", "ran": "yes", "error": {**refused.error, "details": {"origin": "agent"}}}
        except Exception as error:  # whatever it is, it is the agent's answer
            return failed("INTERNAL", f"the agent broke: {type(error).__name__}", "yes")
        finally:
            limit.cancel()

    def finish(self, a, result, started):
        self.deliver("finish", a, partial=False, chunks=0, started_at=started, finished_at=now(), **result)
        self.forget(a)

    def release(self, a):
        """Hands back what still waits."""
        if self.inbox.move(a, "releasing"):
            self.deliver("release", a)
            self.forget(a)

    def forget(self, a):
        self.inbox.forget(a)
        self.pull_now.set()

    # What is said without being asked.

    def pull_loop(self):
        wait = delays(0.05, 5)
        while self.pull_now.wait():
            self.pull_now.clear()
            free, new = self.inbox.free(), []
            body = {**self.me, "free": dict.fromkeys(self.capabilities, free), "free_total": free,
                    "held": self.inbox.sequences(), "after": self.known}
            try:
                end = self.ask(f"reach.pull.{self.agent_id}", body, PULL_TIMEOUT, lambda m: new.append(self.take(m)))
                self.inbox.compared(end)
                wait = delays(0.05, 5)
            except (OSError, Refused):
                new = [True]
                time.sleep(next(wait))
            if any(new):
                self.pull_now.set()  # there may be more, or what came is not known

    def heartbeat_loop(self):
        while True:
            try:
                self.beat()
            except Refused as error:
                if error.code == "NOT_FOUND":
                    self.register()
                elif not error.retryable:
                    fail("another process serves this agent")
            except OSError:
                pass  # the next one may be heard
            self.beat_now.wait(self.beat_every)
            self.beat_now.clear()

    def beat(self, **more):
        body = {**self.me, "version": "1.0.0", "capabilities": self.capabilities, "time": now(), **self.inbox.census(), **more}
        self.inbox.compared(self.ask(f"reach.heartbeat.{self.agent_id}", body, self.request_timeout, self.take))

    def receipt_loop(self):
        while True:
            time.sleep(RECEIPT_AFTER)
            tasks = self.inbox.receipt(RECEIPT_AFTER, self.receipt_every)
            try:
                if tasks:
                    self.nats.publish(f"reach.receipt.{self.agent_id}", encode({**self.me, "time": now(), "tasks": tasks}))
            except OSError:
                pass  # a pull says what is held, after the reconnect

    def set_draining(self, draining):
        self.inbox.draining = draining
        for a in self.inbox.waiting() if draining else []:
            in_background(self.release, a)
        self.pull_now.set()
        self.beat_now.set()

    def drain(self):
        """Takes nothing new, hands back what waits, lets what runs come to its end, and says goodbye."""
        self.set_draining(True)
        late = time.monotonic() + DRAIN_TIMEOUT
        while self.inbox.held and time.monotonic() < late + CANCEL_WAIT:
            time.sleep(0.02)
            for a in list(self.inbox.held.values()) if time.monotonic() > late else []:
                a.cancel("stopping")
        try:
            self.beat(state="offline")
        except (OSError, Refused):
            pass  # silence will say it


def echo(payload, stop):
    """The agent: gives back what it gets. With wait_ms it takes its time, with fail it fails, so that both can be seen."""
    if isinstance(payload, dict):
        if stop.wait(payload.get("wait_ms", 0) / 1000):
            raise Stopped
        if "fail" in payload:
            raise Refused(payload["fail"])
    return payload


def failed(code, message, ran, reason=""):
    error = {"code": code, "reason": reason, "message": message, "retryable": code == "UNAVAILABLE"}
    return {"state": "failed", "ran": ran, "error": error}


def say(what, task_id):
    """Prints a line in one piece: several threads have something to say."""
    print(f"{what} {task_id}\n", end="", flush=True)


def in_background(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def delays(first, most):
    """Waits between repeats: each twice the one before, up to most; a random part of each is left out."""
    while True:
        yield first * (0.5 + secrets.randbelow(500) / 1000)
        first = min(2 * first, most)


def encode(body):
    return json.dumps(body, separators=(",", ":")).encode()


def now():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def fail(why):
    print("worker:", why, file=sys.stderr, flush=True)
    os._exit(1)


def main():
    flags = argparse.ArgumentParser(description="A worker for Agent-Reach whose agent gives back what it gets.")
    flags.add_argument("--nats", default="nats://127.0.0.1:4222", help="URLs of brokers, with commas between")
    flags.add_argument("--agent-id", required=True)
    flags.add_argument("--capability", action="append", required=True, help="may be given again")
    flags.add_argument("--max-concurrency", type=int, default=1)
    flags.add_argument("--request-timeout-ms", type=int, default=2000)
    given = flags.parse_args()
    worker = Worker(given.nats, given.agent_id, given.capability, given.max_concurrency, given.request_timeout_ms / 1000, echo)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stopping.set())
    worker.run()


if __name__ == "__main__":
    main()
