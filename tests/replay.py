#!/usr/bin/env python3
"""Replays slimpack-plan/1 and /2 files without the library: makespan, memory, coverage, order, transfers, and every figure that follows.

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


FORWARD, BACKWARD = "FEVU", "BWG"  # kinds of instructions, by whose packs they run
ENDS = "EVUG"  # of a vocabulary that is spread over the stages
CALLS = {"E": "embed", "V": "output", "U": "output_weights", "G": "embed_gradients"}  # their times in packs


def parse(text, chunks):
    """"F3" or "F3.1" as (kind, pack, chunk)."""
    pack, _, chunk = text[1:].partition(".")
    claim(text[0] in FORWARD + BACKWARD, f"instruction {text} is of a known kind")
    claim(bool(chunk) == (chunks > 1 and text[0] not in ENDS), f"instruction {text} names a chunk exactly when vpp > 1")
    return text[0], int(pack), int(chunk or 0)


def passes(plan):
    """What is run: forward alone where no replica has a backward pack."""
    both = (("forward", True), ("backward", False))
    return both if any(replica["backward"] for replica in plan["replicas"]) else both[:1]


def spreads(plan):
    return "vocabulary" in plan


def place_of(plan, kind, stage, chunk):
    """Where an instruction runs: of layers a part of the model, of its ends a stage."""
    return stage if kind in ENDS else chunk * plan["stages"] + stage


def before(plan, kind, place):
    """Where messages come from that an instruction waits for, as (kind, place)."""
    stages, parts = plan["stages"], plan["stages"] * plan["vpp"]
    if kind == "F" and place == 0:
        return [("E", stages - 1)] if spreads(plan) else []
    if kind == "V":
        return [("F", parts - 1)] if place < stages - 1 else [("V", r) for r in range(stages - 1)]
    if kind == "U":
        return [("V", stages - 1)] if place < stages - 1 else []
    if kind == "G" and place == stages - 1:
        return [("B", 0)]
    if kind in "EF":
        return [(kind, place - 1)] if place > 0 else []
    return [(kind, place + 1)] if kind == "G" or kind == "B" and place < parts - 1 else []


def after(plan, kind, place):
    """Where messages go."""
    stages, parts = plan["stages"], plan["stages"] * plan["vpp"]
    if kind == "F" and place == parts - 1:
        return [("V", r) for r in range(stages - 1)] if spreads(plan) else []
    if kind == "V":
        return [("V", stages - 1)] if place < stages - 1 else [("U", r) for r in range(stages - 1)]
    if kind == "B" and place == 0:
        return [("G", stages - 1)] if spreads(plan) else []
    if kind in "EF":
        return [(kind, place + 1)] if kind == "F" or place < stages - 1 else [("F", 0)]
    return [(kind, place - 1)] if kind in "BG" and place > 0 else []


def on_stage(plan, kind, place):
    """What must run before on the same stage, as (kind, place); B on the last part waits for more (the turn)."""
    stages, parts = plan["stages"], plan["stages"] * plan["vpp"]
    if kind == "B" and place == parts - 1:
        return ("V", stages - 1) if spreads(plan) else ("F", place)
    if kind == "V" and place == stages - 1:
        return "F", parts - 1
    return {"U": ("V", place), "W": ("B", place)}.get(kind)


def parents_of(plan):
    """Which sequence each goes on behind, -1 of a root: all are roots where samples share no beginnings."""
    return plan.get("parents", [-1] * len(plan["lengths"]))


def depths(plan):
    """How many tokens a path has before each sequence: its slices begin there."""
    parents = parents_of(plan)
    found = [0 if parent < 0 else None for parent in parents]
    for sequence in range(len(parents)):
        path = [sequence]
        while found[path[-1]] is None:
            path.append(parents[path[-1]])
        for above, below in zip(path[::-1], path[-2::-1]):
            found[below] = found[above] + plan["lengths"][above]
    return found


def check_forest(plan):
    """Sequences go on where their parents end, without end, and in depth-first order where no paths are copied; samples and targets are of
    tokens that there are."""
    lengths, parents = plan["lengths"], parents_of(plan)
    claim(len(parents) == len(lengths), "each sequence has a parent, or is a root")
    open_ = []  # the path of the sequence before
    for sequence, parent in enumerate(parents):
        while open_ and open_[-1] != parent:
            open_.pop()
        claim(parent == -1 or open_ or plan.get("copies"), f"sequence {sequence} is in one piece with the subtree of its parent, {parent}")
        open_.append(sequence)
        steps = 0
        while parent >= 0:
            steps, parent = steps + 1, parents[parent]
            claim(steps <= len(parents), f"sequence {sequence} has a path that begins")
    first = depths(plan)
    for name, runs in (("samples", [(s, at - 1, at, count) for s, at, count in plan.get("samples", [])]),
                       ("targets", [(s, begin, begin + n, count) for s, begin, n, count in plan.get("targets", [])])):
        last = (-1, 0)
        for sequence, begin, end, count in runs:
            what = f"{name}: tokens {begin} to {end} of sequence {sequence}"
            claim(0 <= sequence < len(lengths), f"{what} are of a sequence that is there")
            claim(first[sequence] <= begin < end <= first[sequence] + lengths[sequence], f"{what} are its own")
            claim(name == "samples" or begin > 0, f"{what} are behind a token that predicts them")
            claim((sequence, begin) >= last, f"{what} come behind those before")
            claim(count > 0, f"{what} count for a sample")
            last = (sequence, end)


def check_copies(plan):
    """Tokens that are computed again are those of a path of the batch, which has each of its tokens at home once.

    A copy is [sequence, of, until]: the sequence's tokens before `until` are those at the same places of the path of `of`.
    """
    parents, first, lengths = parents_of(plan), depths(plan), plan["lengths"]
    copied = {s: (of, until) for s, of, until in plan["copies"]}
    claim(list(copied) == sorted(copied) and len(copied) == len(plan["copies"]), "copies are in order, one of a sequence")
    batch = [s for s in range(len(lengths)) if s not in copied or copied[s][1] < first[s] + lengths[s]]  # which have tokens at home
    claim(batch == list(range(len(batch))), "sequences of copies alone are behind those of the batch")
    # Of each sequence of the batch, where its own tokens begin, and what they go on behind.
    begin = [copied[s][1] if s in copied else first[s] for s in batch]
    above = [copied[s][0] if s in copied else parents[s] if parents[s] in batch or parents[s] < 0 else copied[parents[s]][0] for s in batch]

    def home(sequence, place):
        """At which sequence of the batch the token is at home that stands at a place of its path; -1 before its first."""
        while sequence >= 0 and place < begin[sequence]:
            sequence = above[sequence]
        return sequence

    for s, (of, until) in copied.items():
        claim(of in batch and first[s] < until <= first[s] + lengths[s] and until == first[of] + lengths[of],
              f"sequence {s} copies the path of sequence {of}, up to its end")
        # What it goes on behind is what stands there on the copied path.
        before = parents[s] if parents[s] < 0 or parents[s] in batch else copied[parents[s]][0]
        claim(before == home(of, first[s] - 1), f"sequence {s} copies the path of sequence {of} from token {first[s]} on")
    for s in batch:
        claim(begin[s] == (0 if above[s] < 0 else first[above[s]] + lengths[above[s]]), f"sequence {s} goes on where sequence {above[s]} ends")


def check_paths(plan):
    """A path is on one replica, where each sequence runs forward after its parent and backward before it."""
    for merge in plan["merges"]:
        s = merge["sequence"]
        claim(parents_of(plan)[s] < 0 and s not in parents_of(plan), f"sequence {s}, which replicas share, is the whole of a path")
    for r, replica in enumerate(plan["replicas"]):
        here = set(replica["sequences"])
        for kind, ascending in passes(plan):
            first, last = {}, {}  # slice of a sequence, in run order
            for at, s in enumerate(s for pack in replica[kind] for s, _, _ in pack["slices"]):
                first.setdefault(s, at)
                last[s] = at
            for sequence, parent in enumerate(parents_of(plan)):
                if parent < 0:
                    continue
                claim((sequence in here) == (parent in here), f"sequence {sequence} is on the replica of its parent, {parent}")
                before, behind = (parent, sequence) if ascending else (sequence, parent)
                claim(sequence not in here or last[before] < first[behind], f"{kind} on replica {r}: sequence {before} has run before {behind} begins")


def pieces_in_order(slices, ascending):
    return sorted(slices, key=lambda x: x[1], reverse=not ascending)


def check_order(plan, kind, ascending, sequence, rows, first):
    """Rows of slices, in run order, cover a sequence once: in order forward, in reverse order backward; cuts on the quantum.

    Its first token has the number `first`, from which cuts are counted.
    """
    length, quantum = plan["lengths"][sequence], plan["quantum"]
    at = 0 if ascending else length
    for row in rows:
        # Inside a pack, or a row, the order of a sequence's slices is free: they run together.
        for _, token, count in pieces_in_order(row, ascending):
            begin = token - first
            piece = f"{kind}: slice {[sequence, token, count]}"
            claim(count > 0 and begin % quantum == 0, f"{piece} starts on the quantum")
            claim((begin if ascending else begin + count) == at, f"{piece} follows {first + at}")
            claim((begin + count) % quantum == 0 or begin + count == length, f"{piece} ends on the quantum")
            at = begin + count if ascending else begin
    claim(at == (length if ascending else 0), f"{kind} covers every token of sequence {sequence}")


def runs_of(replica, kind, sequence):
    """The tokens of a sequence that a replica runs, as [begin, end) without a cut."""
    runs = []
    for begin, count in sorted((begin, count) for pack in replica[kind] for s, begin, count in pack["slices"] if s == sequence):
        if runs and runs[-1][1] == begin:
            runs[-1][1] += count
        else:
            runs.append([begin, begin + count])
    return runs


def check_coverage(plan):
    """Every token once in each pass, on one replica or on those that share its sequence."""
    merged = {m["sequence"]: m for m in plan["merges"]}
    first = depths(plan)
    claim(len(merged) == len(plan["merges"]), "a sequence is merged once")
    for sequence in range(len(plan["lengths"])):
        on = [r for r, replica in enumerate(plan["replicas"]) if sequence in replica["sequences"]]
        if sequence in merged:
            claim(len(on) > 1 and on == merged[sequence]["replicas"], f"sequence {sequence} is on the replicas of its merge")
        else:
            claim(len(on) == 1, f"sequence {sequence} is on one replica")
    for r, replica in enumerate(plan["replicas"]):
        claim(len(set(replica["sequences"])) == len(replica["sequences"]), f"replica {r} lists a sequence once")
        for kind, ascending in passes(plan):
            rows = {s: [] for s in replica["sequences"]}
            for pack in replica[kind]:
                for s in {s for s, _, _ in pack["slices"]}:
                    claim(s in rows, f"{kind}: sequence {s} belongs to replica {r}")
                    rows[s].append([x for x in pack["slices"] if x[0] == s])
            for s in set(rows) - set(merged):
                check_order(plan, kind, ascending, s, rows[s], first[s])
    for s, merge in merged.items():
        for kind, ascending in passes(plan):
            for j, r in enumerate(merge["replicas"]):
                named = [row[j] for row in merge[kind] if row[j] is not None]
                holding = [i for i, pack in enumerate(plan["replicas"][r][kind]) if any(x[0] == s for x in pack["slices"])]
                claim(named == holding, f"{kind}: rows of sequence {s} name the packs of replica {r} that hold it, in run order")
            rows = [[x for r, i in zip(merge["replicas"], row) if i is not None
                     for x in plan["replicas"][r][kind][i]["slices"] if x[0] == s] for row in merge[kind]]
            claim(all(rows), f"{kind}: each row of sequence {s} has tokens")
            check_order(plan, kind, ascending, s, rows, first[s])
        for r in merge["replicas"] if len(passes(plan)) > 1 else []:
            replica = plan["replicas"][r]
            claim(runs_of(replica, "forward", s) == runs_of(replica, "backward", s),
                  f"replica {r} runs backward what it ran forward of sequence {s}")


def ties(plan):
    """(kind, replica, pack) -> all that run together with it."""
    tied = {}
    for merge in plan["merges"]:
        for kind in ("forward", "backward"):
            for row in merge[kind]:
                group = {(kind[0].upper(), r, i) for r, i in zip(merge["replicas"], row) if i is not None}
                for member in list(group):
                    group |= tied.get(member, set())
                for member in group:
                    tied[member] = group
    return tied


def loans_of(plan, r):
    """Loans of a replica: (lender, helper, queries, context), the first two as (stage, kind, pack, chunk)."""
    def side(told):
        return (told[0], *parse(told[1], plan["vpp"]))
    return [(side(loan["lender"]), side(loan["helper"]), loan["queries"], loan["context"]) for loan in plan["replicas"][r].get("loans", [])]


def lock_step(plan, side):
    """When a stage runs what a pack runs on one chunk, by the interleaved order that all stages have, each one unit behind another."""
    stage, kind, pack, chunk = side
    stages, chunks = plan["stages"], plan["vpp"]
    turn, behind = (chunk, stage) if kind == "F" else (chunks - 1 - chunk, stages - 1 - stage)
    return (pack // stages * chunks + turn) * stages + pack % stages + behind


def check_loans(plan):
    """Stages lend each other attention in lock steps: to keys that the queries see, the oldest first and each once, and each other once."""
    for r, replica in enumerate(plan["replicas"]):
        lent, helping, count, asked, joined = {}, set(), {}, {}, set()
        for lender, helper, queries, context in loans_of(plan, r):
            what = f"replica {r}: {lender[1]}{lender[2]} of stage {lender[0]}"
            claim(lender[1] == helper[1] in "FB" and lender[0] != helper[0], f"{what} lends to another stage in the same pass")
            step = lock_step(plan, lender)
            claim(step == lock_step(plan, helper), f"{what} lends in one lock step")
            own = replica["forward" if lender[1] == "F" else "backward"][lender[2]]["slices"]
            claim(queries in own and sum(s == queries[0] for s, _, _ in own) == 1, f"{what} lends for a slice of its own, the only one of its sequence")
            claim(asked.setdefault(lender, queries) == queries, f"{what} lends for one slice")
            claim((lender, helper) not in joined, f"{what} lends to stage {helper[0]} once")
            joined.add((lender, helper))
            sequence, first, keys = context
            claim(sequence == queries[0] and first == lent.get(lender, 0) and keys > 0 and first + keys <= queries[1],
                  f"{what} lends the oldest keys first, each once, and all before its queries")
            lent[lender] = first + keys
            helping.add(helper)
            count[lender[1], step] = count.get((lender[1], step), 0) + 1
            claim(count[lender[1], step] < plan["stages"], f"{what}: a lock step has fewer loans than stages")
        claim(not helping & set(lent), f"replica {r}: no stage lends and helps at the same time")


def lend(plan, r, kind, times, slope, hop):
    """Puts loans into the times of packs on parts: what attention takes moves, and messages of a hop each are waited for.

    A helper has contexts before it begins, and queries while it attends to what lies before its own slices; a lender has the results a hop
    after the helper's end. Slope is what a pair of a query and a key takes.
    """
    loans = [loan for loan in loans_of(plan, r) if loan[0][1] == kind[0].upper()]

    def cell(side):
        return side[2], side[3] * plan["stages"] + side[0]

    for lender, helper, (_, _, queries), (_, _, keys) in loans:
        times[cell(lender)] -= slope * queries * keys
        times[cell(helper)] += slope * queries * keys
    for helper in {loan[1] for loan in loans}:
        before = slope * sum(begin * n for _, begin, n in plan["replicas"][r][kind][helper[2]]["slices"])
        contexts = hop * sum(loan[1] == helper for loan in loans)
        times[cell(helper)] = max(times[cell(helper)] + max(0, hop - before), contexts)
    for lender in {loan[0] for loan in loans}:
        times[cell(lender)] = max([times[cell(lender)]] + [times[cell(loan[1])] + hop for loan in loans if loan[0] == lender])


def flat(times):
    """Times of stages, or of the chunks of stages."""
    return [one for told in times for one in (told if isinstance(told, list) else [told])]


def check_prices(plan):
    """Times of packs under costs::quadratic on each part: its share of the slices, a pack's overhead, that of a call for
    each slice, a hop to each other sharer for each row that the pack is in, and what stages lend each other."""
    name, _, numbers = plan["cost"].partition(":")
    if name != "quadratic":
        return
    linear, attention, backward_linear, backward_attention, overhead = map(float, numbers.split(","))
    call = float(plan.get("made_with", {}).get("options", {}).get("call-overhead", 0))
    for r, replica in enumerate(plan["replicas"]):
        hops = flat(replica["message"]["forward"])
        if plan["merges"] and plan["stages"] * plan["vpp"] == 1:
            return  # one part sends no messages, so that the file does not say what a hop takes
        for kind, of_linear, of_attention in (("forward", 1, 1), ("backward", backward_linear, backward_attention)):
            expected = {}  # by pack and part
            for i, pack in enumerate(replica[kind]):
                slices = sum(of_linear * linear * n + of_attention * attention * n * (begin + (n + 1) / 2) for _, begin, n in pack["slices"])
                calls = overhead + call * len(pack["slices"])
                time = calls + slices / plan["vpp"]
                for merge in plan["merges"]:
                    if r in merge["replicas"]:
                        place = merge["replicas"].index(r)
                        time += sum(row[place] == i for row in merge[kind]) * (len(merge["replicas"]) - 1) * hops[0]
                expected.update({(i, part): time for part in range(plan["stages"] * plan["vpp"])})
            if replica.get("loans"):
                lend(plan, r, kind, expected, of_attention * attention / plan["vpp"], hops[0])
            for i, pack in enumerate(replica[kind]):
                calls = overhead + call * len(pack["slices"])
                told = {(stage, chunk): one for stage, own in enumerate(pack["time"]) for chunk, one in enumerate(own if isinstance(own, list) else [own])}
                if "weight_time" in pack:  # a launch of its own
                    told = {key: told[key] + weights - calls for key, weights in zip(told, flat(pack["weight_time"]))}
                for (stage, chunk), one in told.items():
                    time = expected[i, chunk * plan["stages"] + stage]
                    claim(close(one, time), f"replica {r}, {kind} pack {i}: {one} s, where its slices, rows and loans take {time} s")


def check_transfers(plan, programs, starts, ends, tied):
    """The order that `transfers` names, "start", is one that cannot deadlock: where each is due, every rank that takes part is there.

    A rank runs an instruction once its message has come and its rows are exchanged, and sends what it made when the order says so.
    """
    if plan["format"] == "slimpack-plan/1":
        return
    stages = plan["stages"]
    order = []  # (when, number, "rows" or "message", members); a message's members are where it comes from and where it goes
    number_of = {key: number for number, (key, _) in enumerate(starts)}
    for number, (key, start) in enumerate(starts):
        r, kind, pack, part = key
        group = tied.get((kind, r, pack))
        if group and (kind, r, pack) == min(group):
            members = [(other, kind, same, part) for _, other, same in group]
            order.append((start, min(number_of[member] for member in members), "rows", members))
        order += [(ends[key], number, "message", [key, (r, to, pack, place)]) for to, place in after(plan, kind, part)]
    order.sort(key=lambda t: (t[0], t[1], t[2] == "message"))  # at one time, rows before what their packs send: a pack may take no time
    at = {(r, stage): 0 for r, own in enumerate(programs) for stage in range(stages)}
    ran, done = set(), set()

    def has_message(r, kind, pack, part):
        return all(("message", (r, source, pack, place), (r, kind, pack, part)) in done for source, place in before(plan, kind, part))

    def advance(r, stage):
        code = programs[r][stage]
        while at[r, stage] < len(code):
            kind, pack, chunk = code[at[r, stage]]
            part = place_of(plan, kind, stage, chunk)
            if not has_message(r, kind, pack, part):
                return
            if (kind, r, pack) in tied and ("rows", (r, kind, pack, part)) not in done:
                return
            ran.add((r, kind, pack, part))
            at[r, stage] += 1

    def begins(r, kind, pack, part):
        """Whether a rank has run all before an instruction, and has its message."""
        stage, chunk = part % stages, part // stages
        advance(r, stage)
        return has_message(r, kind, pack, part) and at[r, stage] < len(programs[r][stage]) and programs[r][stage][at[r, stage]] == (kind, pack, chunk)

    for _, _, what, members in order:
        for r, kind, pack, part in members[:1] if what == "message" else members:
            where = f"replica {r}, stage {part % stages}: {kind}{pack}"
            if what == "rows":
                claim(begins(r, kind, pack, part), f"{where} begins when its rows are exchanged, in order of transfers")
            else:
                advance(r, part % stages)
                claim((r, kind, pack, part) in ran, f"{where} has run when its message is sent, in order of transfers")
        done.update([(what, *members)] if what == "message" else [(what, member) for member in members])
    for r, stage in at:
        advance(r, stage)
        claim(at[r, stage] == len(programs[r][stage]), f"replica {r}, stage {stage} ends its program, in order of transfers")


def simulate(plan):
    """Runs the programs by the rules of the file format alone. Returns makespan and peak live tokens of each replica's stages."""
    stages, chunks = plan["stages"], plan["vpp"]
    parts = stages * chunks
    replicas = plan["replicas"]
    packs = [{kind: r["forward" if kind in FORWARD else "backward"] for kind in FORWARD + BACKWARD} for r in replicas]
    tokens = [{k: [sum(n for _, _, n in p["slices"]) for p in v] for k, v in own.items()} for own in packs]
    tied = ties(plan)
    partners = {}  # (replica, stage, kind, pack, chunk) -> what runs together with it because one lends the other attention
    for r in range(len(replicas)):
        for lender, helper, _, _ in loans_of(plan, r):
            partners.setdefault((r, *lender), []).append((r, *helper))
            partners.setdefault((r, *helper), []).append((r, *lender))
    parents = parents_of(plan)
    last_forward = [{} for _ in replicas]  # that reads a sequence's tokens: its own, or one of what goes on behind it
    for r, own in enumerate(packs):
        for i, pack in enumerate(own["F"]):
            for s, _, _ in pack["slices"]:
                while s >= 0 and last_forward[r].get(s) != i:
                    last_forward[r][s], s = i, parents[s]

    # Where nothing runs backward, a sequence's tokens are released at the end of the last forward that reads them.
    ended = [[0] * len(own["F"]) for own in packs]
    for r, own in enumerate(packs if len(passes(plan)) == 1 else []):
        for pack in own["F"]:
            for s, _, n in pack["slices"]:
                ended[r][last_forward[r][s]] += n

    def duration(r, kind, pack, stage, chunk):
        claim(kind != "W" or "weight_time" in packs[r][kind][pack], f"W{pack} belongs to a pack with weight_time")
        if kind in ENDS:
            return packs[r][kind][pack][CALLS[kind]][stage]
        time = packs[r][kind][pack]["weight_time" if kind == "W" else "time"][stage]
        return time[chunk] if chunks > 1 else time

    def message(r, source, to, pack):
        """What a pack sends from one (kind, place) to another."""
        told = replicas[r]["message"]
        (kind, place), (of, where) = source, to
        name, at = {"E": ("embedded", place), "F": ("hidden", where), "V": ("partial", place) if of == "V" else ("statistics", where),
                    "G": ("gradients", place - 1), "B": ("to_gradients", 0)}[kind]
        if kind == of and kind in "FB":
            name, at = ("forward", place) if kind == "F" else ("backward", place - 1)
        m = told[name][pack]
        if not isinstance(m, list):
            return m
        return m[at % stages if name in ("forward", "backward") and len(m) != parts - 1 else at]

    programs = [[[parse(t, chunks) for t in p] for p in r["programs"]] for r in replicas]
    end = [{} for _ in replicas]
    free = [[0.0] * stages for _ in replicas]
    next_ = [[0] * stages for _ in replicas]
    live = [[0] * stages for _ in replicas]
    peak = [[0.0] * stages for _ in replicas]
    starts = []  # ((replica, kind, pack, part), when), each behind all that it waits for

    def ready(r, stage):
        """When the next instruction of a stage could start, were it alone; None while it has to wait."""
        kind, pack, chunk = programs[r][stage][next_[r][stage]]
        part = place_of(plan, kind, stage, chunk)
        claim(kind not in ENDS or spreads(plan), f"{kind}{pack} is of a spread vocabulary")
        claim((kind, pack, part) not in end[r], f"stage {stage} runs {kind}{pack} once")
        needs = on_stage(plan, kind, part)
        if kind == "W":
            claim((*needs[:1], pack, part) in end[r], f"stage {stage} runs W{pack} after B{pack}")
            return free[r][stage]
        # Rules 1 and 3: packs of a pass run in order on each part.
        claim(pack == 0 or (kind, pack - 1, part) in end[r], f"stage {stage} runs {kind}{pack} after {kind}{pack - 1}")
        if needs is not None:
            last = max(last_forward[r][s] for s, _, _ in packs[r]["B"][pack]["slices"]) if kind == "B" else pack
            if (needs[0], last, needs[1]) not in end[r]:
                return None
        start = free[r][stage]
        for source in before(plan, kind, part):
            if (source[0], pack, source[1]) not in end[r]:
                return None
            start = max(start, end[r][source[0], pack, source[1]] + message(r, source, (kind, part), pack))
        return start

    def rows_before(kind, together, chunk, stage):
        """(whether it has run, replica, pack): of each row that stands before one of these packs."""
        for merge in plan["merges"] if kind in "FB" else []:
            rows = merge["forward" if kind == "F" else "backward"]
            for number in range(1, len(rows)):
                if any((kind, r, i) in together for r, i in zip(merge["replicas"], rows[number]) if i is not None):
                    r, i = next((r, i) for r, i in zip(merge["replicas"], rows[number - 1]) if i is not None)
                    yield (kind, i, chunk * stages + stage) in end[r], r, i

    def run(r, stage):
        """Runs the next instruction of a stage, and with it those of its row on other replicas, or those that it lends to. False while it has to wait."""
        kind, pack, chunk = programs[r][stage][next_[r][stage]]
        together = tied.get((kind, r, pack), {(kind, r, pack)})
        members = [(other, stage, kind, same, chunk) for _, other, same in together]
        for member in members:
            members += [partner for partner in partners.get(member, []) if partner not in members]
        for other, where, *what in members:
            if next_[other][where] == len(programs[other][where]) or programs[other][where][next_[other][where]] != tuple(what):
                return False
        starts_of = [ready(other, where) for other, where, _, _, _ in members]
        if None in starts_of:
            return False
        before = [end[r][kind, pack, chunk * stages + stage] if ran else None for ran, r, pack in rows_before(kind, together, chunk, stage)]
        if None in before:
            return False
        starts_of += before
        finish = max(starts_of) + max(duration(other, of, same, where, at) for other, where, of, same, at in members)
        for other, where, _, same, at in members:
            part = place_of(plan, kind, where, at)
            free[other][where] = end[other][kind, same, part] = finish
            starts.append(((other, kind, same, part), max(starts_of)))
            size = tokens[other][kind][same]
            live[other][where] += size if kind == "F" else 0
            peak[other][where] = max(peak[other][where], live[other][where] / chunks)
            live[other][where] -= ended[other][same] if kind == "F" else 0
            # A token is released at the end of B, or of W where there is one.
            last = kind == "W" or kind == "B" and "weight_time" not in packs[other]["B"][same]
            live[other][where] -= size if last else 0
            next_[other][where] += 1
        return True

    moved = True
    while moved:
        moved = False
        for r in range(len(replicas)):
            for stage in range(stages):
                while next_[r][stage] < len(programs[r][stage]) and run(r, stage):
                    moved = True
    for r, own in enumerate(packs):
        split = sum("weight_time" in p for p in own["B"])
        for stage in range(stages):
            claim(next_[r][stage] == len(programs[r][stage]), f"replica {r}, stage {stage} is not stuck at instruction {next_[r][stage]}")
            calls = 3 * len(own["F"]) + len(own["B"]) if spreads(plan) else 0
            claim(len(programs[r][stage]) == chunks * (len(own["F"]) + len(own["B"]) + split) + calls, f"replica {r}, stage {stage} runs every pack")
    ends = {(r, *key): when for r, own in enumerate(end) for key, when in own.items()}
    check_transfers(plan, programs, starts, ends, tied)
    if "reduction" in plan:
        check_reduction(plan, dict(starts), ends, [max(f) for f in free])
    return [max(f) for f in free], peak


