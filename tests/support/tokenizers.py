"""Tokenizers that are trained in a blink by Hugging Face's trainer, in Hugging Face's layout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tokenizer_core.checking.texts import PROSE

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONFIG = {
    "eos_token": SPECIALS[0],
    "pad_token": SPECIALS[3],
    "model_max_length": 4096,
    "padding_side": "left",
    "chat_template": TEMPLATE,
}


def write_layout(
    directory: Path,
    *,
    texts: Iterable[str] = PROSE.values(),
    vocab_size: int = 700,
    min_frequency: int = 0,
    specials: Sequence[str] = SPECIALS,
    frame: Sequence[str] = (),
    config: Mapping[str, Any] = CONFIG,
) -> Path:
    """Write Hugging Face's layout: byte-level BPE, GPT-2's pattern, special tokens.

    Args:
        texts: to train on; the audit's own by default.
        frame: the special tokens that stand before and after every text.
        config: further fields of ``tokenizer_config.json``.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(GPT2_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens(list(specials))
    if frame:
        first, last = frame
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A $B {last}",
            special_tokens=[(literal, tokenizer.token_to_id(literal)) for literal in frame],
        )
    else:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    fields = {"tokenizer_class": "PreTrainedTokenizerFast", "padding_side": "right", **config}
    (directory / "tokenizer_config.json").write_text(json.dumps(fields))
    return directory
