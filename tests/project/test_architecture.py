"""The floors, the sizes and the borders of the project, held by machine."""

import ast
import inspect
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import get_args

import pytest

import tokenizer_core
from tests.support.paths import ROOT

STUB = ast.parse((ROOT / "tokenizer_core" / "_kernel.pyi").read_text(encoding="utf-8"))
STUB_CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
SOURCES = [
    path
    for folder in ("tokenizer_core", "service", "tests", "benchmarks")
    for suffix in ("*.py", "*.pyi", "*.rs")
    for path in (ROOT / folder).rglob(suffix)
    if not {"target", ".peers"} & set(path.parts)
]
SERVICE = sorted((ROOT / "service").rglob("*.py"))
KERNEL = ROOT / "tokenizer_core" / "kernel" / "src"
CORE = sorted(set((ROOT / "tokenizer_core").rglob("*.py")) - {ROOT / "tokenizer_core" / "__init__.py"})
TOP_LEVEL = {
    "CHANGELOG.md",
    "Dockerfile",
    "Makefile",
    "README.md",
    "artifacts",
    "benchmarks",
    "docker-compose.yml",
    "docs",
    "pyproject.toml",
    "service",
    "tests",
    "tokenizer_core",
}


def relative(path: Path) -> str:
    """Name a file by its place in the project."""
    return str(path.relative_to(ROOT))


def test_a_module_imports_only_from_lower_floors() -> None:
    program = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True, no_logo=True))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SERVICE, ids=relative)
