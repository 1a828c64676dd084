"""An artifact that was damaged in any way is one line with a code, for every command that opens one."""

import shutil

import pytest

from tests.service.cli.processes import assert_refused
from tests.support.damages import DAMAGES


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_artifact_is_one_line(tokd, home, tmp_path, damage):
    apply, code = DAMAGES[damage]
    artifact = tmp_path / "artifact"
    shutil.copytree(home / "artifacts" / "base", artifact)
    apply(artifact)
    assert_refused(tokd("encode", "a", "-t", str(artifact)), code, 1)
