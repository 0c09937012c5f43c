#!/usr/bin/env python3
"""The folders of include/slimpack as rooms: none reaches up, none is too wide, and no file name stands for two things.

A header may include headers of its own room, of the rooms below its own folder, and of rooms that stand before it in
ROOMS. The contracts, concepts.hpp and those in concepts/, may be included by all policies; other headers of the root by the last
rooms only.
"""

import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent.parent / "include" / "slimpack"

ROOMS = ["core", "detail", "slicers", "costs/model", "costs/kernels", "costs/memory", "costs/network", "costs", "pricing",
         "simulators/graph", "simulators/bounds", "simulators", "schedules", "solvers", "devices", "transports", "executors", "profiling", "views", "io",
         "service", "shapes", "testing"]
ON_TOP = {"service", "shapes", "testing", "io", "views"}  # of the root's headers
WIDEST = 16


def room_of(path):
    """The longest of ROOMS that the path lies in; '' is the root."""
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default="")


def main():
    headers = sorted(p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*.[hi]pp"))
    wrong = []
    for header in headers:
        room = room_of(header)
        if not room and "/" in header and not header.startswith("concepts/"):
            wrong.append(f"{header} is in no room: give its folder a place in ROOMS")
        for included in re.findall(r"^#include <slimpack/(.*)>", (INCLUDE / header).read_text(), re.M):
            other = room_of(included)
            if not room or other == room:
                continue
            if not other:
                if room and not included.startswith("concepts") and room not in ON_TOP:
                    wrong.append(f"{header} includes {included} of the root")
            elif ROOMS.index(other) > ROOMS.index(room):
                wrong.append(f"{header} reaches up to {included}")
    for folder in sorted({p.parent for p in INCLUDE.rglob("*.hpp")}):
        width = len(list(folder.glob("*.hpp")))
        if width > WIDEST:
            wrong.append(f"{folder.relative_to(INCLUDE)} has {width} headers, more than {WIDEST}")
    source = (INCLUDE / "src.hpp").read_text()
    wrong += [f"src.hpp lacks {h}, which programs that compile slimpack once would miss" for h in headers if h.endswith(".ipp") and f"<slimpack/{h}>" not in source]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(headers)} headers in {len(ROOMS)} rooms")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
