from __future__ import annotations

import mmap
from pathlib import Path

from orchestrator.inference.shared_memory import remove_leftover_regions

REGION = "triton_{}_backend_shm_region_{}"


def test_only_regions_that_nobody_uses_are_removed(tmp_path: Path) -> None:
    names = {
        "left": REGION.format("onnxruntime", "left"),
        "mapped": REGION.format("python", "mapped"),
        "open": REGION.format("onnxruntime", "open"),
        "foreign": "somebody_elses_region",
    }
    paths = {key: tmp_path / name for key, name in names.items()}
    for path in paths.values():
        path.write_bytes(bytes(mmap.PAGESIZE))
    with paths["mapped"].open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    with paths["open"].open("rb"):
        assert remove_leftover_regions(tmp_path) == (names["left"],)
    mapped.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        names[key] for key in ("mapped", "open", "foreign")
    )
    # Nobody uses them any more.
    assert set(remove_leftover_regions(tmp_path)) == {names["mapped"], names["open"]}


def test_no_folder_and_no_regions(tmp_path: Path) -> None:
    assert remove_leftover_regions(tmp_path) == ()
    assert remove_leftover_regions(tmp_path / "nowhere") == ()
