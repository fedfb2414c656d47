from __future__ import annotations

import pytest

from loadtest.stages import OVERHEAD, StageTimes
from trias.v1 import common_pb2


def test_shares_are_of_the_mean_total() -> None:
    times = StageTimes()
    for total in (100.0, 300.0):
        times.add(
            common_pb2.Timing(
                total_ms=total,
                model_ms=total / 2,
                index_ms=total / 4,
                overhead_ms=total / 4,
                stages=[common_pb2.StageTiming(stage="route", wall_ms=20)],
            )
        )
    rows = {row.stage: row for row in times.rows()}
    assert next(iter(rows)) == "total"
    assert rows["Triton"].share == pytest.approx(0.5)
    assert rows[OVERHEAD].share == pytest.approx(0.25)
    assert rows["stage route"].share == pytest.approx(0.1)
    assert rows["total"].p50_ms == pytest.approx(200)


def test_nothing_measured_gives_no_rows() -> None:
    assert StageTimes().rows() == []
