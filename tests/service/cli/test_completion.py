"""Completion as the shells do it, each with the script that the command prints for it."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from service.cli import main
from service.cli.command_line import COMMANDS, leaves, make_parser
from tests.service.cli.processes import environment

pytestmark = pytest.mark.nightly

BASH = """
source {script}
COMP_WORDS=({words}) COMP_CWORD={at}
$(complete -p tokd | sed 's/.*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a text, an artifact's directory, and the scripts of all shells."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "artifact-dir").mkdir()
    (folder / "text-file.txt").touch()
    return folder


@pytest.fixture
def script(folder, request, capsysbinary) -> Path:
    """The script of a shell, which the test skips if there is none of its kind."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    assert main(["completion", shell]) == 0
    path = folder / NAMES[shell]
    path.write_bytes(capsysbinary.readouterr().out)
    return path


def of_bash(script: Path, words: list[str], _: set[str]) -> set[str]:
    program = BASH.format(script=script, words=" ".join(f"'{word}'" for word in ["tokd", *words]), at=len(words))
    return set(run_shell(["bash", "--norc", "-c", program], script.parent).split())


def of_fish(script: Path, words: list[str], _: set[str]) -> set[str]:
    program = f"source {script}; complete -C 'tokd {' '.join(words)}'"
    lines = run_shell(["fish", "--no-config", "-c", program], script.parent).splitlines()
    return {line.split("\t")[0] for line in lines}


def run_shell(command: list[str], folder: Path) -> str:
    env = environment(HOME=str(folder), TERM="dumb")
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout


def of_zsh(script: Path, words: list[str], wanted: set[str]) -> set[str]:
    """Press the tabulator in a real terminal: zsh completes nowhere else."""
    terminal, inner = pty.openpty()
    env = environment(HOME=str(script.parent), TERM="dumb")
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"],
        cwd=script.parent,
        env=env,
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    )
    os.close(inner)
    try:
        os.write(terminal, f"fpath=({script.parent} $fpath); autoload -U compinit; compinit -u -D; ".encode())
        # A list that does not fit the screen is shown only if the user says so.
        os.write(terminal, b"stty rows 1000 cols 200; PS1=; print rea''dy\n")
        seen_until(terminal, {"ready"})
        os.write(terminal, f"tokd {' '.join(words)}\t".encode())
        return seen_until(terminal, wanted)
    finally:
        os.close(terminal)
        shell.wait(timeout=30)


def seen_until(terminal: int, wanted: set[str]) -> set[str]:
    """Return the words that a terminal shows, when it shows these and nothing more comes, or for half a minute not."""
    seen, deadline = b"", time.monotonic() + 30
    while True:
        words = set(re.findall(r"[\w.-]+", seen.decode(errors="replace")))
        is_silent = not select.select([terminal], [], [], 0.3)[0]
        if (is_silent and wanted <= words) or time.monotonic() > deadline:
            return words
        if not is_silent:
            seen += os.read(terminal, 65536)


NAMES = {"bash": "tokd.bash", "zsh": "_tokd", "fish": "tokd.fish"}
SHELLS = {"bash": of_bash, "zsh": of_zsh, "fish": of_fish}


@pytest.mark.process
@pytest.mark.parametrize(("script", "complete"), SHELLS.items(), indirect=["script"], ids=list(SHELLS))
def test_a_shell_completes_commands_options_choices_and_places(script, complete):
    for words, wanted in (
        ([""], set(COMMANDS)),
        (["encode", "--co"], {"--count", "--color"}),
        (["key", ""], {"new"}),
        (["encode", "--color", ""], {"auto", "always", "never"}),
        (["encode", "--file", "text-f"], {"text-file.txt"}),
    ):
        assert wanted <= complete(script, words, wanted)
    found = {each.rstrip("/") for each in complete(script, ["encode", "--tokenizer", ""], {"artifact-dir"})}
    assert "artifact-dir" in found
    assert "text-file.txt" not in found


def test_every_command_is_in_every_script(capsysbinary):
    for shell in SHELLS:
        main(["completion", shell])
        written = capsysbinary.readouterr().out.decode()
        for parser in leaves(make_parser()):
            for flag in parser._option_string_actions:
                assert flag.lstrip("-") in written
