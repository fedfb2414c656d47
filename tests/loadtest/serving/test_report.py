from __future__ import annotations

import io
import json

from rich.console import Console

from loadtest.serving.loads import LOADS
from loadtest.serving.ratios import Agreement
from loadtest.serving.report import Comparison, as_json, print_comparison
from loadtest.serving.systems import OURS

COMPARISON = Comparison(
    cores=1,
    agreements={OURS: Agreement(0.9985, 0.999), "other": Agreement(1.0, 1.0)},
    libraries={OURS: {"tritonclient": "2.64"}, "other": {"torch": "2.13"}},
    ways={OURS: {LOADS[0].name: "as served"}, "other": {LOADS[0].name: "batch_size=8"}},
    rounds={load.name: [{OURS: 30.0, "other": 10.0}, {OURS: 20.0, "other": 10.0}] for load in LOADS},
    skipped=("infinity: infinity_emb is not installed; install it: make rivals",),
)


def test_a_table_of_ratios_with_who_was_left_out() -> None:
    console = Console(width=120, file=io.StringIO())
    print_comparison(COMPARISON, LOADS, console)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    row = next(line for line in printed.splitlines() if "other" in line)
    assert row.count("2.50 (2.00–3.00)") == len(LOADS)
    assert "0.9985 (0.9990)" in printed
    assert "batch_size=8" in printed
    assert "torch 2.13" in printed
    assert "left out: infinity: infinity_emb is not installed; install it: make rivals" in printed
    assert "30" not in row  # a rate is this machine's, and only in the JSON


def test_the_json_holds_every_round() -> None:
    tree = json.loads(json.dumps(as_json(COMPARISON)))
    assert tree["rounds"][LOADS[0].name][0] == {OURS: 30.0, "other": 10.0}
    assert tree["ratios"][LOADS[0].name]["other"]["median"] == 2.5
    assert tree["cores"] == 1
