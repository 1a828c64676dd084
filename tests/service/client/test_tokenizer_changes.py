"""The client adds, uploads, aliases and removes tokenizers, in both kinds."""

from __future__ import annotations

import asyncio
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from service.client import AsyncClient, Call, Client, NotFound, Refused
from tests.service.conftest import RunServer
from tokenizer_core import Tokenizer


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_tokenizers_come_and_go_by_the_client(
    run_server: RunServer, artifacts: tuple[str, str], tmp_path: Path, kind: str
) -> None:
    source = artifacts[1]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for file in Path(source).iterdir():
            archive.add(file, file.name)
    options: Any = {"trained": str(tmp_path), "tokenizer_roots": (str(Path(source).parent),), "access_log": False}
    with run_server(**options) as server:

        def ask(call: Call[Any]) -> Any:
            async def awaited() -> Any:
                async with AsyncClient(server.url) as client:
                    return await client.send(call)

            if kind == "async":
                return asyncio.run(awaited())
            with Client(server.url) as client:
                return client.send(call)

        bare = Tokenizer.open(source)
        assert ask(Client.add_tokenizer("mine", source)).tokenizer == bare.hash
        assert ask(Client.upload_tokenizer("sent", packed.getvalue())).name == "sent"
        assert ask(Client.point_alias("org/live", "sent")).name == "sent"
        for name in ("mine", "sent", "org/live"):
            assert list(ask(Client.encode("the fox", tokenizer=name)).ids) == bare.encode("the fox").tolist()
        with pytest.raises(Refused, match="take another name"):
            ask(Client.add_tokenizer("mine", source))
        for name in ("org/live", "sent", "mine"):
            assert ask(Client.remove_tokenizer(name)) is None
            with pytest.raises(NotFound):
                ask(Client.tokenizer(name))
