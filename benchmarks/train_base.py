"""Train ``artifacts/base``: ``python -m benchmarks.train_base CORPUS_FOLDER artifacts/base``.

The corpus is a folder of ``*.jsonl.zst`` shards with one ``{"text": ...}`` a line. Hugging Face's trainer does the work
until the project has its own; the same corpus gives the same merges, whatever the machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tokenizers
import zstandard
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, trainers

from tokenizer_core import Tokenizer
from tokenizer_core.patterns import PATTERNS

VOCAB_SIZE = 32_000
PATTERN = "cl100k_base"
SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>")
"""In the order of their ids, after all others."""

CHAT_TEMPLATE = """\
{%- for message in messages -%}
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- endif -%}
"""


def texts(shards: list[Path]) -> Iterator[str]:
    """Read every document, shard by shard."""
    for shard in shards:
        with shard.open("rb") as packed:
            lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(packed), encoding="utf-8")
            for line in lines:
                yield json.loads(line)["text"]


def train(shards: list[Path]) -> tokenizers.Tokenizer:
    """Learn the merges, then put the special tokens behind them."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERNS[PATTERN]), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE - len(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(shards), trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    return tokenizer


def provenance(shards: list[Path]) -> dict[str, object]:
    """Say what it was trained from and how; the corpus is named by its content."""
    digest = hashlib.sha256()
    for shard in shards:
        digest.update(hashlib.sha256(shard.read_bytes()).digest())
    return {
        "trained_by": f"benchmarks/train_base.py with tokenizers {tokenizers.__version__}",
        "corpus": {
            "description": "200 MB: half English prose, a quarter code, a quarter other languages",
            "shards": [shard.name for shard in shards],
            "sha256_of_shard_sha256s": digest.hexdigest(),
        },
        "settings": {"vocab_size": VOCAB_SIZE, "pattern": PATTERN, "special_tokens": list(SPECIAL_TOKENS)},
    }


def main() -> int:
    """Train and write the artifact."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train_base", description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("artifact", type=Path)
    arguments = parser.parse_args()
    shards = sorted(arguments.corpus.glob("*.jsonl.zst"))
    if not shards:
        parser.error(f"no *.jsonl.zst in {arguments.corpus}")
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)
        train(shards).save(str(source / "tokenizer.json"))
        config = {"eos_token": "<|endoftext|>", "pad_token": "<|pad|>", "chat_template": CHAT_TEMPLATE}
        (source / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        parts = Tokenizer.from_hf(source).parts
    base = Tokenizer(dataclasses.replace(parts, provenance=provenance(shards)))
    base.save(arguments.artifact, name=arguments.artifact.name)
    print(base.hash, base.vocab_size, file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
