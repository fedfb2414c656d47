"""How a process that serves sets up its interpreter: threads of the linear algebra, collection of garbage."""

from __future__ import annotations

import gc

from threadpoolctl import threadpool_limits

__all__ = ["one_blas_thread", "settle_heap"]

# The youngest generation is looked through after so many new objects, each older one after so many rounds of the one
# below. CPython's (700, 10, 10) goes through the youngest some ten times a question.
GC_THRESHOLDS = (20_000, 20, 100)


def one_blas_thread() -> None:
    """Keep numpy's matrix products on the thread that asks for them.

    They are small here. OpenBLAS would share them with a pool whose threads go on spinning for a while after each
    product, and take the core that a model is waiting for.
    """
    threadpool_limits(limits=1, user_api="blas")


def settle_heap() -> None:
    """Leave what was loaded by now out of every later garbage collection; to be called once the server is up."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
