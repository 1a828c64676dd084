"""Settings by the name of a model, and by a line of ``spm_train``."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from service.cli import main
from service.cli.spm_flags import settings_of
from service.cli.streams import CommandError
from service.cli.train_presets import PRESETS
from tokenizer_core import ARTICLE_1, Recipe, Tokenizer

TEXT = "\n".join([*ARTICLE_1.values(), "a 12 12b  123"]) + "\n"
ALL_FLAGS = """
    accept_language add_dummy_prefix allow_whitespace_only_pieces bos_id bos_piece byte_fallback character_coverage
    control_symbols denormalization_rule_tsv differential_privacy_clipping_threshold differential_privacy_noise_level
    enable_differential_privacy eos_id eos_piece hard_vocab_limit input input_format input_sentence_size
    max_sentence_length max_sentencepiece_length minloglevel model_prefix model_type normalization_rule_name
    normalization_rule_tsv num_sub_iterations num_threads pad_id pad_piece pretokenization_delimiter random_seed
    remove_extra_whitespaces required_chars seed_sentencepiece_size seed_sentencepieces_file self_test_sample_size
    shrinking_factor shuffle_input_sentence split_by_number split_by_unicode_script split_by_whitespace split_digits
    train_extremely_large_corpus treat_whitespace_as_suffix unk_id unk_piece unk_surface use_all_vocab
    user_defined_symbols vocab_size vocabulary_output_piece_score
