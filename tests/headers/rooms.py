#!/usr/bin/env python3
"""The folders of include/slimpack as rooms: none reaches up, none is too wide, and no file name stands for two things.

A header may include headers of its own room, of the rooms below its own folder, and of rooms that stand before it in
ROOMS. The contracts, concepts.hpp and those in concepts/, may be included by all policies; other headers of the root by the last
rooms only. A room below another includes of that one only its contracts (CONTRACTS), which count as a room of their own.
The Map of include/slimpack/README.md has the rooms in the same order.

A feature of a step is a path of its own in few places: FEATURES says in how many files, besides its own, it may be named.
"""

import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent.parent / "include" / "slimpack"

SOLVERS_CONTRACTS = "solvers: contracts"
ROOMS = ["core", "detail", "slicers", "costs/model", "costs/kernels", "costs/memory", "costs/network", "costs", "forests", "pricing",
         "simulators/graph", "simulators/bounds", "simulators", "schedules",
         SOLVERS_CONTRACTS, "solvers/detail", "solvers/pack", "solvers/improve", "solvers/divide", "solvers/baselines",
         "solvers/milp", "solvers/assembly", "solvers/two_phase", "solvers",
         "devices", "transports", "executors", "profiling", "views", "io", "service", "shapes", "testing", "adapters"]
# What solvers are asked and answer, and what tunes them: headers of solvers/ that all rooms below it may include.
CONTRACTS = {f"solvers/{name}.hpp": SOLVERS_CONTRACTS
             for name in ["detail/search_tuning", "exchange_set", "hooks", "problem", "search_constants",
                          "search_options", "search_report", "sharing_zones", "size_ratios", "solution"]}
ON_TOP = {"service", "shapes", "testing", "io", "views", "adapters"}  # of the root's headers
ADAPTERS = "adapters"  # to libraries of trainers, which nothing else may reach
WIDEST = 16

# Names that several rooms may have, as each says the same there. Other names stand for one thing.
SAME_NAMES = {
    "hooks",          # what else a policy of this kind may answer, in the room of each kind
    "cuda", "host",   # a device, and the transport or the communicator over it
    "gpu", "saved_tensors", "stage_profile", "timeline",  # a thing, and in io/ what reads or writes it
    "memory",         # what a GPU holds: by a cost model, over a plan, and in slow code that laws compare with
}

# Features of a step by the words that name them, the files that are theirs, and in how many others they may be named. A number that
# falls is written here, so that it does not rise again. Left out are headers that name everything, and TOLD, to whom a feature is told.
NAME_ALL = {"fwd.hpp", "slimpack.hpp", "src.hpp"}
TOLD = ("testing/", "costs/")  # laws, and what features cost
FEATURES = {
    "lending": (r"lend(?:s|er|ers|ing)?|loans?|lent|borrow\w*",
                ("core/lending/", "executors/lending/", "executors/detail/lending/", "pricing/lend.hpp"), 19),
    "relays": (r"relay(?:s|ed|ing)?", ("core/relays/", "solvers/baselines/relaying.hpp"), 7),
    "vocabulary": (r"vocabular(?:y|ies)", ("core/vocabulary", "core/wiring/", "shapes/unequal_words.hpp"), 44),
}


def room_of(path):
    """The longest of ROOMS that the path lies in; '' is the root."""
    return CONTRACTS.get(path) or max((room for room in ROOMS if path.startswith(room + "/")), key=len, default="")


def names_of_two(headers):
    """Names that headers of several rooms have. Definitions in impl/ and declarations in *_fwd.hpp are of their header."""
    rooms = {}
    for header in headers:
        if header.endswith(".hpp") and not header.endswith("_fwd.hpp"):
            rooms.setdefault(pathlib.PurePath(header).stem, {}).setdefault(room_of(header), header)
    for name, of in sorted(rooms.items()):
        if len(of) > 1 and name not in SAME_NAMES:
            yield f"{name} is the name of {' and of '.join(of.values())}: rename one"
        if len(of) == 1 and name in SAME_NAMES:
            yield f"{name} needs no place in SAME_NAMES"


def not_as_in_the_map():
    """Rows of the Map, among those of one folder, that stand in another order than their rooms."""
    rows = [row for row in re.findall(r"^\| \[([\w/]+)/\]\(\1\)", (INCLUDE / "README.md").read_text(), re.M) if row in ROOMS]
    for folder in sorted({row.rpartition("/")[0] for row in rows}):
        inside = [row for row in rows if row.rpartition("/")[0] == folder]
        if inside != sorted(inside, key=ROOMS.index):
            yield f"include/slimpack/README.md has the rooms of {folder or 'the root'} in another order: {', '.join(inside)}"


def named_too_often(headers):
    """Features that more files name than FEATURES allows. A name is a word, or a part of one between _, or of camelCase."""
    for feature, (words, own, most) in FEATURES.items():
        is_named = re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE)
        named = [header for header in headers if header not in NAME_ALL and not header.startswith(TOLD + own)
                 and is_named.search(re.sub("([a-z])([A-Z])", r"\1_\2", (INCLUDE / header).read_text()))]
        print(f"{feature} is named in {len(named)} files besides its own")
        if len(named) > most:
            yield f"{feature} is named in {len(named)} files besides its own, more than {most}: {', '.join(named)}"


def main():
    headers = sorted(p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*.[hi]pp"))
    wrong = [f"{header} of CONTRACTS is not there" for header in CONTRACTS if header not in headers]
    for header in headers:
        room = room_of(header)
        if not room and "/" in header and not header.startswith("concepts/"):
            wrong.append(f"{header} is in no room: give its folder a place in ROOMS")
        for included in re.findall(r"^#include <slimpack/(.*)>", (INCLUDE / header).read_text(), re.M):
            other = room_of(included)
            if other == ADAPTERS and room != ADAPTERS:
                wrong.append(f"{header} includes {included}, which only users may include")
            if not room or other == room:
                continue
            if not other:
                if room and not included.startswith("concepts") and room not in ON_TOP:
                    wrong.append(f"{header} includes {included} of the root")
            elif ROOMS.index(other) > ROOMS.index(room):
                wrong.append(f"{header} reaches up to {included}")
    for folder in sorted({(INCLUDE / header).parent for header in headers}):
        for kind, what in (("*.hpp", "headers"), ("*.ipp", "files of definitions")):
            width = len(list(folder.glob(kind)))
            if width > WIDEST:
                wrong.append(f"{folder.relative_to(INCLUDE)} has {width} {what}, more than {WIDEST}")
    wrong += names_of_two(headers)
    wrong += not_as_in_the_map()
    wrong += named_too_often(headers)
    source = (INCLUDE / "src.hpp").read_text()
    wrong += [f"src.hpp lacks {h}, which programs that compile slimpack once would miss" for h in headers if h.endswith(".ipp") and f"<slimpack/{h}>" not in source]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(headers)} headers in {len(ROOMS)} rooms")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
