"""``tokd inspect`` and ``tokd check``."""

import dataclasses
import json

from tests.service.cli.processes import succeed
from tests.support.tokenizers import SPECIALS
from tokenizer_core import Tokenizer


def test_inspect_says_what_is_in_it(tokd, tokenizer):
    found = json.loads(succeed(tokd("inspect", "artifacts/base", "--json")))
    assert found["hash"] == tokenizer.hash
    assert found["name"] == "base"
    assert found["vocab_size"] == tokenizer.vocab_size
    assert found["special_tokens"] == tokenizer.special_tokens
    assert found["merges"] == len(tokenizer.merges)
    assert found["template"] == tokenizer.template_hash
    longest = max(len(tokenizer.token_bytes(id)) for id in range(tokenizer.vocab_size - len(SPECIALS)))
    assert found["longest_tokens"][0]["bytes"] == longest
    text = succeed(tokd("inspect", "artifacts/base")).decode()
    for word in (tokenizer.hash, "gpt2", "<|im_end|>", tokenizer.unicode_version):
        assert word in text


def test_inspect_shows_literals_with_ids_and_ids_with_literals(tokd, tmp_path, tokenizer):
    ids = tokenizer.special_tokens
    start, end = ids["<|im_start|>"], ids["<|im_end|>"]
    config = dataclasses.replace(tokenizer.config, prefix_ids=(start,), suffix_ids=(end, 7))
    Tokenizer(dataclasses.replace(tokenizer.parts, config=config)).save(tmp_path / "framed")
    lines = [line.split() for line in succeed(tokd("inspect", str(tmp_path / "framed"))).decode().splitlines()]
    assert ["prefix", "ids", str(start), "<|im_start|>"] in lines
    assert ["suffix", "ids", str(end), "<|im_end|>,", "7"] in lines
    assert ["eos", "<|endoftext|>", str(ids["<|endoftext|>"])] in lines


def test_check_prints_twelve_points_and_succeeds(tokd, tokenizer):
    rows = str(tokenizer.vocab_size)
    report = json.loads(succeed(tokd("check", "artifacts/base", "--embedding-rows", rows, "--json")))
    assert [point["status"] for point in report["points"]] == ["passed"] * 12
    table = succeed(tokd("check", "artifacts/base")).decode()
    assert "no point failed" in table
    assert table.count("passed") == 11


def test_check_fails_with_status_1(tokd, home, tmp_path):
    result = tokd("check", "artifacts/base", "--embedding-rows", "10")
    assert (result.returncode, result.stderr) == (1, b"")
    assert b"FAILED" in result.stdout
    artifact = tmp_path / "flipped"
    Tokenizer.open(home / "artifacts" / "base").save(artifact)
    data = bytearray((artifact / "tokenizer.json").read_bytes())
    data[100] ^= 1
    (artifact / "tokenizer.json").write_bytes(data)
    result = tokd("check", str(artifact))
    assert (result.returncode, result.stderr) == (1, b"")
    assert b"tokenizer.json" in result.stdout
