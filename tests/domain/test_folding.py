from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.folding import Folding

TABLE = {"％": "%", "（": "(", "。": ".", "]": "|", "^": "~", "-": "_"}


@given(st.text(alphabet="".join(TABLE) + "一二a[\\ ", max_size=40))
def test_it_does_what_translate_does(text: str) -> None:
    assert Folding(TABLE)(text) == text.translate({ord(key): value for key, value in TABLE.items()})


def test_a_chain_of_replacements_is_refused() -> None:
    with pytest.raises(ValueError, match="both replaced"):
        Folding({"a": "b", "b": "c"})
