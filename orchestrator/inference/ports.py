"""Ports for a server that is about to start."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Mapping

from orchestrator.errors import ConfigurationError

__all__ = ["choose_ports"]


def choose_ports(host: str, wanted: Mapping[str, int]) -> dict[str, int]:
    """Check the ports that are named and pick free ones for those that are 0.

    Args:
        host: the address that the server will listen on.
        wanted: the setting's name → its port.

    Returns:
        The same names with usable ports. All are held at once while choosing, so that no two are the same.

    Raises:
        ConfigurationError: a port is taken or may not be used, or the host is not this machine's; names the setting.
    """
    chosen: dict[str, int] = {}
    with contextlib.ExitStack() as held:
        for setting, port in wanted.items():
            probe = held.enter_context(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET))
            # As servers do: a port in TIME_WAIT is free, one that somebody listens on is not.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                # Linux lets two sockets share a port until one of them listens.
                probe.listen(1)
            except OSError as error:
                raise _refused(error, host, setting, port) from None
            except OverflowError:
                raise ConfigurationError(f"{setting}: {port} is not a port.", hint="Use 0 to 65535.") from None
            chosen[setting] = probe.getsockname()[1]
    return chosen


def _refused(error: OSError, host: str, setting: str, port: int) -> ConfigurationError:
    if error.errno == errno.EADDRINUSE:
        return ConfigurationError(
            f"Port {port} on {host} is taken ({setting}).",
            hint=f"Stop what listens there, or set {setting} to another port (0 picks a free one).",
        )
    return ConfigurationError(
        f"Port {port} on {host} cannot be used: {error.strerror or error} ({setting}).",
        hint="Check launcher.host and the port.",
    )
