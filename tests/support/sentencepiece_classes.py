"""Small SentencePiece models as the classes of transformers ship them, with texts that tell the classes apart."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.sentencepiece_models import CONTROL, NORMAL, UNKNOWN, USER_DEFINED, Piece, charsmap, model, write

_FAIRSEQ: list[Piece] = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
_GOOGLE: list[Piece] = [("<pad>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN)]
_BERT: list[Piece] = [("[CLS]", 0.0, CONTROL), ("[SEP]", 0.0, CONTROL), ("[MASK]", 0.0, CONTROL)]
_SYMBOLS: list[Piece] = [("(", 0.0, USER_DEFINED), ("<eop>", 0.0, USER_DEFINED)]

FIRST: dict[str, list[Piece]] = {
    "Albert": [*_GOOGLE, *_BERT, *_SYMBOLS],
    "BigBird": [
        ("<pad>", 0.0, CONTROL),
        ("</s>", 0.0, CONTROL),
        ("<s>", 0.0, CONTROL),
        ("<unk>", 0.0, UNKNOWN),
        *_BERT,
    ],
    "Camembert": _FAIRSEQ,
    "DebertaV2": [("[PAD]", 0.0, CONTROL), *_BERT[:2], ("[UNK]", 0.0, UNKNOWN), *_SYMBOLS],
    "FNet": [*_GOOGLE, *_BERT],
    "MBart": _FAIRSEQ,
    "MBart50": _FAIRSEQ,
    "Nllb": _FAIRSEQ,
    "Pegasus": [("<pad>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN), *_SYMBOLS],
    "RemBert": [("[PAD]", 0.0, CONTROL), ("[UNK]", 0.0, UNKNOWN), *_BERT],
    "XGLM": _FAIRSEQ,
    "XLMRoberta": _FAIRSEQ,
    "XLNet": [
        *_FAIRSEQ,
        *((f"<{name}>", 0.0, CONTROL) for name in ("cls", "sep", "pad", "mask")),
        *_SYMBOLS,
    ],
}
"""The pieces that each class's models begin with."""

_CHARACTERS = "▁etaoinsrhldcumfpgwybvkxqjzETAOINS0123456789.,;:!?'\"`()-<>[]/_é"
_WORDS = (
    *("▁the", "▁a", "▁hello", "▁Hello", "▁world", "▁text", "▁and", "▁in", "▁two", "he", "in", "er", "ing", "▁here"),
    *("1,", "10", "▁10,", "00", "000,", "▁1", "s>", "▁<", "un", "ki"),
)

TEXTS = (
    *("Hello, world!", "  two  spaces   and tail  ", "", "   ", "a", "É È ﬁ ① ｱﾞ 漢字", "<s> in </s> text <mask> here"),
    *("x<mask>y  <mask>  z", "[CLS] a [SEP] [MASK]b  [MASK] [UNK] [PAD]", "1,2,3, 10,000, 5, 10,", "``quoted'' 'text'"),
    *("İstanbul ÉCOLE", "tab\tnew\nline\r\n\u00a0wide\u3000space", "zero\u200bwidth\u200dtext", "▁under▁ ▁mark"),
    *("<mask_1> and <mask_2> and <unk_5>", "en_XX hello eng_Latn", "\U0001f642 a", "(a)-(b", "<eop>a <eop> ( <pad>"),
    *("e\u0301 a\u0308 \u0301", "hello.world;again", "<unk> <s>NOTUSED <madeupword3>"),
)
PAIRS = (("Hello, world!", "two  texts"), ("a", "b 1,"), ("", "x"))

CONFIGS: dict[str, dict[str, object]] = {
    **{kind: {} for kind in FIRST},
    "Albert cased": {"do_lower_case": False, "keep_accents": True},
    "DebertaV2 uncased": {"do_lower_case": True, "split_by_punct": True},
    "MBart French": {"src_lang": "fr_XX"},
    "MBart50 French": {"src_lang": "fr_XX"},
    "RemBert uncased": {"do_lower_case": True, "keep_accents": False},
    "XLNet uncased": {"do_lower_case": True},
}
"""Configurations by name, which begins with the class."""

LISTED = ("eng_Latn", "fra_Latn", "<mask>")
"""The tokens behind the pieces of NLLB, which only its configuration lists."""


def write_directory(name: str, folder: Path) -> None:
    """Write what lies in the directory of a model of a class."""
    kind = name.split()[0]
    config = {"tokenizer_class": f"{kind}Tokenizer", **CONFIGS[name]}
    if tokens := _listed(kind, _write_model(kind, folder)):
        config |= {"added_tokens_decoder": tokens, "additional_special_tokens": list(LISTED[:2])}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def _write_model(kind: str, folder: Path) -> int:
    """Write a model of a class; return the number of its pieces."""
    pieces = list(FIRST[kind])
    known = {text for text, _, _ in pieces}
    entries = [text for text in (*_WORDS, *_CHARACTERS) if text not in known]
    pieces += [(text, -4.0 - 0.125 * number, NORMAL) for number, text in enumerate(entries)]
    unk = next(id for id, (_, _, type) in enumerate(pieces) if type == UNKNOWN)
    # Field 40 is unk_id, which transformers reads.
    trainer = bytes([40 << 3 & 0x7F | 0x80, 40 >> 4, unk])
    write(folder / "spiece.model", model(pieces, charsmap=charsmap(), trainer=trainer))
    return len(pieces)


def _listed(kind: str, pieces: int) -> dict[str, dict[str, object]]:
    """Return ``added_tokens_decoder`` of a class whose models need one."""
    if kind != "Nllb":
        return {}
    rest = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False) | {"special": True}
    first = ("<s>", "<pad>", "</s>", "<unk>")
    tokens = {str(id): {"content": text, **rest} for id, text in enumerate(first)}
    return tokens | {
        str(pieces + 1 + number): {"content": text, **rest, **dict.fromkeys(("lstrip", "normalized"), text == "<mask>")}
        for number, text in enumerate(LISTED)
    }
