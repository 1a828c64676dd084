"""A process that only pretends to train: it does what its recipe says, over the real channel.

The recipe is ``{"log": path, "do": {phase: what}}``; what it does not name is done at once. It writes a line into the
log at its start (with ``overlap`` if one that trained the same job still lives), and one for every phase.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from service.job_process.control import end_with_parent, prefer_as_oom_victim
from service.job_process.pipe import MessageWriter, Watchdog
from tests.support.waiting import is_alive

PHASES = ("counting", "merging", "publishing", "committing")


def note(log: Path, *words: object) -> None:
    """Append one line, whole."""
    with log.open("a") as file:
        file.write(" ".join(map(str, words)) + "\n")


def do(what: str, order: dict) -> None:
    """Do one of the things that training can do."""
    if what == "hang":
        while True:
            time.sleep(0.05)
    elif what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "leave":
        sys.exit(3)
    elif what == "eat":
        eaten = bytearray(os.urandom(1 << 20) * 120)
        while eaten:
            time.sleep(0.05)
    elif what == "spawn and hang":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        note(Path(order["recipe"]["log"]), "spawned", child.pid)
        do("hang", order)
    elif what == "die once":
        marker = Path(order["directory"]) / "died"
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    elif what == "hang once":
        marker = Path(order["directory"]) / "hung"
        if not marker.exists():
            marker.touch()
            do("hang", order)


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text())
    prefer_as_oom_victim()
    end_with_parent(signal.SIGKILL)
    recipe, directory = order["recipe"], Path(order["directory"])
    log, things = Path(recipe["log"]), recipe.get("do", {})
    messages, watchdog = MessageWriter(os.dup(1)), Watchdog(0, order["until"])
    earlier = [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("start ")]
    note(log, "start", os.getpid(), *(["overlap"] for pid in earlier if is_alive(pid)))
    for phase in PHASES[:3]:
        messages.phase(phase)
        messages.send(progress={"done": 1, "total": 10, "unit": "bytes"})
        note(log, phase, os.getpid())
        do(things.get(phase, ""), order)
    if "fail" in things:
        messages.send(failed=things["fail"])
        return
    (directory / "artifact").mkdir(exist_ok=True)
    messages.send(ready=True)
    watchdog.wait_to_publish()
    note(log, "committing", os.getpid())
    do(things.get("committing", ""), order)
    place = Path(order["target"]) / directory.name
    place.mkdir(exist_ok=True)
    note(log, "published", os.getpid())
    do(things.get("published", ""), order)
    messages.send(published={"hash": f"sha256:{'0' * 64}", "name": "pretended", "directory": place.name})


if __name__ == "__main__":
    main()
