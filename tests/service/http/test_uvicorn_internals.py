"""A server does not start on a uvicorn whose inside is another one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from service import server
from service.http import fast_path, parsing, protocol
from service.http.protocol import BoundedProtocol
from service.http.uvicorn_internals import USED, VERSIONS, names_of, require_uvicorn
from service.settings import Settings
from tests.support.paths import ROOT
from tokenizer_core import Unsupported

PYPROJECT = ROOT / "pyproject.toml"


def test_the_installed_uvicorn_has_all_that_is_used() -> None:
    require_uvicorn()
    assert f'"uvicorn=={VERSIONS}.*"' in PYPROJECT.read_text()


@pytest.mark.parametrize(
    ("kind", "name"), [(HttpToolsProtocol, "_start_asgi_task"), (RequestResponseCycle, "run_asgi")]
)
def test_a_server_on_another_uvicorn_says_so_before_it_listens(
    monkeypatch: pytest.MonkeyPatch, kind: type, name: str
) -> None:
    monkeypatch.setitem(USED, kind, USED[kind] | {name})  # type: ignore[arg-type]  # a dict behind its Mapping
    monkeypatch.delattr(kind, name)
    with pytest.raises(Unsupported, match=rf"has no {kind.__name__}\.{name}, .*install uvicorn {VERSIONS}"):
        server.run(Settings())


def test_whatever_connections_use_of_their_protocol_is_looked_for() -> None:
    used = set()
    for module in (parsing, fast_path, protocol):
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                used.add(node.attr)
    own = {name for kind in BoundedProtocol.__mro__[:3] for name in vars(kind)} - USED[HttpToolsProtocol]
    assert used & names_of(HttpToolsProtocol) <= USED[HttpToolsProtocol] | own
