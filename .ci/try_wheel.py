"""Try the wheel of a folder where nothing but Python is, alone and with each extra: ``try_wheel.py FOLDER EXTRA...``.

It prints the installed size, the seconds of ``pip install``, and those from there to the first answer.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import urllib.request
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import HTTPError, URLError

PORT = 8765
IDS = [13692, 11, 6548]
TOOLS = {"pip", "setuptools", "pkg_resources"}
JOB = {"corpus": {"texts": ["low lower lowest"]}, "settings": {"vocab_size": 258}}


def post(path: str, body: object) -> dict[str, object]:
    """Send JSON to the server; an error's body is an answer too."""
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except HTTPError as error:
        return json.load(error)


def clocks() -> tuple[float, float]:
    """Return the time, and the processor time of all that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), used.ru_utime + used.ru_stime


def attempt(folder: Path, extra: str, home: Path) -> str:
    """Install the wheel and serve; return what it took."""
    venv.create(home, with_pip=True, symlinks=True)
    env = {"PATH": f"{home / 'bin'}{os.pathsep}{os.defpath}", "HOME": str(home)}
    pip = [str(home / "bin" / "pip"), "--quiet", "--disable-pip-version-check"]
    take = ["download", "--no-deps", "--no-index", "--find-links", str(folder), "--dest", str(home), "tokd"]
    subprocess.run([*pip, *take], env=env, check=True)
    (wheel,) = home.glob("tokd-*.whl")
    start = clocks()
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([*pip, "install", "--only-binary", ":all:", wanted], env=env, check=True)
    installed = clocks()
    log = (home / "log").open("w+")
    server = subprocess.Popen(["tokd", "serve", "--port", str(PORT)], cwd=home, env=env, stdout=log, stderr=log)
    try:
        while True:
            try:
                ids = post("/encode", {"text": "Hello, world"})["ids"]
                break
            except URLError:
                if server.poll() is not None:
                    sys.exit((home / "log").read_text())
                time.sleep(0.05)
        answered = time.monotonic()
        refused = post("/train-job", JOB).get("code")
    finally:
        server.terminate()
        server.wait()
    assert ids == IDS, ids
    assert refused == (None if extra == "jobs" else "jobs_not_installed"), refused
    shown = subprocess.run(["tokd", "encode", "Hello, world"], cwd=home, env=env, check=True, capture_output=True)
    assert [int(word) for word in shown.stdout.split()] == IDS, shown.stdout
    (packages,) = home.glob("lib/python3*/site-packages")
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file() and not TOOLS & {*path.parts})
    took, busy = (after - before for before, after in zip(start, installed, strict=True))
    first = answered - installed[0]
    return f"{size / 1e6:.0f} MB, pip install {took:.1f} s ({busy:.1f} s of processor), first answer {first:.1f} s"


for each in ["", *sys.argv[2:]]:
    with TemporaryDirectory() as place:
        print(f"tokd{each and f'[{each}]'}: {attempt(Path(sys.argv[1]).absolute(), each, Path(place))}", flush=True)
