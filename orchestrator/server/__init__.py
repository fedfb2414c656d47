"""The gRPC server: composition, errors, admission, health, services, stored answers, remote agents, shutdown.

Nothing is imported here, so that `trias ask`, which only reads errors, does not load models and indexes:
`running.running_server` and `composition.build_service` are the ways in.
"""

from __future__ import annotations

__all__: list[str] = []
