"""The JavaScript client in Node, and its files as the server gives them."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from service.routes.playground import FOLDER
from tests.support.server import Server

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


@pytest.mark.skipif(NODE is None, reason="there is no node")
def test_node_encodes_decodes_is_refused_and_watches_a_job(server: Server) -> None:
    program = PROGRAM % (json.dumps((FOLDER / "client.js").as_uri()), json.dumps(server.url))
    command = [str(NODE), "--input-type=module", "--no-warnings", "--eval", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "ids": [13692, 11, 6548],
        "text": "Hello, world",
        "code": "reserved_literal",
        "state": "succeeded",
    }


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
