"""Train character-level BPE with an end-of-word mark: merges as data, and files that Hugging Face reads.

The pipeline of this package begins with bytes, so the result is not a ``Tokenizer``: it is for subword-nmt's and
Hugging Face's ``</w>`` vocabularies, and for teaching.

>>> from tokenizer_core import train_characters
>>> trained = train_characters(iter(["low lower newest widest"]), vocab_size=40)
>>> trained.merges[0], trained.tokens[0]
(('e', 's'), 'd')
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizer_core._kernel import learn_merges
from tokenizer_core.arguments import holds_surrogate, integer_of, place_of, whole_number
from tokenizer_core.corpus.files import Corpus
from tokenizer_core.errors import InvalidOption, shown
from tokenizer_core.formats.vocab_merges import merge_line
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.training.counts import Counts
from tokenizer_core.training.progress import Report, Reporter
from tokenizer_core.training.settings import BYTES, MAX_VOCAB_SIZE, TieBreak, TrainSettings
from tokenizer_core.training.train import counted

WORDS = r"[^\s\x1C-\x1F]+|[\s\x1C-\x1F]"
"""White space and the stretches between: the usual words of character-level vocabularies.

White space is what ``str.split`` takes for it, also four separators that are not white space in Unicode: readers in
Python split a line of ``merges.txt`` so, and a merge must not be split.
"""


@dataclass(frozen=True, slots=True, repr=False)
class CharacterMerges(ShortRepr):
    """The result of a run.

    Attributes:
        tokens: the characters in the order of their code points, those that end a word behind them, then the products.
        alphabet: how many of the tokens are characters.
        merges: both parts, in the order in which they were made.
        end_of_word: the mark, or an empty string.
    """

    tokens: tuple[str, ...]
    alphabet: int
    merges: tuple[tuple[str, str], ...]
    end_of_word: str

    def save(self, directory: str | Path) -> None:
        """Write ``vocab.json`` and ``merges.txt``, as Hugging Face's and subword-nmt's BPE read them.

        Raises:
            Unsupported: a merge cannot be written as a line; nothing is written then.
        """
        directory = place_of(directory, "directory")
        lines = [merge_line(rank, left, right) for rank, (left, right) in enumerate(self.merges)]
        directory.mkdir(parents=True, exist_ok=True)
        vocabulary = json.dumps({token: id for id, token in enumerate(self.tokens)}, ensure_ascii=False)
        (directory / "vocab.json").write_text(vocabulary, encoding="utf-8")
        (directory / "merges.txt").write_text("#version: 0.2\n" + "".join(lines), encoding="utf-8")


def train_characters(
    corpus: Corpus | Counts,
    vocab_size: int = 10_000,
    *,
    pattern: str | None = WORDS,
    end_of_word: str = "</w>",
    limit_alphabet: int | None = None,
    special_tokens: Sequence[str] = (),
    tie_break: TieBreak = "lexicographic_low",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
) -> CharacterMerges:
    """Learn merges of characters.

    Args:
        vocab_size: characters and products together; special tokens are not among them.
        pattern: what words are; ``save`` refuses merges that hold white space, which those of the default never do.
        end_of_word: added to the last character of every word, where white space is then no word; may be empty.
        limit_alphabet: only the most frequent characters; no merge crosses another one.
        max_token_length: in characters.

    Raises:
        InvalidOption: with the field; also when the corpus holds the mark, or has more characters than ``vocab_size``.
        CorpusError: with the file and the byte, line or row.
    """
    limit = _limit_of(limit_alphabet)
    _check_mark(end_of_word)
    wanted = integer_of(vocab_size, "vocab_size", 1)
    if wanted > MAX_VOCAB_SIZE:
        raise InvalidOption(f"vocab_size is at most {MAX_VOCAB_SIZE}, not {wanted}", field="vocab_size")
    # Of another type they are refused by the settings.
    given: object = special_tokens
    specials = len(given) if isinstance(given, Sequence) else 0
    settings = TrainSettings(
        vocab_size=BYTES + specials,
        pattern=pattern,
        special_tokens=special_tokens,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
    )
    counts = counted(corpus, settings, replace_invalid=replace_invalid, threads=threads, progress=progress)
    reporter = Reporter(progress)
    reporter.merging(0, wanted)
    tokens, alphabet, merges = reporter.run(
        lambda: learn_merges(
            counts.pieces,
            wanted,
            level="characters",
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            tie_break=tie_break,
            forbidden=settings.special_tokens,
            end_of_word=end_of_word,
            limit_alphabet=limit,
            progress=reporter.merging,
        )
    )
    texts = tuple(token.decode() for token in tokens)
    pairs = tuple((texts[left], texts[right]) for left, right, _, _ in merges)
    return CharacterMerges(texts, alphabet, pairs, end_of_word)


def _limit_of(limit_alphabet: object) -> int | None:
    limit = whole_number(limit_alphabet)
    if limit_alphabet is not None and (limit is None or not 1 <= limit <= MAX_VOCAB_SIZE):
        message = f"limit_alphabet is 1 to {MAX_VOCAB_SIZE}, not {shown(limit_alphabet)}"
        raise InvalidOption(message, field="limit_alphabet")
    return limit


def _check_mark(mark: object) -> None:
    if not isinstance(mark, str) or holds_surrogate(mark) or any(character.isspace() for character in mark):
        raise InvalidOption("end_of_word is a string of Unicode without white space", field="end_of_word")
