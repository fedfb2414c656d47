from __future__ import annotations

import socket

import pytest

from orchestrator.errors import ConfigurationError
from orchestrator.inference.ports import choose_ports


def test_zeros_become_free_ports_of_their_own() -> None:
    chosen = choose_ports("127.0.0.1", {"a": 0, "b": 0, "c": 0})
    assert len(set(chosen.values())) == 3
    assert all(port > 0 for port in chosen.values())


def test_the_same_port_twice_and_a_foreign_host() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ConfigurationError, match=rf"Port {port} .*\(second\)"):
        choose_ports("127.0.0.1", {"first": port, "second": port})
    with pytest.raises(ConfigurationError, match=r"cannot be used.*launcher\.host"):
        choose_ports("192.0.2.1", {"a": 0})
