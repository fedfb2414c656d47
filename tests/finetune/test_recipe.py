"""Recipes: the ones of the package, one's own, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from finetune.recipe import EmbedderRecipe, load_recipe
from orchestrator.errors import ConfigurationError


def test_changes_go_on_top_and_none_leaves_the_recipe() -> None:
    usual = load_recipe("embedder", EmbedderRecipe, epochs=None)
    assert load_recipe("embedder", EmbedderRecipe, epochs=99).epochs == 99
    assert usual == load_recipe("embedder", EmbedderRecipe)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs: 0", "epochs: Input should be greater than or equal to 1"),
        ("speed: 3", "speed: Extra inputs are not permitted"),
        ("[1]", "not a mapping"),
        ("{", "cannot be read"),
    ],
)
def test_errors_name_the_field(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message):
        load_recipe("embedder", EmbedderRecipe, file=path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nothing\.yaml cannot be read"):
        load_recipe("embedder", EmbedderRecipe, file=tmp_path / "nothing.yaml")
