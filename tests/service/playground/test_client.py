"""The JavaScript client in Node, and its files as the server gives them."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from service.routes.playground import FOLDER
from tests.support.server import Server
from tests.support.waiting import PATIENCE_SECONDS

NODE = shutil.which("node")
PROGRAM = """
import { Tokd, TokdError } from %s;
const tokd = new Tokd({ base: %s });
const { ids } = await tokd.encode({ text: "Hello, world", tokenizer: "base" });
const { text } = await tokd.decode({ ids, tokenizer: "base" });
const refused = await tokd.count({ text: "<|im_end|>", tokenizer: "base" }).catch((error) => error);
const job = await tokd.train({ corpus: { texts: ["low lower lowest"] }, settings: { vocab_size: 258 } });
let last = null;
for await (const next of tokd.events(job.id)) last = next;
console.log(JSON.stringify({ ids, text, code: refused instanceof TokdError && refused.code, state: last.state }));
"""
ENCODING = """
import { Tokd } from %s;
const tokd = new Tokd({ base: %s });
const body = { corpus: { texts: ["Hello, world"] }, tokenizer: "base", settings: { format: "nanogpt", eos: "none" } };
const job = await tokd.encodeCorpus(body);
let last = null;
for await (const next of tokd.encodeEvents(job.id)) last = next;
const manifest = await tokd.manifest(job.id);
const file = await tokd.tokenFile(job.id, manifest.shards[0].files[".bin"].name);
const again = await tokd.cancelEncodeJob(job.id).catch((error) => error);
console.log(JSON.stringify({
  states: [last.state, (await tokd.encodeJob(job.id)).state, again.state ?? again.code],
  ids: [...new Uint16Array(await file.arrayBuffer())],
  listed: (await tokd.encodeJobs()).some((each) => each.id === job.id),
}));
"""


def answer_of(program: str, server: Server) -> Any:
    """Run a program in Node, and return what it prints."""
    run = program % (json.dumps((FOLDER / "client.js").as_uri()), json.dumps(server.url))
    command = [str(NODE), "--input-type=module", "--no-warnings", "--eval", run]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.skipif(NODE is None, reason="there is no node")
def test_node_encodes_decodes_is_refused_and_watches_a_job(server: Server) -> None:
    assert answer_of(PROGRAM, server) == {
        "ids": [13692, 11, 6548],
        "text": "Hello, world",
        "code": "reserved_literal",
        "state": "succeeded",
    }


@pytest.mark.skipif(NODE is None, reason="there is no node")
def test_node_encodes_a_corpus_and_takes_its_files(server: Server) -> None:
    told = answer_of(ENCODING, server)
    assert told["ids"] == [13692, 11, 6548]
    assert told["listed"]
    assert told["states"] == ["succeeded", "succeeded", "job_finished"]


def test_files_are_sent_with_their_type_and_not_again_if_they_are_known(server: Server) -> None:
    client = server.client
    page = client.get("/")
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    for path, kind in (
        ("/client.js", "text/javascript"),
        ("/client.d.ts", "text/plain"),
        ("/playground/style.css", "text/css"),
    ):
        answer = client.get(path)
        assert answer.headers["content-type"].startswith(kind)
        assert client.get(path, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
