"""Reading tokenizer.json: what is supported gives Hugging Face's ids, everything else is refused by its path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as HuggingFace

from tests.core.formats.small import BYTE_LEVEL, MERGES, added, changed, document, model, template, write
from tests.support.data import needs_data, shared
from tokenizer_core import Tokenizer
from tokenizer_core.errors import InvalidArtifact
from tokenizer_core.formats import hf_json
from tokenizer_core.patterns import PATTERNS
from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer

TEXTS = (
    "",
    "hello the hello",
    " hello\n\n the  the \t",
    "Héllo THE ﬁ Ⅷ é e\u0301 中文 12345 1,234.5",
    "don't we'LL x'ſ 'S",
    "a\nb a\n",
    "  \n \n  ",
    "<|end|> hello<|end|>",
    "👨‍👩‍👧‍👦 ¼½ ٣٤",
)


def assert_equal_ids(whole: dict[str, Any], directory: Path) -> Tokenizer:
    """Hold ids against Hugging Face, then write an artifact and hold both readings of that against the first."""
    peer = HuggingFace.from_str(json.dumps(whole))
    peer.no_padding()
    peer.no_truncation()
    ours = Tokenizer.from_hf(write(directory / "source", whole))
    ours.save(directory / "saved")
    again = Tokenizer.open(directory / "saved")
    exported = HuggingFace.from_file(str(directory / "saved" / "tokenizer.json"))
    assert again.hash == ours.hash == Tokenizer.from_hf(directory / "saved").hash
    for text in TEXTS:
        for framed in (False, True):
            expected = peer.encode(text, add_special_tokens=framed).ids
            for other in (ours, again):
                ids = other.encode(text, special_tokens="parse", add_special_tokens=framed).tolist()
                assert ids == expected, (text, framed)
            assert exported.encode(text, add_special_tokens=framed).ids == expected, (text, framed)
    return ours


SPLITS = [
    *({"Regex": text} for text in PATTERNS.values()),
    {"Regex": r"\p{L}+|\p{N}|[^\p{L}\p{N}]"},
    {"Regex": r"a$|^b|\s"},
    {"Regex": r"(?m)l.+"},
    {"Regex": r"(?:\d{1,2})+|\D"},
    {"String": "l"},
    {"String": " "},
]


@pytest.mark.parametrize("behavior", ["Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
@pytest.mark.parametrize("pattern", SPLITS, ids=lambda pattern: next(iter(pattern.values()))[:20])
@pytest.mark.parametrize("invert", [False, True])
def test_splits_give_hugging_face_ids(pattern, behavior, invert, tmp_path):
    split = {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
    stages = {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL | {"use_regex": False}]}
    assert_equal_ids(document(pre_tokenizer=stages), tmp_path)


PRETOKENIZERS = [
    BYTE_LEVEL,
    BYTE_LEVEL | {"add_prefix_space": True},
    BYTE_LEVEL | {"add_prefix_space": True, "use_regex": False},
    BYTE_LEVEL | {"use_regex": False},
    {k: v for k, v in BYTE_LEVEL.items() if k != "use_regex"},
    {"type": "Sequence", "pretokenizers": [{"type": "Sequence", "pretokenizers": [BYTE_LEVEL]}]},
    *(
        {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": alone}, BYTE_LEVEL]}
        for alone in (True, False)
    ),
]


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS, ids=lambda stage: json.dumps(stage)[:60])
def test_pretokenizers_give_hugging_face_ids(pretokenizer, tmp_path):
    assert_equal_ids(document(pre_tokenizer=pretokenizer), tmp_path)


NORMALIZERS = [
    *({"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")),
    {"type": "Replace", "pattern": {"String": "l"}, "content": "L"},
    {"type": "Replace", "pattern": {"Regex": r" +$"}, "content": "_"},
    {"type": "Prepend", "prepend": "x"},
    {"type": "Strip", "strip_left": True, "strip_right": False},
    {"type": "Strip", "strip_left": False, "strip_right": True},
    {
        "type": "Sequence",
        "normalizers": [{"type": "NFD"}, {"type": "Sequence", "normalizers": [{"type": "StripAccents"}]}],
    },
    {"type": "Sequence", "normalizers": []},
]


@pytest.mark.parametrize("normalizer", NORMALIZERS, ids=lambda stage: json.dumps(stage)[:60])
def test_normalizers_give_hugging_face_ids(normalizer, tmp_path):
    assert_equal_ids(document(normalizer=normalizer), tmp_path)


PROCESSORS = [
    template(["s", "A", "e"], s=[264], e=[264, 7]),
    template(["s", "A"], ["s", "A", "s", ("B", 1)], s=[264]),
    template(["A", "e"], ["A", "e", "B", "e"], e=[264]),
    {"type": "Sequence", "processors": [BYTE_LEVEL, template(["s", "A"], s=[264])]},
    {
        "type": "RobertaProcessing",
        "sep": ["<|end|>", 264],
        "cls": ["!", 33],
        "trim_offsets": True,
        "add_prefix_space": False,
    },
    BYTE_LEVEL,
]


@pytest.mark.parametrize("processor", PROCESSORS, ids=lambda stage: json.dumps(stage)[:60])
def test_post_processors_give_hugging_face_ids(processor, tmp_path):
    assert_equal_ids(document(post_processor=processor), tmp_path)


def test_a_pair_template_is_kept_for_the_export(tmp_path):
    processor = template(["s", "A"], ["s", "A", ("B", 1), "s"], s=[264])
    assert_equal_ids(document(post_processor=processor), tmp_path)
    peers = [HuggingFace.from_file(str(tmp_path / name / "tokenizer.json")) for name in ("source", "saved")]
    pairs = [peer.encode("hello", "the") for peer in peers]
    assert pairs[0].ids == pairs[1].ids
    assert pairs[0].type_ids == pairs[1].type_ids


ADDED = [
    [],
    [added(264, "<|end|>"), added(265, "lo", special=False), added(266, "the", special=False, single_word=True)],
    [added(264, "<|end|>", lstrip=True), added(265, "hel", special=False, rstrip=True)],
    [added(264, "Hé", special=False, normalized=True), added(265, "\0")],
    # Ids behind a gap: Hugging Face closes the gap unless the vocabulary has the literals.
    [added(1000, "<|end|>"), added(300, "<|x|>"), added(5000, "mid", special=False)],
    [added(259, "hello", special=False)],
]


@pytest.mark.parametrize("tokens", ADDED, ids=lambda tokens: "-".join(token["content"] for token in tokens) or "none")
@pytest.mark.parametrize("ignore_merges", [False, True])
def test_added_tokens_keep_their_ids_in_hugging_face(tokens, ignore_merges, tmp_path):
    entries = document()["model"]["vocab"] | {token["content"]: token["id"] for token in tokens if token["id"] > 266}
    whole = document(added_tokens=tokens, model=model(entries, ignore_merges=ignore_merges))
    tokenizer = assert_equal_ids(whole, tmp_path)
    saved = HuggingFace.from_file(str(tmp_path / "saved" / "tokenizer.json"))
    assert {token.content: token.id for token in tokenizer.added_tokens} == {
        token["content"]: saved.token_to_id(token["content"]) for token in tokens
    }


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize(("flags", "text"), [({}, "12ZQ"), ({"single_word": True}, "12zq")])
def test_an_entry_that_no_merge_makes_is_found_whole_where_its_literal_does_not_match(flags, text, special, tmp_path):
    """Text never becomes a special token here that is none by its literal; there it does."""
    entries = document()["model"]["vocab"] | {"zq": 264}
    whole = document(
        added_tokens=[added(264, "zq", special=special, **flags)],
        model=model(entries, ignore_merges=True),
        normalizer={"type": "Lowercase"},
        pre_tokenizer=BYTE_LEVEL,
    )
    peer = HuggingFace.from_str(json.dumps(whole)).encode(text).ids
    assert peer[-1] == 264
    for tokenizer in (
        ours := Tokenizer.from_hf(write(tmp_path / "source", whole)),
        ours.save(tmp_path / "saved") or Tokenizer.open(tmp_path / "saved"),
    ):
        ids = tokenizer.encode(text, special_tokens="parse").tolist()
        assert ids == ([*peer[:-1], *tokenizer.encode("z"), *tokenizer.encode("q")] if special else peer)


@pytest.mark.parametrize(
    ("tokens", "given"),
    [
        ([added(300, "<x>")], [264]),
        ([added(265, "<x>"), added(264, "<y>")], [264, 265]),
        ([added(264, "<x>"), added(266, "<y>")], [264, 265]),
        ([added(259, "hello"), added(300, "<x>")], [259, 264]),
        ([added(400, "<in>"), added(266, "<x>")], [400, 265]),
    ],
)
def test_ids_that_hugging_face_does_not_take_from_the_file_are_refused(tokens, given, tmp_path):
    entries = document()["model"]["vocab"] | {token["content"]: 400 for token in tokens if token["content"] == "<in>"}
    whole = document(added_tokens=tokens, model=model(entries))
    peer = HuggingFace.from_str(json.dumps(whole))
    assert [peer.token_to_id(token["content"]) for token in tokens] == given
    wrong = next(index for index, token in enumerate(tokens) if token["id"] != given[index])
    with pytest.raises(InvalidArtifact, match=str(given[wrong])) as refusal:
        Tokenizer.from_hf(write(tmp_path / "wrong", whole))
    assert (refusal.value.code, refusal.value.place["field"]) == ("id_conflict", f"added_tokens[{wrong}].id")
    right = document(
        added_tokens=[token | {"id": id} for token, id in zip(tokens, given, strict=True)], model=whole["model"]
    )
    assert_equal_ids(right, tmp_path / "right")


def test_ids_that_versions_of_hugging_face_give_in_other_ways_are_kept(tmp_path):
    """An entry beyond a gap: 0.23 counts on from the number of entries, and those before from the id of the entry."""
    entries = document()["model"]["vocab"] | {"hello": 1000}
    for first in (264, 1001):
        tokens = [added(1000, "hello", special=False), added(first, "<|end|>"), added(first + 1, "<x>")]
        whole = document(added_tokens=tokens, model=model(entries))
        peer = HuggingFace.from_str(json.dumps(whole))
        assert [peer.token_to_id(literal) for literal in ("hello", "<|end|>", "<x>")] == [1000, 264, 265]
        tokenizer = Tokenizer.from_hf(write(tmp_path / f"{first}", whole))
        assert tokenizer.encode("<|end|><x>", special_tokens="parse").tolist() == [first, first + 1]
        tokenizer.save(tmp_path / f"saved{first}")
        saved = HuggingFace.from_file(str(tmp_path / f"saved{first}" / "tokenizer.json"))
        assert [saved.token_to_id(literal) for literal in ("hello", "<|end|>", "<x>")] == [1000, first, first + 1]


def test_the_same_tokenizer_hashes_the_same_whether_literals_are_entries_or_not(tmp_path):
    entries = document()["model"]["vocab"]
    without = hf_json.read(write(tmp_path / "a", document()))
    within = hf_json.read(write(tmp_path / "b", document(model=model(entries | {"<|end|>": 264}))))
    assert without.vocabulary.digest == within.vocabulary.digest


def test_whole_pieces_never_become_special_tokens(tmp_path):
    entries = document()["model"]["vocab"] | {"<|end|>": 264}
    stages = BYTE_LEVEL | {"use_regex": False}
    whole = document(model=model(entries, ignore_merges=True), pre_tokenizer=stages)
    tokenizer = Tokenizer.from_hf(write(tmp_path, whole))
    assert 264 not in tokenizer.encode("<|end|>", special_tokens="text").tolist()
    assert tokenizer.encode("<|end|>", special_tokens="parse").tolist() == [264]


def test_stages_are_read_in_order_and_flat(tmp_path):
    normalizer = {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFC"},
            {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "_"}, {"type": "Lowercase"}]},
            {"type": "Replace", "pattern": {"String": "a"}, "content": ""},
            {"type": "Strip", "strip_left": True, "strip_right": False},
        ],
    }
    parts = hf_json.read(write(tmp_path, document(normalizer=normalizer)))
    assert parts.config.normalizer == (
        Normalizer("nfc"),
        Normalizer("prepend", prefix="_"),
        Normalizer("lowercase"),
        Normalizer("replace", pattern=Pattern("string", "a"), content=""),
        Normalizer("strip", left=True, right=False),
    )


def test_known_patterns_get_their_name_and_others_stay(tmp_path):
    def stages(pattern: str, behavior: str, *, invert: bool) -> Any:
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
        digits = {"type": "Digits", "individual_digits": True}
        whole = {"type": "Sequence", "pretokenizers": [digits, split, BYTE_LEVEL | {"use_regex": False}]}
        return hf_json.read(write(tmp_path, document(pre_tokenizer=whole))).config.pretokenizer

    qwen2 = Pretokenizer("split", pattern=Pattern("name", "qwen2"))
    assert stages(PATTERNS["qwen2"], "Isolated", invert=False) == (Pretokenizer("digits", individual=True), qwen2)
    assert stages(PATTERNS["qwen2"], "Removed", invert=True)[1] == qwen2
    assert stages(PATTERNS["qwen2"] + "|x", "Isolated", invert=False)[1].pattern.kind == "regex"


def test_merges_as_strings_and_as_pairs_are_the_same(tmp_path):
    pairs = hf_json.read(write(tmp_path / "a", changed(merges=[merge.split() for merge in MERGES])))
    strings = hf_json.read(write(tmp_path / "b", document()))
    assert pairs.vocabulary.digest == strings.vocabulary.digest


def test_old_files_without_a_model_type_are_read(tmp_path):
    whole = document()
    for key in ("type", "byte_fallback", "ignore_merges", "fuse_unk", "unk_token"):
        del whole["model"][key]
    assert hf_json.read(write(tmp_path, whole)).config.ignore_merges is False


def test_what_cannot_fire_is_harmless(tmp_path):
    whole = changed(unk_token="<|end|>", fuse_unk=True, byte_fallback=True, dropout=0.0)
    assert hf_json.read(write(tmp_path, whole)).settings.unk == "<|end|>"


def test_padding_and_truncation_become_settings_and_change_no_id(tmp_path):
    padding = {
        "strategy": {"Fixed": 8},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 264,
        "pad_type_id": 0,
        "pad_token": "<|end|>",
    }
    truncation = {"direction": "Left", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    tokenizer = Tokenizer.from_hf(write(tmp_path, document(padding=padding, truncation=truncation)))
    plain = Tokenizer.from_hf(write(tmp_path / "plain", document()))
    assert tokenizer.encode("hello the hello").tolist() == plain.encode("hello the hello").tolist()
    assert tokenizer.hash == plain.hash
    settings = tokenizer.settings
    assert (settings.pad, settings.padding_side, settings.truncation_side) == ("<|end|>", "left", "left")
    assert (settings.model_max_length, tokenizer.pad_id) == (2, 264)


@needs_data
@pytest.mark.parametrize("name", ["gpt2", "qwen2", "llama3"])
def test_saved_directories_give_the_same_ids_in_hugging_face(name, tmp_path):
    path = shared(f"vocabs/{name}_tokenizer.json")
    tokenizer = Tokenizer.from_hf(path)
    tokenizer.save(tmp_path / name)
    before = HuggingFace.from_file(str(path))
    after = HuggingFace.from_file(str(tmp_path / name / "tokenizer.json"))
    texts = [*TEXTS, shared("corpora/ja.txt").read_text("utf-8")[:20_000]]
    for text in texts:
        expected = before.encode(text, add_special_tokens=False).ids
        assert after.encode(text, add_special_tokens=False).ids == expected
        assert tokenizer.encode(text, special_tokens="parse").tolist() == expected
    assert {token.content: token.id for token in tokenizer.added_tokens} == {
        token.content: id for id, token in after.get_added_tokens_decoder().items()
    }
