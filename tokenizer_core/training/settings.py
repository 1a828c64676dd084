"""Settings of training, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from tokenizer_core._kernel import Pipeline, Vocabulary
from tokenizer_core.config import PipelineConfig
from tokenizer_core.errors import ArtifactError, InvalidOption, InvalidUnicode, shown
from tokenizer_core.formats.added import reserve, special
from tokenizer_core.patterns import LINES
from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer, Rewriting
from tokenizer_core.training.described import described
from tokenizer_core.training.setting_checks import (
    check_distinct,
    check_frequency,
    check_steps,
    check_types,
)

TieBreak = Literal["lexicographic_low", "lexicographic_high", "lowest_ids", "shortest"]
IdLayout = Literal["specials_first", "specials_last"]

MAX_VOCAB_SIZE = 1 << 22
"""The kernel's bound on ids: sixteen times the largest public vocabulary."""

MAX_REWRITES = 16
"""Steps of a normalizer: every text that is ever encoded passes through each."""

BYTES = 256

_OF_PARITY = ("parity", "global_merges", "parity_window")
_OF_SUPERWORDS = ("superwords_from", "superwords_pattern")
OPTIONAL = (*_OF_PARITY, *_OF_SUPERWORDS)
"""Unless they are used they are not told: manifests are as they were before there were any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """Settings of byte-level BPE. The constructor checks every field, before any work.

    Raises:
        InvalidOption: with the field.
    """

    vocab_size: int = described(
        32_000,
        "tokens in all: the bytes or the alphabet, the special tokens and what is learned; fewer where nothing is left "
        "to learn",
        "N",
    )
    pattern: str | None = described(
        "cl100k_base",
        "of the pretokenizer: a known name or a regular expression; null makes a document one piece",
        "PATTERN",
    )
    superwords_from: float | None = described(
        None,
        "of byte-level BPE: the share of `vocab_size`, below 1, after which merges may join words",
        "SHARE",
    )
    superwords_pattern: str | None = described(
        None,
        "the pattern then, and of the tokenizer; by default it cuts lines and numbers",
        "PATTERN",
    )
    normalizer: Sequence[Rewriting] = described((), "rewrites of the text, in order, at most 16", "NAME")
    special_tokens: Sequence[str] = described(
        (), "literals that end a document, are never counted, and get ids of their own, in this order", "LITERAL"
    )
    tie_break: TieBreak = described(
        "lexicographic_low",
        "which of several equally frequent pairs is merged first: the smallest pair of byte strings "
        "(`lexicographic_low`, the default), the largest (`lexicographic_high`, as in CS336), the smallest pair of ids "
        "(`lowest_ids`, as in Hugging Face), or the pair with the shortest product, of equals the smallest "
        "(`shortest`, as in SentencePiece, and the default of that style)",
        "RULE",
    )
    min_frequency: int = described(1, "what occurs less often is not learned; 2 stops when no pair repeats", "N")
    max_token_length: int | None = described(
        None,
        "longer tokens are not made: in bytes, of other models than byte-level BPE in characters (by default 16 of "
        "Unigram and of BPE in the style of SentencePiece)",
        "BYTES",
    )
    max_piece_length: int | None = described(None, "longer pieces are left out, in bytes; by default none is", "BYTES")
    min_count: int = described(1, "pieces that occur less often in the whole corpus are left out, to save memory", "N")
    id_layout: IdLayout = described(
        "specials_last", "whether special tokens have the lowest or the highest ids", "LAYOUT"
    )
    initial_merges: Sequence[tuple[bytes, bytes]] = described(
        (), "pairs of entries that are merged before anything is learned, in this order"
    )
    parity: bool = described(
        False, "choose each merge for the language that is compressed worst; the corpus says the languages"
    )
    global_merges: int = described(0, "of parity: the first merges, chosen in all languages together (hybrid)", "N")
    parity_window: int | None = described(
        None, "of parity: a language waits that was chosen for more than twice its equal share of so many merges", "N"
    )
    sixteen_bit: bool = described(
        False, "refuse a vocabulary whose ids do not fit into 16 bits, and write `merges.u16` beside it"
    )

    def __post_init__(self) -> None:
        check_types(self)
        check_steps(self.normalizer, MAX_REWRITES)
        check_frequency(self.min_frequency)
        check_frequency(self.min_count, "min_count")
        self._check_superwords()
        check_frequency(self.global_merges, "global_merges")
        for name in ("global_merges", "parity_window"):
            if getattr(self, name) and not self.parity:
                raise InvalidOption(f"{name} is of parity; turn that on, or leave it away", field=name)
        self._check_special_tokens()
        tokens = self._check_initial_merges()
        least = len(tokens) + len(self.special_tokens)
        most = 1 << 16 if self.sixteen_bit else MAX_VOCAB_SIZE
        if self.vocab_size < least:
            raise InvalidOption(
                f"vocab_size is at least {least} (what there is before the first merge), not {self.vocab_size}",
                field="vocab_size",
            )
        if self.vocab_size > most:
            raise InvalidOption(f"vocab_size is at most {most}, not {self.vocab_size}", field="vocab_size")
        self._check_pipeline(tokens)

    @property
    def literals(self) -> tuple[str, ...]:
        """The special tokens by id."""
        return tuple(self.special_tokens)

    @property
    def choice(self) -> tuple[int, int] | None:
        """The first merges of all languages together and the window of parity, if there is any."""
        return (self.global_merges, self.parity_window or 0) if self.parity else None

    def pipeline(self) -> PipelineConfig:
        """Describe the pipeline, as yet without special tokens."""
        cut = self._words if self.superwords_from is None else self._superwords
        return PipelineConfig(normalizer=tuple(Normalizer(name) for name in self.normalizer), pretokenizer=_cuts(cut))

    def words_of(self, size: int, start: int) -> tuple[int, str] | None:
        """Return what is learned within words before superwords, if these are: how many tokens, and what cuts words.

        Args:
            size: of the vocabulary.
            start: tokens before the first merge.
        """
        if self.superwords_from is None:
            return None
        cut = PipelineConfig(pretokenizer=_cuts(self._words))
        return max(start, int(size * self.superwords_from) - len(self.special_tokens)), cut.to_json()

    @property
    def _words(self) -> Pattern | None:
        return None if self.pattern is None else Pattern.named_or_regex(self.pattern)

    @property
    def _superwords(self) -> Pattern:
        if self.superwords_pattern is not None:
            return Pattern.named_or_regex(self.superwords_pattern)
        if self._words is None or self._words.kind != "name":
            message = "there is a superwords_pattern only for a pattern that has a name; give one"
            raise InvalidOption(message, field="superwords_pattern")
        return Pattern.of_regex(LINES[self._words.text])

    def to_dict(self) -> dict[str, Any]:
        """Return what can be written as JSON; of the initial merges only how many they are."""
        unused = (*(() if self.parity else _OF_PARITY), *(_OF_SUPERWORDS if self.superwords_from is None else ()))
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in unused}
        return values | {
            "normalizer": list(self.normalizer),
            "special_tokens": list(self.special_tokens),
            "initial_merges": len(self.initial_merges),
        }

    def _check_superwords(self) -> None:
        share: object = self.superwords_from
        if share is None:
            if self.superwords_pattern is not None:
                message = "superwords_pattern goes with superwords_from; set that too"
                raise InvalidOption(message, field="superwords_pattern")
            return
        if not isinstance(share, float) or not 0 < share < 1:
            raise InvalidOption(f"superwords_from is above 0 and below 1, not {shown(share)}", field="superwords_from")
        if self.parity:
            message = "superwords are learned for all languages together; leave superwords_from or parity away"
            raise InvalidOption(message, field="superwords_from")
        if self.min_count > 1:
            message = "with superwords_from, min_count would leave out whole lines; leave it away"
            raise InvalidOption(message, field="min_count")

    def _check_special_tokens(self) -> None:
        """Refuse what would be lost in a mapping, or would read as a byte; the rest is for ``_check_pipeline``."""
        check_distinct(self.special_tokens)
        for index, literal in enumerate(self.special_tokens):
            if len(literal) == 1 and ord(literal) < 0x180:
                raise InvalidOption(
                    f"the special token {literal!r} is the name of a byte in tokenizer.json; take a longer one",
                    field=f"special_tokens[{index}]",
                )

    def _check_initial_merges(self) -> list[bytes]:
        """Return the bytes and the tokens that these merges make."""
        merges: object = self.initial_merges
        if not isinstance(merges, Sequence) or isinstance(merges, str) or len(merges) > MAX_VOCAB_SIZE:
            message = f"initial_merges is a sequence of at most {MAX_VOCAB_SIZE} pairs of bytes"
            raise InvalidOption(message, field="initial_merges")
        object.__setattr__(self, "initial_merges", tuple(merges))
        known = {bytes([byte]): None for byte in range(BYTES)}
        seen: dict[tuple[bytes, bytes], int] = {}
        given: Sequence[object] = self.initial_merges
        for index, merge in enumerate(given):
            field = f"initial_merges[{index}]"
            parts = merge if isinstance(merge, tuple | list) else ()
            if len(parts) != 2 or not all(isinstance(part, bytes) for part in parts):
                raise InvalidOption(f"initial merge {index} is not a pair of bytes", field=field)
            left, right = parts
            for part in parts:
                if part not in known:
                    raise InvalidOption(
                        f"initial merge {index} has the part {shown(part)}, which no merge before it makes",
                        field=field,
                    )
            if (before := seen.setdefault((left, right), index)) != index:
                # tokenizer.json has no place for it: a whole run would be lost when it is saved.
                raise InvalidOption(
                    f"initial merge {index} is merge {before} again; leave one of them away", field=field
                )
            known[left + right] = None
        return list(known)

    def _check_pipeline(self, tokens: Sequence[bytes]) -> None:
        """Compile the pattern, the normalizer and the special tokens."""
        vocabulary = Vocabulary.from_tokens(list(enumerate(tokens)), [])
        field = "pattern"
        try:
            Pipeline(vocabulary, PipelineConfig(pretokenizer=_cuts(self._words)).to_json())
            field = field if self.superwords_from is None else "superwords_pattern"
            Pipeline(vocabulary, self.pipeline().to_json())
        except (ArtifactError, InvalidUnicode) as error:
            raise InvalidOption(error.message, field=field) from error
        try:
            added = special({literal: id for id, literal in enumerate(self.special_tokens, len(tokens))})
            Pipeline(reserve(vocabulary, added), replace(self.pipeline(), added_tokens=added).to_json())
        except ArtifactError as error:
            place, _, _ = str(error.place.get("field", "")).removeprefix("added_tokens").partition(".")
            message = error.message
            if error.code == "id_conflict":
                # Names of bytes are refused above, and what is learned is not a special token.
                message = "the special token is an entry that an initial merge makes; leave one of them away"
            raise InvalidOption(message, field=f"special_tokens{place}") from error


def _cuts(pattern: Pattern | None) -> tuple[Pretokenizer, ...]:
    return () if pattern is None else (Pretokenizer("split", pattern=pattern),)
