"""As much of a NATS client as a worker needs, over a socket: subscribe, publish, ask. It connects again whenever it must."""

import json
import queue
import secrets
import socket
import ssl
import threading
import time
from urllib.parse import urlsplit


class Message:
    """One message. A status, such as 503, is what the server itself says of a request: nobody serves its subject."""

    def __init__(self, subject, reply, head, data):
        self.subject, self.reply, self.data = subject, reply, data
        lines = head.decode().split("\r\n")
        self.status = lines[0][len("NATS/1.0"):].strip()[:3]
        pairs = (line.partition(":") for line in lines[1:] if line)
        self.headers = {name: value.strip() for name, _, value in pairs}


class Nats:
    """A connection. Callbacks run on its one reading thread: they must be quick, and must not ask anything themselves."""

    def __init__(self, urls, on_reconnect):
        self.urls = [urlsplit(url if "://" in url else "nats://" + url) for url in urls.split(",")]
        self.on_reconnect = on_reconnect
        self.subscriptions = {}  # by sid: subject and callback
        self.waiting = {}  # by the last token of an inbox: where its answers go
        self.inbox = "_INBOX." + secrets.token_hex(8)
        self.socket = None
        self.lock = threading.Lock()
        self.connected = threading.Event()
        self.subscribe(self.inbox + ".*", self._answered)
        threading.Thread(target=self._run, daemon=True).start()
        self.connected.wait()

    def subscribe(self, subject, callback):
        sid = str(len(self.subscriptions) + 1)
        self.subscriptions[sid] = (subject, callback)
        if self.connected.is_set():
            self._send(f"SUB {subject} {sid}\r\n".encode())

    def publish(self, subject, data, reply="", headers=None):
        """Sends a message, or raises OSError while there is no connection: nothing is sent later than meant."""
        if not headers:
            return self._send(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"NATS/1.0\r\n{lines}\r\n".encode()
        line = f"HPUB {subject} {reply} {len(head)} {len(head) + len(data)}\r\n"
        return self._send(line.encode() + head + data + b"\r\n")

    def ask(self, subject, data, timeout):
        """Yields the answers to a request as they come; TimeoutError once the time is over."""
        token, answers = secrets.token_hex(8), queue.Queue()
        self.waiting[token] = answers
        deadline = time.monotonic() + timeout
        try:
            self.publish(subject, data, self.inbox + "." + token)
            while True:
                try:
                    yield answers.get(timeout=max(0.001, deadline - time.monotonic()))
                except queue.Empty:
                    raise TimeoutError("no answer on " + subject) from None
        finally:
            del self.waiting[token]

    def _answered(self, message):
        answers = self.waiting.get(message.subject.rpartition(".")[2])
        if answers is not None:
            answers.put(message)

    def _send(self, data):
        with self.lock:
            if self.socket is None:
                raise OSError("not connected")
            self.socket.sendall(data)

    def _run(self):
        first = True
        while True:
            for url in self.urls:
                try:
                    stream = self._connect(url)
                    if not first:
                        self.on_reconnect()
                    first = False
                    while True:
                        self._read(stream)
                except OSError:
                    with self.lock:
                        self.socket = None
            time.sleep(0.25)

    def _connect(self, url):
        """Shakes hands, and subscribes again to all that was subscribed to."""
        raw = socket.create_connection((url.hostname, url.port or 4222), timeout=5)
        info = json.loads(self._line(raw.makefile("rb", buffering=0))[len("INFO "):])
        if info.get("tls_required") or url.scheme == "tls":
            raw = ssl.create_default_context().wrap_socket(raw, server_hostname=url.hostname)
        raw.settimeout(60)  # heartbeats are answered more often than that
        options = {"verbose": False, "pedantic": False, "lang": "python", "version": "1", "protocol": 1,
                   "headers": True, "no_responders": True, "name": "reach example worker"}
        if url.password:
            options.update(user=url.username, **{"pass": url.password})
        elif url.username:
            options["auth_token"] = url.username
        stream = raw.makefile("rb")
        raw.sendall(f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode())
        while not (line := self._line(stream)).startswith("PONG"):
            if line.startswith("-ERR"):
                raise OSError(line)
        with self.lock:
            self.socket = raw
            for sid, (subject, _) in list(self.subscriptions.items()):
                raw.sendall(f"SUB {subject} {sid}\r\n".encode())
        self.connected.set()
        return stream

    @staticmethod
    def _line(stream):
        line = stream.readline()
        if not line:
            raise OSError("the server closed the connection")
        return line.decode().strip()

    def _read(self, stream):
        """Takes one line of the protocol, and calls back with the message that it announces."""
        verb, *words = self._line(stream).split(" ")
        if verb == "PING":
            self._send(b"PONG\r\n")
        if verb not in ("MSG", "HMSG"):
            return
        size = int(words.pop())
        head_size = int(words.pop()) if verb == "HMSG" else 0
        subject, sid, reply = (words + [""])[:3]
        body = stream.read(size + 2)
        if len(body) < size + 2:
            raise OSError("the server closed the connection")
        self.subscriptions[sid][1](Message(subject, reply, body[:head_size], body[head_size:size]))
