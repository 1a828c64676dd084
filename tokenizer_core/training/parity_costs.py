"""The costs of the languages of a run with parity, beside those without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tokenizer_core._kernel import PieceCounts
from tokenizer_core.corpus.bounds import Bounds
from tokenizer_core.corpus.files import Corpus, Files, sources
from tokenizer_core.corpus.languages import check_parallel
from tokenizer_core.training.learning import Known, Learned, learn
from tokenizer_core.training.plans import NewVocabulary
from tokenizer_core.training.progress import Reporter
from tokenizer_core.training.report import LanguageCost


def costs(
    plan: NewVocabulary, pieces: PieceCounts, learned: Learned, lines: int, reporter: Reporter
) -> list[LanguageCost]:
    """Learn from the same counts without parity, and return the tokens of each language with and without it.

    Args:
        lines: of the parallel text of each language, if they are known.
    """
    goal = replace(plan.goal, choice=(plan.goal.tokens, 0))
    other = reporter.run(lambda: learn(pieces, plan.start, goal, Known(), lambda *_, **__: reporter.check()))
    return [
        LanguageCost(name, size, is_parallel=is_parallel, lines=lines, tokens=tokens, without_parity=without)
        for (name, size, is_parallel, tokens), (*_, without) in zip(learned.languages, other.languages, strict=True)
    ]


def parallel_lines(corpus: Corpus, bounds: Bounds, left_out: Sequence[Path]) -> int:
    """Return the lines of the parallel text of each language, or 0 if there is none."""
    if not isinstance(corpus, Files):
        return 0
    return check_parallel(sources(replace(corpus, paths=()), bounds, left_out), bounds)