def check_reduction(plan, starts, ends, makespans):
    """Gradients beside the work: a stream for each stage, with gathers of weights first and sums of gradients last."""
    stages, parts = plan["stages"], plan["stages"] * plan["vpp"]
    buckets = plan["reduction"]["buckets"]
    claim(len(buckets) == parts + (stages if spreads(plan) else 0), "there are buckets of each part, and of each share of the vocabulary")
    last = max(makespans)
    for stage in range(stages):
        of_layers = list(range(stage, parts, stages))
        of_words = [parts + stage] if spreads(plan) else []  # gathered first, and summed last
        gathered = 0
        for part in of_words + of_layers:
            gathered += sum(gather for _, _, gather in buckets[part])
            for r in range(len(makespans)):
                first = ends.get((r, "F", 0, part) if part < parts else (r, "E", 0, stage))
                claim(first is None or first >= gathered * (1 - 1e-9), f"replica {r} ends its first pack on part {part} when it has the weights")
        stream = 0
        for part in of_layers[::-1] + of_words:
            kinds, place = ("BW", part) if part < parts else ("UG", stage)
            spans = []  # of the last gradients of each replica
            for r in range(len(makespans)):
                of_part = [(end, key) for key, end in ends.items() if key[0] == r and key[1] in kinds and key[3] == place]
                if of_part:
                    end, key = max(of_part)
                    spans.append((starts[key], end))
            for at, scatter, _ in reversed(buckets[part]):
                stream = max([stream] + [end - (end - begin) * at for begin, end in spans]) + scatter
        last = max(last, stream)
    tail = last - max(makespans) + plan["reduction"]["after"]
    claim(abs(tail - plan["reduce_time"]) <= 1e-9 * plan["step_time"], f"reduction ends {plan['reduce_time']} after the last replica, replays as {tail}")


