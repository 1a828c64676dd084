"""The server's objects, as a parameter of the functions that answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from service.state import State


async def _state(request: Request) -> State:
    state: State = request.app.tokd
    return state


Server = Annotated[State, Depends(_state)]
