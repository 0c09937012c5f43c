#!/usr/bin/env python3
"""Whether a new kind of instruction is as few lines as include/slimpack/README.md says.

    new_kind.py [--compiler g++]

Each PATCH here is applied to a copy of include/, and the program beside it, of the same name, is compiled with the copy
and run. Exit status: 0 all do, and no patch changes more than MOST_FILES files; 1 one does not.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST_FILES = 5


def wrong_with(patch, compiler):
    """What does not work, or None."""
    if (files := sum(line.startswith("+++ ") for line in patch.read_text().splitlines())) > MOST_FILES:
        return f"changes {files} files, more than {MOST_FILES}"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "include", pathlib.Path(folder) / "include")
        program = pathlib.Path(folder) / "program"
        for command in (["patch", "-p1", "--no-backup-if-mismatch", "-d", folder, "-i", str(patch)],
                        [compiler, "-std=c++20", f"-I{folder}/include", "-isystem", "/usr/include/eigen3",
                         str(patch.with_suffix(".cpp")), "-o", str(program), "-pthread"],
                        [str(program)]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                return f"{command[0]} fails:\n{done.stdout}{done.stderr}"
    print(done.stdout, end="")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    options = parser.parse_args()
    failed = False
    for patch in sorted(HERE.glob("*.patch")):
        if (why := wrong_with(patch, options.compiler)) is not None:
            print(f"{patch.name}: {why}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
