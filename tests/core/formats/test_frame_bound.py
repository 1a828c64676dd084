"""What is put round a text has a bound: a file of 2 kB would otherwise take minutes and gigabytes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from tests.core.formats.small import document, template, write
from tokenizer_core import InvalidOption, PipelineConfig, Settings, Tokenizer, Unsupported
from tokenizer_core.config import MAX_FRAME


@pytest.mark.parametrize("key", ["single", "pair"])
@pytest.mark.parametrize("length", [2000, MAX_FRAME + 1])
def test_a_template_that_repeats_a_token_is_refused_before_it_is_written_out(
    tmp_path: Path, key: str, length: int
) -> None:
    frames = {"single": ["A"], "pair": ["A", "B"]}
    frames[key] = [*["S"] * (2000 if length == 2000 else 1), *frames[key]]
    folder = write(tmp_path / "t", document(post_processor=template(**frames, S=[264] * length)))
    tracemalloc.start()
    try:
        with pytest.raises(Unsupported, match=f"post_processor.{key} is a frame of more than {MAX_FRAME} ids"):
            Tokenizer.from_hf(folder)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_the_longest_frame_is_read_and_written(tmp_path: Path) -> None:
    most = template(["S", "A", "S"], ["S", "A", "B", "S"], S=[264] * (MAX_FRAME // 2))
    made = Tokenizer.from_hf(write(tmp_path / "t", document(post_processor=most)))
    assert made.encode("", add_special_tokens=True).tolist() == [264] * MAX_FRAME
    made.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == made.hash


def test_a_frame_that_is_given_is_bounded_too() -> None:
    with pytest.raises(InvalidOption, match="prefix_ids: a frame of 257 ids"):
        PipelineConfig(prefix_ids=(1,) * 200, suffix_ids=(2,) * 57)
    with pytest.raises(InvalidOption, match="pair_template: a frame of 1000 ids"):
        Settings(pair_template=(("A", 0), ("B", 0), *(((1, 0),) * 1000)))
