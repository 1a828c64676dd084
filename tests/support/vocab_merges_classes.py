"""Small ``vocab.json`` and ``merges.txt`` as the classes of transformers ship them, with texts that tell them apart."""

from __future__ import annotations

import json
from pathlib import Path

_ALPHABET = [
    *(chr(code) for code in (*range(33, 127), *range(0xA1, 0xAD), *range(0xAE, 0x100))),
    *(chr(code) for code in range(0x100, 0x144)),
]
_MERGES = ("t h", "th e", "Ġ the", "h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "1 0", "Ċ Ċ", "' s", "Ã ī")
_ENDING = ("t h", "th e</w>", "h e", "l l", "he ll", "hell o</w>", "o r", "w or", "l d</w>", "wor ld</w>", "' s</w>")

_ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
SPECIAL: dict[str, tuple[str, ...]] = {
    "Bart": _ROBERTA,
    "Blenderbot": _ROBERTA,
    "CLIP": ("<|startoftext|>", "<|endoftext|>"),
    "CodeGen": ("<|endoftext|>",),
    "Deberta": ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"),
    "GPT2": ("<|endoftext|>",),
    "LED": _ROBERTA,
    "Longformer": _ROBERTA,
    "Mvp": _ROBERTA,
    "Qwen2": ("<|endoftext|>",),
    "Roberta": _ROBERTA,
}

CONFIGS: dict[str, dict[str, object]] = {
    **{kind: {} for kind in SPECIAL},
    "CLIP padded": {"pad_token": "!"},
    "GPT2 framed": {"add_bos_token": True},
    "GPT2 spaced": {"add_prefix_space": True},
    "Roberta spaced": {"add_prefix_space": True},
    "Roberta named": {"mask_token": "<unk>", "cls_token": "</s>"},
}
"""Configurations by name, which begins with the class."""

TEXTS = (
    *("Hello, world!", "hello the world's", "  two  spaces   and tail  ", "", " ", "a", "É È ﬁ ① ｱﾞ 漢字 e\u0301 İ"),
    *("it's WE'LL don't 12345 3.14 10", "tab\tnew\nline\r\n\n\n\u00a0wide\u3000space", "zero\u200bwidth\U0001f642 a"),
    *("<s> in </s> text  <mask> here <pad>", "x<mask>y [MASK] [SEP]z  [CLS]", "a <|endoftext|> b<|STARTOFTEXT|> <unk>"),
    *("def f(x):\n    return x + 1\n", "</w> @@ Ġ \u0120the", "hello!! ! wow!"),
)
PAIRS = (("Hello, world!", "two  texts"), ("a", "b 1,"), ("", "x"))


def write_directory(name: str, folder: Path, *, by_model: bool = False) -> None:
    """Write what lies in the directory of a model of a class.

    Args:
        by_model: the model's configuration names the class by its type, and the tokenizer's does not.
    """
    kind = name.split()[0]
    merges = _ENDING if kind == "CLIP" else _MERGES
    entries = [*_ALPHABET, *(f"{letter}</w>" for letter in _ALPHABET if kind == "CLIP")]
    entries += ["".join(merge.split()) for merge in merges]
    first = SPECIAL[kind]
    entries = [*entries, *first] if kind == "CLIP" else [*first, *entries]
    (folder / "vocab.json").write_text(json.dumps({entry: id for id, entry in enumerate(entries)}), "utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{merge}\n" for merge in merges), "utf-8")
    named = {} if by_model else {"tokenizer_class": f"{kind}Tokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(named | CONFIGS[name]))
    if by_model:
        (folder / "config.json").write_text(json.dumps({"model_type": kind.lower()}))