def check_rank_time(plan):
    """The split of the stages' time: what its parts add up to, and the idle time that follows from the packs' times."""
    spent, stages, step = plan["rank_time"], plan["stages"], plan["step_time"]
    total = step * stages * plan["dp"]
    near = lambda a, b: abs(a - b) <= 1e-9 * max(total, 1e-300)
    claim(near(sum(spent.values()), total), "the parts of the rank time add up")
    claim(near(spent["useful"] + spent.get("collectives", 0), (1 - plan["bubble"]) * total), "useful work and collectives are what the bubble leaves")
    imbalance = waiting = 0
    for replica in plan["replicas"]:
        busy = [0] * stages
        for pack in replica["forward"] + replica["backward"]:
            for times in (pack["time"], *(pack[key] for key in ("weight_time", *CALLS.values()) if key in pack)):
                for stage, own in enumerate(times):
                    busy[stage] += sum(own) if isinstance(own, list) else own
        waits = replica.get("weight_waits", [0] * stages)
        worked = [one - wait for one, wait in zip(busy, waits)]
        for one, own in zip(busy, worked):
            idle = step - plan["reduce_time"] - one
            uneven = min(max(worked) - own, idle)
            imbalance, waiting = imbalance + uneven, waiting + idle - uneven
    claim(near(spent["imbalance"], imbalance), f"imbalance of stages {spent['imbalance']} is {imbalance}")
    claim(near(spent["waiting"], waiting), f"waiting {spent['waiting']} is {waiting}")
    claim(spent["communication"] >= plan["reduce_time"] * stages * plan["dp"] - 1e-9 * total, "communication has the reduction")


