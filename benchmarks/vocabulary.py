#!/usr/bin/env python3
"""How much faster a pipeline is whose vocabulary is spread over its stages: steps of slimpack-train on two stages with equal
layers, whose output layer is a third of the work, with the vocabulary on the last stage and on both. Each stage is a process
(mpirun) or a thread of its own.

    python3 benchmarks/vocabulary.py [--train build/gcc-release/examples/slimpack-train] [--steps 6] [--rounds 3]

Rounds take turns with both settings, so that a busy machine slows both; printed are medians over rounds and steps.
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile

from trained_steps import measured

DOCUMENTS, LENGTH, WORDS = 24, 256, 3072  # three products of a word, 6 h a token; a third of the work beside 4 layers
COLUMNS = ("measured_s", "predicted_s", "peak_bytes", "loss")


def steps_of(program, documents, folder, where, words, steps):
    options = ["--documents", documents, "--batch", DOCUMENTS, "--max-context", LENGTH, "--steps", steps, "--pp", 2, "--words", words,
               "--vocabulary", where]
    return measured(program, folder, 2, options, COLUMNS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", default="build/gcc-release/examples/slimpack-train")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, default=WORDS)
    asked = parser.parse_args()
    if asked.steps < 2 or asked.rounds < 1:
        parser.error("at least 2 steps, of which the first warms up, and a round")
    program = pathlib.Path(asked.train).resolve()
    if not program.is_file():
        parser.error(f"no program {asked.train}: build slimpack-train, or say where it is (--train)")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        documents = folder / "documents"
        documents.mkdir()
        chance = random.Random(5)
        for i in range(DOCUMENTS):
            (documents / f"{i:02}.txt").write_text("".join(chance.choices("abcdefgh \n", k=LENGTH - 1)))
        print(f"{DOCUMENTS} documents of {LENGTH} bytes, seed 5; {asked.words} words; {os.cpu_count()} cores; medians of {asked.rounds} "
              f"rounds of {asked.steps - 1} steps\n\n vocabulary   step        predicted  off      speed    peak")
        found = {"last": [], "spread": []}
        for _ in range(asked.rounds):
            for where, steps in found.items():
                steps += steps_of(program, documents, folder, where, asked.words, asked.steps)
        of = {where: [statistics.median(column) for column in zip(*steps)] for where, steps in found.items()}
        for where, (step, predicted, peak, _) in of.items():
            print(f"  {where:9} {step * 1e3:8.1f} ms {predicted * 1e3:8.1f} ms {predicted / step - 1:+6.1%}  {of['last'][0] / step:5.2f} x  "
                  f"{peak / 2**20:8.2f} MiB", flush=True)
        real, simulated = (of["last"][i] / of["spread"][i] for i in (0, 1))
        print(f"\n spread is {real:.2f} times as fast, {simulated:.2f} times in simulation ({simulated / real - 1:+.1%})")
        worst = max(abs(a[3] / b[3] - 1) for a, b in zip(found["last"], found["spread"]))
        print(f" losses differ by {worst:.1e} at most (float)")


if __name__ == "__main__":
    sys.exit(main())
