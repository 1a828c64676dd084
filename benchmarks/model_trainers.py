"""Train WordPiece, Unigram or SentencePiece's BPE in this fresh process, in the peers' own environment.

``train MODEL TRAINER CORPUS VOCAB_SIZE OUTPUT [FIRST]`` and ``score MODEL OUTPUT TEXT`` are asked for. Nobody rewrites
the text, and all have the same words. ``OUTPUT`` is a JSON object with ``entries``, a pair of text and score each, and
``merges``; ``FIRST`` is that of another trainer, whose alphabet gets the first ids.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from benchmarks.trainers import SEPARATOR, documents, measured

UNK = "<unk>"
Found = dict[str, list[Any]]
Train = Callable[[Path, int, list[str]], Any]


def tokd(**settings: Any) -> Train:
    """Train with this project."""

    def run(path: Path, vocab_size: int, _first: list[str]) -> Any:
        from tokenizer_core import train

        return train(path, vocab_size + 2, special_tokens=[UNK, SEPARATOR], unk=UNK, **settings)

    return run


def of_tokd(tokenizer: Any) -> Found:
    """List what this project learned."""
    vocabulary = tokenizer.parts.vocabulary
    scores = vocabulary.scores() or [0.0] * vocabulary.id_limit
    entries = [[text, scores[id]] for text, id in vocabulary.token_texts() if text not in (UNK, SEPARATOR)]
    return {"entries": entries, "merges": [[left.decode(), right.decode()] for left, right in tokenizer.merges]}


def word_piece_of_tokenizers(path: Path, vocab_size: int, first: list[str]) -> Any:
    """Train WordPiece with Hugging Face tokenizers; it numbers the alphabet by chance, if nobody else does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token=UNK))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=first, show_progress=False)
    tokenizer.train_from_iterator(documents(path), trainer)
    return tokenizer


def unigram_of_tokenizers(path: Path, vocab_size: int, _first: list[str]) -> Any:
    """Train Unigram with Hugging Face tokenizers."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size + 1, special_tokens=[UNK], unk_token=UNK, show_progress=False
    )
    tokenizer.train_from_iterator(documents(path), trainer)
    return tokenizer


def of_tokenizers(tokenizer: Any) -> Found:
    """List what Hugging Face tokenizers learned."""
    vocab = json.loads(tokenizer.to_str())["model"]["vocab"]
    if isinstance(vocab, dict):
        return {"entries": [[text, 0.0] for text in sorted(vocab, key=vocab.__getitem__)], "merges": []}
    return {"entries": [entry for entry in vocab if entry[0] != UNK], "merges": []}


def sentencepiece(model_type: str) -> Train:
    """Train with sentencepiece: no other normalization, and no borders between scripts and digits."""

    def run(path: Path, vocab_size: int, _first: list[str]) -> Any:
        import sentencepiece as library

        model = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=documents(path),
            model_writer=model,
            model_type=model_type,
            vocab_size=vocab_size + 1,
            character_coverage=1.0,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            split_by_unicode_script=False,
            split_by_number=False,
            max_sentence_length=1 << 30,
            num_threads=2,
            hard_vocab_limit=False,
            bos_id=-1,
            eos_id=-1,
            minloglevel=2,
        )
        return library.SentencePieceProcessor(model_proto=model.getvalue())

    return run


def of_sentencepiece(model: Any) -> Found:
    """List what sentencepiece learned, after the unknown piece."""
    entries = [[model.id_to_piece(id), model.get_score(id)] for id in range(1, model.get_piece_size())]
    return {"entries": entries, "merges": []}


MODELS: dict[str, dict[str, tuple[Train, Callable[[Any], Found]]]] = {
    "WordPiece": {
        "tokd": (tokd(model="wordpiece", normalizer=["bert"]), of_tokd),
        "tokenizers": (word_piece_of_tokenizers, of_tokenizers),
    },
    "Unigram": {
        "tokd": (tokd(model="unigram", normalizer=[]), of_tokd),
        "tokenizers": (unigram_of_tokenizers, of_tokenizers),
        "sentencepiece": (sentencepiece("unigram"), of_sentencepiece),
    },
    "BPE of SentencePiece": {
        "tokd": (tokd(style="sentencepiece"), of_tokd),
        "sentencepiece": (sentencepiece("bpe"), of_sentencepiece),
    },
}


def alphabet(found: Found) -> list[str]:
    """Return the characters of WordPiece, which are before all products."""
    return list(takewhile(lambda text: len(text.removeprefix("##")) == 1, (text for text, _ in found["entries"])))


def score(model: str, found: Found, text: Path) -> dict[str, float]:
    """Count the tokens of a text, all with one engine; of Unigram also the likelihood of the best ways to cut it.

    The likelihood is the mean logarithm of a character's probability, with scores that are those of probabilities.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    lines = [line for document in documents(text) for line in document.split("\n") if line]
    entries = found["entries"]
    if model == "Unigram":
        total = math.log(math.fsum(math.exp(value) for _, value in entries))
        entries = [(piece, value - total) for piece, value in entries]
        engine = Tokenizer(models.Unigram([(UNK, 0.0), *entries], 0, False))
    else:
        ids = {piece: id for id, (piece, _) in enumerate(entries, 1)}
        engine = Tokenizer(models.BPE({UNK: 0, **ids}, list(merges(found)), unk_token=UNK, fuse_unk=True))
    engine.pre_tokenizer = pre_tokenizers.Metaspace()
    encoded = [encoding.ids for encoding in engine.encode_batch(lines)]
    answer: dict[str, float] = {"tokens": sum(map(len, encoded))}
    if model == "Unigram":
        lowest = min(value for _, value in entries) - 10
        values = [lowest, *(value for _, value in entries)]
        characters = sum(len(line) + 1 for line in lines)
        answer["likelihood"] = math.fsum(values[id] for ids in encoded for id in ids) / characters
    return answer


def merges(found: Found) -> Iterator[tuple[str, str]]:
    """Return the merges, which sentencepiece does not tell: of a piece, the one that makes it of the ones before."""
    if found["merges"]:
        yield from ((left, right) for left, right in found["merges"])
        return
    ranks: dict[tuple[str, str], float] = {}
    for rank, (piece, _) in enumerate(found["entries"]):
        parts = list(piece)
        while len(parts) > 2:
            known = [ranks.get(pair, math.inf) for pair in pairwise(parts)]
            at = known.index(min(known))
            if known[at] == math.inf:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            ranks[parts[0], parts[1]] = rank
            yield parts[0], parts[1]


def work(command: str, model: str, *rest: str) -> dict[str, Any]:
    """Train once, or score."""
    if command == "score":
        return score(model, json.loads(Path(rest[0]).read_text("utf-8")), Path(rest[1]))
    name, path, vocab_size, output, *other = rest
    first = [text for one in other for text in alphabet(json.loads(Path(one).read_text("utf-8")))]
    train, listed = MODELS[model][name]
    module, package = ("tokenizer_core", None) if name == "tokd" else (name, name)
    answer, line = measured(module, package, lambda: train(Path(path), int(vocab_size), first))
    Path(output).write_text(json.dumps(listed(answer), ensure_ascii=False), "utf-8")
    return line