def check_origin(made, plan):
    claim(set(made) == {"version", "longest", "options", "batch", "inputs"}, "what made the plan has its five fields")
    claim(made["longest"] >= max(map(sum, zip(depths(plan), plan["lengths"]))), "the longest of all batches is as long as this one's")
    claim(all(isinstance(value, str) for group in ("options", "batch") for value in made[group].values()), "options are texts")
    if "number" in made["batch"]:
        claim(0 <= int(made["batch"]["number"]) < int(made["batch"]["batches"]), "the batch is one of the batches")
    for name, key in (("dp", "dp"), ("pp", "stages"), ("tp", "tp"), ("cp", "cp"), ("vpp", "vpp"), ("ep", "ep"), ("quantum", "quantum")):
        claim(int(made["options"].get(name, 1)) == plan.get(key, 1), f"--{name} is the plan's")
    if made["options"].get("backward-cuts") == "forward":
        for r, replica in enumerate(plan["replicas"]):
            pieces = {kind: sorted(tuple(s) for pack in replica[kind] for s in pack["slices"]) for kind in ("forward", "backward")}
            claim(pieces["forward"] == pieces["backward"], f"replica {r} runs backward what it runs forward, piece by piece")
    for one in made["inputs"]:
        claim(set(one) - {"content"} == {"option", "name", "hash"} and len(one["hash"]) == 16, "inputs have an option, a name and a hash")


