"""The gRPC server: composition, errors, admission, health, services, stored answers, remote agents, shutdown."""

from __future__ import annotations

from orchestrator.server.composition import Service, build_service
from orchestrator.server.models import ServedModels, served_models
from orchestrator.server.running import RunningServer, running_server, serving

__all__ = ["RunningServer", "ServedModels", "Service", "build_service", "running_server", "served_models", "serving"]
