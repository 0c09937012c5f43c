#!/usr/bin/env python3
"""How much faster replicas are that share a long sequence: steps of slimpack-train on a batch of which one document is
nine tenths of the work, with and without sharing, each rank a process (mpirun) or a thread of its own.

    python3 benchmarks/sharing.py [--train build/gcc-release/examples/slimpack-train] [--steps 8] [--rounds 3]

Rounds take turns with all settings, so that a busy machine slows all of them; printed are medians over rounds and steps.
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile

from trained_steps import measured

LONG, SHORT, SHORTS = 4096, 200, 15  # bytes; attention makes the long one nine tenths of a step's work
COLUMNS = ("measured_s", "predicted_s", "exchanged_bytes", "predicted_exchanged_bytes", "peak_bytes", "loss")


def steps_of(program, documents, folder, shape, sharing, steps):
    options = ["--documents", documents, "--batch", SHORTS + 1, "--max-context", LONG, "--steps", steps, "--dp", shape[0], "--pp", shape[1]]
    return measured(program, folder, shape[0] * shape[1], [*options, *sharing], COLUMNS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", default="build/gcc-release/examples/slimpack-train")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    if asked.steps < 2 or asked.rounds < 1:
        parser.error("at least 2 steps, of which the first warms up, and a round")
    program = pathlib.Path(asked.train).resolve()
    if not program.is_file():
        parser.error(f"no program {asked.train}: build slimpack-train, or say where it is (--train)")
    settings = {"none": ["--sharers", 1]} | {e: ["--sharers", 2, "--exchange", e] for e in ("keep", "queries", "ring")}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        documents = folder / "documents"
        documents.mkdir()
        chance = random.Random(3)
        for i, size in enumerate([LONG] + [SHORT] * SHORTS):
            (documents / f"{i:02}.txt").write_text("".join(chance.choices("abcdefgh \n", k=size)))
        print(f"a document of {LONG} bytes and {SHORTS} of {SHORT}, seed 3; {os.cpu_count()} cores; medians of {asked.rounds} rounds "
              f"of {asked.steps - 1} steps\n\n dp pp  sharing   step        predicted  off      speed    exchanged (predicted)      peak")
        for shape in ((2, 1), (2, 2)):
            found = {name: [] for name in settings}
            for _ in range(asked.rounds):
                for name, sharing in settings.items():
                    found[name] += steps_of(program, documents, folder, shape, sharing, asked.steps)
            alone = statistics.median(s[0] for s in found["none"])
            for name, steps in found.items():
                step, predicted, sent, expected, peak, _ = (statistics.median(column) for column in zip(*steps))
                print(f"  {shape[0]}  {shape[1]}  {name:8} {step * 1e3:8.1f} ms {predicted * 1e3:8.1f} ms {predicted / step - 1:+6.1%}  "
                      f"{alone / step:5.2f} x  {sent / 2**20:8.2f} MiB ({expected / 2**20:.2f})  {peak / 2**20:8.2f} MiB", flush=True)
            losses = {name: [s[5] for s in steps][:asked.steps - 1] for name, steps in found.items()}
            worst = max(abs(a / b - 1) for of in losses.values() for a, b in zip(of, losses["none"]))
            print(f"        losses differ by {worst:.1e} at most (float)\n")


if __name__ == "__main__":
    sys.exit(main())