"""


def shown(capsysbinary: pytest.CaptureFixture[bytes], *flags: str) -> dict[str, Any]:
    """Return the settings that the command would train with."""
    assert main(["train", "corpus.txt", "-o", "made", "--dry-run", *flags]) == 0
    settings: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    return settings


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_recipe_that_flags_change(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    settings = shown(capsysbinary, "--preset", name, "--vocab-size", "4321")
    assert settings == Recipe.from_dict(settings).to_dict()
    for setting, value in (PRESETS[name] | {"vocab_size": 4321}).items():
        assert settings[setting] == value


def test_a_line_of_flags_is_read_as_spm_train_reads_it(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    line = "--input=a.txt,b.txt --model_type bpe --vocab_size=900 --split_digits --bos_id=-1 --eos_id=1 --pad_id=2"
    settings = shown(
        capsysbinary, "--spm-flags", f"{line} --pad_piece='<p>' --control_symbols=<a>,<b> --byte_fallback=no"
    )
    assert settings["special_tokens"] == ["<unk>", "</s>", "<p>", "<a>", "<b>"]
    assert (settings["bos"], settings["eos"], settings["pad"]) == (None, "</s>", "<p>")
    assert (settings["style"], settings["vocab_size"], settings["split_digits"]) == ("sentencepiece", 900, True)
    assert (settings["byte_fallback"], settings["normalizer"]) == (False, ["nmt", "nfkc"])
    # The corpus of the command wins.
    assert settings["corpus"]["paths"] == ["corpus.txt"]
    assert settings_of(line)[0]["corpus"] == {"paths": ["a.txt", "b.txt"], "format": "text"}


def test_flags_without_a_meaning_are_told_and_not_followed_ones_refused() -> None:
    settings, notes = settings_of("--num_threads=4 --model_type=bpe --shrinking_factor=0.5 --use_all_vocab")
    assert [each.partition(" ")[0] for each in notes] == ["--num_threads", "--shrinking_factor", "--use_all_vocab"]
    assert "shrinking_factor" not in settings


def test_every_flag_of_spm_train_is_followed_or_told_or_refused_with_a_reason() -> None:
    said = dict[str, str]()
    for flag in re.findall(r"\w+", ALL_FLAGS):
        try:
            settings_of(f"--{flag}=1")
        except CommandError as refused:
            said[flag] = refused.message
    assert {flag for flag, message in said.items() if "this flag is not followed" in message} == set()


def test_special_pieces_and_symbols_have_the_ids_that_spm_train_gives_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "more.txt").write_text("<c>\n", encoding="utf-8")
    lines = [
        "--unk_id=3 --bos_id=-1 --eos_id=0 --pad_id=5 --control_symbols=<a> --user_defined_symbols=the,<b>,<d>",
        "--unk_id=2 --bos_id=-1 --eos_id=-1 --user_defined_symbols=the,<b>",
        f"--user_defined_symbols=</s> --control_symbols_file={tmp_path / 'more.txt'} --byte_fallback --vocab_size=900",
    ]
    for number, line in enumerate(lines):
        given = f"--input={tmp_path / 'a.txt'} --model_type=bpe --vocab_size=700 {line}"
        flags = " ".join(word if "=" in word else f"{word}=true" for word in shlex.split(given))
        # The library takes the symbols themselves, and only the program reads a file.
        flags = flags.replace(f"_file={tmp_path / 'more.txt'}", "=<c>")
        sentencepiece.SentencePieceTrainer.train(f"{flags} --minloglevel=2 --model_prefix={tmp_path / 'theirs'}")
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "theirs.model"))
        assert main(["train", "-o", str(tmp_path / str(number)), "--spm-flags", given]) == 0
        ours = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / str(number) / "tokenizer.model"))
        for id in range(9):
            for kind in ("is_control", "is_unknown", "is_byte"):
                assert getattr(ours, kind)(id) == getattr(theirs, kind)(id)
            if ours.is_control(id) or ours.is_unknown(id) or ours.id_to_piece(id) in ("the", "<b>", "<d>", "</s>"):
                assert ours.id_to_piece(id) == theirs.id_to_piece(id)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--vocab_sise=3", "did you mean 'vocab_size'"),
        ("--user_defined_symbols=a,a", "'a' stands twice"),
        ("--model_type=chars", "one of unigram, bpe"),
        ("--normalization_rule_name=nmt_nfkc_cff", "one of identity"),
        ("--vocab_size=many", "vocab_size"),
        ("--split_digits=perhaps", "one of true"),
        ("--enable_differential_privacy", "only false is followed"),
        ("--input_format=tsv", "only text is followed"),
        ("--normalization_rule_tsv=a.tsv", "only nothing is followed"),
        ("--unk_id=5", "unk_id"),
        ("--unk_id=-1 --bos_id=0 --eos_id=1", "unk has an id"),
        ("--unk_id=1", "a piece of its own"),
        ("vocab_size=3", "begins with --"),
        ("--input='a", "quotation"),
        ("--input='a\nb'", "no line break"),
        ("--control_symbols='a\rb'", "no line break"),
        ("--control_symbols=" + "a" * 200_000, "no word of more than"),
    ],
)
def test_a_line_that_is_wrong_is_refused_by_the_flag(line: str, said: str) -> None:
    with pytest.raises(CommandError, match=said.replace("(", r"\(")) as refused:
        settings_of(line)
    assert refused.value.code == "invalid_settings"


def test_a_preset_and_flags_of_spm_train_exclude_each_other() -> None:
    assert main(["train", "a.txt", "-o", "made", "--preset", "t5", "--spm-flags", "--vocab_size=9"]) == 2


@pytest.mark.parametrize("more", ["", "--split_digits", "--split_by_number=false", "--remove_extra_whitespaces=false"])
def test_the_same_line_gives_both_programs_the_same_pieces(more: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    line = f"--input={tmp_path / 'a.txt'} --model_type=bpe --vocab_size=700 {more}"
    flags = " ".join(word if "=" in word else f"{word}=true" for word in shlex.split(line))
    sentencepiece.SentencePieceTrainer.train(f"{flags} --minloglevel=2 --model_prefix={tmp_path / 'theirs'}")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "theirs.model"))
    assert main(["train", "-o", str(tmp_path / "made"), "--spm-flags", line]) == 0
    ours = {text for text, _ in Tokenizer.open(tmp_path / "made").parts.vocabulary.token_texts()}
    assert ours == {theirs.id_to_piece(id) for id in range(3, theirs.get_piece_size())}


def test_settings_are_shown_without_corpus_or_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["train", "--preset", "t5", "--dry-run"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["model"] == "unigram"
