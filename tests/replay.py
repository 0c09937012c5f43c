#!/usr/bin/env python3
"""Replays slimpack-plan/1 files without the library: makespan, memory, coverage, order, and every figure that follows.

    replay.py PLAN.json [...]      exit 0 when every file holds what it claims, else 1 with the first claim that fails
"""
import json
import sys


class Wrong(Exception):
    pass


def claim(holds, sentence):
    if not holds:
        raise Wrong(sentence)


def close(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-30)


def parse(text, chunks):
    """"F3" or "F3.1" as (kind, pack, chunk)."""
    pack, _, chunk = text[1:].partition(".")
    claim(bool(chunk) == (chunks > 1), f"instruction {text} names a chunk exactly when vpp > 1")
    return text[0], int(pack), int(chunk or 0)


def check_coverage(plan, replica):
    """Every token once forward and once backward; slices in order forward, in reverse order backward; cuts on the quantum."""
    lengths, quantum = plan["lengths"], plan["quantum"]
    for kind, ascending in (("forward", True), ("backward", False)):
        at = {s: 0 if ascending else lengths[s] for s in replica["sequences"]}
        for pack in replica[kind]:
            # Inside a pack the order of a sequence's slices is free: they run together.
            for s, begin, length in sorted(pack["slices"], key=lambda x: x[1], reverse=not ascending):
                claim(s in at, f"{kind}: sequence {s} belongs to the replica")
                claim(length > 0 and begin % quantum == 0, f"{kind}: slice {[s, begin, length]} starts on the quantum")
                claim((begin if ascending else begin + length) == at[s], f"{kind}: slice {[s, begin, length]} follows {at[s]}")
                claim((begin + length) % quantum == 0 or begin + length == lengths[s], f"{kind}: slice {[s, begin, length]} ends on the quantum")
                at[s] = begin + length if ascending else begin
        claim(all(at[s] == (lengths[s] if ascending else 0) for s in at), f"{kind} covers every token")


def simulate(plan, replica):
    """End of each instruction, by the rules of the file format alone. Returns makespan and peak live tokens of each stage."""
    stages, chunks = plan["stages"], plan["vpp"]
    parts = stages * chunks
    packs = {"F": replica["forward"], "B": replica["backward"], "W": replica["backward"]}
    tokens = {k: [sum(length for _, _, length in p["slices"]) for p in v] for k, v in packs.items()}
    last_forward = {}
    for i, pack in enumerate(packs["F"]):
        for s, _, _ in pack["slices"]:
            last_forward[s] = i

    def duration(kind, pack, stage, chunk):
        claim(kind != "W" or "weight_time" in packs[kind][pack], f"W{pack} belongs to a pack with weight_time")
        time = packs[kind][pack]["weight_time" if kind == "W" else "time"][stage]
        return time[chunk] if chunks > 1 else time

    def message(kind, pack, boundary):
        m = replica["message"]["forward" if kind == "F" else "backward"][pack]
        return m[boundary if len(m) == parts - 1 else boundary % stages] if isinstance(m, list) else m

    programs = [[parse(t, chunks) for t in p] for p in replica["programs"]]
    end, free, next_ = {}, [0.0] * stages, [0] * stages
    live, peak = [0] * stages, [0.0] * stages
    moved = True
    while moved:
        moved = False
        for r in range(stages):
            while next_[r] < len(programs[r]):
                kind, pack, chunk = programs[r][next_[r]]
                part = chunk * stages + r
                claim((kind, pack, part) not in end, f"stage {r} runs {kind}{pack} once")
                if kind == "W":
                    claim(("B", pack, part) in end, f"stage {r} runs W{pack} after B{pack}")
                    source = None
                elif kind == "F":
                    source = (kind, pack, part - 1) if part else None
                else:
                    source = (kind, pack, part + 1) if part < parts - 1 else None
                    if source is None:  # rule 2: the turn
                        needs = max(last_forward[s] for s, _, _ in packs["B"][pack]["slices"])
                        if ("F", needs, part) not in end:
                            break
                if source is not None and source not in end:
                    break
                arrival = 0.0
                if source is not None:
                    boundary = part - 1 if kind == "F" else part
                    arrival = end[source] + message(kind, pack, boundary)
                before = -1 if kind == "W" else pack - 1  # rules 1 and 3: packs of a pass run in order on each part
                claim(before < 0 or (kind, before, part) in end, f"stage {r} runs {kind}{pack} after {kind}{before}")
                free[r] = max(free[r], arrival) + duration(kind, pack, r, chunk)
                end[kind, pack, part] = free[r]
                live[r] += tokens[kind][pack] if kind == "F" else 0
                peak[r] = max(peak[r], live[r] / chunks)
                # A token is released at the end of B, or of W where there is one.
                last = kind == "W" or kind == "B" and "weight_time" not in packs["B"][pack]
                live[r] -= tokens[kind][pack] if last else 0
                next_[r] += 1
                moved = True
    for r in range(stages):
        claim(next_[r] == len(programs[r]), f"stage {r} is not stuck at instruction {next_[r]}")
        split = sum("weight_time" in p for p in packs["B"])
        claim(len(programs[r]) == chunks * (len(packs["F"]) + len(packs["B"]) + split), f"stage {r} runs every pack")
    return max(free), peak


def replay(plan):
    claim(plan["format"] == "slimpack-plan/1", "format is slimpack-plan/1")
    claim(len(plan["replicas"]) == plan["dp"], "one entry per replica")
    seen = sorted(s for r in plan["replicas"] for s in r["sequences"])
    claim(seen == list(range(len(plan["lengths"]))), "every sequence is on one replica")
    slowest = 0.0
    for i, replica in enumerate(plan["replicas"]):
        check_coverage(plan, replica)
        makespan, peak = simulate(plan, replica)
        claim(close(makespan, replica["makespan"]), f"replica {i}: makespan {replica['makespan']} replays as {makespan}")
        claim(replica["lower_bound"] <= makespan * (1 + 1e-9), f"replica {i}: lower bound below makespan")
        if plan["memory_unit"] == "tokens":
            claim(peak == replica["peak_memory"], f"replica {i}: peak {replica['peak_memory']} replays as {peak}")
        if plan["memory_limit"] is not None:
            claim(max(replica["peak_memory"]) <= plan["memory_limit"], f"replica {i}: memory limit holds")
        slowest = max(slowest, makespan)
    claim(close(plan["step_time"], slowest + plan["reduce_time"]), "step time is the slowest replica and the reduction")
    claim(plan["lower_bound"] == max(plan["bounds"].values()), "lower bound is the largest bound")
    claim(plan["lower_bound"] <= plan["step_time"] * (1 + 1e-9), "lower bound below step time")
    claim(close(plan["efficiency"], plan["lower_bound"] / plan["step_time"]), "efficiency follows")


def main(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        try:
            replay(plan)
        except Wrong as wrong:
            print(f"{path}: not so: {wrong}")
            return 1
        packs = sum(len(r["forward"]) + len(r["backward"]) for r in plan["replicas"])
        print(f"{path}: {plan['planner']}, {len(plan['lengths'])} sequences, {packs} packs: as claimed")
    return 0 if paths else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
