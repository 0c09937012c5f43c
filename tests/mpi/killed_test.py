#!/usr/bin/env python3
"""Kills one rank of four (two stages of two tensor ranks) in a random call of its compute, again and again: each survivor ends
its step within the time-out, two graces and what MPI waits for the dead, and names the rank that died, by the trainer's number
and no other.

    killed_test.py PROGRAM LAUNCHER      the launcher is told to leave survivors alone; SLIMPACK_FULL=1: 50 kills
"""
import os
import random
import re
import subprocess
import sys

TIME_OUT = 1000  # ms, as in killed.cpp
DIES = re.compile(r"^dies at (\d+) ms$", re.M)
ENDED = re.compile(r"^rank (\d) ended at (\d+) ms: (.*)$", re.M)
BOUND = TIME_OUT + 2 * 250 + 2 * 300  # graces are a quarter of the time-out; MPI's aborts wait .3 s in watchdog and packflow
NUMBERS = [12, 10, 13, 11]  # the trainer's, as in killed.cpp
NAMED = re.compile(r"ranks? (\d+)")


def killed(program, launcher, victim, call, where):
    """How many ms after the death the last survivor ended, and all output."""
    job = subprocess.run([launcher, "--enable-recovery", "--oversubscribe", "-n", "4", program, str(victim), str(call), where],
                         capture_output=True, text=True, timeout=60)
    ended = ENDED.findall(job.stdout)
    told = f"rank {victim} in call {call}, {where} its all-reduce\n{job.stdout}{job.stderr}"
    assert sorted(int(rank) for rank, _, _ in ended) == [r for r in range(4) if r != victim], told
    for _, _, text in ended:
        assert NAMED.findall(text) == [str(NUMBERS[victim])], told
    return max(int(ms) for _, ms, _ in ended) - int(DIES.search(job.stdout)[1]), told


def main():
    program, launcher = sys.argv[1:3]
    chance = random.Random(5)
    longest = again = 0
    kills = 50 if os.environ.get("SLIMPACK_FULL") else 4
    for _ in range(kills):
        how = chance.randrange(4), chance.randrange(6), chance.choice(["in", "before"])
        ms, told = killed(program, launcher, *how)
        if ms >= BOUND + 1000:  # once more, in case the machine was busy
            again += 1
            ms, told = killed(program, launcher, *how)
        assert ms < BOUND + 1000, told
        longest = max(longest, ms)
    print(f"{kills} kills: survivors end after {longest} ms at most, and say why (time-out {TIME_OUT} ms; {again} tried again)")


main()
