#!/usr/bin/env python3
"""Counts what including a public header costs, against the written budget of budget.txt.

The cost is the number of non-empty lines after preprocessing (g++ -E -P): unlike seconds, it is the same on every
machine with the same libraries. Budgets are written for g++ 12 and the libraries of Debian 12.

To accept new costs, from the root of the project:

    python3 tests/include_cost/include_cost.py --update

which writes every budget anew at a tenth above today's cost; review the difference before committing it. Budgets of
several headers together, joined by +, are promises to users: they stay as they are.

Counted are all promises, the headers of the root, and of the others every ninth, of which a checksum of all headers says
the first: the same ones for the same headers, and others after most changes. All are counted with SLIMPACK_FULL in the
environment or --update. That each header has a budget is always checked.
"""

import argparse
import concurrent.futures
import math
import os
import pathlib
import subprocess
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "headers"))
from public import INCLUDE, public_headers

BUDGET = HERE / "budget.txt"

# Where Debian keeps the libraries that headers include.
DIRECTORIES = [str(INCLUDE), "/usr/include/eigen3", "/usr/lib/x86_64-linux-gnu/openmpi/include",
               "/usr/include/coin", "/usr/include/torch/csrc/api/include"]

# Headers for libraries that may be missing, with the header of that library.
OPTIONAL = {"slimpack/devices/cuda.hpp": "cuda_runtime_api.h", "slimpack/transports/communicators/nccl.hpp": "cuda_runtime_api.h",
            "slimpack/transports/mpi.hpp": "mpi.h", "slimpack/solvers/milp.hpp": "CbcEventHandler.hpp",
            "slimpack/adapters/torch.hpp": "ATen/core/ivalue.h", "slimpack/adapters/torch_laws.hpp": "ATen/core/ivalue.h"}


def cost(compiler, include_dirs, header):
    command = [compiler, "-std=c++20", "-E", "-P", "-x", "c++", "-"] + ["-I" + d for d in include_dirs]
    run = subprocess.run(command, input="".join(f"#include <{h}>\n" for h in header.split("+")), capture_output=True, text=True)
    if run.returncode != 0:
        if f"fatal error: {OPTIONAL.get(header)}: No such file" in run.stderr:
            return None
        sys.exit(f"{header} cannot be preprocessed:\n{run.stderr}")
    return sum(1 for line in run.stdout.splitlines() if line.strip())


def read_budget():
    entries = (line.split() for line in BUDGET.read_text().splitlines() if line and not line.startswith("#"))
    return {header: int(lines) for header, lines in entries}


def write_budget(costs, promised):
    with BUDGET.open("w") as out:
        out.write("# Public header and its budget in preprocessed lines; see include_cost.py.\n")
        for header, lines in costs.items():
            out.write(f"{header} {promised[header] if header in promised else math.ceil(lines * 1.1 / 100) * 100}\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--compiler", default="g++")
    arguments.add_argument("--include-dirs", default=";".join(DIRECTORIES), help="separated by ;")
    arguments.add_argument("--update", action="store_true", help="write budget.txt anew")
    options = arguments.parse_args()
    include_dirs = options.include_dirs.split(";")

    budget = read_budget()
    promised = {header: lines for header, lines in budget.items() if "+" in header}
    headers = public_headers() + sorted(promised)
    counted = headers
    if not options.update and "SLIMPACK_FULL" not in os.environ:
        first = zlib.crc32(b"".join((INCLUDE / h).read_bytes() for h in headers if h not in promised)) % 9
        counted = [h for i, h in enumerate(headers) if i % 9 == first or h in promised or h.count("/") == 1]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        costs = dict(zip(counted, pool.map(lambda h: cost(options.compiler, include_dirs, h), counted)))
    left_out = [h for h, lines in costs.items() if lines is None]
    costs = {h: lines for h, lines in costs.items() if lines is not None}
    for header in left_out:
        print(f"{header} is left out: {OPTIONAL[header]} is not installed")
    if options.update:
        if left_out:
            sys.exit("a budget needs every header")
        write_budget(costs, promised)
        return 0

    wrong = [f"{h}: {n} lines, over its budget of {budget[h]}" for h, n in costs.items() if n > budget.get(h, n)]
    wrong += [f"{h}: has no budget" for h in headers if h not in budget and h not in left_out]
    wrong += [f"{h}: has a budget, but there is no such header" for h in budget if h not in headers]
    for header, lines in costs.items():
        print(f"{lines:8} of {budget.get(header, 0):8}  {header}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
