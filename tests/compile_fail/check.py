#!/usr/bin/env python3
"""Proves that each SOURCE is rejected with every message that it names after "expected-diagnostic:", in no more than 15
lines of its own for each, or in "own-lines: n" where a compiler needs more; where it says "most-lines: n", lines count
that say what was included, too. With --repaired instead, that nothing else is wrong with it: with SLIMPACK_REPAIRED
defined it compiles.

    check.py [--repaired | --alone] [--compiler g++] [--include-dirs "FOLDER;..."] SOURCE...

All sources are one translation unit, each in a namespace of its own, so that what they include, which takes the compiler
nearly all of its time, is read once. An error belongs to the source whose path or namespace it names; one that names
several fails this test, and so does one that names none, unless it continues another. A source that says what another one
says fails, too, where the compiler says it once. Sources whose lines count are a translation unit of their own. Declarations
are enough to be rejected by. --alone proves both of each source by itself, with all that headers define.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ERROR = re.compile(r"\S+: (fatal )?error: ")
# Between two lines of a string, where the compiler shows a source that has it in several.
PARTED = re.compile(r'"\n(?: *\|[ ~^]*\n)? *\d+ \| *"')
KEYS = "(?:expected-diagnostic|most-lines|own-lines)"
OWN_LINES = 15  # of a message, with the source that a compiler quotes
INCLUDED = r"In file included from |\s+from "
# Lines that say where what follows them comes from. The compiler leaves them out where that has not changed.
CONTEXT = re.compile(INCLUDED + r"|\S+: (In|At) |\S+:\s+((recursively )?required (from|by)|in .* expansion of|\[ ?skipping) ")


def said(source, what):
    """What comments of the form "// WHAT: ..." say, each to the end of its comment or to the next of them."""
    found = re.findall(rf"^ *// {what}: (.*(?:\n *// (?!{KEYS}: ).*)*)", source.read_text(), re.M)
    return [re.sub(r"\s*\n *// ", " ", text) for text in found]


def includes(source, repaired=False):
    found, conditions = [], 0
    for line in source.read_text().splitlines():
        conditions += line.startswith("#if")
        conditions -= line.startswith("#endif")
        if line.startswith("#include <") and (repaired or conditions == 0):
            found.append(line)
    return found


def compiled(options, text, *flags):
    """Exit status and diagnostics."""
    command = [options.compiler, "-std=c++20", "-fsyntax-only", *flags, *(f"-I{path}" for path in options.include_dirs.split(";")),
               "-x", "c++", "-"]
    if "clang" in pathlib.Path(options.compiler).name:
        command.insert(1, "-ferror-limit=0")  # else it stops after 20, which are of few sources
    done = subprocess.run(command, input=text, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stderr.splitlines()


def namespace(source):
    return f"in_{source.stem}"


def together(sources, repaired=False):
    """One translation unit, in which each source is known by its path and its namespace."""
    lines = ["#define SLIMPACK_REPAIRED"] if repaired else []
    lines += dict.fromkeys(line for source in sources for line in includes(source, repaired))
    for source in sources:
        lines += [f"namespace {namespace(source)} {{", f'#line 1 "{source}"', source.read_text(), "}"]
    return "\n".join(lines) + "\n"


def owners(sources, lines):
    text = "\n".join(lines)
    return [source for source in sources if f"{source}:" in text or f"{namespace(source)}::" in text]


def by_error(sources, diagnostics):
    """Each error with its notes, the lines before it that say where it comes from, and errors that continue it."""
    errors, context = [[]], []
    for line in diagnostics:
        if CONTEXT.match(line):
            context.append(line)
            continue
        if ERROR.match(line) and (context or owners(sources, [line])):
            errors.append([])
        errors[-1] += [*context, line]
        context = []
    return [error for error in errors if error]


def by_source(sources, diagnostics):
    """Lines of each source, and faults of errors that are not those of one source."""
    lines, faults = {source: [] for source in sources}, []
    for error in by_error(sources, diagnostics):
        named = owners(sources, error)
        if len(named) == 1:
            lines[named[0]] += error
        else:
            faults.append("\n".join([f"an error of {len(named)} sources:", *error]))
    return lines, faults


def rejection_faults(source, diagnostics, lines=None):
    """Lines are how many it takes to say the diagnostics, if others than there are."""
    expected, most = said(source, "expected-diagnostic"), said(source, "most-lines")
    if not expected:
        return [f"{source} names no expected-diagnostic"]
    if not any(ERROR.match(line) for line in diagnostics):
        return [f"{source} compiles, although it should not"]
    text = "\n".join(diagnostics)
    whole = PARTED.sub("", text)
    faults = [f"{source} is rejected without saying: {sentence}\n{text}" for sentence in expected if sentence not in whole]
    counts = lines is not None
    lines = lines or len(diagnostics)
    if most and lines > int(most[0]):
        faults.append(f"{source} is rejected in {lines} lines, {most[0]} are the most\n{text}")
    own = sum(not re.match(INCLUDED, line) for line in diagnostics)
    limit = int((said(source, "own-lines") or [OWN_LINES * len(expected)])[0])
    if counts and not most and own > limit:
        faults.append(f"{source} is rejected in {own} lines of its own, {limit} are the most\n{text}")
    return faults


def rejected_together(options, sources):
    # Of each header, the compiler says once what it was included from, which would be said for every source: that is counted
    # for each of them, and is the same for sources that include the same.
    counted = [source for source in sources if said(source, "most-lines")]
    if any(includes(source) != includes(counted[0]) for source in counted):
        return ["sources that say most-lines must have the same includes"]
    faults = []
    for unit in (counted, [source for source in sources if source not in counted]):
        _, diagnostics = compiled(options, together(unit), "-DSLIMPACK_SEPARATE_COMPILATION")
        lines, of_no_source = by_source(unit, diagnostics)
        faults += of_no_source
        included = [line for line in diagnostics if re.match(INCLUDED, line)]
        for source in unit:
            others = [line for line in lines[source] if not re.match(INCLUDED, line)]
            faults += rejection_faults(source, lines[source], len(others) + len(included))
    return faults


def repaired_together(options, sources):
    status, diagnostics = compiled(options, together(sources, repaired=True), "-DSLIMPACK_SEPARATE_COMPILATION")
    return [] if status == 0 else ["\n".join(["some are rejected even when repaired", *diagnostics])]


def alone(options, sources):
    faults = []
    for source in sources:
        text = f'#line 1 "{source}"\n{source.read_text()}'
        faults += rejection_faults(source, compiled(options, text)[1])
        status, diagnostics = compiled(options, text, "-DSLIMPACK_REPAIRED")
        if status != 0:
            faults.append("\n".join([f"{source} is rejected even when repaired", *diagnostics]))
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=pathlib.Path, metavar="SOURCE")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--repaired", action="store_const", dest="proves", const=repaired_together, default=rejected_together)
    form.add_argument("--alone", action="store_const", dest="proves", const=alone)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--include-dirs", default=f"{pathlib.Path(__file__).resolve().parents[2] / 'include'};/usr/include/eigen3",
                        help="separated by ;")
    options = parser.parse_args()
    faults = options.proves(options, [source.resolve() for source in options.sources])
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
