"""SentencePiece models whose class gives other ids than the model: those that transformers gives, or a refusal.

``sentencepiece_classes.json`` has what transformers 4.57.6 makes of the models of ``tests/support``: the fast class
reads the directory, saves it, and Hugging Face's own library encodes with the ``tokenizer.json`` that it saved.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers

from tests.support.data import corpus, needs_data
from tests.support.sentencepiece_classes import CONFIGS, PAIRS, TEXTS, write_directory
from tests.support.sentencepiece_models import BPE, META, NORMAL, USER_DEFINED, library, model, real, write
from tokenizer_core import InvalidArtifact, TokdError, Tokenizer, Unsupported

RECORDED = json.loads(Path(__file__).with_name("sentencepiece_classes.json").read_text("utf-8"))
LETTERS = [("▁", -2.5, NORMAL), ("a", -3.0, NORMAL), ("b", -3.5, NORMAL)]


def made(folder: Path, config: dict[str, object], *, model_config: dict[str, object] | None = None) -> Path:
    write(folder / "sentencepiece.bpe.model", model([*META, *LETTERS]))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    if model_config is not None:
        (folder / "config.json").write_text(json.dumps(model_config))
    return folder


@needs_data
@pytest.mark.parametrize("name", CONFIGS)
def test_a_class_has_the_ids_that_transformers_gives_it(tmp_path, name):
    write_directory(name, tmp_path)
    tokenizer, truth = Tokenizer.load(tmp_path), RECORDED[name]
    tokenizer.save(tmp_path / "artifact")
    for opened in (tokenizer, Tokenizer.open(tmp_path / "artifact")):
        for text, ids, decoded in zip(TEXTS, truth["ids"], truth["decoded"], strict=True):
            assert opened.encode(text, special_tokens="parse").tolist() == ids, text
            assert opened.decode(ids, skip_special_tokens=True) == decoded, text
        assert opened.encode("", add_special_tokens=True).tolist() == truth["frame"][0]
        for (first, second), (ids, types) in zip(PAIRS, truth["pairs"], strict=True):
            pair = opened.encode_pair(first, second, add_special_tokens=True)
            assert (pair.ids.tolist(), pair.type_ids.tolist()) == (ids, types)
    assert tokenizer.hash == Tokenizer.open(tmp_path / "artifact").hash


@needs_data
@pytest.mark.parametrize("name", ["XLMRoberta", "Albert"])
def test_whole_corpora_have_the_ids_of_the_tokenizer_json_that_is_written(tmp_path, name):
    write(tmp_path / "spiece.model", real("spm-unigram-nmt_nfkc"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": f"{name}Tokenizer"}))
    if name == "Albert":
        write_directory(name, tmp_path)
    tokenizer = Tokenizer.load(tmp_path)
    tokenizer.save(tmp_path / "artifact")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "artifact" / "tokenizer.json"))
    for language in ("english", "ja", "ru"):
        lines = corpus(language).splitlines(keepends=True)[:4000]
        truth = [one.ids for one in peer.encode_batch_fast(lines, add_special_tokens=False)]
        assert [row.tolist() for row in tokenizer.encode_batch(lines, special_tokens="parse")] == truth


@needs_data
def test_the_ids_of_xlm_roberta_are_those_of_sentencepiece_and_one_more(tmp_path):
    data = real("spm-unigram-nmt_nfkc")
    write(tmp_path / "sentencepiece.bpe.model", data)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "XLMRobertaTokenizer"}')
    tokenizer, truth = Tokenizer.load(tmp_path), library(data)
    for line in corpus("english").splitlines()[:2000]:
        shifted = [3 if id == 0 else id + 1 for id in truth.encode(line)]
        # Hugging Face adds up in double precision: ways that are equal but for their order may change places.
        assert sorted(tokenizer.encode(line).tolist()) == sorted(shifted), line


@pytest.mark.parametrize(
    "name", ["LayoutXLM", "PLBart", "Speech2Text", "SeamlessM4T", "ErnieM", "M2M100", "Barthez", "Siglip", "Own"]
)
@pytest.mark.parametrize("fast", ["", "Fast"])
def test_a_class_whose_ids_are_not_known_is_refused_by_name(tmp_path, name, fast):
    made(tmp_path, {"tokenizer_class": f"{name}Tokenizer{fast}"})
    with pytest.raises(Unsupported, match=rf"{name}Tokenizer{fast} may give.*use its tokenizer\.json"):
        Tokenizer.load(tmp_path)


def test_the_model_s_configuration_names_the_class_where_the_tokenizer_s_does_not(tmp_path):
    made(tmp_path, {"model_max_length": 512}, model_config={"model_type": "xlm-roberta"})
    assert Tokenizer.load(tmp_path).encode("a b").tolist() == [4, 5, 4, 6]
    made(tmp_path, {}, model_config={"model_type": "m2m_100", "tokenizer_class": "XLMRobertaTokenizer"})
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.encode("a b", add_special_tokens=True).tolist() == [0, 4, 5, 4, 6, 2]
    assert set(tokenizer.provenance["imported_from"]["files"]) == {
        "config.json",
        "sentencepiece.bpe.model",
        "tokenizer_config.json",
    }
    made(tmp_path, {"tokenizer_class": "LlamaTokenizer"}, model_config={"model_type": "xlm-roberta"})
    assert Tokenizer.load(tmp_path).encode("a b").tolist() == [3, 4, 3, 5]
    made(tmp_path, {}, model_config={"model_type": "plbart"})
    with pytest.raises(Unsupported, match="the model 'plbart'") as caught:
        Tokenizer.load(tmp_path)
    assert caught.value.place["field"] == "config.json.model_type"


def test_an_artifact_keeps_the_class_that_the_model_s_configuration_named(tmp_path):
    made(tmp_path, {}, model_config={"model_type": "llama"})
    tokenizer = Tokenizer.load(tmp_path)
    tokenizer.save(tmp_path / "artifact")
    assert Tokenizer.open(tmp_path / "artifact").encode("a", add_special_tokens=True).tolist() == [1, 3, 4]


@pytest.mark.parametrize(("config", "count"), [({}, 100), ({"extra_ids": 2}, 2), ({"extra_ids": 0}, 0)])
def test_the_extra_ids_of_t5_stand_behind_the_pieces_the_last_one_first(tmp_path, config, count):
    made(tmp_path, {"tokenizer_class": "T5Tokenizer", **config})
    tokenizer = Tokenizer.load(tmp_path)
    entries = len(META + LETTERS)
    assert tokenizer.vocab_size == entries + count
    for number in range(count):
        ids = tokenizer.encode(f"<extra_id_{number}>", special_tokens="parse").tolist()
        assert ids == [entries + count - 1 - number]


@pytest.mark.parametrize("count", [-1, 10**9, "many"])
def test_a_number_of_extra_ids_that_cannot_be_is_refused(tmp_path, count):
    made(tmp_path, {"tokenizer_class": "T5Tokenizer", "extra_ids": count})
    with pytest.raises(InvalidArtifact) as caught:
        Tokenizer.load(tmp_path)
    assert caught.value.place["field"] == "tokenizer_config.json.extra_ids"


def token(content: str, **flags: bool) -> dict[str, object]:
    rest = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False) | {"special": True}
    return {"content": content, **rest, **flags}


@pytest.mark.parametrize(
    ("config", "code", "field"),
    [
        ({"tokenizer_class": "NllbTokenizer"}, "unsupported", "tokenizer_config.json.added_tokens_decoder"),
        ({"tokenizer_class": "PegasusTokenizer", "offset": 0}, "unsupported", "tokenizer_config.json.offset"),
        (
            {"tokenizer_class": "PegasusTokenizer", "mask_token_sent": None},
            "unsupported",
            "tokenizer_config.json.mask_token_sent",
        ),
        (
            {"tokenizer_class": "XLMRobertaTokenizer", "added_tokens_decoder": {"9": token("<mask>")}},
            "id_conflict",
            "tokenizer_config.json.added_tokens_decoder.9",
        ),
        (
            {"tokenizer_class": "AlbertTokenizer", "keep_accents": "yes"},
            "invalid_file",
            "tokenizer_config.json.keep_accents",
        ),
        ({"tokenizer_class": "MBartTokenizer", "src_lang": "xx_XX"}, "invalid_file", "pieces"),
    ],
)
def test_what_the_class_does_not_say_for_certain_is_refused(tmp_path, config, code, field):
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(made(tmp_path, config))
    assert (caught.value.code, caught.value.place["field"]) == (code, field)


def test_a_class_with_a_model_of_another_kind_is_refused(tmp_path):
    for data in (model([*META, *LETTERS], kind=BPE), model([*META, *LETTERS], suffix=True)):
        made(tmp_path, {"tokenizer_class": "XLMRobertaTokenizer"})
        write(tmp_path / "sentencepiece.bpe.model", data)
        with pytest.raises(Unsupported, match="XLMRobertaTokenizer"):
            Tokenizer.load(tmp_path)


def test_the_flags_of_a_token_are_those_of_the_files(tmp_path):
    def span() -> list[int]:
        return Tokenizer.load(tmp_path).offsets("a <mask> a", special_tokens="parse", unit="byte").spans[2].tolist()

    made(tmp_path, {"tokenizer_class": "XLMRobertaTokenizer"})
    assert span() == [1, 8]
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"mask_token": token("<mask>", rstrip=True)}))
    assert span() == [2, 9]
    (tmp_path / "special_tokens_map.json").unlink()
    listed = {"7": token("<mask>"), "8": token("<ent>")}
    made(tmp_path, {"tokenizer_class": "XLMRobertaTokenizer", "mask_token": "<mask>", "added_tokens_decoder": listed})
    assert span() == [2, 8]
    assert Tokenizer.load(tmp_path).encode("a <ent><mask>", special_tokens="parse").tolist() == [4, 5, 8, 7]


def test_a_user_defined_piece_is_an_added_token_of_a_converted_model(tmp_path):
    made(tmp_path, {"tokenizer_class": "XLMRobertaTokenizer"})
    write(tmp_path / "sentencepiece.bpe.model", model([*META, *LETTERS, ("<x>", 0.0, USER_DEFINED)]))
    assert Tokenizer.load(tmp_path).encode("a<x>a").tolist() == [4, 5, 7, 4, 5]
