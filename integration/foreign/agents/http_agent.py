"""An agent as people write them with FastAPI: it knows nothing of Agent-Reach, and spells its fields its own way.

It prints "ready HOST:PORT" once it listens, "began" when it begins what is slow, and "stopped" when that was given up before it had
answered.
"""

import asyncio
import json
import socket
from datetime import datetime, timezone

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

app = FastAPI()


class Summary(BaseModel):
    text: str
    maxSentences: int = Field(3, ge=1)


class When(BaseModel):
    startAt: int  # seconds since 1970
    priority: str


@app.get("/healthz")
def healthz():
    return {"ok": True}


@app.post("/summarize")
def summarize(asked: Summary):
    if not asked.text:
        return JSONResponse({"code": "E40001", "message": "text is empty"}, status_code=500)
    if asked.text == "strange":
        return JSONResponse({"code": "E99", "message": "never seen"}, status_code=500)
    if asked.text == "liar":
        return {"error": {"code": "E40001", "message": "200, and yet it failed"}}
    sentences = [s.strip() for s in asked.text.split(".") if s.strip()]
    return {"summary": ". ".join(sentences[: asked.maxSentences]) + "."}


@app.post("/plan")
def plan(asked: When):
    at = datetime.fromtimestamp(asked.startAt, timezone.utc)
    return {"startAt": asked.startAt, "priority": asked.priority, "weekDay": at.strftime("%A")}


@app.post("/stream")
async def stream(asked: Summary, request: Request):
    async def events():
        words = asked.text.split(" ")
        for word in words:
            yield "data: " + json.dumps(word + " ") + "\n\n"
            await asyncio.sleep(0.01)
        yield "event: result\ndata: " + json.dumps({"summary": " ".join(words)}) + "\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


@app.post("/slow")
async def slow(request: Request):
    print("began", flush=True)
    for _ in range(3000):
        if await request.is_disconnected():
            print("stopped", flush=True)
            return {}
        await asyncio.sleep(0.01)
    return {"summary": "at last"}


def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    print("ready %s:%d" % listener.getsockname(), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
