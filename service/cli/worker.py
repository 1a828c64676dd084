"""``tokd worker``: a worker for training jobs, alone."""

from __future__ import annotations

import argparse

from service.cli.options import Parser, refused_setting
from service.cli.setting_flags import WORKER, add_flags, require_system
from service.cli.streams import CommandError, require_writable
from service.jobs.opening import INSTALL, is_there
from service.registry.places import jobs_directory, warn_of_old_settings
from service.setting_values import InvalidSetting
from service.settings import Settings


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command; its flags are the table of settings, of which those of jobs concern it."""
    parser = commands.add_parser(
        "worker",
        usage="%(prog)s [SETTING ...]",
        help="train the jobs of a server, on this host or another",
        description="Train jobs, one at a time, until told to stop. Give it the settings of the server whose jobs it "
        "does: of them jobs_url, tokenizers and those of jobs concern it.",
    )
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Load the settings and work until told to stop."""
    require_system("worker", WORKER)
    if not is_there():
        raise CommandError("jobs_not_installed", f"tokd worker needs the extra jobs; {INSTALL}")
    # Only this command and the server need the database's library.
    from service.jobs.worker import run as work
    from service.log_lines import configure_logging

    try:
        settings = Settings.load(flags=vars(args))
        configure_logging(is_plain=True)
        # The store of jobs can be away for a while, and is waited for; a directory that is read-only stays so.
        require_writable(jobs_directory(settings), makes_parents=True)
        warn_of_old_settings(settings)
        work(settings)
    except InvalidSetting as error:
        raise refused_setting(error, args) from None
    return 0
