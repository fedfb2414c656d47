from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.domain.source import MAX_BYTES, read_source
from orchestrator.errors import PackError


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.yaml", "", "empty"),
        ("a.yaml", "# only a comment\n", "empty"),
        ("a.yaml", "a: [1, 2\nb: 3\n", "line 2: not well-formed YAML"),
        ("a.yaml", "a: 1\na: 2\n", "line 2: the key 'a' stands twice"),
        ("a.yaml", "a: &x [1]\nb: *x\n", r"aliases \(&name, \*name\) are not allowed"),
        ("a.yaml", "a: 2024-13-45\n", "line 1: '2024-13-45' is not a plain value"),
        ("a.yaml", "? [1, 2]\n: 3\n", "a key must be plain text"),
        ("a.yaml", "a: !!python/name:os.system ''\n", "line 1: '' is not a plain value"),
        ("a.yaml", b"a: \xff\xfe", "not UTF-8 at byte 3"),
        ("a.yaml", "[" * 100_000, "a.yaml"),
        ("a.json", '{"a": 1,}', "line 1: not well-formed JSON"),
        ("a.json", '{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ("a.json", "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_malformed_file_is_a_pack_error(tmp_path: Path, name: str, content: str | bytes, expected: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(PackError, match=expected) as caught:
        read_source(path)
    assert str(path) in str(caught.value)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(PackError, match="more than the"):
        read_source(path)


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(PackError, match="cannot be read"):
        read_source(tmp_path / "a.yaml")


def test_lines_are_known_in_yaml_and_json(tmp_path: Path) -> None:
    yaml_source = read_source(write(tmp_path, "a.yaml", "a:\n  - b: 1\n  - b: 2\n"))
    json_source = read_source(write(tmp_path, "a.json", '{"a": [\n {"b": 1},\n {"b": 2}\n]}'))
    for source in (yaml_source, json_source):
        assert source.data == {"a": [{"b": 1}, {"b": 2}]}
        assert source.line_of(("a", 1, "b")) == 3
        assert source.line_of(("a", 7)) in {1, 2}


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    assert read_source(write(tmp_path, "a.yaml", b"\xef\xbb\xbfa: 1\n")).data == {"a": 1}
