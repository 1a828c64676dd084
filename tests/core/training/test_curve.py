"""The curve of tokens per byte is that of the tokenizers of each size, and outlives a stop."""

import pytest

from tokenizer_core import Cancelled, Files, Progress, Recipe, Tokenizer, TrainingRun, TrainSettings

TEXT = "aaaa aaaaa aaaaaaa banana bananas ====== low lower lowest newest naïve 東京 " * 30 + "aaaaaaaaaaaaa " * 7
SETTINGS = TrainSettings(vocab_size=330, pattern="gpt2")


def trained(tmp_path, size, **options) -> tuple[TrainingRun, Tokenizer]:
    settings = TrainSettings(vocab_size=size, pattern="gpt2", **options)
    run = TrainingRun(tmp_path / f"run-{size}", Recipe(corpus=(TEXT,), settings=settings))
    return run, run.tokenizers()[0]


def test_every_point_is_what_a_tokenizer_with_so_many_merges_makes_of_the_corpus(tmp_path):
    curve = trained(tmp_path, 330)[0].report().curve
    assert len(curve) > 12
    assert [made for made, _ in curve] == sorted({made for made, _ in curve})
    for made, per_byte in curve:
        tokenizer = trained(tmp_path, 256 + made)[1]
        assert len(tokenizer.merges) == made
        assert per_byte == tokenizer.count(TEXT) / len(TEXT.encode()), made


def test_the_curve_ends_with_the_last_merge(tmp_path):
    run, tokenizer = trained(tmp_path, 100_000)
    assert run.report().curve[-1] == (len(tokenizer.merges), tokenizer.count(TEXT) / len(TEXT.encode()))


def test_pieces_that_are_left_out_are_in_neither_number(tmp_path):
    run, tokenizer = trained(tmp_path, 300, max_piece_length=6)
    kept = [piece for piece in tokenizer.pieces(TEXT) if len(piece.encode()) <= 6]
    assert 0 < len(kept) < len(tokenizer.pieces(TEXT))
    tokens = sum(tokenizer.count(piece) for piece in kept)
    assert run.report().curve[-1][1] == tokens / sum(len(piece.encode()) for piece in kept)


def test_a_vocabulary_that_is_extended_begins_where_it_stands(tmp_path):
    base = trained(tmp_path, 280)[1]
    base.save(tmp_path / "base")
    recipe = Recipe(
        corpus=(TEXT,), settings=TrainSettings(vocab_size=300, pattern="gpt2"), extends=str(tmp_path / "base")
    )
    run = TrainingRun(tmp_path / "extended", recipe)
    assert run.report().curve[-1][1] == run.tokenizers()[0].count(TEXT) / len(TEXT.encode())
    assert run.report().curve[0][1] < base.count(TEXT) / len(TEXT.encode())


def test_a_stopped_run_goes_on_with_its_curve(tmp_path):
    whole = trained(tmp_path, 330)[0].report().curve
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(TEXT, encoding="utf-8")
    calls = []

    def stop(progress: Progress) -> None:
        calls.append(progress)
        if progress.phase == "merging":
            raise Cancelled("enough")

    recipe = Recipe(corpus=Files(paths=(str(corpus),)), settings=SETTINGS)
    with pytest.raises(Cancelled):
        TrainingRun(tmp_path / "stopped", recipe, progress=stop).merge()
    again = TrainingRun(tmp_path / "stopped", recipe).report().curve
    assert again[-1] == whole[-1]
    assert [made for made, _ in again] == sorted({made for made, _ in again})


def test_progress_tells_the_newest_tokens_first(tmp_path):
    seen = []
    recipe = Recipe(corpus=(TEXT,), settings=SETTINGS)
    run = TrainingRun(tmp_path / "watched", recipe, progress=seen.append)
    run.merge()
    last = seen[-1]
    merges = run.tokenizers()[0].merges
    assert last.newest == tuple(left + right for left, right in merges[:-6:-1])
    assert last.tokens_per_byte == run.report().curve[-1][1]
