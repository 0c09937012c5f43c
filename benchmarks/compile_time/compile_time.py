#!/usr/bin/env python3
"""What it costs to compile programs that include slimpack: processor time and memory of the compiler at -O2, with headers alone
and where slimpack is compiled once (slimpack::compiled, SLIMPACK_SEPARATE_COMPILATION). Goals are of the second.

    python3 benchmarks/compile_time/compile_time.py [--compiler g++] [--rounds 3] [--only plan_batch]

Rounds take turns over all programs; printed are medians. Run it while the machine does nothing else.
"""
import argparse
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {  # name: file, goal in seconds of processor time and in MB
    "rank_program": (ROOT / "benchmarks/compile_time/rank_program.cpp", 5, None),
    "plan_batch": (ROOT / "examples/plan_batch.cpp", 13, 450),
    "adopt_autograd": (ROOT / "examples/adopt_autograd.cpp", 15, None),
}
LIBRARY = "the library, once"


def include_options(packages):
    told = subprocess.run(["pkg-config", "--cflags-only-I", *packages], capture_output=True, text=True)
    return shlex.split(told.stdout) if told.returncode == 0 else ["-I/usr/include/eigen3"]


def cost_of(command):
    """Processor time in seconds and the most memory in MB of a compilation."""
    child = subprocess.Popen(command)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[*PROGRAMS, "library"], help="this alone")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error("at least one round")
    with tempfile.TemporaryDirectory() as made:
        library = pathlib.Path(made) / "library.cpp"
        library.write_text("#include <slimpack/src.hpp>\n")
        cases = []
        for name, (source, *_) in PROGRAMS.items():
            cases += [(name, source, False), (name, source, True)]
        cases.append((LIBRARY, library, True))
        if asked.only:
            cases = [c for c in cases if c[0] == asked.only or (asked.only == "library" and c[0] == LIBRARY)]
        base = [asked.compiler, "-std=c++20", "-O2", f"-I{ROOT / 'include'}", f"-I{ROOT / 'examples'}", *include_options(["eigen3"])]
        seen = {(name, apart): [] for name, _, apart in cases}
        for round_of in range(asked.rounds):
            for name, source, apart in cases:
                print(f"\rround {round_of + 1} of {asked.rounds}: {name}{' ' * 20}", end="", file=sys.stderr, flush=True)
                options = ["-DSLIMPACK_SEPARATE_COMPILATION"] if apart else []
                seen[name, apart].append(cost_of([*base, *options, "-c", source, "-o", pathlib.Path(made) / "out.o"]))
    print(f"\r{' ' * 60}\r", end="", file=sys.stderr)
    middle = {case: tuple(statistics.median(column) for column in zip(*all)) for case, all in seen.items()}
    print(f"{asked.compiler} -O2, median of {asked.rounds}: seconds of processor time, MB of memory")
    print(f"{'':18} {'headers alone':>18} {'compiled once':>18} {'goal':>14}")
    for name in dict.fromkeys(n for n, _, _ in cases):
        told = [f"{middle[name, apart][0]:7.2f} s {middle[name, apart][1]:5.0f} MB" if (name, apart) in middle else "" for apart in (False, True)]
        _, seconds, memory = PROGRAMS.get(name, (None, None, None))
        goal = (f"{seconds} s" if seconds else "") + (f" {memory} MB" if memory else "")
        print(f"{name:18} {told[0]:>18} {told[1]:>18} {goal:>14}")


if __name__ == "__main__":
    main()
