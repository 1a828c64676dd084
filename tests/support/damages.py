"""What can happen to the files of an artifact, and the code of the error that opening it gives then."""

import os


def rewrite(name, change):
    def apply(artifact):
        file = artifact / name
        file.write_bytes(change(file.read_bytes()))

    return apply


def replace_by_directory(artifact):
    (artifact / "tokenizer.json").unlink()
    (artifact / "tokenizer.json").mkdir()


def replace_by_pipe(artifact):
    (artifact / "tokenizer.json").unlink()
    os.mkfifo(artifact / "tokenizer.json")


def replace_by_link(artifact):
    (artifact / "tokenizer.json").rename(artifact / "elsewhere.json")
    (artifact / "tokenizer.json").symlink_to("elsewhere.json")


DAMAGES = {
    "truncated manifest": (rewrite("manifest.json", lambda data: data[:100]), "invalid_file"),
    "binary manifest": (rewrite("manifest.json", lambda _: b"\x80\x04\x95"), "invalid_file"),
    "nested manifest": (rewrite("manifest.json", lambda _: b"[" * 200_000), "invalid_file"),
    "empty manifest": (rewrite("manifest.json", lambda _: b""), "invalid_file"),
    "other manifest": (rewrite("manifest.json", lambda _: b"[]"), "invalid_file"),
    "other Unicode": (rewrite("manifest.json", lambda data: data.replace(b"16.0.0", b"9.0.0")), "unsupported"),
    "no manifest": (lambda artifact: (artifact / "manifest.json").unlink(), "artifact_not_found"),
    "no tokenizer": (lambda artifact: (artifact / "tokenizer.json").unlink(), "artifact_not_found"),
    "directory": (replace_by_directory, "invalid_file"),
    "pipe": (replace_by_pipe, "invalid_file"),
    "link": (replace_by_link, "invalid_file"),
    "longer file": (rewrite("tokenizer.json", lambda data: data + b"\n"), "hash_mismatch"),
    "unpinned file": (lambda artifact: (artifact / "vocab.json").write_text("{}"), "invalid_file"),
}
