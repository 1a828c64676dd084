"""Random lines of ``spm_train``'s flags: the tokenizer, SentencePiece and ``tokenizers`` give the same ids.

``python -m tests.service.cli.random_spm_flags 100`` checks a hundred lines on the corpora of the benchmarks.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import sentencepiece
import tokenizers

from service.cli.spm_flags import settings_of
from tests.support.data import corpus
from tokenizer_core import InvalidSettings, Recipe, Tokenizer, TrainingRun, to_sentencepiece

SYMBOLS = ("the", "<sep>", "日本", "Ａ", "ing", "123", "...", "{", "<b>", "é")
ODD = (
    *("", " ", "  a", "a\t\tb ", "▁a ▁ b▁", "ﬁ Ａｶﾞ e\u0301 A\u0323\u0302", "\u200bİ ΣΑΣ 각", "💥 x💥💥"),
    "def f(x):\n    y  =  1",
)


def random_line(rng: random.Random, sizes: tuple[int, int]) -> str:
    """Make a line without its corpus."""
    kind = rng.choice(("unigram", "unigram", "unigram", "bpe", "bpe", "bpe", "word", "char"))
    flags = [f"--model_type={kind}", f"--vocab_size={rng.randint(*sizes)}"]

    def sometimes(flag: str, *values: object, share: float = 0.35) -> None:
        if rng.random() < share:
            flags.append(f"--{flag}={rng.choice(values)}")

    sometimes("normalization_rule_name", "identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf", share=0.8)
    sometimes("character_coverage", 0.98, 0.995, 0.9999)
    sometimes("max_sentencepiece_length", 4, 8, 30)
    for flag in ("byte_fallback", "treat_whitespace_as_suffix", "split_digits"):
        sometimes(flag, "true", "false")
    for flag in ("split_by_whitespace", "split_by_number", "split_by_unicode_script"):
        sometimes(flag, "true", "false")
    for flag in ("add_dummy_prefix", "remove_extra_whitespaces", "allow_whitespace_only_pieces"):
        sometimes(flag, "true", "false")
    sometimes("required_chars", "éß", "日", share=0.2)
    sometimes("shrinking_factor", 0.5, 0.9, share=0.2)
    sometimes("num_sub_iterations", 1, 3, share=0.2)
    sometimes("user_defined_symbols", ",".join(rng.sample(SYMBOLS, rng.randint(1, 4))), share=0.3)
    sometimes("control_symbols", "<cls>,<mask>", share=0.3)
    flags.append(rng.choice(("", "", "--pad_id=3", "--unk_id=2 --bos_id=0 --eos_id=1", "--bos_id=-1 --eos_id=-1")))
    return " ".join(flags)


def check(line: str, texts: list[str], folder: Path) -> str:
    """Train with a line and compare the ids of texts; return the name of the file that the artifact is.

    Raises:
        AssertionError: with the line and the text.
    """
    recipe = Recipe.from_dict(settings_of(line)[0])
    TrainingRun(folder / "run", recipe).publish(folder / "made")
    made = Tokenizer.open(folder / "made")
    theirs = sentencepiece.SentencePieceProcessor(model_proto=to_sentencepiece(made.parts))
    file = folder / "made" / "tokenizer.json"
    other = tokenizers.Tokenizer.from_file(str(file)) if file.exists() else None
    for text in texts:
        ids = made.encode(text, special_tokens="text").tolist()
        assert ids == theirs.encode(text), ("sentencepiece", line, text)
        assert other is None or ids == other.encode(text).ids, ("tokenizers", line, text)
    return "tokenizer.json" if other else "tokenizer.model"


def main(count: int, first: int = 0) -> None:
    """Check so many lines on real text."""
    names = ("english", "code", "ja", "ru", "zh", "eu")
    learned = "\n".join(corpus(name)[:60_000] for name in names)
    held_out = [line for name in names for line in corpus(name)[100_000:400_000].splitlines() if line][:40_000:18]
    texts = [*held_out[: 2000 - len(ODD)], *ODD]
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "corpus.txt"
            path.write_text(learned, encoding="utf-8")
            line = random_line(random.Random(seed), (4500, 9000))
            try:
                said = check(f"--input={path} {line}", texts, Path(folder))
            except InvalidSettings as refused:
                said = f"refused: {refused}"
            except AssertionError as different:
                said = f"DIFFERENT: {different!s:.300}"
            sys.stdout.write(f"{seed}\t{line}\t{said}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
