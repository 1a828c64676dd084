"""Jobs that really encode, on a server with its own worker: their bytes, their files, their failures, their end."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import Server
from tests.service.problems import assert_problem
from tests.support.waiting import until
from tokenizer_core import Files, Tokenizer, check_token_files, encode_corpus


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / "corpora").mkdir()
    for number in range(4):
        lines = [json.dumps({"text": f"the quick fox {number} {each} " * 9}) for each in range(200)]
        (home / "corpora" / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    return home


def done(server: Server, job: dict[str, Any]) -> dict[str, Any]:
    """Wait until a job has ended."""

    def ended() -> dict[str, Any] | None:
        now: dict[str, Any] = server.client.get(f"/encode-job/{job['id']}").json()
        return now if now["state"] in ("succeeded", "failed", "cancelled") else None

    return until(ended)


def submitted(server: Server, corpus: dict[str, Any], **settings: Any) -> dict[str, Any]:
    body = {"corpus": corpus, "tokenizer": "framed", "settings": settings}
    answer = server.client.post("/encode-job", json=body)
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    return job


def fetched(server: Server, job: dict[str, Any]) -> dict[str, bytes]:
    """Fetch all files that a job wrote, each held against its hash."""
    manifest = server.client.get(job["output"]["manifest"])
    assert manifest.headers["etag"] == f'"{job["output"]["hash"]}"'
    assert job["output"]["hash"] == f"sha256:{hashlib.sha256(manifest.content).hexdigest()}"
    found = {"manifest.json": manifest.content}
    told = manifest.json()
    files = [facts for shard in told["shards"] for facts in shard["files"].values()]
    for name in [*(facts["name"] for facts in files), *told["index"]]:
        found[name] = server.client.get(f"/encode-job/{job['id']}/files/{name}").content
    for facts in files:
        assert hashlib.sha256(found[facts["name"]]).hexdigest() == facts["sha256"]
    return found


def first_file(manifest: dict[str, Any]) -> str:
    """Return the name of the ids of the first shard."""
    name: str = manifest["shards"][0]["files"][".ds"]["name"]
    return name


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "settings",
    [
        {"format": "megatron", "shard_bytes": 30_000},
        {"format": "ds", "shuffle": 7, "shard_bytes": 30_000, "dtype": "uint32"},
        {"format": "mds", "eos": "none"},
        {"format": "nanogpt", "eos": 7, "special_tokens": "text"},
        {"format": "mds", "eos": "<|eos|>"},
        {"format": "parquet"},
    ],
)
def test_the_bytes_are_those_of_the_library(
    server: Server, home: Path, framed: Tokenizer, tmp_path: Path, settings: dict[str, Any]
) -> None:
    job = done(server, submitted(server, {"files": [str(home / "corpora")]}, **settings))
    assert job["state"] == "succeeded", job["error"]
    options = {**settings}
    layout = options.pop("format")
    written = encode_corpus(home / "corpora", framed, tmp_path / "out", layout=layout, **options)
    assert fetched(server, job) == contents(tmp_path / "out")
    output = job["output"]
    assert (output["documents"], output["tokens"], output["format"]) == (800, written.tokens, settings["format"])
    assert output["bytes"] == sum(len(data) for name, data in contents(tmp_path / "out").items() if name[0] != "m")
    assert check_token_files(home / "trained" / ".encoded" / job["id"], framed).ok
    # Nothing is left of the work.
    until(lambda: not (home / "trained" / ".jobs" / job["id"]).exists())


def test_uploads_and_texts_are_named_without_places_of_the_server(server: Server, home: Path) -> None:
    form = {"tokenizer": "framed", "settings": '{"format": "ds"}', "name": "mine"}
    files = [("corpus", ("a.jsonl", b'{"body": "low"}\n')), ("corpus", ("b.jsonl", b'{"body": "lower"}\n'))]
    sent = server.client.post("/encode-job", data={**form, "field": "body"}, files=files).json()
    jobs = [done(server, sent), done(server, submitted(server, {"texts": ["low", "lower"]}, format="ds"))]
    tokens = []
    for job in jobs:
        assert job["state"] == "succeeded", job["error"]
        manifest = server.client.get(job["output"]["manifest"])
        assert str(home) not in manifest.text
        tokens.append(fetched(server, job)[first_file(manifest.json())])
    assert tokens[0] == tokens[1]
    assert jobs[0]["name"] == "mine"


def test_a_part_of_a_file_is_sent(server: Server) -> None:
    job = done(server, submitted(server, {"texts": ["low lower lowest"]}, format="ds", eos="none"))
    name = first_file(server.client.get(job["output"]["manifest"]).json())
    path = f"/encode-job/{job['id']}/files/{name}"
    whole = server.client.get(path).content
    for range, part in [("bytes=2-3", whole[2:4]), ("bytes=2-", whole[2:]), ("bytes=-3", whole[-3:])]:
        answer = server.client.get(path, headers={"range": range})
        assert (answer.status_code, answer.content) == (206, part)
        assert answer.headers["content-range"].endswith(f"/{len(whole)}")
    for range in ("bytes=0-1,3-4", "lines=1-2", "bytes=x"):
        assert server.client.get(path, headers={"range": range}).content == whole
    refused = server.client.get(path, headers={"range": "bytes=99999-"})
    assert_problem(refused, "range_not_satisfiable", "header range")
    assert refused.headers["content-range"] == f"bytes */{len(whole)}"
    for other in (f"{name}x", "..%2F..%2Fjobs.sqlite", "%2Fetc%2Fpasswd"):
        refused = server.client.get(f"/encode-job/{job['id']}/files/{other}")
        assert refused.status_code == 404, other


def test_a_corrupt_line_is_named_by_file_and_line_and_can_be_left_out(server: Server, home: Path) -> None:
    corrupt = home / "corpora" / "corrupt"
    corrupt.mkdir(exist_ok=True)
    (corrupt / "a.jsonl").write_text('{"text": "low"}\n{"text": 1}\n{"text": "lower"}\n')
    job = done(server, submitted(server, {"files": [str(corrupt / "a.jsonl")]}))
    assert (job["state"], job["output"]) == ("failed", None)
    assert (job["error"]["code"], job["error"]["path"]) == ("invalid_corpus", "corpus.files[0]")
    assert f"line 2 of {corrupt / 'a.jsonl'}" in job["error"]["message"]
    skipped = done(server, submitted(server, {"files": [str(corrupt / "a.jsonl")], "on_error": "skip"}))
    assert (skipped["output"]["documents"], skipped["output"]["skipped"]) == (2, 1)
    form = {"tokenizer": "framed"}
    sent = server.client.post("/encode-job", data=form, files={"corpus": ("a.jsonl", b'{"text": 1}\n')}).json()
    failed = done(server, sent)
    assert failed["error"]["path"] == "corpus[0]"
    assert "line 1 of corpus-0000.jsonl" in failed["error"]["message"]


def test_an_end_of_text_inside_a_document_is_refused_unless_it_is_text(server: Server) -> None:
    corpus = {"texts": ["a <|eos|> b"]}
    error = done(server, submitted(server, corpus))["error"]
    assert error["code"] == "reserved_literal"
    assert 'settings.special_tokens="text"' in error["message"]
    assert done(server, submitted(server, corpus, special_tokens="text"))["state"] == "succeeded"


def test_the_events_of_a_job_end_with_it(server: Server) -> None:
    job = submitted(server, {"texts": ["low"]})
    with server.client.stream("GET", f"/encode-job/{job['id']}/events", timeout=120) as answer:
        told = [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data: ")]
    assert (told[0]["state"], told[-1]["state"]) == ("queued", "succeeded")
    assert told[-1]["output"]["documents"] == 1


def test_a_chat_is_encoded_with_labels(server: Server, framed: Tokenizer, home: Path, tmp_path: Path) -> None:
    chats = home / "corpora" / "chats"
    chats.mkdir(exist_ok=True)
    chat = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "lower"}]
    (chats / "a.jsonl").write_text(json.dumps({"messages": chat}) + "\n")
    files, settings = {"files": [str(chats)]}, {"format": "parquet", "messages": "messages", "train_on": "all"}
    job = done(server, submitted(server, files, **settings))
    assert job["state"] == "succeeded", job["error"]
    encode_corpus(
        Files(paths=(chats,)), framed, tmp_path / "out", layout="parquet", messages="messages", train_on="all"
    )
    assert fetched(server, job) == contents(tmp_path / "out")
