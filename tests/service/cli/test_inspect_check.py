"""``tokd inspect`` and ``tokd check``."""

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


def test_check_prints_eleven_points_and_succeeds(tokd, tokenizer):
    rows = str(tokenizer.vocab_size)
    report = json.loads(succeed(tokd("check", "artifacts/base", "--embedding-rows", rows, "--json")))
    assert [point["status"] for point in report["points"]] == ["passed"] * 11
    table = succeed(tokd("check", "artifacts/base")).decode()
    assert "no point failed" in table
    assert table.count("passed") == 10


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
