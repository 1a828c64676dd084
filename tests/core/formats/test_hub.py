"""``hf:ORG/NAME`` fetches the tokenizer's files alone, from a server that answers as the hub does."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.hub import COMMIT, hub
from tests.support.paths import ROOT

__all__ = ["hub"]
PROGRAM = """
import json, sys
from tokenizer_core import TokdError, Tokenizer
try:
    found = Tokenizer.load(sys.argv[1])
    origin = found.provenance["imported_from"]
    ids = found.encode("hello").tolist()
    print(json.dumps({"name": found.name, "ids": ids, "template": found.template_hash, **origin}))
except TokdError as error:
    print(json.dumps({"code": error.code, "message": error.message}))
"""


def load(reference: str, variables: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, reference],
        env={"PATH": os.environ["PATH"], **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.process
def test_the_files_of_the_tokenizer_are_fetched_alone_and_the_commit_is_kept(hub):
    variables, asked = hub
    found = load("hf:org/made", variables)
    assert (found["name"], found["repository"], found["commit"]) == ("made", "org/made", COMMIT)
    assert found["template"] is not None
    assert found["files"].keys() == {"tokenizer.json", "chat_template.jinja"}
    assert not any("safetensors" in path or path.endswith(".py") for path in asked)
    assert load("hf:org/made@v1", variables)["commit"] == COMMIT
    # Offline, what is in the cache is enough, and the hub is not asked.
    before = len(asked)
    assert load("hf:org/made", {**variables, "HF_HUB_OFFLINE": "1"})["ids"] == found["ids"]
    assert len(asked) == before


@pytest.mark.process
@pytest.mark.parametrize(
    ("reference", "code", "word"),
    [
        ("hf:org/none", "artifact_not_found", "org/none"),
        ("hf:org/closed", "artifact_not_found", "HF_TOKEN"),
        ("hf:a/b/c", "invalid_option", "hf:ORG/NAME"),
        ("hf:", "invalid_option", "hf:ORG/NAME"),
    ],
)
def test_what_cannot_be_fetched_is_refused_with_the_way_out(hub, reference, code, word):
    found = load(reference, hub[0])
    assert found["code"] == code
    assert word in found["message"]
