from __future__ import annotations

import pytest
from typer.testing import CliRunner

from orchestrator.cli import app
from orchestrator.errors import AgentUnavailableError


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_asking_nobody_says_how_to_start_a_server(flags: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["ask", "--server", "127.0.0.1:1", *flags, "q"])
    assert isinstance(result.exception, AgentUnavailableError)
    assert "trias serve" in str(result.exception)
    assert "127.0.0.1:1" in str(result.exception)