def rows_of(data):
    """The data row of each sequence: a number is one, an object as many that follow each other."""
    runs = [(row["first"], row["count"]) if isinstance(row, dict) else (row, 1) for row in data["rows"]]
    claim(all(isinstance(first, int) and first >= 0 and isinstance(count, int) and count > 0 for first, count in runs), "rows of the data count from 0")
    return [first + k for first, count in runs for k in range(count)]


def check_data(data, plan):
    """Which rows of a file the sequences are."""
    claim(set(data) == {"file", "rows"} and isinstance(data["file"], str), "data has a file and rows")
    rows = rows_of(data)
    claim(len(rows) == len(plan["lengths"]), f"data has a row for each of {len(plan['lengths'])} sequences, not {len(rows)}")
    if "parents" not in plan:  # else samples of several rows share sequences, and copies have the row of what they copy
        claim(len(set(rows)) == len(rows), "no row of the data comes twice")


def legs_of(relays):
    """(relay, strand, segment, step, from, to) in the order in which sharers post them: what was spread crosses while the next segment is spread."""
    most = max((relay["segments"] for relay in relays), default=0)
    for segment in range(most + 1):
        for step, at in (("spread", segment), ("cross", segment - 1)):
            for number, relay in enumerate(relays):
                out, into = relay["out"], relay["in"]
                for strand in range(1 if step == "spread" else 0, len(out) if 0 <= at < relay["segments"] else 0):
                    yield number, strand, at, step, *((out[0], out[strand]) if step == "spread" else (out[strand], into[strand]))
    for segment in range(most):
        for number, relay in enumerate(relays):
            for strand in range(1, len(relay["in"]) if segment < relay["segments"] else 0):
                yield number, strand, segment, "gather", relay["in"][strand], relay["in"][0]


