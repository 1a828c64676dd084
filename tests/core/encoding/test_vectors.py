"""Every case of ``vectors.jsonl`` about text and ids.

A case of an unknown area or of an unknown shape fails: a vector is never passed over in silence.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.core.encoding.vector_tokenizers import variant
from tests.support.data import PRESENT, expand, ids_sha256, shared, vectors
from tests.support.vocabularies import build, from_ranks, split
from tokenizer_core import SpecialTokens, Tokenizer, Unit
from tokenizer_core.errors import (
    CLASS_OF_CODE,
    ArtifactError,
    InputError,
    InvalidArtifact,
    ReservedLiteral,
    StepLimit,
    UncoveredText,
)

ELSEWHERE = {"artifact", "service", "template", "training"}
"""Areas whose subject is not text and ids: ``test_scenarios.py`` holds that each of their cases has its test."""

NEEDS_A_TEMPLATE = {"inj-zwsp-template-strip": "tests/core/chat/test_vectors.py"}

SECONDS = 3
"""Allowance on every time bound of a vector: the machines of CI are slow. Times are of the thread, not of the wall."""


def id_of(case: dict[str, Any]) -> str:
    return str(case["id"])


CASES = [
    case
    for case in (vectors() if PRESENT else ())
    if case["area"] not in ELSEWHERE and case["id"] not in NEEDS_A_TEMPLATE
]


@pytest.mark.skipif(not PRESENT, reason="no data folder")
@pytest.mark.parametrize("case", CASES, ids=id_of)
def test_vector(case: dict[str, Any], tmp_path: Path) -> None:
    start = time.thread_time()
    RUNNERS[case["area"]](case, tmp_path)
    limit = case["expected"].get("max_seconds") if isinstance(case["expected"], dict) else None
    # Opening a vocabulary for the first time is not the case's time.
    if limit is not None:
        assert time.thread_time() - start <= limit * SECONDS + 5


def check_ids(ids: Any, expected: dict[str, Any]) -> None:
    """Hold ids against whatever a vector says of them."""
    ids = np.asarray(ids).tolist()
    if "ids" in expected:
        assert ids == expected["ids"]
    if "wrong" in expected:
        assert ids != expected["wrong"]
    if "head" in expected:
        assert ids[: len(expected["head"])] == expected["head"]
    if "tail" in expected:
        assert ids[-len(expected["tail"]) :] == expected["tail"]
    if "n_tokens" in expected:
        assert len(ids) == expected["n_tokens"]
    if "ids_sha256_le_u32" in expected:
        assert ids_sha256(ids) == expected["ids_sha256_le_u32"]


CHECKED_BY_IDS = {
    "ids",
    "wrong",
    "head",
    "tail",
    "n_tokens",
    "ids_sha256_le_u32",
    "max_seconds",
    "scaling",
    "no_exception",
}


def encode(case: dict[str, Any], tmp_path: Path) -> None:
    """Ids of ordinary text."""
    unknown(case, CHECKED_BY_IDS)
    text = expand(case["input"])
    tokenizer = variant(case["vocab"], tmp_path)
    check_ids(tokenizer.encode(text, special_tokens="ordinary"), case["expected"])
    assert tokenizer.count(text, special_tokens="ordinary") == len(tokenizer.encode(text, special_tokens="ordinary"))


def unknown(case: dict[str, Any], known: set[str]) -> None:
    """Refuse what a vector expects and no line here looks at."""
    assert set(case["expected"]) <= known, f"nothing here checks {set(case['expected']) - known}"


def pieces(case: dict[str, Any], tmp_path: Path) -> None:
    """Cuts, by the pattern's name and by its text."""
    unknown(case, {"pieces"})
    vocab, text = case["vocab"], expand(case["input"])
    for pattern in {vocab["pattern"], vocab.get("name", vocab["pattern"])}:
        assert build(pretokenizer=(split(pattern),)).pieces(text) == case["expected"]["pieces"]
    bytes_only = {bytes([byte]): byte for byte in range(256)}
    assert from_ranks(bytes_only, pretokenizer=(split(vocab["pattern"]),)).pieces(text) == case["expected"]["pieces"]


