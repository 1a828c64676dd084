"""What the deployment files start is started, with their commands, environment, users, volumes and probes.

There is no engine: a container is a root of its own that cannot be written to (``tests/support/containers.py``). Only
the port is not the files' own, since this machine has one network.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx
import pytest

from service.auth.keys import entry, new_key
from tests.project.test_deploy import DEPLOY, documents
from tests.project.test_packaging import compose, instructions
from tests.support import postgres
from tests.support.containers import USER, Volume, can_contain, start
from tests.support.paths import ROOT
from tests.support.server import listening, written
from tests.support.waiting import until
from tokenizer_core import Tokenizer

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not can_contain(), reason="this user may make no roots; run as root, or allow user namespaces"),
]

BASE = Tokenizer.open(ROOT / "artifacts" / "base")
CORES = 2
(ENTRYPOINT,) = [words[1:] for words in instructions() if words[0] == "ENTRYPOINT"]
IMAGE_COMMAND = [word.strip("[,]") for word in ENTRYPOINT]
FASTER = 5
"""The rolling restart drains and asks probes so many times faster than the file says."""

Launch = Callable[..., "Container"]


class Container:
    """A running container: ``url`` is where it says that it listens."""

    def __init__(self, process: subprocess.Popen[bytes], log: Any) -> None:
        self.process, self.log = process, log
        self.url = listening(process, log)
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def ready(self, probe: Mapping[str, Any]) -> bool:
        """Ask a probe, as a kubelet does."""
        try:
            return self.client.get(probe["httpGet"]["path"]).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Start containers, which are gone at the end."""
    numbers = count()
    with ExitStack() as ends:

        def launched(
            command: list[str], env: Mapping[str, str], volumes: Mapping[str, Volume], **options: Any
        ) -> Container:
            root = tmp_path / f"root-{next(numbers)}"
            root.mkdir()
            log = ends.enter_context(TemporaryFile())
            process = start(root, command, env, volumes, log, **options)
            ends.callback(process.wait, 60)
            ends.callback(process.kill)
            started = Container(process, log)
            ends.callback(started.client.close)
            return started

        yield launched


def owned(folder: Path) -> Path:
    """Give a directory to the image's user, as a claim's group or ``chown -R 10001`` does."""
    folder.mkdir(parents=True, exist_ok=True)
    for each in (folder, *folder.rglob("*")):
        shutil.chown(each, USER, USER)
    return folder


def secret(folder: Path, files: Mapping[str, str]) -> Volume:
    """Write a secret's volume as Kubernetes does: each file is a link into a directory that is exchanged."""
    (folder / "..2026").mkdir(parents=True)
    (folder / "..data").symlink_to("..2026")
    for name, text in files.items():
        (folder / "..2026" / name).write_text(text, "utf-8")
        (folder / name).symlink_to(f"..data/{name}")
    return Volume(folder, is_read_only=True)


