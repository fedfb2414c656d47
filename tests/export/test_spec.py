from __future__ import annotations

from typing import Any

import pytest
import yaml

from export.spec import known_models, load_spec, parse_spec
from orchestrator.errors import ConfigurationError, NotFoundError


def test_every_known_spec_is_valid_and_named_after_its_model() -> None:
    assert "embedder" in known_models()
    for model in known_models():
        assert load_spec(model).model == model


def test_an_unknown_model_names_those_that_are_known() -> None:
    with pytest.raises(NotFoundError, match="embedder"):
        load_spec("embeder")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("precision", "int3"),
        ("max_length", 0),
        ("pooling", "max"),
        ("buckets", [16, 8, 512]),
        ("buckets", [16]),
        ("outputs", {"score": "x"}),
        ("sauce", "x"),
        ("model", "../up"),
    ],
)
def test_a_wrong_field_is_named(field: str, value: Any) -> None:
    tree = load_spec("embedder").model_dump(mode="json")
    tree[field] = value
    with pytest.raises(ConfigurationError, match=field):
        parse_spec(yaml.safe_dump(tree), name="changed.yaml")


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", "model: embedder"])
def test_what_is_no_spec_is_refused_under_its_file_name(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"changed\.yaml"):
        parse_spec(text, name="changed.yaml")
