"""Run a program that dies with its parent: ``python guard.py PARENT_PID PROGRAM ARGUMENT…``.

The kernel's parent-death signal is set in the child before ``exec``. A script of its own does that instead of
``preexec_fn``, which would run Python between fork and exec in a process that has gRPC's threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["main"]

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Tie this process to its parent, then become the program."""
    parent, program, *rest = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    # SIGTERM, not SIGKILL: Triton finishes what is in flight and removes its shared memory.
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != int(parent):
        sys.exit("the parent died before the program could start")
    os.execv(program, [program, *rest])  # noqa: S606 (no shell is wanted; the launcher builds the arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