def merges(case: dict[str, Any], tmp_path: Path) -> None:
    """Merges and the files they come from."""
    vocab, expected = case["vocab"], case["expected"]
    if isinstance(vocab, str) and "merges.txt" in vocab:
        return merges_file(case, tmp_path)
    if isinstance(vocab, str):
        return encode(case, tmp_path)
    if "inline" in vocab:
        return character_level(case, tmp_path)
    if "mergeable_ranks" in vocab:
        return uncovered(case)
    assert set(vocab) == {"vocab", "merges"}, f"unknown vocabulary {vocab}"
    tokens = {id: token.encode() for token, id in vocab["vocab"].items()}
    ids = {token: id for id, token in tokens.items()}
    # A byte-level vocabulary has all 256 bytes; the vector's come first.
    bases = [bytes([byte]) for byte in range(256) if bytes([byte]) not in ids]
    complete = tokens | {1_000 + place: token for place, token in enumerate(bases)}
    pairs = [(left.encode(), right.encode()) for left, right in vocab["merges"]]
    tokenizer = build(complete, [(ids[left], ids[right], ids[left + right]) for left, right in pairs])
    unknown(case, {"ids"})
    assert [tokenizer.encode(text).tolist() for text in case["input"]] == expected["ids"]
    return None


def merges_file(case: dict[str, Any], tmp_path: Path) -> None:
    """``merges.txt`` with and without header, last newline, blank lines, wrong lines."""
    lines = [line for line in shared("vocabs/gpt2_merges.txt").read_text("utf-8").splitlines() if line]
    lines = [line for line in lines if not line.startswith("#version")]
    body = "\n".join(lines)
    kind = case["input"]["merges_txt"]
    content = {
        "#version: 0.2\n<merges without final \n>": "#version: 0.2\n" + body,
        "#version: 0.2\\n<merges without final \\n>": "#version: 0.2\n" + body,
        "<merges>": body + "\n",
        "blank line inside": "\n".join([*lines[:5], "", *lines[5:]]) + "\n",
        "a b c line": "\n".join([*lines[:5], "a b c", *lines[5:]]) + "\n",
    }[kind]
    path = tmp_path / "merges.txt"
    path.write_text(content, "utf-8")
    vocab = shared("vocabs/gpt2_vocab.json")
    rule = case["expected"]["ids_or_rule"]
    if isinstance(rule, list):
        assert Tokenizer.from_vocab_merges(vocab, path).encode(case["input"]["text"]).tolist() == rule
        return
    assert rule.startswith("typed reject"), rule
    with pytest.raises(InvalidArtifact) as caught:
        Tokenizer.from_vocab_merges(vocab, path)
    assert re.search(r"\b6\b", f"{caught.value.place} {caught.value.message}"), "the line is named"


def character_level(case: dict[str, Any], tmp_path: Path) -> None:
    """BPE over characters: what is unknown alone or together, or as bytes."""
    model: dict[str, Any] = {"type": "BPE", "merges": [], "unk_token": "<unk>", "vocab": {"<unk>": 0, "a": 1}}
    expected = case["expected"]
    path = tmp_path / "tokenizer.json"

    def offsets(**settings: bool) -> tuple[list[int], list[list[int]]]:
        whole = {"version": "1.0", "added_tokens": [], "model": model | settings}
        path.write_text(json.dumps(whole), "utf-8")
        found = Tokenizer.from_hf(path).offsets(case["input"])
        return found.ids.tolist(), found.spans.tolist()

    if "byte_fallback" not in str(case["vocab"]["inline"]):
        for fuse in (False, True):
            assert offsets(fuse_unk=fuse) == tuple(expected[f"fuse_unk={str(fuse).lower()}"])
        return
    model["vocab"] |= {f"<0x{byte:02X}>": 2 + byte for byte in range(256)}
    ids, spans = offsets(byte_fallback=True)
    names = {id: name for name, id in model["vocab"].items()}
    assert [names[id] for id in ids] == expected["tokens"]
    assert spans == expected["codepoint"]


