"""Unigram of Hugging Face, and its normalizers: ids and text are those of ``tokenizers``."""

from __future__ import annotations

import base64
import json

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.data import CORPORA, corpus, needs_data, shared
from tests.support.sentencepiece_models import charsmap
from tokenizer_core import Tokenizer
from tokenizer_core.reference.unigram import best_way, fuse_unknown

NAME = "families/hf-unigram-metaspace"


def written(path, vocab, *, unk=0, byte_fallback=False, normalizer=None) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    """Open a model here and there."""
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": unk, "vocab": vocab, "byte_fallback": byte_fallback},
    }
    file = path / "tokenizer.json"
    file.write_text(json.dumps(document), "utf-8")
    return Tokenizer.load(file), tokenizers.Tokenizer.from_file(str(file))


@needs_data
def test_golden_cases_have_the_library_s_ids_and_text():
    tokenizer = Tokenizer.load(shared(NAME))
    for line in (shared(NAME) / "cases.jsonl").read_bytes().splitlines():
        case = json.loads(line)
        if "text" not in case or "pair" in case:
            continue
        assert tokenizer.encode(case["text"], special_tokens="parse").tolist() == case["ids"], case["text"]
        with_special = tokenizer.encode(case["text"], special_tokens="parse", add_special_tokens=True)
        assert with_special.tolist() == case["ids_with_special"]
        assert tokenizer.decode(case["ids"], skip_special_tokens=True) == case["decoded"]


@needs_data
def test_the_artifact_and_its_export_have_the_same_ids(tmp_path):
    tokenizer = Tokenizer.load(shared(NAME))
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == tokenizer.hash
    there = tokenizers.Tokenizer.from_file(str(tmp_path / "saved" / "tokenizer.json"))
    text = corpus("english")[:20_000]
    assert there.encode(text, add_special_tokens=False).ids == tokenizer.encode(text, special_tokens="parse").tolist()


@pytest.mark.nightly
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("language", CORPORA)
def test_corpora_line_by_line(language):
    tokenizer = Tokenizer.load(shared(NAME))
    truth = tokenizers.Tokenizer.from_file(str(shared(f"{NAME}/tokenizer.json")))
    lines = corpus(language).splitlines(keepends=True)
    batch = tokenizer.encode_batch(lines, special_tokens="parse")
    once = [*dict.fromkeys(lines)]
    ids_of = {
        line: found.ids for line, found in zip(once, truth.encode_batch(once, add_special_tokens=False), strict=True)
    }
    for line, row in zip(lines, batch, strict=True):
        assert row.tolist() == ids_of[line], line


@settings(max_examples=300)
@given(
    st.dictionaries(st.text("ab▁é漢", min_size=1, max_size=4), st.floats(-20, 1), max_size=16),
    st.lists(st.text("ab▁é漢xy", max_size=30), min_size=1, max_size=4),
    st.booleans(),
)
def test_any_model_has_the_library_s_ids(tmp_path_factory, scores, texts, byte_fallback):
    vocab = [["<unk>", 0.0], *map(list, scores.items())]
    if byte_fallback:
        # The bytes of one of the unknown characters are there, those of the other are not.
        vocab += [[f"<0x{byte:02X}>", -30.0] for byte in "x漢".encode()]
    ours, theirs = written(tmp_path_factory.mktemp("model"), vocab, byte_fallback=byte_fallback)
    for text in texts:
        assert ours.encode(text).tolist() == theirs.encode(text).ids, text


@settings(max_examples=100)
@given(
    st.dictionaries(st.text("ab▁é漢", min_size=1, max_size=3), st.floats(-20, 0), min_size=1),
    st.text("ab▁é漢x", max_size=30),
)
def test_the_twin_has_the_same_tokens(tmp_path_factory, scores, text):
    vocab = [["<unk>", 0.0], *map(list, scores.items())]
    ours, _ = written(tmp_path_factory.mktemp("model"), vocab)
    ids = {entry: id for id, (entry, _) in enumerate(vocab)}
    expected = [ids[entry] if known else 0 for entry, known in fuse_unknown(best_way(text, scores, floats=False))]
    assert ours.encode(text).tolist() == expected


def characters_of(normalizer, path):
    """Return what each text becomes here and there, as the ids of its characters."""
    points = [chr(point) for point in range(1, 0x30000) if not 0xD800 <= point < 0xE000]
    return written(path, [["<unk>", 0.0], ["▁", -1.0]], normalizer=normalizer), points


@needs_data
@pytest.mark.parametrize("kind", ["Nmt", "Precompiled"])
def test_every_character_is_rewritten_as_there(kind, tmp_path):
    stage = {"type": kind}
    if kind == "Precompiled":
        stage["precompiled_charsmap"] = base64.b64encode(charsmap()).decode()
    (ours, theirs), points = characters_of(stage, tmp_path)
    for point in points:
        for text in (point, f"a{point}\u0301", f"{point}\u3099か"):
            assert "".join(ours.pieces(text)) == theirs.normalizer.normalize_str(text), ascii(text)


@needs_data
def test_random_text_is_rewritten_as_there(tmp_path):
    stage = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap()).decode()}
    (ours, theirs), _ = characters_of(stage, tmp_path)
    alphabet = st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("aAか\u3099\u0301\u0323ﬁ\u1100\u1161\u11a8\r\n\u200d👍🏽🇩ก\u0e33"),
    )

    @settings(max_examples=600)
    @given(st.text(alphabet, max_size=20))
    def check(text):
        assert "".join(ours.pieces(text)) == theirs.normalizer.normalize_str(text)

    check()
