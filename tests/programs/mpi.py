#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs a benchmark of mpi4py in each process of mpirun, then says its host and which libibverbs the process
has mapped.

    mpirun -n 2 tests/programs/mpi.py ringtest -n BYTES -l LOOPS
"""
import runpy
import socket

try:
    runpy.run_module("mpi4py.bench", run_name="__main__", alter_sys=True)
finally:
    print("host:", socket.gethostname())
    with open("/proc/self/maps", encoding="ascii") as maps:
        print("mapped:", *{line.split()[-1] for line in maps if "/libibverbs.so" in line})
