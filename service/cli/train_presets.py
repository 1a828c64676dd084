"""Settings of a training run that give what well-known models have."""

from __future__ import annotations

from typing import Any

_SENTENCEPIECE = {"unk": "<unk>", "bos": "<s>", "eos": "</s>"}
_BERT = {"special_tokens": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "pad": "[PAD]"}

PRESETS: dict[str, dict[str, Any]] = {
    "gpt": {
        "model": "bpe",
        "vocab_size": 50_257,
        "pattern": "gpt2",
        "special_tokens": ["<|endoftext|>"],
        "bos": "<|endoftext|>",
        "eos": "<|endoftext|>",
    },
    "llama2": {
        **_SENTENCEPIECE,
        "model": "bpe",
        "style": "sentencepiece",
        "vocab_size": 32_000,
        "special_tokens": ["<unk>", "<s>", "</s>"],
        "byte_fallback": True,
        "character_coverage": 0.99995,
        "split_digits": True,
        "remove_extra_whitespaces": False,
        "allow_whitespace_only_pieces": True,
    },
    "t5": {
        "model": "unigram",
        "vocab_size": 32_000,
        "special_tokens": ["<pad>", "</s>", "<unk>"],
        "pad": "<pad>",
        "eos": "</s>",
        "unk": "<unk>",
    },
    "xlm-r": {
        **_SENTENCEPIECE,
        "model": "unigram",
        "vocab_size": 250_000,
        "special_tokens": ["<s>", "<pad>", "</s>", "<unk>"],
        "pad": "<pad>",
    },
    "bert": {**_BERT, "model": "wordpiece", "vocab_size": 30_522, "normalizer": ["bert"]},
    "albert": {
        "model": "unigram",
        "vocab_size": 30_000,
        "special_tokens": ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
        "pad": "<pad>",
        "unk": "<unk>",
        "normalizer": ["nmt", "nfkd", "strip_accents", "lowercase"],
    },
}
"""The settings by name. What a model puts around a text is not learned, and is set when the artifact is imported."""
