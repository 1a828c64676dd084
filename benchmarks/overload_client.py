"""``python -m benchmarks.overload_client PORT KIND SECONDS PER_SECOND``: ask a server for more than it can do.

The kind is ``large`` or ``small``. With a pace of 0 a few connections loop the requests, and the client tells how many
are answered in a second.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections import Counter, defaultdict
from typing import Any

from benchmarks import load
from benchmarks.corpora import data_dir

LARGE = "seven times 40 chats of 12 messages to be counted, and once a text of 1 MB"
SMALL_CHARACTERS = 200
LOOPERS = 16
GIVE_UP_SECONDS = 30.0
MAX_CONNECTIONS = 900
"""Of the client; what is due while all wait is sent later."""

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


class Caller:
    """Sends requests on connections that are used again, and notes what comes back."""

    def __init__(self, port: int) -> None:
        self.times: defaultdict[int, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()
        self.open = 0
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, sent: bytes) -> None:
        """Send one request; the answer may come while the body is under way."""
        self.open += 1
        began = time.perf_counter()
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                await self._ask(sent, began)
        except (OSError, EOFError, TimeoutError) as error:
            self.errors[type(error).__name__] += 1
        finally:
            self.open -= 1

    def close(self) -> None:
        """Close the connections, of which none waits for an answer."""
        for _, writer in self._free:
            writer.close()

    async def _ask(self, sent: bytes, began: float) -> None:
        reader, writer = (
            self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        )
        keep = False
        try:
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
            took = time.perf_counter() - began
            length = re.search(rb"content-length: *(\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
            self.times[int(head.split(b" ", 2)[1])].append(took * 1e3)
            keep = b"connection: close" not in head
        finally:
            if keep:
                self._free.append((reader, writer))
            else:
                writer.close()


async def at_pace(port: int, requests: list[bytes], per_second: float, seconds: float) -> Caller:
    """Send requests at a steady pace, whether or not those before are answered."""
    caller, began, sent = Caller(port), time.perf_counter(), 0
    async with asyncio.TaskGroup() as group:
        while (passed := time.perf_counter() - began) < seconds:
            while sent < passed * per_second and caller.open < MAX_CONNECTIONS:
                group.create_task(caller.ask(requests[sent % len(requests)]))
                sent += 1
                # Each begins before the next is due, so that no time of one is counted for another.
                await asyncio.sleep(0)
            await asyncio.sleep(0.001)
    caller.close()
    return caller


async def looped(port: int, requests: list[bytes], seconds: float) -> float:
    """Send requests one after the other on a few connections; return how many are answered in a second."""
    caller, until = Caller(port), time.perf_counter() + seconds

    async def one_after_the_other(at: int) -> None:
        while time.perf_counter() < until:
            await caller.ask(requests[at % len(requests)])
            at += 1

    await asyncio.gather(*(one_after_the_other(at) for at in range(LOOPERS)))
    if caller.times.keys() != {200} or caller.errors:
        statuses = {status: len(times) for status, times in caller.times.items()}
        raise SystemExit(f"the server refused some before it was overloaded: {statuses}, {dict(caller.errors)}")
    return len(caller.times[200]) / seconds


def large_requests(corpus: str) -> list[bytes]:
    """Write requests that need a thread, ``LARGE``."""
    found = []
    for at in range(8):
        own = corpus[at * 30_000 :]
        contents = [own[start : start + 80] for start in range(0, 40 * 12 * 80, 80)]
        roles = ("user", "assistant")
        chats = [
            [{"role": roles[turn % 2], "content": contents[chat * 12 + turn]} for turn in range(12)]
            for chat in range(40)
        ]
        body = {"text": own[:1_000_000]} if at == 7 else {"messages": chats}
        found.append(load.request("/count", json.dumps(body).encode()))
    return found


def small_requests(corpus: str) -> list[bytes]:
    """Write requests that are answered at once."""
    texts = [corpus[at * 1000 :][:SMALL_CHARACTERS] for at in range(64)]
    return [load.request("/encode", json.dumps({"text": text}).encode()) for text in texts]


async def main(port: int, kind: str, seconds: float, per_second: float) -> dict[str, Any]:
    """Send requests of one kind and tell what came back."""
    corpus = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    requests = {"large": large_requests, "small": small_requests}[kind](corpus)
    if not per_second:
        return {"per_second": await looped(port, requests, seconds)}
    caller = await at_pace(port, requests, per_second, seconds)
    return {"times": caller.times, "errors": caller.errors}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4])))))
