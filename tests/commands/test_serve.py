from __future__ import annotations

import pytest

from orchestrator.commands.serve import parse_agents
from orchestrator.errors import ConfigurationError


def test_agents_are_named_with_their_addresses() -> None:
    assert parse_agents("router=a:1, reasoner=[::1]:2") == {"router": "a:1", "reasoner": "[::1]:2"}
    assert parse_agents("") == {}


@pytest.mark.parametrize("text", ["writer=a:1", "router", "router=a", "router=:1", "router=a:x"])
def test_wrong_agents_are_named(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--agents"):
        parse_agents(text)
