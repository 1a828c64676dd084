"""The checkpoint of merging: the merges so far, in a file that is replaced whole.

The first line says what the merges depend on and what was counted, and at the end of a run whose tokens do not follow
from the merges alone, these tokens; every other is one merge: left, right and product by index, and how often the pair
occurred. The file is ``sealed``: one that is damaged counts as none, for what is read of it is not found again.
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from tokenizer_core.training import checksummed_file
from tokenizer_core.training.learning import Known, Learned, Merge, Start
from tokenizer_core.training.report import LanguageCost

FORMAT = "tokd merges 2"

INTERVAL = 2.0
"""Seconds of merging that a killed run may lose."""

_SAMPLES = 512


@dataclass(slots=True)
class MergeLog:
    """The merges of one run.

    Attributes:
        path: of the file.
        corpus: what was counted.
        longest: the longest piece.
        merges: in order.
        is_complete: whether there are no more to come.
        seconds: of merging, over all attempts.
        timeline: seconds and merges, over all attempts.
        curve: merges, and the tokens a byte of the counted pieces with them, over all attempts.
        alphabet, tokens: how many tokens there were before the first merge, and all tokens as text; none where they
            follow from the plan and the merges.
        scores: of these tokens, if they have any.
        rounds: of a run of Unigram that is not complete, what the kernel goes on from.
        languages: with parity, what each costs.
        smaller: tokens and scores of smaller vocabularies that are not the beginning of this one.
    """

    path: Path
    corpus: dict[str, Any] = field(default_factory=dict)
    longest: int = 0
    merges: list[Merge] = field(default_factory=list)
    is_complete: bool = False
    timeline: list[tuple[float, int]] = field(default_factory=list)
    curve: list[tuple[int, float]] = field(default_factory=list)
    alphabet: int = 0
    tokens: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    smaller: list[tuple[list[str], list[float]]] = field(default_factory=list)
    languages: list[LanguageCost] = field(default_factory=list)
    rounds: bytes = b""
    _lines: list[bytes] = field(default_factory=list)
    _before: float = 0.0
    _begun: float = field(default_factory=time.monotonic)
    _next: float = 0.0

    @classmethod
    def open(cls, path: Path) -> MergeLog:
        """Read what an earlier run has left, if there is such."""
        log = cls(path)
        try:
            first, *lines = checksummed_file.read(path).splitlines()
            header = json.loads(first)
            if header["format"] != FORMAT or header["merges"] != len(lines):
                return log
            merges = [_read(line) for line in lines]
            timeline = [(seconds, made) for seconds, made in header["timeline"]]
            curve = [(made, per_byte) for made, per_byte in header.get("curve", ())]
            languages = [LanguageCost(*each) for each in header.get("languages", ())]
            rounds = base64.b64decode(header.get("rounds", ""), validate=True)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            # None, or damaged, or not one of this version: the merges are found again.
            return log
        log.merges, log._lines, log.timeline, log.curve, log.rounds = merges, lines, timeline, curve, rounds
        log.alphabet, log.tokens = header.get("alphabet", 0), header.get("tokens", [])
        log.scores, log.languages = header.get("scores", []), languages
        log.smaller = [(tokens, scores) for tokens, scores in header.get("smaller", ())]
        log.corpus, log.longest, log.is_complete = header["corpus"], header["longest"], header["complete"]
        log._before = log.seconds
        return log

    @property
    def seconds(self) -> float:
        return self.timeline[-1][0] if self.timeline else 0.0

    def known(self) -> Known:
        """Return what need not be found again."""
        return Known(self.merges, self.rounds, self.keep_rounds)

    def restart(self) -> None:
        """Forget the merges: the run adds again all that it keeps."""
        self.merges, self._lines = [], []
        self._begun = time.monotonic()
        self._next = self._begun + INTERVAL

    def add(self, new: list[Merge], tokens_per_byte: float | None = None) -> None:
        """Add merges, and write the file when it is time to."""
        self.merges += new
        self._lines += [b" ".join(b"%d" % number for number in merge) for merge in new]
        now = time.monotonic()
        sample = (round(self._before + now - self._begun, 3), len(self.merges))
        if self.timeline and sample[1] == self.timeline[-1][1]:
            # What is learned without merges takes time too.
            self.timeline[-1] = sample
        else:
            self.timeline.append(sample)
        if len(self.timeline) > _SAMPLES:
            self.timeline = self.timeline[::2]
        if tokens_per_byte is not None and (not self.curve or len(self.merges) > self.curve[-1][0]):
            self.curve.append((len(self.merges), tokens_per_byte))
        if len(self.curve) > _SAMPLES:
            # The last point is the result.
            self.curve = [*self.curve[:-1:2], self.curve[-1]]
        self._write_in_time()

    def keep_rounds(self, rounds: bytes) -> None:
        """Keep what a run of Unigram is to go on from, and write the file when it is time to."""
        self.rounds = rounds
        self._write_in_time()

    def _write_in_time(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self.write()
            # A long list is not written all the time.
            self._next = time.monotonic() + INTERVAL + 20 * (time.monotonic() - now)

    def keep(self, learned: Learned) -> None:
        """Keep the tokens of a run too."""
        self.alphabet, self.tokens = len(learned.start.tokens), [token.decode() for token in learned.tokens]
        self.scores = learned.scores
        self.smaller = [([token.decode() for token in one.tokens], one.scores) for one in learned.smaller]

    def learned(self) -> Learned:
        """Return what was kept."""
        tokens = [token.encode() for token in self.tokens]
        smaller = [Learned(Start(()), [token.encode() for token in one], [], scores) for one, scores in self.smaller]
        return Learned(Start(tuple(tokens[: self.alphabet])), tokens, self.merges, self.scores, smaller)

    def _kept(self) -> dict[str, Any]:
        kept: dict[str, Any] = {"alphabet": self.alphabet, "tokens": self.tokens, "scores": self.scores}
        return kept | ({"smaller": self.smaller} if self.smaller else {})

    def write(self) -> None:
        """Put the file into its place."""
        header = {
            "format": FORMAT,
            "complete": self.is_complete,
            "corpus": self.corpus,
            "longest": self.longest,
            "merges": len(self._lines),
            "timeline": self.timeline,
            "curve": self.curve,
            **({"languages": [astuple(each) for each in self.languages]} if self.languages else {}),
            **(self._kept() if self.tokens else {}),
            **({"rounds": base64.b64encode(self.rounds).decode()} if self.rounds and not self.is_complete else {}),
        }
        checksummed_file.replace(
            self.path, b"".join(line + b"\n" for line in (json.dumps(header).encode(), *self._lines))
        )


def _read(line: bytes) -> Merge:
    merge = tuple(map(int, line.split()))
    if len(merge) not in (4, 5):
        raise ValueError(f"{len(merge)} numbers are no merge")
    return merge
