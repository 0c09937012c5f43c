#!/usr/bin/env python3
"""Prints where the minutes of a build and its tests went: the slowest build steps of .ninja_log and the slowest tests of
ctest's log.

    where_time_goes.py BUILD_FOLDER [--rows N] [NAME=SECONDS]...

NAME=SECONDS are whole phases, timed by the caller. Seconds are of the wall clock, of all that ran at a time: where there
are several cores, sums of steps are longer than the build.
"""
import argparse
import pathlib
import re


def build_steps(folder):
    """Name and seconds of each step's latest run."""
    log = folder / ".ninja_log"
    steps = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        if not line.startswith("#"):
            begin, end, _, output, command = line.split("\t")
            steps[command] = (output, (int(end) - int(begin)) / 1000)  # a step with several outputs has several lines
    return list(steps.values())


def tests(folder):
    log = folder / "Testing" / "Temporary" / "LastTest.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    return [(name, float(took)) for name, took in
            re.findall(r"^\d+/\d+ Testing: (\S+)$.*?^Test time =\s+([\d.]+) sec$", text, re.M | re.S)]


def print_slowest(title, timed, rows):
    print(f"{title}: {len(timed)}, together {sum(took for _, took in timed):.0f} s")
    for name, took in sorted(timed, key=lambda one: -one[1])[:rows]:
        print(f"{took:9.1f} s  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("phases", nargs="*", metavar="NAME=SECONDS")
    parser.add_argument("--rows", type=int, default=10)
    options = parser.parse_args()
    for phase in options.phases:
        name, took = phase.split("=")
        print(f"{name:>10}  {int(took) // 60:3d} min {int(took) % 60:02d} s")
    print_slowest("build steps", build_steps(options.folder), options.rows)
    print_slowest("tests", tests(options.folder), options.rows)


if __name__ == "__main__":
    main()
