"""What a failed job tells its owner: the code, and the place in the request as it was sent."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from service.job_process.process import explain
from service.schemas.training import TrainingSettings
from tokenizer_core import CorpusNotFound, InvalidCorpus, InvalidOption, StepLimit

SETTINGS = TrainingSettings.model_fields
UPLOADS = {"corpus": {"paths": ["/jobs/1/corpus-0000.txt", "/jobs/1/corpus-0001.jsonl"]}}
FILES = {"corpus": {"paths": ["/data/a", "/data/b.jsonl"]}}
URLS = {"corpus": {"paths": ["https://example.com/a.txt", "https://example.com/b.txt"]}}
TEXTS = {"corpus": {"texts": ["low"]}}


@pytest.mark.parametrize(
    ("error", "recipe", "path"),
    [
        (InvalidCorpus("line 2: no", file="/jobs/1/corpus-0001.jsonl", field="line 2"), UPLOADS, "corpus[1]"),
        (InvalidCorpus("line 2: no", file="/data/b.jsonl", field="line 2"), FILES, "corpus.files[1]"),
        (InvalidCorpus("line 2: no", file="/data/a/c.jsonl", field="line 2"), FILES, "line 2"),
        (InvalidCorpus("byte 4: no", file="/data/a/c.txt"), FILES, None),
        (CorpusNotFound("there is none", field="corpus.paths[0]"), FILES, "corpus.files[0]"),
        (CorpusNotFound("there is none", field="corpus.paths[1]"), URLS, "corpus.urls[1]"),
        (CorpusNotFound("there is none", field="corpus"), FILES, "corpus"),
        (InvalidCorpus("no such column", file="/data/all/d.parquet", field="column"), FILES, "corpus.column"),
        (InvalidOption("too small", field="vocab_size"), TEXTS, "settings.vocab_size"),
        (StepLimit("too many steps"), TEXTS, "settings.pattern"),
        (StepLimit("too many steps"), {**TEXTS, "extends": "/artifacts/base"}, "settings.extends"),
        (OSError(errno.ENOSPC, "full"), FILES, None),
    ],
)
def test_the_place_is_the_one_in_the_request(error: Exception, recipe: dict[str, Any], path: str | None) -> None:
    assert explain(error, {"directory": "/jobs/1", "target": "/trained", "recipe": recipe}, SETTINGS)["path"] == path


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "disk_full"),
        (errno.EDQUOT, "disk_full"),
        (errno.EROFS, "disk_unwritable"),
        (errno.EIO, "disk_unwritable"),
        (errno.EACCES, "disk_unwritable"),
        (errno.ENOTDIR, "internal"),
    ],
)
def test_an_error_of_the_disk_has_a_code_and_names_no_file(number: int, code: str) -> None:
    told = explain(OSError(number, "why", "/trained/.jobs/1/a"), {"recipe": FILES}, SETTINGS)
    assert told["code"] == code
    assert "/trained" not in told["message"]


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("/jobs/1/corpus-0001.jsonl", "corpus-0001.jsonl is gone"),
        ("/trained/00ff-mine", "00ff-mine is gone"),
        ("/artifacts/base", "base is gone"),
        ("/data/b.jsonl", "/data/b.jsonl is gone"),
    ],
)
def test_where_uploads_and_artifacts_lie_is_told_to_nobody(file: str, told: str) -> None:
    order = {"directory": "/jobs/1", "target": "/trained", "recipe": {**UPLOADS, "extends": "/artifacts/base"}}
    assert explain(InvalidCorpus(f"{file} is gone"), order, SETTINGS)["message"] == told
