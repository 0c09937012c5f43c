#!/usr/bin/env python3
"""Writes the header that has the timeline page's text, from the files beside this script.

    write_header.py            writes it, after one of them has changed
    write_header.py --check    says whether it is what would be written
    write_header.py --script   prints the page's script, all parts, for a linter

page.html is what the page shows before its data, with page.css in the place of its link. Its content policy forbids every
request, so that the page loads nothing wherever it is opened. Its colours are told apart by readers with any colour
vision: blue and orange differ in hue and in lightness, as does their reddish purple (after Okabe and Ito, 2008).

The script's parts, in order, have one scope. All their times are nanoseconds. Text from the plan reaches the page as text
nodes only.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "include/slimpack/io/detail/timeline_page.hpp"
PARTS = [
    "plans.js",    # the data unpacked, figures as text, what is shown and its address
    "forest.js",   # samples that share beginnings: paths, and the hues of their sequences
    "panels.js",   # tabs, key figures, tables and controls around the chart
    "drawing.js",  # what is in view; packs thinner than a pixel are drawn as the share of it that they fill
    "details.js",  # what a place of the chart, a sequence and a range of time have to say
    "input.js",    # mouse, keyboard and the controls
    "batches.js",  # the step time of each of several batches, a line for each planner
]
STYLE = '<link rel="stylesheet" href="page.css">\n'
LONGEST = 15_000  # bytes of a string: compilers need not take more than 16,380
END = ')page"'  # of a raw string

BEFORE = """\
// Written by cmake/timeline/write_header.py from the files beside it: change those, and run it.
#ifndef SLIMPACK_IO_DETAIL_TIMELINE_PAGE_HPP
#define SLIMPACK_IO_DETAIL_TIMELINE_PAGE_HPP

#include <string_view>

namespace slimpack::io::detail {
"""
AFTER = """
}  // namespace slimpack::io::detail

#endif
"""


def page():
    """What the page shows before its data."""
    html, css = ((HERE / name).read_text() for name in ("page.html", "page.css"))
    if html.count(STYLE) != 1:
        sys.exit(f"page.html has no line {STYLE.strip()}, or several")
    return html.replace(STYLE, f"<style>\n{css}</style>\n")


def script():
    return "\n".join((HERE / part).read_text() for part in PARTS)


def pieces(text):
    """A text in strings that are short enough, cut between lines."""
    piece = ""
    for line in text.splitlines(keepends=True):
        if len((piece + line).encode()) > LONGEST:
            yield piece
            piece = ""
        piece += line
    yield piece


def constant(name, says, text):
    """The definition of an array of strings that together are the text."""
    if END in text:
        sys.exit(f"a text has {END}, which would end it in C++")
    strings = ",\n    ".join(f'R"page({piece}{END}' for piece in pieces(text))
    return f"\n/// {says}\ninline constexpr std::string_view {name}[] = {{\n    {strings}}};\n"


def header():
    return (BEFORE + constant("timeline_page", "What the page shows before its data: style and elements.", page()) +
            constant("timeline_script", "What draws the data.", script()) + AFTER)


def main():
    if sys.argv[1:] == ["--script"]:
        sys.stdout.write(script())
    elif sys.argv[1:] == ["--check"]:
        if HEADER.read_text() != header():
            sys.exit(f"{HEADER} is not what the files in {HERE} make: run {__file__}")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        HEADER.write_text(header())


if __name__ == "__main__":
    main()
