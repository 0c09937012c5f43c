#!/usr/bin/env python3
"""Kills one rank of four (two stages of two tensor ranks) in a random call of its compute, again and again: each survivor ends
its step within the time-out and a second, and says why.

    killed_test.py PROGRAM LAUNCHER      the launcher is told to leave survivors alone; SLIMPACK_FULL=1: 50 kills
"""
import os
import random
import re
import subprocess
import sys

TIME_OUT = 1000  # ms, as in killed.cpp
ENDED = re.compile(r"^rank (\d) ended after (\d+) ms: (.*)$", re.M)
# Of the rank that finds it: no message of a dead stage, or a call of the compute that waits for a dead tensor rank.
CAUSE = re.compile(r"no message from rank \d|no receive by rank \d|its compute has not returned for 1000 ms|no word in 1000 ms")


def main():
    program, launcher = sys.argv[1:3]
    chance = random.Random(5)
    longest = 0
    kills = 50 if os.environ.get("SLIMPACK_FULL") else 4
    for n in range(kills):
        victim, call, where = chance.randrange(4), chance.randrange(6), chance.choice(["in", "before"])
        job = subprocess.run([launcher, "--enable-recovery", "--oversubscribe", "-n", "4", program, str(victim), str(call), where],
                             capture_output=True, text=True, timeout=60)
        ended = ENDED.findall(job.stdout)
        told = f"kill {n}: rank {victim} in call {call}, {where} its all-reduce\n{job.stdout}{job.stderr}"
        survivors = sorted(int(rank) for rank, _, _ in ended)
        assert survivors == [r for r in range(4) if r != victim], told
        for _, ms, text in ended:
            assert CAUSE.search(text), told
            assert int(ms) < TIME_OUT + 1000, told
            longest = max(longest, int(ms))
    print(f"{kills} kills: survivors end after {longest} ms at most, and say why (time-out {TIME_OUT} ms)")


main()