def check_relays(merge):
    """Rows that go round cross between nodes in strands: every leg has both parties, which share the sequence, and each strand gets there whole."""
    relays, sharers, name = merge.get("relays", []), merge["replicas"], f"relays of sequence {merge['sequence']}"
    claim(not relays or merge["exchange"] != "keep", f"{name} carry rows that go round")
    claim(len({relay["out"][0] for relay in relays}) == len(relays), f"{name} are from a replica each")
    for relay in relays:
        out, into = relay["out"], relay["in"]
        claim(len(out) == len(into), f"{name}: every leg has both parties, {len(out)} that send across and {len(into)} that hear")
        claim(len(out) > 1 and relay["segments"] >= 1, f"{name} have two strands or more, in segments")
        claim(len(set(out + into)) == 2 * len(out) and set(out + into) <= set(sharers), f"{name} are over sharers, each once")
        claim(into[0] == sharers[(sharers.index(out[0]) + 1) % len(sharers)], f"{name} lead to the next of the ring")
    held = {}  # (relay, strand, segment) -> who has it
    for number, strand, segment, step, start, end in legs_of(relays):
        at = held.setdefault((number, strand, segment), relays[number]["out"][0])
        claim(at == start, f"{name}: replica {start} has strand {strand} when it sends it on ({step})")
        held[number, strand, segment] = end
    claim(all(at == relays[number]["in"][0] for (number, _, _), at in held.items()), f"{name} bring every strand to its end")
    claim(len(held) == sum(len(relay["out"]) * relay["segments"] for relay in relays), f"{name} carry every strand")