def uncovered(case: dict[str, Any]) -> None:
    """Text between the matches of a tiktoken pattern is refused, never dropped."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    text = expand(case["input"])
    unknown(case, {"either", "wrong"})
    with pytest.raises((UncoveredText, InvalidArtifact)):
        from_tiktoken_with(ranks, case["vocab"]["pattern"]).encode(text)


def from_tiktoken_with(ranks: dict[bytes, int], pattern: str) -> Tokenizer:
    """Write a rank file and read it with a pattern."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranks.tiktoken")
        path.write_bytes(b"".join(base64.b64encode(token) + f" {rank}\n".encode() for token, rank in ranks.items()))
        return Tokenizer.from_tiktoken(path, pattern=pattern)


def decode(case: dict[str, Any], tmp_path: Path) -> None:
    """Decoding, whole and in a stream."""
    tokenizer = variant(case["vocab"], tmp_path)
    expected, ids = case["expected"], expand(case["input"]["ids"])
    if "status" in expected:
        unknown(case, {"status", "error_names_index", "process_alive"})
        with pytest.raises(InputError) as caught:
            tokenizer.decode(ids)
        assert isinstance(caught.value.place["index"], int)
        return
    if case["input"]["op"] == "decode":
        unknown(case, {"text"})
        assert tokenizer.decode(ids) == expected["text"]
        return
    assert case["input"]["op"] == "stream_decode"
    unknown(case, {"chunks", "flush", "concat_equals_full_decode", "final_text", "max_seconds", "note"})
    decoder = tokenizer.stream_decoder()
    chunks = [decoder.push([id]) for id in ids]
    rest = decoder.finish()
    if "chunks" in expected:
        assert chunks == expected["chunks"]
        assert rest == expected["flush"]
        assert expected["concat_equals_full_decode"] == tokenizer.decode(ids)
    if "final_text" in expected:
        assert "".join(chunks) + rest == expand(expected["final_text"])
    assert "".join(chunks) + rest == tokenizer.decode(ids)


def added_tokens(case: dict[str, Any], tmp_path: Path) -> None:
    """Literals and their flags; what cannot be an added token is refused with its code."""
    expected = case["expected"]
    unknown(case, {"load", "ids", "codepoint"})
    if "load" in expected:
        assert expected["load"].startswith("reject")
        with pytest.raises(ArtifactError) as caught:
            variant(case["vocab"], tmp_path)
        named = [code for code in CLASS_OF_CODE if code in expected["load"]]
        assert not named or caught.value.code in named
        return
    tokenizer = variant(case["vocab"], tmp_path)
    found = tokenizer.offsets(expand(case["input"]), special_tokens="parse")
    check_ids(found.ids, expected)
    if "codepoint" in expected:
        assert found.spans.tolist() == expected["codepoint"]


def unicode_class(case: dict[str, Any], tmp_path: Path) -> None:
    """Membership of a code point: a match is a piece of its own, so a doubled member is two pieces."""
    unknown(case, {"member"})
    character = chr(int(case["input"]["codepoint"].removeprefix("U+"), 16))
    found = build(pretokenizer=(split(case["input"]["class"]),)).pieces(character * 2)
    assert (len(found) == 2) is case["expected"]["member"]


UNITS: dict[str, Unit] = {"byte": "byte", "codepoint": "char", "utf16": "utf16"}