def of_pod(name: str, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the specification of a pod and of its container of tokd."""
    (found,) = [each for each in documents(name) if each["kind"] == kind]
    spec = found["spec"].get("template", {}).get("spec", found["spec"])
    (container,) = [each for each in spec["containers"] if each["image"].startswith("tokd:")]
    assert spec["securityContext"]["runAsUser"] == USER
    assert container["securityContext"]["readOnlyRootFilesystem"]
    return spec, container


def environment(container: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a container as a kubelet fills them in."""
    env = {}
    for each in container.get("env", ()):
        given = each.get("valueFrom", {})
        if "resourceFieldRef" in given:
            value = container["resources"]["limits"][given["resourceFieldRef"]["resource"].removeprefix("limits.")]
        elif "secretKeyRef" in given:
            value = secrets[given["secretKeyRef"]["name"]]
        else:
            value = each["value"]
        env[each["name"]] = value
    # Of the Service of the same name, into every pod.
    return env | {"TOKD_SERVICE_HOST": "10.96.0.10", "TOKD_PORT": "tcp://10.96.0.10:80"}


def mounted(spec: Mapping[str, Any], container: Mapping[str, Any], given: Mapping[str, Volume], tmp: Path) -> Any:
    """Return the volumes of a container: those given by name, and an empty directory for each that is one."""
    volumes = {}
    for mount in container["volumeMounts"]:
        (volume,) = [each for each in spec["volumes"] if each["name"] == mount["name"]]
        found = given.get(mount["name"]) or Volume(tmp / mount["name"])
        if "emptyDir" in volume:
            found.source.mkdir(exist_ok=True)
            found.source.chmod(0o777)
        volumes[mount["mountPath"]] = found._replace(is_read_only=mount.get("readOnly", False))
    return volumes


def command_of(container: Mapping[str, Any]) -> list[str]:
    return [*container.get("command", IMAGE_COMMAND), *container.get("args", ()), "--port", "0"]


def ids(client: httpx.Client, **body: Any) -> list[int]:
    answer = client.post("/encode", json={"text": "Hello, world", **body})
    assert answer.status_code == 200, answer.text
    found: list[int] = answer.json()["ids"]
    return found


HELLO = BASE.encode("Hello, world").tolist()


@pytest.mark.parametrize("is_owned", [False, True], ids=["a clone", "given to the user"])
def test_compose_serves_every_artifact_of_the_directory(launch: Launch, tmp_path: Path, is_owned: bool) -> None:
    service = compose()
    (volume,) = service["volumes"]
    assert volume == "./artifacts:/srv/artifacts"
    assert (service["read_only"], service["tmpfs"]) == (True, ["/tmp"])
    assert float(service["environment"]["TOKD_THREADS"]) == float(service["cpus"])
    artifacts = tmp_path / "artifacts"
    shutil.copytree(ROOT / "artifacts", artifacts)
    BASE.save(artifacts / "mine", name="mine")
    if is_owned:
        owned(artifacts)
    tmp = owned(tmp_path / "tmp")
    command = [*IMAGE_COMMAND, *service["command"]]
    volumes = {"/srv/artifacts": Volume(artifacts), "/tmp": Volume(tmp)}
    server = launch(command, {**service["environment"], "TOKD_PORT": "0"}, volumes)
    headers = {"host": "tokd:8000"}
    assert ids(server.client) == HELLO
    assert server.client.post("/encode", json={"text": "a", "tokenizer": "mine"}, headers=headers).status_code == 200
    assert server.client.get("/", headers=headers).status_code == 200
    # One that comes later, as `tokd import -o artifacts/later` brings it.
    BASE.save(artifacts / "later", name="later")
    until(lambda: server.client.post("/encode", json={"text": "a", "tokenizer": "later"}).status_code == 200)
    port = httpx.URL(server.url).port
    check = ["python3", *service["healthcheck"]["test"][2:]]
    healthy = subprocess.run(check, env={"TOKD_PORT": str(port), "PATH": os.environ["PATH"]})
    assert healthy.returncode == 0
    submitted = server.client.post(
        "/train-job", json={"corpus": {"texts": ["low lower"]}, "settings": {"vocab_size": 260}}
    )
    if is_owned:
        finished(server.client, submitted.json()["id"])
    else:
        assert submitted.status_code >= 400
    assert b"not served" not in written(server.log)
    assert server.stop() == 0


def finished(client: httpx.Client, job: str) -> dict[str, Any]:
    """Wait for a job, and return it."""

    def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = client.get(f"/train-job/{job}").json()
        return found if found["state"] in ("succeeded", "failed", "cancelled") else None

    found = until(ended)
    assert found["state"] == "succeeded", found
    return found


def with_key(folder: Path) -> tuple[str, Volume]:
    key = new_key()
    return key, secret(folder, {"keys.toml": entry("all", ("encode", "train", "admin"), key)})


def test_the_pod_of_kubernetes_answers_its_probes_and_callers_with_keys(launch: Launch, tmp_path: Path) -> None:
    spec, container = of_pod("kubernetes.yaml", "Deployment")
    key, keys = with_key(tmp_path / "keys")
    server = launch(
        command_of(container), environment(container, {}), mounted(spec, container, {"keys": keys}, tmp_path)
    )
    assert all(server.ready(container[f"{kind}Probe"]) for kind in ("startup", "readiness", "liveness"))
    assert server.client.post("/encode", json={"text": "a"}).status_code == 401
    server.client.headers["authorization"] = f"Bearer {key}"
    assert ids(server.client) == HELLO
    # Nothing can be written, and the server lives on.
    assert server.client.post("/train-job", json={"corpus": {"texts": ["low"]}}).status_code >= 400
    assert ids(server.client) == HELLO
    # Requests are answered while it drains.
    server.process.send_signal(signal.SIGTERM)
    until(lambda: not server.ready(container["readinessProbe"]))
    assert server.ready(container["livenessProbe"])
    assert ids(server.client) == HELLO
    assert server.process.wait(60) == 0


def test_a_gateway_in_the_pod_reaches_the_sidecar_over_its_socket(launch: Launch, tmp_path: Path) -> None:
    spec, container = of_pod("sidecar.yaml", "Pod")
    volumes = mounted(spec, container, {}, tmp_path)
    server = launch(container["command"], environment(container, {}), volumes)
    assert server.url == "socket"
    transport = httpx.HTTPTransport(uds=str(tmp_path / "socket" / "tokd.sock"))
    with httpx.Client(base_url="http://localhost", transport=transport) as gateway:
        assert ids(gateway) == HELLO
    assert server.stop() == 0


def test_the_unit_of_systemd_serves_and_trains_below_its_own_directory(launch: Launch, tmp_path: Path) -> None:
    unit = dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / "tokd.service").read_text("utf-8"), re.MULTILINE))
    lines = re.findall(r"^Environment=(\w+)=(.*)$", (DEPLOY / "tokd.service").read_text("utf-8"), re.MULTILINE)
    assert (unit["ProtectSystem"], unit["StateDirectory"], unit["PrivateTmp"]) == ("strict", "tokd", "yes")
    program, *words = shlex.split(unit["ExecStart"])
    key = new_key()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "keys.toml").write_text(entry("all", ("encode", "train"), key), "utf-8")
    (tmp_path / "etc" / "keys.toml").chmod(0o600)
    state = tmp_path / "state"
    BASE.save(state / "tokenizers" / "mine", name="mine")
    volumes = {
        "/srv/keys": Volume(owned(tmp_path / "etc"), is_read_only=True),
        unit["WorkingDirectory"]: Volume(owned(state)),
        "/tmp": Volume(owned(tmp_path / "tmp")),
    }
    # The machine's own /etc is in the way of the unit's.
    words = [word.replace("/etc/tokd", "/srv/keys") for word in words]
    command = [program.rpartition("/")[2], *words, "--port", "0"]
    server = launch(command, dict(lines), volumes, workdir=unit["WorkingDirectory"])
    server.client.headers["authorization"] = f"Bearer {key}"
    assert ids(server.client) == ids(server.client, tokenizer="mine") == HELLO
    body = {"corpus": {"texts": ["low lower lowest"]}, "settings": {"vocab_size": 260}}
    job = finished(server.client, server.client.post("/train-job", json=body).json()["id"])
    assert len(ids(server.client, tokenizer=job["artifact"]["tokenizer"])) > 0
    assert server.stop() == 0


