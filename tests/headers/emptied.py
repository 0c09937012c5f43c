#!/usr/bin/env python3
"""Names public headers that no test would miss: those whose body can be emptied while the tests that name its entities
still compile.

    emptied.py [--sample N [--part K]] [--compiler clang++] [--define NAME=VALUE] [-I FOLDER]... [HEADER]...

The emptied copy keeps includes and include guard (or nothing, where the header is nothing but includes), and stands in
front of the library in the include path. Tests are tried with -fsyntax-only, those that include the header first, then
those that include a header that does, then those that name most of its entities. A file that cannot be found is no
failure: that test needs what is not installed, and a header with no other tests, or that needs it itself, is told as not
decided. --sample N divides the headers into parts of N and takes one: part K, or the one that a checksum of all of them
says. It is the same for the same headers, and another after most changes, so that every header has its turn. With SLIMPACK_FULL in the environment --sample is ignored. Everything is derived from the tree but
public.py. Exit status: 0 every header has such a test; 1 some have none, which are printed.
"""
import argparse
import concurrent.futures
import functools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import zlib

from public import INCLUDE, public_headers

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
MOST_TRIED = 8
DECLARED = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:\[\[\w+\]\]\s*)?(?:struct|class|enum class|enum|concept|namespace|using)\s+(?:SLIMPACK_\w+\s+)?(\w+)"
                      r"|^(?:\[\[nodiscard\]\] )?(?:inline|constexpr|template)\b[^=;{]*?\b(\w+)\s*[({=]|^#define\s+(SLIMPACK_\w+)", re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def emptied(text):
    kept, guard = [], re.search(r"#define\s+(\w+_HPP)\b", text)
    for line in text.splitlines():
        if line.endswith(".ipp>"):  # definitions of what is emptied
            continue
        if re.match(r"\s*#\s*(include|if|ifdef|ifndef|else|elif|endif)\b", line) or (guard and line.strip() == guard[0]):
            kept.append(line)
    code = COMMENT.sub("", re.sub(r"^\s*#.*$", "", text, flags=re.M)).strip()
    if not code and not re.search(r"#define\s+(?!\w+_HPP\b)", text):  # includes are all that there is
        kept = [line for line in kept if "include" not in line]
    return "\n".join(kept) + "\n"


def entities(text):
    names = {name for found in DECLARED.findall(COMMENT.sub("", text)) for name in found if name}
    return names - {"slimpack", "detail", "std", "boost", "operator", "if", "requires"}


def including(own):
    """Headers that include this one, as tests name them."""
    return [f"<{h.relative_to(INCLUDE)}>" for h in (INCLUDE / "slimpack").rglob("*.hpp")
            if h.name != "slimpack.hpp" and own in h.read_text()]


def candidates(header, texts):
    """Tests by how directly they name the header."""
    own = f"<{header.relative_to(INCLUDE)}>"
    near = including(own)
    names = entities(header.read_text())
    words = re.compile(r"\b(" + "|".join(map(re.escape, sorted(names))) + r")\b") if names else None
    ranked = []
    for test, text in texts.items():
        named = len(set(words.findall(text))) if words else 0
        near_by = any(name in text for name in near)
        if own in text or near_by or named:
            ranked.append((own not in text, not near_by and header.stem not in test.stem, test.stem.removesuffix("_test") != header.stem, -named, len(text), str(test)))
    return [pathlib.Path(rank[-1]) for rank in sorted(ranked)[:MOST_TRIED]]


MISSING = re.compile(r"file not found|No such file")


def checksum(files):
    return functools.reduce(lambda sum_so_far, file: zlib.crc32(file.read_bytes(), sum_so_far), sorted(files), 0)


def includes_what_is_missing(header, options):
    done = subprocess.run([options.compiler, "-std=c++20", "-E", "-x", "c++", f"-I{INCLUDE}", *(f"-I{path}" for path in options.I), "-"],
                          input=f"#include <{header.relative_to(INCLUDE)}>\n", capture_output=True, text=True)
    return bool(MISSING.search(done.stderr))


def missed_by(header, texts, options):
    """The first test that does not compile without the header's body, or None; and whether all could be tried."""
    tried = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / header.relative_to(INCLUDE)
        copy.parent.mkdir(parents=True)
        copy.write_text(emptied(header.read_text()))
        for test in candidates(header, texts):
            command = [options.compiler, "-std=c++20", "-fsyntax-only", "-w", f"-I{folder}", f"-I{INCLUDE}", f"-I{TESTS}",
                       *(f"-I{path}" for path in options.I), *(f"-D{name}" for name in options.define), "-x", "c++", str(test)]
            if "clang" in pathlib.Path(options.compiler).name:
                command.insert(4, "-ferror-limit=1")
            else:
                command.insert(4, "-fmax-errors=1")
            done = subprocess.run(command, capture_output=True, text=True)
            tried.append(not MISSING.search(done.stderr))
            if done.returncode != 0 and tried[-1]:
                return test, True
            if len(tried) == 1 and includes_what_is_missing(header, options):
                return None, False
    return None, not tried or any(tried)


def installed_folders():
    """Of packages that some tests need."""
    try:
        found = subprocess.run(["pkg-config", "--cflags-only-I", "cbc", "ompi-cxx"], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return re.findall(r"-I(\S+)", found.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="*", type=pathlib.Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--part", type=int)
    parser.add_argument("--compiler", default="clang++")
    parser.add_argument("--define", action="append", default=[f'SLIMPACK_TEST_DATA="{ROOT / "examples" / "data"}"', 'SLIMPACK_TEST_VERSION=""'])
    parser.add_argument("-I", action="append", default=["/usr/include/eigen3", *installed_folders()])
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    headers = [h.resolve() for h in options.headers] or [INCLUDE / h for h in public_headers()]
    if options.sample is not None and not os.environ.get("SLIMPACK_FULL") and options.sample < len(headers):
        random.Random(1).shuffle(headers)  # neighbours take as long as each other
        parts = -(-len(headers) // options.sample)
        part = (checksum(headers) if options.part is None else options.part) % parts
        headers = sorted(headers[part::parts])
        print(f"{len(headers)} headers: part {part} of {parts}, --part {part} takes them again")
    tests = [TESTS / "devices" / "gpu.cu", *sorted(TESTS.rglob("*.cpp"))]
    texts = {test: test.read_text() for test in tests if "compile_fail" not in test.parts}
    none, undecided = [], []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, (test, decided) in zip(headers, pool.map(lambda h: missed_by(h, texts, options), headers)):
            if options.verbose:
                print(header.relative_to(INCLUDE), test.relative_to(TESTS) if test else "-", flush=True)
            if test is None and decided:
                none.append(header)
            elif test is None:
                undecided.append(header)
    for header in undecided:
        print(f"{header.relative_to(INCLUDE)}: not decided, its tests need what is not installed")
    for header in none:
        print(f"{header.relative_to(INCLUDE)}: no test fails when its body is emptied")
    left = f", {len(undecided)} not decided" if undecided else ""
    print(f"{len(headers) - len(none) - len(undecided)} of {len(headers)} public headers pass{left}")
    return 1 if none else 0


if __name__ == "__main__":
    sys.exit(main())
