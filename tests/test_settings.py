from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ConfigurationError
from orchestrator.settings import load_settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trias.yaml"


def test_a_flag_wins_over_the_environment_and_that_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("server: {port: 1, grace_s: 2}\nbudget: {fast_s: 0.5}", encoding="utf-8")
    monkeypatch.setenv("TRIAS_SERVER__PORT", "3")
    monkeypatch.setenv("TRIAS_SERVER__GRACE_S", "4")
    settings = load_settings(file, {"server": {"port": 5}})
    assert (settings.server.port, settings.server.grace_s, settings.budget.fast_s) == (5, 4, 0.5)


def test_the_file_of_the_working_directory_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings().server.port == 8080
    (tmp_path / "trias.yaml").write_text("server: {port: 9000}", encoding="utf-8")
    assert load_settings().server.port == 9000


def test_what_is_printed_can_be_read_back(file: Path) -> None:
    settings = load_settings(overrides={"router": {"model": "off"}, "knowledge": {"neo4j_password": "secret"}})
    printed = settings.as_yaml()
    assert "secret" not in printed
    file.write_text(printed, encoding="utf-8")
    assert load_settings(file).as_yaml() == printed


@pytest.mark.parametrize("written", ["off", "'off'", "OFF"])
def test_off_means_off_though_yaml_reads_it_as_false(file: Path, written: str) -> None:
    file.write_text(f"router: {{model: {written}}}\nretriever: {{reranker: {written}}}", encoding="utf-8")
    settings = load_settings(file)
    assert (settings.router.model, settings.retriever.reranker) == ("off", "off")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("server: {prot: 1}", r"trias\.yaml.*server\.prot"),
        ("server: {port: high}", r"server\.port"),
        ("router: {model: true}", r"router\.model.*'auto', 'off' or 'required'"),
        ("server: [", r"trias\.yaml.*cannot be read"),
        ("- server", r"trias\.yaml does not hold a tree"),
        ("7", r"trias\.yaml does not hold a tree"),
        ("\x00", r"trias\.yaml.*cannot be read"),
    ],
)
def test_a_wrong_file_is_named_with_its_field(file: Path, text: str, said: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=said):
        load_settings(file)


def test_a_file_that_is_named_must_be_there(file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"trias\.yaml does not exist"):
        load_settings(file)


def test_a_file_in_another_encoding_is_named(file: Path) -> None:
    file.write_bytes("domain: {default: 医疗}".encode("gb18030"))
    with pytest.raises(ConfigurationError, match=r"trias\.yaml cannot be read"):
        load_settings(file)


def test_a_section_of_the_environment_that_is_no_json_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIAS_ROUTER", "notjson")
    with pytest.raises(ConfigurationError, match=r"environment.*router"):
        load_settings()