def test_the_service_imports_only_exported_names(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not [alias.name for alias in node.names if alias.name.startswith("tokenizer_core.")]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert not node.module.startswith("tokenizer_core.")
            if node.module == "tokenizer_core":
                assert {alias.name for alias in node.names} <= set(tokenizer_core.__all__)


@pytest.mark.parametrize("path", CORE, ids=relative)
def test_the_core_imports_its_own_modules_not_its_top(path: Path) -> None:
    modules = {"_kernel", *(child.stem for child in (ROOT / "tokenizer_core").iterdir())}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "tokenizer_core":
            assert {alias.name for alias in node.names} <= modules


def modules_of(package: str) -> set[str]:
    """Return the names of the modules and folders of a package."""
    modules = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    return modules | {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}


def test_the_drawing_of_the_design_has_every_module_and_none_that_is_not() -> None:
    drawing = (ROOT / "docs" / "design.md").read_text(encoding="utf-8").split("```")[1]
    service, _, rest = drawing.partition("tokenizer_core/")
    core = set(re.findall(r"\w+", rest.partition("kernel (Rust)")[0]))
    assert modules_of("tokenizer_core") <= core
    assert set(re.findall(r"\w+", service)) - {"curl", "python", "shell", "service", "under"} == modules_of("service")


def drawn_floors_of_the_kernel() -> list[set[str]]:
    """Return the rooms of each floor of the kernel in the drawing of the design, the highest first."""
    drawing = (ROOT / "docs" / "design.md").read_text(encoding="utf-8").split("```")[1]
    floors = drawing.partition("kernel (Rust)")[2].strip().splitlines()
    return [set(re.findall(r"\w+", floor.partition(":")[0])) for floor in floors]


def rooms_named(path: Path) -> set[str]:
    """Return the rooms of the kernel that a file of it names in code that is not a test's, its own among them."""
    code = re.sub("//.*", "", path.read_text(encoding="utf-8")).partition("mod tests {")[0]
    parents = path.relative_to(KERNEL).with_suffix("").parts
    depth = len(parents) - (parents[-1] == "mod")
    above = {name for supers, name in re.findall(r"\b((?:super::)+)(\w*)", code) if supers.count("super") >= depth}
    return above | set(re.findall(r"\bcrate::(\w*)", code))


def test_the_drawing_of_the_design_has_every_room_of_the_kernel_once() -> None:
    drawn = [room for floor in drawn_floors_of_the_kernel() for room in floor]
    assert sorted(drawn) == sorted(child.stem for child in KERNEL.iterdir() if child.name != "lib.rs")


def test_a_room_of_the_kernel_imports_only_from_lower_floors() -> None:
    floors = drawn_floors_of_the_kernel()
    higher: dict[str, set[str]] = {}
    for path in sorted(KERNEL.rglob("*.rs")):
        room = Path(path.relative_to(KERNEL).parts[0]).stem
        if path.stem not in ("lib", "tests"):
            floor = next(at for at, rooms in enumerate(floors) if room in rooms)
            higher[relative(path)] = rooms_named(path) - {room} - set().union(*floors[floor + 1 :])
    assert {path: rooms for path, rooms in higher.items() if rooms} == {}


def test_the_features_of_a_level_stand_where_they_are_asked_for() -> None:
    source = (KERNEL / "simd" / "level.rs").read_text(encoding="utf-8")
    asked = set(re.findall(r'is_x86_feature_detected!\("(\w+)"\)', source))
    enabled = [
        (relative(path), set(features.split(",")))
        for path in KERNEL.rglob("*.rs")
        for features in re.findall(r'target_feature\(\s*enable = "(.*)"', path.read_text(encoding="utf-8"))
    ]
    assert enabled == [("tokenizer_core/kernel/src/simd/level.rs", asked)]


def test_no_source_file_is_over_500_lines() -> None:
    lengths = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    # The stub of the kernel describes one module, whose names cannot stand in several files.
    del lengths["tokenizer_core/_kernel.pyi"]
    assert {name: length for name, length in lengths.items() if length > 500} == {}


def test_no_line_is_over_120_characters() -> None:
    """The linter lets lines that end in a pragma be; a mark that is drawn above or below its letter takes no place."""

    def width(line: str) -> int:
        return sum(unicodedata.category(each)[0] != "M" for each in line)

    places = {
        f"{relative(path)}:{number}": width(line)
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    }
    assert {place: columns for place, columns in places.items() if columns > 120} == {}


def test_the_service_writes_no_set_of_choices_again_that_the_core_offers() -> None:
    offered = {
        get_args(value): name for name in tokenizer_core.__all__ if get_args(value := getattr(tokenizer_core, name))
    }
    written = {}
    for path in SERVICE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
                choices = ast.literal_eval(node.slice)
                written[f"{relative(path)}:{node.lineno}"] = offered.get(choices)
    assert {place: name for place, name in written.items() if name is not None} == {}


def test_the_top_level_holds_only_what_the_design_names() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    tops = {line.split("/", 1)[0] for line in listed.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} == TOP_LEVEL


def test_the_stub_names_what_the_compiled_module_has() -> None:
    from tokenizer_core import _kernel

    variables = {
        node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    functions = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    assert {name for name in dir(_kernel) if not name.startswith("_")} == variables | functions | set(STUB_CLASSES)


@pytest.mark.parametrize("name", sorted(STUB_CLASSES))
def test_the_stub_has_every_method_with_its_parameters(name: str) -> None:
    from tokenizer_core import _kernel

    compiled = getattr(_kernel, name)
    stub = {node.name: node for node in STUB_CLASSES[name].body if isinstance(node, ast.FunctionDef)}
    assert {method for method in vars(compiled) if not method.startswith("_")} == {
        method for method in stub if not method.startswith("_")
    }
    for method, node in stub.items():
        if method in ("__new__", "__init__") or any(
            isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list
        ):
            continue
        assert list(inspect.signature(getattr(compiled, method)).parameters) == [
            argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)
        ]


def test_what_a_tokenizer_inherits_has_the_docstrings_and_defaults_of_the_stub() -> None:
    nodes = [node for node in STUB_CLASSES["Codec"].body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    assert nodes
    for node in nodes:
        method = getattr(tokenizer_core.Tokenizer, node.name)
        assert inspect.ismethoddescriptor(method), f"a frame of Python's stands before {node.name}"
        assert inspect.getdoc(method) == ast.get_docstring(node)
        signature = inspect.signature(method)
        options = [name for name, each in signature.parameters.items() if each.kind is each.KEYWORD_ONLY]
        assert options == [argument.arg for argument in node.args.kwonlyargs]
        defaults = [ast.literal_eval(default) for default in node.args.kw_defaults if default is not None]
        assert [signature.parameters[name].default for name in options] == defaults
