"""A server for the counting routes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from tests.service.conftest import MakeClient
from tests.service.routes.compat.counting import TEMPLATE
from tokenizer_core import Tokenizer


@pytest.fixture(scope="module")
def counting(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    paths = {}
    for name, template in (
        ("tools", TEMPLATE),
        ("knowing", TEMPLATE + "{# 'developer' #}"),
        ("mute", "{{ messages[0].content }}"),
    ):
        paths[name] = tmp_path_factory.mktemp("counting") / name
        framed.with_template(template).save(paths[name])
    parts = framed.with_template(TEMPLATE).parts
    named = replace(parts.settings, named_templates=(("tool_use", "{# 'developer' #}" + TEMPLATE),))
    paths["two"] = tmp_path_factory.mktemp("counting") / "two"
    Tokenizer(replace(parts, settings=named)).save(paths["two"])
    return make_client(artifacts=tuple(map(str, paths.values())), models=("gpt-x=tools", "claude-x=tools"))
