"""Health, reflection, ports and the end, on a socket."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from orchestrator.errors import ConfigurationError
from orchestrator.server.running import RunningServer, serving
from orchestrator.settings import Settings
from trias.v1 import answer_service_pb2, answer_service_pb2_grpc, common_pb2, reasoner_service_pb2

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def health_of(channel: grpc.aio.Channel, service: str) -> Any:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    return (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status


async def test_every_service_is_healthy_once_it_serves(channel: grpc.aio.Channel, server: RunningServer) -> None:
    assert "trias.v1.AnswerService" in server.services
    for service in ("", *server.services):
        assert await health_of(channel, service) == SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await health_of(channel, "trias.v1.Nothing")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_not_serving_until_warm(service: Any) -> None:
    warm, addressed = asyncio.Event(), asyncio.Event()

    async def warm_up() -> None:
        addressed.set()
        await warm.wait()

    cold = replace(service, warm_up=warm_up)
    opening = serving(cold)
    entering = asyncio.ensure_future(opening.__aenter__())
    await addressed.wait()
    assert not entering.done()
    warm.set()
    server = await entering
    try:
        async with grpc.aio.insecure_channel(server.address) as channel:
            assert await health_of(channel, "") == SERVING
    finally:
        await opening.__aexit__(None, None, None)


async def test_at_the_end_health_turns_first_and_calls_in_flight_finish(service: Any, agents: Any) -> None:
    started, release = asyncio.Event(), asyncio.Event()
    scripted = agents.on_reason

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> Any:
        if request.tier == common_pb2.TIER_DEEP:
            started.set()
            await release.wait()
        return scripted(request)

    agents.on_reason = reason
    running = serving(service)
    server = await running.__aenter__()
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub: Any = answer_service_pb2_grpc.AnswerServiceStub(channel)
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=""))
        seen = [(await watch.read()).status]
        asked = asyncio.ensure_future(stub.AskOnce(answer_service_pb2.AskOnceRequest(question="q")))
        await started.wait()
        ending = asyncio.ensure_future(running.__aexit__(None, None, None))
        seen.append((await watch.read()).status)
        watch.cancel()
        assert seen == [SERVING, NOT_SERVING]
        assert not asked.done()
        release.set()
        assert (await asked).answered.answer.tier == common_pb2.TIER_DEEP
        await ending
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.AskOnce(answer_service_pb2.AskOnceRequest(question="q"))
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_call_that_outlasts_the_grace_ends_with_an_error_not_in_silence(
    settings: Settings, service: Any, agents: Any
) -> None:
    started = asyncio.Event()

    async def hang(request: Any) -> Any:
        started.set()
        await asyncio.sleep(3600)

    agents.on_route = hang
    patient = settings.model_copy(
        update={
            "server": settings.server.model_copy(update={"grace_s": 0.1}),
            "budget": settings.budget.model_copy(update={"route_s": 600, "total_s": 6000}),
        }
    )
    flow = service.flow
    flow.budget = patient.budget
    async with serving(replace(service, settings=patient)) as server:
        channel = grpc.aio.insecure_channel(server.address)
        stub: Any = answer_service_pb2_grpc.AnswerServiceStub(channel)
        asked = asyncio.ensure_future(stub.AskOnce(answer_service_pb2.AskOnceRequest(question="q")))
        await started.wait()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(asked, 60)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    await channel.close(None)


async def test_a_taken_port_is_said(settings: Settings, service: Any, server: RunningServer) -> None:
    port = int(server.address.rpartition(":")[2])
    taken = settings.model_copy(update={"server": settings.server.model_copy(update={"port": port})})
    with pytest.raises(ConfigurationError, match=r"server\.port"):
        async with serving(replace(service, settings=taken)):
            pass


class Reflected:
    """What a generic client knows: only what reflection tells it."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        self._pool = descriptor_pool.DescriptorPool()

    async def _ask(self, **request: str) -> Any:
        async def requests() -> Any:
            yield reflection_pb2.ServerReflectionRequest(**request)

        async for response in self._stub.ServerReflectionInfo(requests()):
            return response
        raise AssertionError

    async def services(self) -> list[str]:
        response = await self._ask(list_services="")
        return [service.name for service in response.list_services_response.service]

    async def load(self, symbol: str) -> None:
        response = await self._ask(file_containing_symbol=symbol)
        waiting = [
            descriptor_pb2.FileDescriptorProto.FromString(data)
            for data in response.file_descriptor_response.file_descriptor_proto
        ]
        known: set[str] = set()
        while waiting:
            for file in list(waiting):
                missing = [name for name in file.dependency if name not in known]
                if missing and not {file.name for file in waiting} & set(missing):
                    for name in missing:
                        more = await self._ask(file_by_filename=name)
                        waiting += [
                            descriptor_pb2.FileDescriptorProto.FromString(data)
                            for data in more.file_descriptor_response.file_descriptor_proto
                        ]
                elif not missing:
                    self._pool.Add(file)
                    known.add(file.name)
                    waiting = [other for other in waiting if other.name != file.name]

    async def call(self, service: str, method: str, request: dict[str, Any]) -> dict[str, Any]:
        await self.load(service)
        found = self._pool.FindServiceByName(service).methods_by_name[method]
        kind = message_factory.GetMessageClass(found.input_type)
        answer = message_factory.GetMessageClass(found.output_type)
        callee: Any = self._channel.unary_unary(
            f"/{service}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        response = await callee(json_format.ParseDict(request, kind()))
        return json_format.MessageToDict(response)


async def test_reflection_lists_the_services_and_is_enough_to_call_one(
    channel: grpc.aio.Channel, server: RunningServer
) -> None:
    reflected = Reflected(channel)
    assert {*server.services, "grpc.health.v1.Health"} <= set(await reflected.services())
    response = await reflected.call(
        "trias.v1.AnswerService", "AskOnce", {"question": "住院报销比例？", "options": {"explain": True}}
    )
    assert response["answered"]["answer"]["tier"] == "TIER_DEEP"
    assert response["retrieved"]["passages"][0]["sourceId"] == "c1"
