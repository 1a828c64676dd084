"""``check_token_files`` finds whatever is wrong with token files, and nothing in those that are right."""

import hashlib
import json

import numpy as np
import pytest

from tests.support import tiny
from tokenizer_core import HashMismatch, InvalidCorpus, Tokenizer, check_token_files, encode_corpus
from tokenizer_core.token_files.layouts import LAYOUTS


@pytest.mark.parametrize("eos", ["after", "before", "none"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_is_wrong_with_what_was_written(tokenizer, large_corpus, tmp_path, layout, eos):
    written = encode_corpus(large_corpus, tokenizer, tmp_path / "out", layout=layout, eos=eos, shard_bytes=4096)
    report = check_token_files(tmp_path / "out", tokenizer)
    assert report.problems == ()
    assert report.tokens == written.tokens
    assert (report.sampled > 50) == (layout not in ("llmc", "nanogpt"))


def rehashed(folder):
    """Let the manifest say that the present files are those that were written."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for shard in manifest["shards"]:
        for facts in shard["files"].values():
            facts["sha256"] = hashlib.sha256((folder / facts["name"]).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_every_damage_is_found(tokenizer, corpus, tmp_path):
    def damaged(change):
        encode_corpus(corpus, tokenizer, tmp_path / "out", resume=True)
        path = tmp_path / "out" / "tokens-00000.bin"
        ids = np.fromfile(path, "<u2")
        change(ids).tofile(path)
        found = [check_token_files(tmp_path / "out", tokenizer).problems]
        rehashed(tmp_path / "out")
        found.append(check_token_files(tmp_path / "out", tokenizer).problems)
        path.unlink()
        found.append(check_token_files(tmp_path / "out", tokenizer).problems)
        for file in (tmp_path / "out").iterdir():
            file.unlink()
        (tmp_path / "out").rmdir()
        return [" ".join(problems) for problems in found]

    def out_of_range(ids):
        ids[0] = tokenizer.vocab_size
        return ids

    def without_border(ids):
        ids[-1] = 5
        return ids

    def not_canonical(ids):
        # The bytes of "a" in single tokens, which the tokenizer merges.
        (ids[:2]) = tokenizer.encode("a")[0]
        return ids

    for change, problem in (
        (out_of_range, "an id that is not below"),
        (without_border, "no end-of-text token after it"),
        (lambda ids: ids[:-1], "cannot be read|tokens"),
        (not_canonical, "other ids when its text is encoded again"),
    ):
        hashes, content, gone = damaged(change)
        assert "is not the file that was written" in hashes
        assert any(part in content for part in problem.split("|")), content
        assert "cannot be read" in gone


def test_files_of_another_tokenizer_and_folders_without_a_manifest_are_refused(tokenizer, corpus, tmp_path):
    encode_corpus(corpus, tokenizer, tmp_path / "out")
    (tmp_path / "merges.txt").write_text(tiny.merges_txt())
    (tmp_path / "vocab.json").write_text(json.dumps(tiny.vocab()))
    other = Tokenizer.from_vocab_merges(tmp_path / "vocab.json", tmp_path / "merges.txt")
    with pytest.raises(HashMismatch, match="written by the tokenizer"):
        check_token_files(tmp_path / "out", other)
    with pytest.raises(InvalidCorpus, match=r"manifest\.json"):
        check_token_files(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": "tokd tokens 2"}')
    with pytest.raises(InvalidCorpus, match="tokd tokens 1"):
        check_token_files(tmp_path)
