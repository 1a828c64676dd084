"""``Tokenizer.load`` finds the format by itself: equal ids whatever a model ships, and nothing is guessed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.core.formats.mutations import damaged, damaged_json, seeds, survives
from tests.core.formats.small import MERGES, document, write
from tests.support.tiny_ranks import BYTES, lines
from tokenizer_core import InvalidArtifact, TokdError, Tokenizer

TEXT = "hello the then é <|end|>"


def pair(directory: Path) -> Path:
    """Write ``vocab.json`` and ``merges.txt``."""
    directory.mkdir(exist_ok=True)
    vocab = document()["model"]["vocab"]
    (directory / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), "utf-8")
    (directory / "merges.txt").write_text("\n".join(MERGES), "utf-8")
    return directory


def refusal(path: Path, **options: str) -> TokdError:
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(path, **options)
    return caught.value


def test_every_format_loads_by_its_content(tmp_path):
    layout = write(tmp_path / "hf", document())
    truth = Tokenizer.from_hf(layout)
    truth.save(tmp_path / "artifact")
    for path in (layout, layout / "tokenizer.json", tmp_path / "artifact"):
        found = Tokenizer.load(path)
        assert found.hash == truth.hash
        assert (
            found.encode(TEXT, special_tokens="parse").tolist() == truth.encode(TEXT, special_tokens="parse").tolist()
        )
    plain = Tokenizer.load(pair(tmp_path / "pair"))
    assert plain.encode(TEXT).tolist() == truth.encode(TEXT, special_tokens="text").tolist()


def test_a_rank_file_needs_its_pattern_and_no_other_format_takes_one(tmp_path):
    ranks = tmp_path / "some.file"
    ranks.write_bytes(lines(BYTES))
    assert (refusal(ranks).code, refusal(ranks).place) == ("invalid_option", {"field": "pattern"})
    assert Tokenizer.load(ranks, pattern="gpt2").encode("hi").tolist() == [104, 105]
    layout = write(tmp_path / "hf", document())
    assert (refusal(layout, pattern="gpt2").code, refusal(layout, pattern="gpt2").place["field"]) == (
        "invalid_option",
        "pattern",
    )


def test_the_provenance_says_what_was_passed_over(tmp_path):
    layout = pair(write(tmp_path / "both", document()))
    assert Tokenizer.load(layout).provenance["imported_from"]["passed_over"] == ["vocab.json"]
    assert "passed_over" not in Tokenizer.load(write(tmp_path / "one", document())).provenance["imported_from"]
    assert Tokenizer.load(layout, format="vocab_merges").provenance["imported_from"]["format"] == "vocab_merges"


FOREIGN = {
    "rwkv_vocab.txt": (b"1 '\\x00' 1\n2 '\\x01' 1\n", "RWKV"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_family_that_is_not_supported_is_refused_by_its_name(name, tmp_path):
    (tmp_path / name).write_bytes(FOREIGN[name][0])
    error = refusal(tmp_path / name)
    assert (error.code, error.place) == ("unsupported", {"field": name})
    assert FOREIGN[name][1] in error.message


def test_what_holds_no_tokenizer_is_refused(tmp_path):
    assert refusal(tmp_path / "nowhere").code == "artifact_not_found"
    assert refusal(tmp_path).code == "unknown_format"
    (tmp_path / "x").write_bytes(b"\x80\x04pickle")
    assert refusal(tmp_path / "x").code == "unknown_format"


def test_damage_of_a_tokenizer_json_gives_an_error_or_a_tokenizer(tmp_path):
    data, path = json.dumps(document()).encode(), tmp_path / "tokenizer.json"
    for source in seeds(150):
        survives(Tokenizer.load, path, damaged(data, source))
        survives(Tokenizer.load, path, json.dumps(damaged_json(document(), source)).encode())


def test_damage_of_a_rank_file_gives_an_error_or_a_tokenizer(tmp_path):
    data = lines(BYTES | {b"he": 256, b"ll": 257, b"hell": 258})
    for source in seeds(300):
        survives(partial(Tokenizer.load, pattern="gpt2"), tmp_path / "ranks", damaged(data, source))


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_damage_of_a_vocabulary_with_merges_gives_an_error_or_a_tokenizer(name, tmp_path):
    path = pair(tmp_path / "pair") / name
    data = path.read_bytes()
    for source in seeds(150):
        survives(lambda file: Tokenizer.load(file.parent), path, damaged(data, source))


def test_a_file_that_cannot_be_read_to_its_end_is_an_error_with_its_name() -> None:
    if not Path("/proc/self/mem").exists():
        pytest.skip("there is no such file here")
    with pytest.raises(InvalidArtifact, match="mem cannot be read"):
        Tokenizer.from_hf("/proc/self/mem")
