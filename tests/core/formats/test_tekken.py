"""``tekken.json``: mistral-common's ids, shifted behind the special tokens, and every refusal names its field."""

from __future__ import annotations

import base64
import importlib.metadata
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from tests.core.formats.mutations import damaged, damaged_json, seeds, survives
from tests.support.data import needs_data, shared
from tokenizer_core import TokdError, Tokenizer

PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
WORDS = (b"he", b"ll", b"hell", b"hello", b" t", b" th", b" the", b"cut off")
RANKS = {token: rank for rank, token in enumerate([*(bytes([byte]) for byte in range(256)), *WORDS])}


def document(**changes: Any) -> dict[str, Any]:
    """Make a whole file, one of whose entries the model does not use; ``changes`` replace top-level keys."""
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for token, rank in RANKS.items()
    ]
    specials = ["<unk>", "<s>", "</s>", "[INST]"]
    return {
        "config": {
            "pattern": PATTERN,
            "num_vocab_tokens": len(vocab),
            "default_vocab_size": 10 + len(vocab) - 1,
            "default_num_special_tokens": 10,
            "version": "v11",
        },
        "vocab": vocab,
        "special_tokens": [
            {"rank": rank, "token_str": literal, "is_control": True} for rank, literal in enumerate(specials)
        ],
        "image": {"image_patch_size": 16},
    } | changes


def load(path: Path, content: Any) -> Tokenizer:
    path.write_text(json.dumps(content), "utf-8")
    return Tokenizer.load(path)


def test_ids_are_ranks_behind_the_special_tokens(tmp_path):
    ours = load(tmp_path / "tekken.json", document())
    kept = {token: rank for token, rank in RANKS.items() if token != b"cut off"}
    theirs = tiktoken.Encoding("made", pat_str=PATTERN, mergeable_ranks=kept, special_tokens={})
    for text in ("hello the then", "cut off", "é 12\n\n x", "[INST]<s>"):
        assert ours.encode(text, special_tokens="text").tolist() == [id + 10 for id in theirs.encode_ordinary(text)]
    assert ours.special_tokens["[INST]"] == 3
    assert ours.special_tokens["<SPECIAL_9>"] == 9
    assert ours.vocab_size == 10 + len(kept)
    assert ours.encode("he", add_special_tokens=True).tolist() == [1, 10 + RANKS[b"he"]]
    assert (ours.settings.bos, ours.settings.eos, ours.settings.pad) == ("<s>", "</s>", None)
    ours.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == ours.hash


def test_a_directory_takes_the_template_and_says_what_it_passed_over(tmp_path):
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}")
    (tmp_path / "tokenizer.json").write_text("not read")
    (tmp_path / "special_tokens_map.json").write_text("{}")
    named = load(tmp_path / "tekken.json", document())
    found = Tokenizer.load(tmp_path)
    assert named.template_hash == found.template_hash is not None
    origin = found.provenance["imported_from"]
    assert (origin["format"], origin["passed_over"]) == ("tekken", ["tokenizer.json", "special_tokens_map.json"])
    assert origin["files"].keys() == {"tekken.json", "chat_template.jinja"}
    assert named.provenance["imported_from"]["files"] == origin["files"]
    renamed = load(tmp_path / "other.json", document())
    assert renamed.template_hash is None
    assert renamed.provenance["imported_from"]["passed_over"] == ["special_tokens_map.json", "chat_template.jinja"]


def changed(**config: Any) -> dict[str, Any]:
    return document(config=document()["config"] | config)


def with_entry(index: int, **changes: Any) -> dict[str, Any]:
    whole = document()
    whole["vocab"][index] |= changes
    return whole


SPECIAL = document()["special_tokens"]
REFUSED = {
    "no config": ({"vocab": []}, "invalid_file", "config"),
    "no pattern": (changed(pattern=None), "invalid_file", "config.pattern"),
    "a bad pattern": (changed(pattern="("), "invalid_pattern", ""),
    "another version": (changed(version="w1"), "unsupported", "config.version"),
    "2^63 entries": (changed(default_vocab_size=1 << 63), "invalid_file", "config.default_vocab_size"),
    "10^9 entries": (changed(default_vocab_size=10**9), "invalid_file", "config.default_vocab_size"),
    "10^9 specials": (
        changed(default_num_special_tokens=10**9),
        "id_out_of_range",
        "config.default_num_special_tokens",
    ),
    "too few entries": (changed(default_vocab_size=3), "invalid_file", "config.default_vocab_size"),
    "a rank out of its place": (with_entry(7, rank=8), "invalid_file", "vocab[7].rank"),
    "no base64": (with_entry(7, token_bytes="*"), "invalid_file", "vocab[7].token_bytes"),
    "two ranks": (with_entry(7, token_bytes="L2E= 1\nL2E="), "invalid_file", "vocab[7].token_bytes"),
    "a token twice": (with_entry(7, token_bytes="AA=="), "duplicate_token", "vocab[7].token_bytes"),
    "a missing byte": (with_entry(7, token_bytes="YWJj"), "missing_byte", ""),
    "no specials": (document(special_tokens=None), "invalid_file", "special_tokens"),
    "a special twice": (document(special_tokens=SPECIAL + SPECIAL[:1]), "duplicate_id", "special_tokens[4].rank"),
    "an unknown field": (document(more=1), "unsupported", "more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_with_its_place(name, tmp_path):
    content, code, field = REFUSED[name]
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(path, format="tekken")
    assert caught.value.code == code
    if field:
        assert caught.value.place["field"] == field


def test_damage_gives_an_error_or_a_tokenizer(tmp_path):
    data, path = json.dumps(document()).encode(), tmp_path / "tekken.json"
    read = partial(Tokenizer.load, format="tekken")
    for source in seeds(150):
        survives(read, path, damaged(data, source))
        survives(read, path, json.dumps(damaged_json(document(), source)).encode())


@needs_data
def test_the_golden_cases_are_those_of_mistral_common():
    """Its file is 19 MB and its package pins other versions of NumPy: ``pip install --no-deps mistral-common``."""
    try:
        files = importlib.metadata.files("mistral-common") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("mistral-common, which has the file, is not installed; pip install --no-deps mistral-common")
    (path,) = (Path(str(file.locate())) for file in files if file.name == "tekken_240911.json")
    ours = Tokenizer.load(path)
    for line in shared("families/mistral-tekken/cases.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        ids = ours.encode(case["text"], special_tokens="text")
        assert ids.tolist() == case["ids"], case["text"]
        assert ours.decode(ids) == case["decoded"]
