"""The server's objects, as a parameter of the functions that answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from service.state import ServerState


async def _state(request: Request) -> ServerState:
    state: ServerState = request.app.server_state
    return state


Server = Annotated[ServerState, Depends(_state)]
