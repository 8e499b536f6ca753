"""An agent behind a WebSocket, with the websockets library: all tasks over one connection, several at once.

It prints "ready HOST:PORT" once it listens, "began TASK" when it begins one, and "stopped" when it has given one up because it was told to.
"""

import asyncio
import json

import websockets


async def run(socket, task):
    name, payload = task["task_id"], task["payload"]
    try:
        print("began", name, flush=True)
        for n in range(payload.get("chunks", 0)):
            await socket.send(json.dumps({"task_id": name, "chunk": "%d " % n}))
        await socket.send(json.dumps({"task_id": name, "progress": {"fraction": 0.5, "message": "half"}}))
        await asyncio.sleep(payload.get("seconds", 0))
        await socket.send(json.dumps({"task_id": name, "result": payload}))
    except asyncio.CancelledError:
        print("stopped", flush=True)
        await socket.send(json.dumps({"task_id": name, "error": {"code": "CANCELLED", "message": "stopped"}}))


async def serve(socket):
    running = {}
    async for message in socket:
        message = json.loads(message)
        if "cancel" in message:
            task = running.pop(message["cancel"], None)
            if task:
                task.cancel()
            continue
        running[message["task_id"]] = asyncio.ensure_future(run(socket, message))


async def main():
    async with websockets.serve(serve, "127.0.0.1", 0) as server:
        print("ready %s:%d" % server.sockets[0].getsockname(), flush=True)
        await asyncio.Future()


asyncio.run(main())
