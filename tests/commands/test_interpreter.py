from __future__ import annotations

import subprocess
import sys

from orchestrator.commands.interpreter import GC_THRESHOLDS

# In a process of its own: what is set here would outlive the test.
SCRIPT = """
import gc, numpy
from threadpoolctl import threadpool_info, threadpool_limits
from orchestrator.commands.interpreter import one_blas_thread, settle_heap
threadpool_limits(2)
one_blas_thread()
settle_heap()
print([pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"])
print(gc.get_freeze_count() > 0, gc.isenabled(), gc.get_threshold())
"""


def test_products_stay_on_one_thread_and_what_is_loaded_is_not_collected_again() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    threads, heap = ended.stdout.splitlines()
    assert set(threads.strip("[]").split(", ")) == {"1"}
    assert heap == f"True True {GC_THRESHOLDS}"
