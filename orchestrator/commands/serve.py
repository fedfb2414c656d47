"""`trias serve`: the gRPC server, with a Triton of its own where none runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from orchestrator.errors import ConfigurationError
from orchestrator.settings import AgentSettings, Settings

__all__ = ["parse_agents", "serve"]


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Listen on this address; default: server.host")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Listen on this port, 0 for a free one; default: server.port")
    ] = None,
    agents: Annotated[
        str, typer.Option(metavar="NAME=HOST:PORT,…", help="Agents of other processes: router=…,retriever=…,reasoner=…")
    ] = "",
    no_triton: Annotated[
        bool, typer.Option("--no-triton", help="Never start a tritonserver; without one, answers are degraded")
    ] = False,
) -> None:
    """Serve questions over gRPC until Ctrl-C or SIGTERM; then calls in flight are finished.

    Uses the Triton of inference.endpoints where it answers; else starts one, watches it and stops it at the end.
    """
    # Loading every agent takes a second, which no other command should pay.
    from orchestrator.commands.serving import run  # noqa: PLC0415

    run(_with_flags(context.obj, host, port, agents), own_triton=not no_triton)


def parse_agents(text: str) -> dict[str, str]:
    """``router=host:port,retriever=host:port`` as settings of `agents`.

    Raises:
        ConfigurationError: names the part that is wrong.
    """
    agents: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, address = part.partition("=")
        host, colon, port = address.rpartition(":")
        if name not in AgentSettings.model_fields:
            known = ", ".join(AgentSettings.model_fields)
            raise ConfigurationError(f"--agents {part}: there is no agent {name!r}.", hint=f"Known are {known}.")
        if not (host and colon and port.isdigit()):
            raise ConfigurationError(f"--agents {part}: {address!r} is no address.", hint=f"Write {name}=host:port.")
        agents[name] = address
    return agents


def _with_flags(settings: Settings, host: str | None, port: int | None, agents: str) -> Settings:
    server = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    return _updated(_updated(settings, "server", server), "agents", parse_agents(agents))


def _updated(settings: Settings, section: str, values: dict[str, Any]) -> Settings:
    if not values:
        return settings
    current = getattr(settings, section)
    # Through the model, so that flags are checked like every other source.
    return settings.model_copy(update={section: type(current)(**{**current.model_dump(), **values})})