def check_layers(plan):
    """Each part of the model has layers; the first and the last may have the embedding or the output layer alone."""
    layers, parts = plan["layers"], plan["stages"] * plan["vpp"]
    claim(len(layers) == parts, "layers are of each part")
    for part, count in enumerate(layers):
        has_end = not spreads(plan) and part in (0, parts - 1)
        claim(count >= (0 if has_end else 1), f"part {part} has a layer or an end of the model")


def check_words(plan):
    """Stages have a word or more of a vocabulary that is spread, and their gradients are summed the longer the more words they have."""
    words = plan["words"]
    claim(spreads(plan) and len(words) == plan["stages"], "words are of each stage of a spread vocabulary")
    claim(all(isinstance(count, int) and count >= 1 for count in words), "each stage has a word")
    claim(max(words) > min(words), "words are written where they are unequal")
    if "reduction" in plan:
        parts = plan["stages"] * plan["vpp"]
        spans = [sum(scatter + gather for _, scatter, gather in buckets) for buckets in plan["reduction"]["buckets"][parts:]]
        rising = [span for _, span in sorted(zip(words, spans))]
        claim(all(a <= b * (1 + 1e-9) for a, b in zip(rising, rising[1:])), "more words are no sooner reduced")


def replay(plan):
    claim(plan["format"] in ("slimpack-plan/1", "slimpack-plan/2"), "format is slimpack-plan/1 or /2")
    if plan["format"] == "slimpack-plan/2":
        claim(plan.get("vocabulary", "spread") == "spread" and (not spreads(plan) or plan["stages"] > 1), "a vocabulary is spread over stages")
        claim(plan["transfers"] == "start", "transfers are in order of their start")
        for merge in plan["merges"]:
            claim(merge["exchange"] in ("keep", "queries", "ring"), f"exchange of sequence {merge['sequence']} is known")
            claim(merge["exchange"] == "keep" or None not in sum(merge["forward"] + merge["backward"], []),
                  f"rows of sequence {merge['sequence']} have a pack of each replica, unless keys and values are kept")
            check_relays(merge)
            if merge["exchange"] == "ring":
                claim(max(len(merge["forward"]), len(merge["backward"])) == 1, f"ring of sequence {merge['sequence']} is for one row")
    claim(plan["format"] == "slimpack-plan/2" or not {"parents", "copies", "samples", "targets"} & set(plan), "forests are of slimpack-plan/2")
    claim(len(plan["replicas"]) == plan["dp"], "one entry per replica")
    check_forest(plan)
    if "copies" in plan:
        check_copies(plan)
    check_coverage(plan)
    check_paths(plan)
    claim(plan["format"] == "slimpack-plan/2" or not any("loans" in replica for replica in plan["replicas"]), "loans are a field of slimpack-plan/2")
    check_loans(plan)
    check_prices(plan)
    makespans, peaks = simulate(plan)
    for i, (replica, makespan, peak) in enumerate(zip(plan["replicas"], makespans, peaks)):
        claim(close(makespan, replica["makespan"]), f"replica {i}: makespan {replica['makespan']} replays as {makespan}")
        claim(replica["lower_bound"] <= makespan * (1 + 1e-9), f"replica {i}: lower bound below makespan")
        if plan["memory_unit"] == "tokens":
            claim(peak == replica["peak_memory"], f"replica {i}: peak {replica['peak_memory']} replays as {peak}")
        if plan["memory_limit"] is not None:
            claim(max(replica["peak_memory"]) <= plan["memory_limit"], f"replica {i}: memory limit holds")
    claim(close(plan["step_time"], max(makespans) + plan["reduce_time"]), "step time is the slowest replica and the reduction")
    claim(plan["lower_bound"] == max(plan["bounds"].values()), "lower bound is the largest bound")
    claim(plan["lower_bound"] <= plan["step_time"] * (1 + 1e-9), "lower bound below step time")
    claim(plan.get("any_layout_bound", 0) <= plan["step_time"] * (1 + 1e-9), "any layout's bound below step time")
    claim(close(plan["efficiency"], plan["lower_bound"] / plan["step_time"]), "efficiency follows")
    if "layers" in plan:
        claim(plan["format"] == "slimpack-plan/2", "layers are a field of slimpack-plan/2")
        check_layers(plan)
    if "words" in plan:
        claim(plan["format"] == "slimpack-plan/2", "words are a field of slimpack-plan/2")
        check_words(plan)
    if "made_with" in plan:
        claim(plan["format"] == "slimpack-plan/2", "what made a plan is a field of slimpack-plan/2")
        check_origin(plan["made_with"], plan)
    if "data" in plan:
        claim(plan["format"] == "slimpack-plan/2", "data are a field of slimpack-plan/2")
        check_data(plan["data"], plan)
    if "rank_time" in plan:
        claim(plan["format"] == "slimpack-plan/2", "rank time is a field of slimpack-plan/2")
        check_rank_time(plan)


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
