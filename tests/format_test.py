#!/usr/bin/env python3
"""Every C++ file is as clang-format writes it by .clang-format, and no line is wider than its ColumnLimit. Headers that
scripts write are left out.

Versions of clang-format differ in where they break lines, so only VERSION, that of Debian 12, is asked. Without it the
widths alone are checked, and the exit status is 77. To format everything, from the project's root:

  git ls-files '*.[hc]pp' '*.ipp' '*.cu' | xargs clang-format -i
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["include", "examples", "benchmarks", "tests"]
ENDINGS = {".hpp", ".ipp", ".cpp", ".cu", ".h"}
WRITTEN = {"include/slimpack/io/detail/timeline_page.hpp"}  # by scripts, out of files whose lines may be wide
VERSION = "14"
AT_ONCE = 40  # files
SKIPPED = 77


def too_wide(source, limit):
    """Lines of a file that are wider, as an editor would name them."""
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if len(line) > limit:
            yield f"{source.relative_to(ROOT)}:{number}: {len(line)} columns, more than {limit}"


def misformatted(program, sources):
    """What clang-format would change, one line for each place."""
    run = subprocess.run([program, "--dry-run", *map(str, sources)], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        return [run.stderr]
    return [line.replace(f"{ROOT}/", "") for line in run.stderr.splitlines() if "warning:" in line]


def main():
    limit = int(re.search(r"^ColumnLimit: (\d+)", (ROOT / ".clang-format").read_text(), re.M)[1])
    sources = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*")
                     if p.suffix in ENDINGS and p.relative_to(ROOT).as_posix() not in WRITTEN)
    wrong = [line for source in sources for line in too_wide(source, limit)]
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    asked = program and re.search(rf" version {VERSION}\.", subprocess.check_output([program, "--version"], text=True))
    if asked:
        groups = [sources[i : i + AT_ONCE] for i in range(0, len(sources), AT_ONCE)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for lines in pool.map(lambda group: misformatted(program, group), groups):
                wrong += lines
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    print(f"{len(sources)} files" + ("" if asked else f"; clang-format {VERSION} is not there, so only widths were checked"))
    if wrong:
        print("clang-format -i mends all but comments and strings that are too wide", file=sys.stderr)
    return 1 if wrong else 0 if asked else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