def offsets(case: dict[str, Any], tmp_path: Path) -> None:
    """Spans in every unit."""
    expected, text = case["expected"], expand(case["input"])
    tokenizer = variant(case["vocab"], tmp_path)
    unknown(case, {"ids", *UNITS, "invariants", "codepoint_of_inserted_space", "rest", "policy", "untrimmed"})
    for field, unit in UNITS.items():
        if field in expected:
            found = tokenizer.offsets(text, unit, special_tokens="text")
            check_ids(found.ids, {"ids": expected["ids"]} if "ids" in expected else {})
            assert found.spans.tolist() == expected[field]
    spans = tokenizer.offsets(text, special_tokens="text").spans.tolist()
    if "untrimmed" in expected:
        assert spans == expected["untrimmed"]
    if "codepoint_of_inserted_space" in expected:
        assert spans[0] == expected["codepoint_of_inserted_space"]
        covered = {place for start, end in spans for place in range(start, end)}
        assert covered == set(range(len(text)))
    if "invariants" in expected:
        ends = tokenizer.offsets(text, "byte", special_tokens="text").spans.tolist()
        assert [start for start, _ in ends] == [0, *(end for _, end in ends)][: len(ends)]
        assert spans == sorted(spans)


def special_injection(case: dict[str, Any], tmp_path: Path) -> None:
    """What a literal of protocol inside a text becomes."""
    expected, given = case["expected"], case["input"]
    tokenizer = variant(case["vocab"], tmp_path)
    unknown(
        case, {"default", "allow=[<|endoftext|>]", "disallow", "ids", "must_not_contain", "untrusted_must_not_contain"}
    )
    text = given if isinstance(given, str) else "".join(part["text"] for part in given["segments"])
    if "default" in expected:
        with pytest.raises(ReservedLiteral) as caught:
            tokenizer.encode(text)
        assert list(caught.value.place["span"]) == [0, len(text)]
        assert tokenizer.encode(text, special_tokens="parse").tolist() == expected["allow=[<|endoftext|>]"]
        assert str(tokenizer.encode(text, special_tokens="text").tolist()).replace(" ", "") in expected["default"]
    policies: tuple[SpecialTokens, ...] = ("text", "ordinary")
    for policy in policies:
        ids = tokenizer.encode(text, special_tokens=policy).tolist()
        check_ids(ids, {"ids": expected["ids"]} if "ids" in expected else {})
        forbidden = expected.get("must_not_contain", []) + expected.get("untrusted_must_not_contain", [])
        assert set(forbidden).isdisjoint(ids)


def dos(case: dict[str, Any], tmp_path: Path) -> None:
    """Hostile sizes and patterns."""
    expected, text = case["expected"], expand(case["input"])
    if isinstance(case["vocab"], str):
        tokenizer = variant(case["vocab"], tmp_path)
        unknown(case, CHECKED_BY_IDS)
        start = time.thread_time()
        ids = tokenizer.encode(text, special_tokens="ordinary")
        took = time.thread_time() - start
        assert took <= SECONDS * expected["max_seconds"]
        check_ids(ids, expected)
        assert tokenizer.decode(ids) == text
        if "scaling" in expected and len(text) >= 1_000_000:
            start = time.thread_time()
            tokenizer.encode(text[: len(text) // 10], special_tokens="ordinary")
            assert took <= 25 * max(time.thread_time() - start, 0.005)
        return
    unknown(case, {"either", "max_seconds"})
    start = time.thread_time()
    try:
        tokenizer = variant(case["vocab"], tmp_path)
        start = time.thread_time()
        ids = tokenizer.encode(text, special_tokens="ordinary")
        assert tokenizer.decode(ids) == text or case["vocab"].get("normalizer")
    except (ArtifactError, StepLimit, UncoveredText):
        pass
    assert time.thread_time() - start <= SECONDS * expected.get("max_seconds", 2)


RUNNERS: dict[str, Callable[[dict[str, Any], Path], None]] = {
    "encode_ordinary": encode,
    "unicode": encode,
    "pretokenize": pieces,
    "merges": merges,
    "decode": decode,
    "added_tokens": added_tokens,
    "unicode_class": unicode_class,
    "offsets": offsets,
    "special_injection": special_injection,
    "dos": dos,
}
