"""Random lines of ``spm_train``'s flags; ``random_spm_flags`` checks more of them, on more text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.service.cli.random_spm_flags import ODD, check, random_line
from tokenizer_core import ARTICLE_1

SEED = 20_26
TEXT = "\n".join([*ARTICLE_1.values(), "a 12 12b  123 the {thing}...", "  \tthe  end "])


@pytest.mark.parametrize("case", range(24))
def test_a_random_line_gives_a_model_with_the_ids_of_sentencepiece_and_of_tokenizers(case: int, tmp_path: Path) -> None:
    rng = random.Random(f"{SEED} {case}")
    (tmp_path / "corpus.txt").write_text(TEXT, encoding="utf-8")
    texts = [*(text[at : at + 90] for text in ARTICLE_1.values() for at in (0, 31)), TEXT, *ODD]
    check(f"--input={tmp_path / 'corpus.txt'} {random_line(rng, (1000, 1300))}", texts, tmp_path)
