"""GGUF files of SentencePiece models and of Gemma 4 give the ids of the file that the model's authors ship."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from tests.core.formats.mutations import damaged, seeds, survives
from tests.core.formats.test_gguf import written
from tests.support.data import needs_data, shared
from tokenizer_core import TokdError, Tokenizer

GGML = "tokenizer.ggml."
MODELS = {
    "spm-bpe-gemma": "llama",
    "spm-bpe-llama2": "llama",
    "spm-bpe-nobytes": "llama",
    "spm-unigram-bytes": "t5",
    "spm-unigram-identity": "t5",
    "spm-unigram-nmt_nfkc": "t5",
    "spm-unigram-nodummy": "t5",
    "spm-unigram-symbols": "t5",
}

SMALL: dict[str, Any] = {
    "tokens": ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "ab", "\u2581ab", "[PAD8]"],
    "scores": [0.0, 0.0, 0.0, -4.0, -5.0, -6.0, -1.0, -2.0, -1000.0],
    "token_type": [2, 3, 3, 1, 1, 1, 1, 1, 4],
}


def file(model: str, **keys: Any) -> bytes:
    return written({f"{GGML}model": model, **{GGML + key: value for key, value in keys.items()}})


def keys_of(model: Path) -> dict[str, Any]:
    """Take the pieces out of a model, as the converter does."""
    library = sentencepiece.SentencePieceProcessor(model_file=str(model))
    ids = range(library.get_piece_size())
    kinds = [(library.is_unknown, 2), (library.is_control, 3), (library.is_unused, 5), (library.is_byte, 6)]
    types = [next((kind for has, kind in kinds if has(id)), 1) for id in ids]
    roles = {"bos": library.bos_id(), "eos": library.eos_id(), "unknown": library.unk_id()}
    return {
        "tokens": [library.id_to_piece(id) for id in ids],
        "scores": [library.get_score(id) for id in ids],
        "token_type": types,
        **{f"{role}_token_id": id for role, id in roles.items() if id >= 0},
    }


def load(tmp_path: Path, content: bytes) -> Tokenizer:
    path = tmp_path / "made.gguf"
    path.write_bytes(content)
    return Tokenizer.load(path)


def golden(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (shared(f"families/{name}") / "cases.jsonl").read_bytes().splitlines()]


@needs_data
@pytest.mark.parametrize("name", MODELS)
def test_a_file_gives_the_ids_and_the_text_of_the_model_that_it_was_made_of(name: str, tmp_path: Path) -> None:
    source = shared(f"families/{name}") / "tokenizer.model"
    keys = keys_of(source)
    known = Tokenizer.load(source)
    symbols, rules = set(known.config.model.user_defined), known.config.normalizer[0]
    keys["token_type"] = [4 if id in symbols else type for id, type in enumerate(keys["token_type"])]
    keys["add_space_prefix"], keys["remove_extra_whitespaces"] = rules.dummy_prefix, rules.fold
    keys["precompiled_charsmap"] = [
        byte - 256 if byte > 127 else byte for byte in base64.b64decode(rules.charsmap)
    ] or None
    found = load(tmp_path, file(MODELS[name], **keys))
    assert found.vocab_size == known.vocab_size
    texts = [shared(f"corpora/{corpus}.txt").read_text("utf-8") for corpus in ("english", "ja")]
    lines = [line for text in texts for line in text.splitlines()[:300]]
    for text in [case["text"] for case in golden(name)] + lines:
        ids = known.encode(text, special_tokens="text").tolist()
        assert found.encode(text, special_tokens="text").tolist() == ids, text
        assert found.decode(ids) == known.decode(ids)
    found.save(tmp_path / "saved")
    again = Tokenizer.open(tmp_path / "saved")
    assert (again.hash, again.config) == (found.hash, found.config)


@needs_data
def test_gemma_4_gives_the_golden_ids_of_its_tokenizer_json(tmp_path: Path) -> None:
    document = json.loads((shared("families/hf-bpe-gemma") / "tokenizer.json").read_bytes())
    ids = document["model"]["vocab"]
    tokens = sorted(ids, key=ids.__getitem__)
    special = {token["id"] for token in document["added_tokens"]}
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in document["model"]["merges"]]
    found = load(
        tmp_path,
        file(
            "gemma4",
            tokens=[*tokens, f"[PAD{len(tokens)}]"],
            token_type=[3 if id in special else 1 for id in range(len(tokens))] + [5],
            merges=merges,
            bos_token_id=2,
            eos_token_id=1,
            padding_token_id=0,
            unknown_token_id=3,
            add_bos_token=False,
        ),
    )
    for case in golden("hf-bpe-gemma"):
        if "pair" in case:
            continue
        assert found.encode(case["text"], special_tokens="parse").tolist() == case["ids"]
        framed = found.encode(case["text"], special_tokens="parse", add_special_tokens=True).tolist()
        assert framed == case["ids_with_special"]
        assert found.decode(case["ids"], skip_special_tokens=True) == case["decoded_skip"]
    assert (found.settings.bos, found.settings.pad, found.settings.unk) == ("<s>", "<pad>", "<unk>")


def test_what_the_file_does_not_say_is_the_default_of_llama_cpp(tmp_path: Path) -> None:
    llama = load(tmp_path, file("llama", **SMALL))
    assert llama.encode("ab", add_special_tokens=True).tolist() == [1, 7]
    assert (llama.settings.bos, llama.settings.eos, llama.settings.unk) == ("<s>", "</s>", "<unk>")
    assert llama.encode("  ab", add_special_tokens=False).tolist() == [3, 3, 7]
    types = [3, 3, 2, *SMALL["token_type"][3:]]
    t5 = load(
        tmp_path,
        file("t5", **SMALL | {"tokens": ["<pad>", "</s>", "<unk>", *SMALL["tokens"][3:]]} | {"token_type": types}),
    )
    assert t5.encode("ab", add_special_tokens=True).tolist() == [7, 1]
    assert (t5.settings.pad, t5.settings.eos, t5.settings.bos) == ("<pad>", "</s>", None)


def test_templates_come_along_and_survive_the_artifact(tmp_path: Path) -> None:
    keys = {GGML + "model": "llama", **{GGML + key: value for key, value in SMALL.items()}}
    templates = {
        "tokenizer.chat_template": "{{ messages[0].content }}",
        "tokenizer.chat_template.tool_use": "{{ tools }}",
    }
    found = load(tmp_path, written(keys | templates))
    assert found.templates.keys() == {"default", "tool_use"}
    found.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").templates == found.templates


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "too few scores": ({"scores": [0.0]}, "invalid_file", "scores"),
    "scores as numbers": ({"scores": [0] * 9}, "invalid_file", "scores"),
    "a score that is none": ({"scores": [0.0] * 8 + [float("nan")]}, "invalid_file", "scores[8]"),
    "an infinite score": ({"scores": [float("-inf")] + [0.0] * 8}, "invalid_file", "scores[0]"),
    "a token twice": ({"tokens": [*SMALL["tokens"][:8], "a"]}, "duplicate_token", "tokens[8]"),
    "an empty token": ({"tokens": [*SMALL["tokens"][:8], ""]}, "invalid_file", "tokens[8]"),
    "a byte that is none": ({"token_type": [2, 3, 3, 6, 1, 1, 1, 1, 1]}, "invalid_file", "tokens[3]"),
    "an unknown type": ({"token_type": [2, 3, 3, 9, 1, 1, 1, 1, 1]}, "invalid_file", "token_type[3]"),
    "a negative type": ({"token_type": [2, 3, 3, -1, 1, 1, 1, 1, 1]}, "invalid_file", "token_type[3]"),
    "no unknown token": (
        {"token_type": [1] * 9, "add_bos_token": False, "add_eos_token": False},
        "invalid_file",
        "tokens",
    ),
    "an id outside": ({"bos_token_id": 9}, "id_out_of_range", "bos_token_id"),
    "no eos to add": (
        {"token_type": [2, 1, 1, 1, 1, 1, 1, 1, 1], "add_bos_token": False, "add_eos_token": True},
        "invalid_file",
        "add_eos_token",
    ),
    "rules that are no bytes": ({"precompiled_charsmap": [256]}, "invalid_file", "precompiled_charsmap"),
    "rules as words": ({"precompiled_charsmap": ["a"]}, "invalid_file", "precompiled_charsmap"),
}


@pytest.mark.parametrize("model", ["llama", "t5"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_with_its_key(name: str, model: str, tmp_path: Path) -> None:
    changes, code, field = REFUSED[name]
    with pytest.raises(TokdError) as caught:
        load(tmp_path, file(model, **SMALL | changes))
    assert (caught.value.code, caught.value.place["field"]) == (code, GGML + field)


def test_damaged_rules_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TokdError) as caught:
        load(tmp_path, file("t5", **SMALL, precompiled_charsmap=[-1, 0, 0, 0, 7]))
    assert (caught.value.code, caught.value.place["field"]) == ("invalid_file", "normalizer[0].charsmap")


def test_damage_gives_an_error_or_a_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "made.gguf"
    for model in ("llama", "t5"):
        data = file(model, **SMALL)
        for source in seeds(150):
            survives(Tokenizer.load, path, damaged(data, source))
