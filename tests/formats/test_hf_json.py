"""Reading tokenizer.json: what is supported gives Hugging Face's ids, everything else is refused by its path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as HuggingFace

from tests.data import needs_data, shared, vectors
from tests.formats.small import BYTE_LEVEL, MERGES, added, changed, document, model, write
from tokenizer_core import Tokenizer
from tokenizer_core.config import Digits, Pattern, Prepend, Replace, Rewrite, Split, Strip
from tokenizer_core.errors import TokdError
from tokenizer_core.formats import hf_json
from tokenizer_core.patterns import PATTERNS

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


def refusal(tokenizer: Any, directory: Path, **beside: Any) -> tuple[str, str]:
    with pytest.raises(TokdError) as caught:
        hf_json.read(write(directory, tokenizer, **beside))
    return caught.value.code, caught.value.place.get("field", "")


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


def template(single: list[Any], pair: list[Any] | None = None, **tokens: list[int]) -> dict[str, Any]:
    def piece(item: Any) -> dict[str, Any]:
        name, type_id = item if isinstance(item, tuple) else (item, 0)
        kind = "Sequence" if name in ("A", "B") else "SpecialToken"
        return {kind: {"id": name, "type_id": type_id}}

    return {
        "type": "TemplateProcessing",
        "single": [piece(item) for item in single],
        "pair": [piece(item) for item in pair or ["A", ("B", 1)]],
        "special_tokens": {
            name: {"id": name, "ids": ids, "tokens": [f"<{id}>" for id in ids]} for name, ids in tokens.items()
        },
    }


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
    # Beyond a gap, which Hugging Face closes unless the literals stand among the entries.
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
        Rewrite("nfc"),
        Prepend("_"),
        Rewrite("lowercase"),
        Replace(Pattern("string", "a"), ""),
        Strip(left=True, right=False),
    )


def test_known_patterns_get_their_name_and_others_stay(tmp_path):
    def stages(pattern: str, behavior: str, *, invert: bool) -> Any:
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
        digits = {"type": "Digits", "individual_digits": True}
        whole = {"type": "Sequence", "pretokenizers": [digits, split, BYTE_LEVEL | {"use_regex": False}]}
        return hf_json.read(write(tmp_path, document(pre_tokenizer=whole))).config.pretokenizer

    qwen2 = Split(Pattern("name", "qwen2"))
    assert stages(PATTERNS["qwen2"], "Isolated", invert=False) == (Digits(individual=True), qwen2)
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


UNSUPPORTED: list[tuple[dict[str, Any], str]] = [
    (changed(dropout=0.5), "model.dropout"),
    (changed(dropout=True), "model.dropout"),
    (changed(continuing_subword_prefix="##"), "model.continuing_subword_prefix"),
    (changed(end_of_word_suffix="</w>"), "model.end_of_word_suffix"),
    (changed(type="WordPiece"), "model.type"),
    (changed(type="Unigram", vocab=[["a", -1.0]]), "model.type"),
    (changed(surprise=1), "model.surprise"),
    (document(surprise=1), "surprise"),
    (document(version="2.0"), "version"),
    (document(normalizer={"type": "BertNormalizer"}), "normalizer.type"),
    (
        document(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Nmt"}]}),
        "normalizer.normalizers[1].type",
    ),
    (document(normalizer={"type": "NFC", "extra": 1}), "normalizer.extra"),
    (document(pre_tokenizer=None), "pre_tokenizer"),
    (document(pre_tokenizer={"type": "Whitespace"}), "pre_tokenizer.type"),
    (
        document(
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [BYTE_LEVEL, {"type": "Digits", "individual_digits": True}],
            }
        ),
        "pre_tokenizer.pretokenizers[1]",
    ),
    (
        document(
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Digits", "individual_digits": True},
                    BYTE_LEVEL | {"add_prefix_space": True},
                ],
            }
        ),
        "pre_tokenizer.pretokenizers[1].add_prefix_space",
    ),
    (document(post_processor={"type": "BertProcessing", "sep": ["a", 1], "cls": ["a", 1]}), "post_processor.type"),
    (document(post_processor=template([("s", 1), "A"], s=[264])), "post_processor.single"),
    (document(post_processor=template(["A", "A"])), "post_processor.single"),
    (document(post_processor=template(["B"])), "post_processor.single"),
    (
        document(post_processor={"type": "Sequence", "processors": [template(["A"]), template(["A"])]}),
        "post_processor.processors[1]",
    ),
    (document(decoder={"type": "WordPiece"}), "decoder.type"),
    (document(decoder={"type": "Sequence", "decoders": [BYTE_LEVEL, {"type": "Fuse"}]}), "decoder.decoders[1].type"),
]


@pytest.mark.parametrize(("whole", "field"), UNSUPPORTED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_not_supported_is_refused_by_name(whole, field, tmp_path):
    assert refusal(whole, tmp_path) == ("unsupported", field)


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: item for name, item in value.items() if name != key}


VOCAB = document()["model"]["vocab"]
INVALID: list[tuple[Any, str, str]] = [
    (changed(vocab=VOCAB | {"zzzzq": 7}), "duplicate_id", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zz zq": 7}), "duplicate_id", 'model.vocab["zz zq"]'),
    (changed(vocab=VOCAB | {"zzzzq": -3}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": 1.5}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": 2**31}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": 2**64}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": 2**22}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": "7"}), "invalid_file", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": True}), "invalid_file", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": None}), "invalid_file", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"": 900}), "invalid_file", 'model.vocab[""]'),
    (changed(vocab=[]), "invalid_file", "model.vocab"),
    (changed(vocab=without(VOCAB, "Ġt")), "merge_out_of_vocab", "model.merges[4]"),
    (changed(vocab=without(VOCAB, "!")), "missing_byte", "model.vocab"),
    (changed(vocab={}), "merge_out_of_vocab", "model.merges[0]"),
    (changed(merges=["h e", "h"]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", "l l x"]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", ["l", "l", "x"]]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", ["l"]]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", 5]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", "l l", "h e"]), "invalid_file", "model.merges[2]"),
    (changed(merges=[*MERGES, "q q"]), "merge_out_of_vocab", "model.merges[8]"),
    (changed(merges={}), "invalid_file", "model.merges"),
    (changed(ignore_merges=1), "invalid_file", "model.ignore_merges"),
    (document(model=[]), "invalid_file", "model"),
    ([], "invalid_file", ""),
    (document(added_tokens=[added(2**31, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(2**32, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(-1, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(1.0, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(True, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added("9", "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(300, "a"), added(300, "b")]), "duplicate_id", "added_tokens[1].id"),
    (document(added_tokens=[added(300, "<a>"), added(301, "<a>")]), "duplicate_token", "added_tokens[1].content"),
    (document(added_tokens=[added(300, "hello")]), "id_conflict", "added_tokens[0].id"),
    (document(added_tokens=[added(259, "other")]), "id_conflict", "added_tokens[0].id"),
    (document(added_tokens=[added(300, "")]), "invalid_file", "added_tokens[0].content"),
    (document(added_tokens=[added(300, "x", special=1)]), "invalid_file", "added_tokens[0].special"),
    (document(added_tokens=[without(added(300, "x"), "lstrip")]), "invalid_file", "added_tokens[0].lstrip"),
    (document(added_tokens={}), "invalid_file", "added_tokens"),
    (document(post_processor=template(["s", "A"])), "invalid_file", "post_processor.single[0]"),
    (document(post_processor=template(["s", "A"], s=[999])), "id_out_of_range", "post_processor"),
    (
        document(post_processor=template(["s", "A"], s=[-1])),
        "id_out_of_range",
        "post_processor.special_tokens.s.ids[0]",
    ),
    (
        document(
            padding={
                "strategy": "BatchLongest",
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 3,
                "pad_type_id": 0,
                "pad_token": "<|end|>",
            }
        ),
        "id_conflict",
        "padding.pad_id",
    ),
]


@pytest.mark.parametrize(("whole", "code", "field"), INVALID, ids=[f"{code}-{field}" for _, code, field in INVALID])
def test_what_is_wrong_is_refused_with_its_place(whole, code, field, tmp_path):
    assert refusal(whole, tmp_path) == (code, field)


TEXT = json.dumps(document())
BROKEN = {
    "empty": "",
    "trailing data": TEXT + "x",
    "two documents": TEXT + TEXT,
    "cut off": TEXT[:-1],
    "byte order mark": "\ufeff" + TEXT,
    "not a number": TEXT.replace('"dropout": null', '"dropout": NaN'),
    "lone surrogate": TEXT.replace('"1.0"', '"\\ud800"'),
    "brackets": "[" * 200_000,
    "braces": '{"a":' * 200_000,
    "brackets in the model": '{"model":{"vocab":' + "[" * 200_000,
    "brackets in merges": '{"model":{"merges":' + "[" * 200_000,
    "brackets in a stage": '{"normalizer":' + '{"type":"Sequence","normalizers":[' * 100_000,
    "key twice": TEXT.replace('"version"', '"padding": null, "version"', 1),
    "model twice": TEXT.replace('"version"', '"model": {}, "version"', 1),
    "vocab twice": TEXT.replace('"vocab"', '"vocab": {}, "vocab"', 1),
    "flag twice": TEXT.replace('"special"', '"special": true, "special"', 1),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_is_no_proper_json_is_refused(text, tmp_path):
    assert refusal(text, tmp_path)[0] == "invalid_file"


def test_an_entry_that_stands_twice_is_a_duplicate_token(tmp_path):
    text = TEXT.replace('"hello": 259', '"hello": 259, "h\\u0065llo": 259')
    assert refusal(text, tmp_path) == ("duplicate_token", "model.vocab.hello")


def test_other_encodings_are_refused(tmp_path):
    for data in (TEXT.encode("utf-16"), TEXT.encode() + b"\xff", b"\x00" * 100):
        (tmp_path / "tokenizer.json").write_bytes(data)
        with pytest.raises(TokdError) as caught:
            hf_json.read(tmp_path)
        assert caught.value.code == "invalid_file"


def test_files_that_are_no_files_are_refused(tmp_path):
    (tmp_path / "tokenizer.json").mkdir()
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        with pytest.raises(TokdError):
            hf_json.read(path)
    with pytest.raises(TokdError) as caught:
        hf_json.read(tmp_path / "nothing.json")
    assert caught.value.code == "artifact_not_found"
    with pytest.raises(TokdError) as caught:
        hf_json.read("/dev/zero")
    assert caught.value.code == "invalid_file"


def mutated(case: dict[str, Any], gpt2: str) -> str:
    """Apply what a vector does to GPT-2's file."""
    whole = json.loads(gpt2)
    vocab, mutation = case["vocab"], case["input"]
    if isinstance(vocab, dict):
        whole["added_tokens"] += vocab.get("added_tokens", [])
        whole["model"]["dropout"] = vocab.get("model.dropout")
        return json.dumps(whole)
    match mutation["mutation"]:
        case "model.vocab['zzzzq']=-3":
            whole["model"]["vocab"]["zzzzq"] = -3
        case "model.vocab['zzzzq']=7":
            whole["model"]["vocab"]["zzzzq"] = 7
        case "del model.vocab['Ġt']":
            del whole["model"]["vocab"]["Ġt"]
        case "padding Fixed 8":
            whole["padding"] = {
                "strategy": {"Fixed": 8},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            }
    return json.dumps(whole)


REJECTED = {
    "art-vocab-neg-id": "id_out_of_range",
    "art-dup-vocab-id": "duplicate_id",
    "art-merge-product-missing": "merge_out_of_vocab",
    "dropout-serving": "unsupported",
    "add-huge-id-2147483648": "id_out_of_range",
    "add-bad-id-4294967296": "id_out_of_range",
    "add-dup-id": "duplicate_id",
    "add-id-conflict-vocab": "id_conflict",
}


@needs_data
@pytest.mark.parametrize("id", REJECTED)
def test_vectors_of_broken_files_are_refused(id, tmp_path):
    case = next(case for case in vectors() if case["id"] == id)
    gpt2 = shared("vocabs/gpt2_tokenizer.json").read_text("utf-8")
    assert refusal(mutated(case, gpt2), tmp_path)[0] == REJECTED[id]


@needs_data
def test_the_vector_of_padding_pads_nothing(tmp_path):
    case = next(case for case in vectors() if case["id"] == "art-padding")
    gpt2 = shared("vocabs/gpt2_tokenizer.json").read_text("utf-8")
    tokenizer = Tokenizer.from_hf(write(tmp_path, mutated(case, gpt2)))
    assert tokenizer.encode("hello").tolist() == [31373]


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
