"""vLLM's renderer, which takes another model while it runs; run in its own environment: ``engine_peer.py MODEL PORT``.

Its imports take a minute, and there is a model for each template.
"""

from __future__ import annotations

import asyncio
import copy
import sys
from typing import Any


def main(model: str, port: str) -> None:
    """Serve a model until the process is told to end; ``PUT /model?path=...`` serves another."""
    from vllm import AsyncEngineArgs
    from vllm.config import VllmConfig
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.entrypoints.launchers.render import entry
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    given = ["--model", model, "--host", "127.0.0.1", "--port", port, "--served-model-name", "model"]
    tools = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    args = make_arg_parser(FlexibleArgumentParser()).parse_args([*given, *tools, "--disable-uvicorn-access-log"])
    validate_parsed_serve_args(args)
    build = entry.build_app

    def build_app(*arguments: Any) -> Any:
        app = build(*arguments)

        async def serve(path: str) -> None:
            own = copy.copy(args)
            own.model = own.model_tag = path
            config = AsyncEngineArgs.from_cli_args(own).create_model_config()
            await entry.init_render_app_state(VllmConfig(model_config=config), app.state, own)

        app.add_api_route("/model", serve, methods=["PUT"])
        return app

    entry.build_app = build_app
    asyncio.run(entry.run_launch_fastapi(args))


if __name__ == "__main__":
    main(*sys.argv[1:])
