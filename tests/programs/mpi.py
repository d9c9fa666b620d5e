#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs a benchmark of mpi4py in each process of mpirun, then says its host and which libibverbs the process
has mapped.

    mpirun -n 2 tests/programs/mpi.py ringtest -n BYTES -l LOOPS
"""
import runpy
import socket
import sys


def say(text):
    """One write for a line, into which another process of mpirun cannot write. print() makes several."""
    sys.stdout.write(text + "\n")


try:
    runpy.run_module("mpi4py.bench", run_name="__main__", alter_sys=True)
finally:
    say("host: " + socket.gethostname())
    with open("/proc/self/maps", encoding="ascii") as maps:
        say(" ".join(["mapped:", *{line.split()[-1] for line in maps if "/libibverbs.so" in line}]))