@contextmanager
def asking(ready: list[Container], key: str, tokenizers: list[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Ask whatever is ready, all the time and from several threads, as callers of a Service do."""
    answered, wrong, stop = [0] * 4, list[str](), threading.Event()

    def ask(index: int) -> None:
        # A connection each: a kept one would hold on to the pod that goes.
        for turn in count():
            if stop.is_set():
                return
            try:
                headers = {"authorization": f"Bearer {key}"}
                body = {"text": "Hello, world", "tokenizer": tokenizers[turn % len(tokenizers)]}
                answer = httpx.post(f"{ready[turn % len(ready)].url}/encode", json=body, headers=headers, timeout=60)
                if answer.status_code != 200:
                    wrong.append(answer.text)
                answered[index] += 1
            except (httpx.HTTPError, IndexError, ZeroDivisionError) as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(len(answered))]
    for thread in threads:
        thread.start()
    try:
        yield answered, wrong
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.postgres
def test_three_servers_are_restarted_in_turn_and_nothing_is_lost(launch: Launch, tmp_path: Path) -> None:
    if postgres.program("initdb") is None:
        pytest.skip("Postgres is not installed")
    spec, container = of_pod("tokenizers.yaml", "Deployment")
    (deployment,) = [each["spec"] for each in documents("tokenizers.yaml") if each["kind"] == "Deployment"]
    assert deployment["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    key, keys = with_key(tmp_path / "keys")
    data = owned(tmp_path / "data")
    with postgres.running_postgres("127.0.0.1") as database:
        env = environment(container, {"tokd-jobs": database.new_url()})
        env["TOKD_DRAIN_SECONDS"] = str(int(env["TOKD_DRAIN_SECONDS"]) // FASTER)
        probe = container["readinessProbe"]
        numbers = count()

        def pod() -> Container:
            tmp = tmp_path / f"pod-{next(numbers)}"
            tmp.mkdir()
            volumes = mounted(spec, container, {"keys": keys, "data": Volume(data)}, tmp)
            started = launch(command_of(container), env, volumes)
            started.client.headers["authorization"] = f"Bearer {key}"
            until(lambda: started.ready(container["startupProbe"]))
            return started

        pods = [pod() for _ in range(deployment["replicas"])]
        # The job brings a tokenizer onto the volume; all take it up.
        imported(launch, tmp_path, data)
        for each in pods:
            until(lambda each=each: "qwen2.5" in each.client.get("/tokenizers").text)
        assert all(ids(each.client, tokenizer="qwen2.5") == HELLO for each in pods)
        added = pods[0].client.put("/tokenizers/alias", json={"tokenizer": "qwen2.5"})
        assert added.status_code in (200, 201), added.text
        for each in pods:
            until(lambda each=each: each.client.get("/tokenizers/alias").status_code == 200)
        body = {"corpus": {"texts": ["low lower lowest newest widest " * 2000]}, "settings": {"vocab_size": 270}}
        jobs = []
        ready = list(pods)
        with asking(ready, key, ["base", "qwen2.5", "alias"]) as (answered, wrong):
            for old in pods:
                jobs.append(until(lambda old=old: submitted(old.client, {**body, "name": f"job-{len(jobs)}"})))
                ready.append(pod())
                before = sum(answered)
                old.process.send_signal(signal.SIGTERM)
                # It is asked still, until the probe is asked the next time.
                time.sleep(probe["periodSeconds"] * probe["failureThreshold"] / FASTER)
                assert not old.ready(probe)
                ready.remove(old)
                assert old.process.wait(60) == 0
                assert sum(answered) > before
        assert wrong == []
        # Each job ends as it was asked, wherever it was taken, and all serve what it made.
        made = [finished(ready[-1].client, job)["artifact"]["tokenizer"] for job in jobs]
        assert all(len(ids(each.client, tokenizer=one)) > 0 for one in made for each in ready)
        assert all(ids(each.client, tokenizer="alias") == HELLO for each in ready)


def submitted(client: httpx.Client, body: dict[str, Any]) -> str | None:
    """Submit a job and return its id; nothing if the server asks to come again, as one under load does."""
    answer = client.post("/train-job", json=body, headers={"idempotency-key": body["name"]})
    assert answer.status_code in (200, 202, 503), answer.text
    return answer.json().get("id")


def imported(launch: Launch, tmp_path: Path, data: Path) -> None:
    """Run the job that imports a tokenizer from a volume of models."""
    spec, container = of_pod("tokenizers.yaml", "Job")
    models = tmp_path / "models"
    (models / "qwen2.5").mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(ROOT / "artifacts" / "base" / name, models / "qwen2.5")
    (models / "qwen2.5" / "model.safetensors").write_bytes(b"weights")
    pod = tmp_path / "import"
    pod.mkdir()
    (pod / "root").mkdir()
    given = {"models": Volume(models), "data": Volume(data)}
    with TemporaryFile() as log:
        process = start(pod / "root", container["command"], {}, mounted(spec, container, given, pod), log)
        assert process.wait(60) == 0, written(log)
