from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli import app
from orchestrator.commands import doctor
from orchestrator.commands.doctor import Finding, State, examine
from orchestrator.settings import Settings, load_settings


def settings_of(folder: Path, **places: Path) -> Settings:
    return load_settings(overrides={"paths": {"data": folder / "data", **places}})


def named(findings: list[Finding], name: str) -> Finding:
    (found,) = [finding for finding in findings if finding.name == name]
    return found


@pytest.mark.parametrize(("demand", "state"), [("auto", State.OFF), ("required", State.MISSING)])
async def test_a_repository_with_nothing_built_tells_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demand: str, state: State
) -> None:
    for model in ("embedder", "reranker"):
        (tmp_path / model).mkdir()
        (tmp_path / model / "config.pbtxt").touch()
    monkeypatch.setattr(doctor, "why_left_out", lambda spec: "no adapter" if spec.model == "reranker" else "")
    settings = settings_of(tmp_path, model_repository=tmp_path)
    settings = settings.model_copy(update={"retriever": settings.retriever.model_copy(update={"reranker": demand})})
    findings = await examine(settings)
    embedder, reranker = named(findings, "embedder"), named(findings, "reranker")
    assert (embedder.state, embedder.remedy) == (State.MISSING, "trias models build")
    assert (reranker.state, reranker.remedy) == (state, "no adapter")


async def test_a_damaged_manifest_and_a_damaged_pack_are_named(tmp_path: Path) -> None:
    version = tmp_path / "models" / "embedder" / "1"
    version.mkdir(parents=True)
    (version.parent / "config.pbtxt").touch()
    (version / "manifest.json").write_text("{")
    (tmp_path / "packs" / "broken").mkdir(parents=True)
    (tmp_path / "packs" / "broken" / "pack.yaml").write_text("title: [")
    findings = await examine(settings_of(tmp_path, model_repository=tmp_path / "models", domains=tmp_path / "packs"))
    assert named(findings, "embedder").state is State.MISSING
    assert str(version / "manifest.json") in named(findings, "embedder").detail
    assert named(findings, "broken").state is State.MISSING
    assert "pack.yaml" in named(findings, "broken").detail


async def test_what_does_not_run_is_off_and_not_missing(tmp_path: Path) -> None:
    findings = await examine(load_settings(overrides={"paths": {"data": tmp_path}, "server": {"port": 1}}))
    assert named(findings, "Trias server at 127.0.0.1:1").state is State.OFF


def test_extras_are_shown_in_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.commands.doctor.EXTRAS", {"servers": ("no-such-package",)})
    monkeypatch.setenv("COLUMNS", "200")
    flags = ["--set", f"paths.data={tmp_path}"]
    shown = CliRunner().invoke(app, [*flags, "doctor"])
    assert "pip install 'trias[servers]'" in shown.output
    told = json.loads(CliRunner().invoke(app, [*flags, "doctor", "--json"]).output)
    assert [entry["remedy"] for entry in told if entry["name"] == "extra `servers`"] == ["pip install 'trias[servers]'"]
