"""The settings for models of engines: the form of answers, and what literals of special tokens mean."""

from __future__ import annotations

import pytest

from service.registry.engines import Engines
from service.setting_values import InvalidSetting
from service.settings import Settings


@pytest.mark.parametrize("setting", ["a", "=sglang", "a=", "a=tgi"])
def test_an_option_that_is_none_ends_the_start(setting: str) -> None:
    with pytest.raises(InvalidSetting):
        Engines(Settings(render=(setting,)))
    with pytest.raises(InvalidSetting):
        Engines(Settings(literals=("a=text", "a=engine")))


def test_an_exact_name_wins_over_patterns_and_the_request_s_over_the_tokenizer_s() -> None:
    engines = Engines(Settings(render=("a/*=sglang", "a/b=vllm", "own=sglang")))
    assert [engines.render(name, "x") for name in ("a/b", "a/c", "c", None)] == ["vllm", "sglang", "vllm", "vllm"]
    assert (engines.render("c", "own"), engines.render("a/b", "own")) == ("sglang", "vllm")
