#!/usr/bin/env python3
"""Every claim of SlimPack, SlimPipe and Zeppelin that has a number, beside what slimpack says about it.

    papers.py [--build build/gcc-release] [--only WORD] > benchmarks/papers/papers.txt

Reported numbers are those of abstracts and public code; the papers' texts were not at hand, and most configurations are not
known. A claim is *reached* or *not reached* where the same configuration can be set up here, else *not comparable*. Ours are
simulated steps: plans of slimpack-plan on shipped lists of lengths, at the prices that it uses by default (measured kernels of
an H100), effort fast. Every planner gets the best of the same layouts. Takes some minutes; progress goes to standard error.
"""
import argparse
import csv
import functools
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "data"

# The 7B model of SlimPipe's published scripts.
LLAMA_7B = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 32, "vocab_size": 128256, "max_position_embeddings": 1048576,
            "hidden_act": "silu", "tie_word_embeddings": True}


# A 3B model whose keys and values of 4,096 tokens take 2.18 ms over 200 Gb/s at 96 %: a guess at the one of Zeppelin's time line.
LLAMA_3B = {**LLAMA_7B, "hidden_size": 3200, "intermediate_size": 8640, "num_hidden_layers": 26, "vocab_size": 32000}


class Planner:
    """slimpack-plan, asked for one plan at a time."""

    def __init__(self, program, scratch):
        self.program, self.scratch, self.asked = program, scratch, {}

    def file(self, name, text):
        path = self.scratch / name
        path.write_text(text)
        return path

    def node(self, adapters, inside, between):
        """The shipped A100 on nodes with so many adapters, and links of so many bytes per second."""
        gpu = json.loads((DATA / "gpus" / "a100.json").read_text())
        gpu.update(adapters_per_node=adapters, inside={"latency_s": 5e-6, "bandwidth": inside}, between={"latency_s": 1e-5, "bandwidth": between})
        gpu["source"] = "the shipped A100, with adapters and links of Zeppelin's clusters"
        return self.file(f"a100-{adapters}-{inside:.0f}-{between:.0f}.json", json.dumps(gpu))

    def explained(self, sign, *options):
        """What --explain says behind a sign."""
        run = subprocess.run([self.program, "--explain", *map(str, options)], capture_output=True, text=True)
        if run.returncode != 0 or sign not in run.stdout:
            sys.exit(f"{self.program} --explain {' '.join(map(str, options))}\nsays nothing of {sign!r}: {run.stderr}")
        return run.stdout.split(sign, 1)[1].split(".\n", 1)[0]

    def lengths(self, length, count):
        return self.file(f"{length}x{count}.txt", f"{length}\n" * count)

    def plan(self, planner, lengths, model, *options, gpu="h100"):
        """The plan file as a dictionary; None where nothing fits the memory, or leaves stages that lend the lead they need."""
        typed = tuple(map(str, ("--lengths", lengths, "--model", model, "--gpu", gpu, "--planner", planner, "--effort", "fast", *options)))
        if typed not in self.asked:
            out = self.scratch / "plan.json"
            run = subprocess.run([self.program, *typed, "--json", out], capture_output=True, text=True)
            if run.returncode not in (0, 3) and "stages that lend wait for each other" not in run.stderr:
                sys.exit(f"{self.program} {' '.join(typed)}\nexits with {run.returncode}: {run.stderr}")
            self.asked[typed] = json.loads(out.read_text()) if run.returncode == 0 else None
        return self.asked[typed]

    def best(self, planner, lengths, model, layouts, *options, gpu="h100"):
        """The plan of the shortest step of several layouts, and its layout."""
        found = [(p["step_time"], " ".join(layout), p) for layout in layouts if (p := self.plan(planner, lengths, model, *layout, *options, gpu=gpu))]
        return min(found, key=lambda one: one[:2])[1:] if found else (None, None)


def layouts(gpus, tensor, stages, contexts, chunks=(1,), vocabulary=("last",), most_replicas=None):
    """Layouts of so many GPUs, with selective and with full recomputation."""
    for pp, cp, vpp, where, again in itertools.product(stages, contexts, chunks, vocabulary, ("selective", "full")):
        dp, left = divmod(gpus, tensor * pp * cp)
        if left or dp < 1 or (most_replicas and dp > most_replicas) or (where == "spread" and pp == 1):
            continue
        yield ("--tp", str(tensor), "--pp", str(pp), "--cp", str(cp), "--dp", str(dp), "--vpp", str(vpp), "--vocabulary", where,
               "--recompute", again)


@functools.cache
def memory_figures(build):
    """What slimpack-bench-fidelity says of memory, F12."""
    run = subprocess.run([build / "benchmarks" / "slimpack-bench-fidelity", "--only", "F12"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"slimpack-bench-fidelity exits with {run.returncode}: {run.stderr}")
    return run.stdout


class Row:
    def __init__(self, paper, claim, reported):
        self.paper, self.claim, self.reported = paper, claim, reported
        self.ours = self.conditions = self.verdict = self.why = ""

    def says(self, ours, conditions, verdict, why):
        self.ours, self.conditions, self.verdict, self.why = ours, conditions, verdict, why
        return self

    def __str__(self):
        text = f"{self.paper}: {self.claim}\n"
        for name in ("reported", "ours", "conditions", "verdict", "why"):
            text += textwrap.fill(getattr(self, name), 116, initial_indent=f"  {name:<11}", subsequent_indent=" " * 13) + "\n"
        return text


NOT_COMPARABLE = "not comparable"

LISTS = ("linux_source", "mooncake_conversation", "narrativeqa_stories")
SLIMPACK_CASES = [(model, tensor, stages, gpus, name, context) for model, tensor, stages in (("llama-3.1-8b", 4, (2, 4)), ("llama-3.1-70b", 8, (4, 8)))
                  for gpus in (128, 256) for name in LISTS for context in (65536, 131072, 262144)]


def against_megatron(planner):
    """Case, step of megatron over ours, and what of its waiting is left, for every case where megatron has a plan."""
    for model, tensor, stages, gpus, name, context in SLIMPACK_CASES:
        asked = (DATA / "lengths" / f"{name}.txt", model, list(layouts(gpus, tensor, stages, (1,))), "--batch", 512, "--max-context", context,
                 "--over-long", "truncate")
        (_, own), (_, other) = (planner.best(who, *asked) for who in ("slimpack", "megatron"))
        if own and other:
            yield (f"{model}, {gpus} GPUs, {name}, {context // 1024}K", other["step_time"] / own["step_time"],
                   own["rank_time"]["waiting"] / other["rank_time"]["waiting"])


def slimpack_rows(planner, build):
    cases = list(against_megatron(planner))
    conditions = (f"{len(cases)} cases: Llama 3.1 8B and 70B, 128 and 256 H100s, contexts of 64K, 128K and 256K, batches of 512 sequences of "
                  f"{', '.join(LISTS)}; each planner on its best of 4 layouts")
    ratios = sorted(((ratio, case) for case, ratio, _ in cases), reverse=True)
    at_256k = [ratio for ratio, case in ratios if case.endswith("256K")]
    reached = sum(ratio >= 2.8 for ratio, _ in ratios)
    mean = math.exp(statistics.mean(math.log(ratio) for ratio, _ in ratios))
    yield Row("SlimPack", "throughput over Megatron-LM", "up to 2.8 x, at a context of 256K (abstract; the context second hand)").says(
        f"{ratios[0][0]:.2f} x at most ({ratios[0][1]}), {ratios[-1][0]:.2f} x at least ({ratios[-1][1]}), geometric mean {mean:.2f} x; "
        f"at 256K {min(at_256k):.2f} to {max(at_256k):.2f} x; 2.8 x or more in {reached} of {len(ratios)}", conditions, NOT_COMPARABLE,
        "the paper's lists (Common Crawl, GitHub, Wikipedia), models and GPUs are not known case by case. The factor is the list's: one "
        "sequence of a context's length among short ones stalls every stage and replica of whole-sequence packing")
    cuts = sorted(((1 - left, case) for case, _, left in cases), reverse=True)
    over = sum(cut >= 0.937 for cut, _ in cuts)
    yield Row("SlimPack", "pipeline bubbles cut, against whole sequences packed", "by up to 93.7 % (second hand)").says(
        f"waiting is cut by {100 * cuts[0][0]:.1f} % at most ({cuts[0][1]}), {100 * cuts[-1][0]:.1f} % at least ({cuts[-1][1]}); by 93.7 % or "
        f"more in {over} of {len(cuts)}", conditions, NOT_COMPARABLE,
        "as above. Waiting is what is left of rank-time after work, recomputation, overheads, messages and stages of unequal layers")
    errors = [line.split("mean error ")[1].split(",")[0] for line in memory_figures(build).splitlines() if " rows: mean error" in line]
    yield Row("SlimPack", "error of predicted peak memory", "1.6 % in the mean (second hand)").says(
        f"{errors[1]} on 60 peaks of 1F1B, interleaved 1F1B and zero bubble, {errors[2]} on 12 of torchtitan, {errors[3]} on 48 of Galvatron",
        "slimpack-bench-fidelity --only F12: peaks that others measured and published, of stacks whose tensors are known", NOT_COMPARABLE,
        "the paper's peaks are of its own stack and profile")
    path = DATA / "profiles" / "attention_fwd_bwd_a100_h100.csv"
    rows = [r for r in csv.DictReader(path.open()) if r["deterministic_bwd"] == "0"]
    by_kernel = {}
    for r in rows:
        by_kernel.setdefault(f"{r['kernel']} on {r['gpu']}", []).append(float(r["bwd_ms"]) / float(r["fwd_ms"]))
    yield Row("SlimPack", "backward of attention over its forward", "2.5, fixed (second hand)").says(
        ", ".join(f"{statistics.median(v):.2f} ({k})" for k, v in sorted(by_kernel.items())),
        f"{len(rows)} measured pairs, {path.name}, medians", "not reached",
        "2.5 counts products (five for two). Measured kernels take more: backward runs at a lower rate. slimpack prices what is measured")


def sliced(layouts):
    """Each of them with one, two and four slices of a row for each stage."""
    for one in layouts:
        for each in (1, 2, 4):
            yield (*one, "--slices", str(each * int(one[one.index("--pp") + 1])))


def tokens_of(count):
    return f"{count // 1024}K"


def slimpipe_rows(planner, build):
    text = memory_figures(build)
    own = text[text.index("SlimPipe's planner"):].splitlines()
    yield Row("SlimPipe", "activations, logits, weights and bubbles of its planner", "29 figures of its published tables").says(
        next(line.strip() for line in own if "worst error" in line), "slimpack-bench-fidelity --only F12; uniform slices, a lead of 2", "reached",
        "equal slices are assumed, as in the tables: attention lent between stages makes them equal (benchmarks/README.md)")
    batch = 4194304
    space = list(layouts(256, 8, (8, 16), (2, 4), (1, 5), ("spread",), most_replicas=8))
    mfu = {}
    for context in (524288, 2097152, 4194304):
        lengths = planner.lengths(context, batch // context)
        among = [one for one in space if int(one[one.index("--dp") + 1]) <= batch // context]
        lending = ("--lending", "level", "--max-context", context)
        for who, of, options in (("slimpack", among, ("--quantum", 4096)), ("slimpipe", sliced(among), lending), ("megatron", among, ())):
            where, plan = planner.best(who, lengths, "llama-3.1-70b", of, *options)
            mfu[who, context] = (plan["mfu"], f"{100 * plan['mfu']:.1f} % ({where})") if plan else (0.0, "no layout has room")
    asked = f"Llama 3.1 70B on 256 H100s of 80 GB, 4M tokens a step; the best of {len(space)} layouts, t = 8, the vocabulary spread, without offloading"
    own, lent, other = (mfu[who, 524288] for who in ("slimpack", "slimpipe", "megatron"))
    ratio = f"slimpipe {lent[0] / other[0]:.2f} x, slimpack {own[0] / other[0]:.2f} x: " if other[0] else ""
    yield Row("SlimPipe", "MFU at 512K over the best baseline, Llama 70B", "up to 1.57 x (abstract)").says(
        f"{ratio}slimpipe {lent[1]}; slimpack {own[1]}; Megatron-LM {other[1]}", asked, NOT_COMPARABLE,
        "uniform slices that lend (level) and slimpack's default against 1F1B with context parallelism inside; the paper's GPUs and baselines' layouts for this figure are not known")
    for context, reported in ((2097152, "over 45 % (abstract)"), (4194304, "45.0 % (third hand)")):
        own, lent, other = (mfu[who, context] for who in ("slimpack", "slimpipe", "megatron"))
        verdict = "reached" if max(own[0], lent[0]) >= 0.45 else "not reached"
        yield Row("SlimPipe", f"MFU of Llama 70B at {tokens_of(context)} on 256 GPUs", reported).says(
            f"slimpipe {lent[1]}; slimpack {own[1]}; Megatron-LM {other[1]}", asked, verdict,
            "one or two sequences have to fill the pipeline: uniform slices whose attention is lent (level) have room for five chunks and wait "
            "less there than slices of equal work, whose first ones are long. Offloading, which the paper uses, would save recomputation")
    model = planner.file("llama-7b.json", json.dumps(LLAMA_7B))
    for who, options, reported in (("megatron", (), "124K (1F1B; 80K to 92K interleaved)"), ("slimpack", ("--quantum", 1024), "600K (SlimPipe)")):
        longest, too_long = 0, 1048576 + 4096
        while too_long - longest > 4096:
            length = (longest + too_long) // 8192 * 4096
            if planner.plan(who, planner.lengths(length, 8), model, "--tp", 8, "--pp", 8, "--dp", 1, "--recompute", "none", *options):
                longest = length
            else:
                too_long = length
        yield Row("SlimPipe", f"longest context of Llama 7B, 64 GPUs, t = p = 8, nothing computed again: {who}", reported).says(
            f"{longest // 1024}K", "8 sequences a step, 80 GB a GPU less a margin, steps of 4K", "reached" if who == "slimpack" and longest >= 600 * 1024 else NOT_COMPARABLE,
            "where memory binds, 1F1B of the baseline here leads by less, down to one sequence in flight; the reported lengths are those "
            "that its scripts try, with p in flight" if who == "megatron" else
            "slimpack's packs hold as many tokens as the memory lets them; SlimPipe's lead of 2 (p - 1) slices is what its 600K have room for")


def zeppelin_rows(planner):
    names = ("arxiv_summarization", "azure_code_2023", "linux_source", "mooncake_conversation", "narrativeqa_stories")
    space = [(*layout, "--vpp", "1") for layout in (("--dp", "16", "--pp", "1", "--tp", "2"), ("--dp", "8", "--pp", "2", "--tp", "2"))]
    space = [(*layout, "--recompute", again) for layout in space for again in ("selective", "full")]
    times = {}
    for name, who in itertools.product(names, ("te_cp", "llama_cp", "hybrid_dp", "zeppelin", "slimpack", "megatron")):
        _, plan = planner.best(who, DATA / "lengths" / f"{name}.txt", "llama-3.1-8b", space, "--batch", 256, "--max-context", 65536, "--over-long",
                               "truncate")
        times[name, who] = plan["step_time"] if plan else None
    asked = f"Llama 3.1 8B on 32 H100s, batches of 256 sequences up to 64K of {', '.join(names)}; each planner on its best of {len(space)} layouts"

    def over(who, base="te_cp"):
        ratios = [times[n, base] / times[n, who] for n in names if times[n, who] and times[n, base]]
        return f"{statistics.mean(ratios):.2f} x (" + ", ".join(f"{r:.2f}" for r in ratios) + ")" if ratios else "no plan"

    yield Row("Zeppelin", "throughput over the state of the art", "2.80 x in the mean (abstract)").says(
        f"zones over ring context parallelism {over('zeppelin')}; over hybrid data parallelism {over('zeppelin', 'hybrid_dp')}; slimpack's default over the "
        f"same ring {over('slimpack')}, over zones {over('slimpack', 'zeppelin')}, over whole sequences {over('slimpack', 'megatron')}", asked, NOT_COMPARABLE,
        "the paper's lists, models, clusters and baselines are not known; without its routing, whose gain is in the next row")
    yield ablation(planner, names, [*space, *(("--dp", "32", "--pp", "1", "--tp", "1", "--vpp", "1", "--recompute", again) for again in ("selective", "full"))])
    yield routed_transfer(planner)


def ablation(planner, names, space):
    """Ring, ring over proxies, zones, zones over proxies: means of the step times of the ring over theirs."""
    steps = (("te_cp", "none"), ("te_cp", "proxies:4"), ("zeppelin", "none"), ("zeppelin", "proxies:4"))
    found, wins = [], []
    for title, gpu in (("H100s with an adapter each", "h100"), ("A100s with 4 adapters of 200 Gb/s a node", planner.node(4, 160e9, 24e9))):
        times = {}
        for name, (who, relay) in itertools.product(names, (*steps, ("slimpack", "none"))):
            _, plan = planner.best(who, DATA / "lengths" / f"{name}.txt", "llama-3.1-8b", space, "--batch", 256, "--max-context", 65536, "--over-long",
                                   "truncate", *(("--relay", relay) if relay != "none" else ()), gpu=gpu)
            times[name, who, relay] = plan["step_time"] if plan else math.inf
        means = [statistics.mean(times[n, "te_cp", "none"] / times[n, who, relay] for n in names) for who, relay in steps]
        within = [times[n, "te_cp", "none"] / times[n, "te_cp", "proxies:4"] for n in names]
        found.append(f"{title}: " + ", ".join(f"{mean:.2f}" for mean in means[1:]) + f" x, routing {min(within):.2f} to {max(within):.2f}"
                     + ("" if all(a < b for a, b in zip(means, means[1:])) else " (not in the reported order)"))
        ratios = [times[n, "zeppelin", "proxies:4"] / times[n, "slimpack", "none"] for n in names]
        wins.append(f"{title}: {statistics.mean(ratios):.2f} x (" + ", ".join(f"{r:.2f}" for r in ratios) + ")")
    return Row("Zeppelin", "gains of routing, zones, and all, one after the other", "1.6, 3.2, 3.51 and, with remapping, 3.64 x (second hand)").says(
        "; ".join(found) + ". slimpack's default over zones with routing: " + "; ".join(wins),
        f"Llama 3.1 8B on 32 GPUs, batches of 256 sequences up to 64K of {', '.join(names)}; relays in 4 segments; each planner on its best of "
        f"{len(space)} layouts; means over the lists", NOT_COMPARABLE,
        "lists, models and layouts of the ablation are not recovered. Short sequences have transfers that latencies outweigh, which stay on one adapter, and "
        "attention covers much of what long ones send. Zones share what fits a node on a node, so that little is left to route. Head and tail pieces are "
        "equal in tokens and in work, so that remapping has 0 bytes to move. slimpack wins where sequences are cut in time instead of shared: less crosses, "
        "or nothing")


def routed_transfer(planner):
    """The longest transfer of a ring over two nodes, as --explain tells it."""
    model = planner.file("llama-3b.json", json.dumps(LLAMA_3B))
    ours = []
    for adapters, relay in ((4, "proxies"), (4, "proxies:4"), (8, "proxies"), (8, "proxies:4")):
        text = planner.explained("keys and values of ", "--lengths", planner.lengths(65536, 1), "--model", model, "--gpu", planner.node(adapters, 200e9, 24e9),
                                 "--cost", "transformer", "--dp", 16, "--planner", "te_cp", "--effort", "fast", "--recompute", "full", "--relay", relay)
        ours.append(f"{adapters} adapters, {'one leg after the other' if relay == 'proxies' else '4 segments'}: {text.split(' take ', 1)[1]}")
    return Row("Zeppelin", "a transfer between nodes, routed over all adapters", "2.18 to 0.411 ms (second hand)").says(
        "; ".join(ours), "one sequence of 64K over 16 GPUs on two nodes, a 3B model with 32 key heads of 100: keys and values of 4,096 tokens; links of 200 GB/s "
        "inside, adapters of 200 Gb/s at 96 %; the simulator equals the closed form to 1e-12 (tests/simulators/relays_test.cpp)", NOT_COMPARABLE,
        "model and cluster of the time line are not recovered; these are a guess, from 2.18 ms. With four adapters no more than 4 x is to be had, so that 5.3 x "
        "asks for eight, with legs that overlap")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "gcc-release", help="where the programs are [build/gcc-release]")
    arguments.add_argument("--only", default="", help="a paper: SlimPack, SlimPipe or Zeppelin")
    given = arguments.parse_args()
    program = given.build / "examples" / "slimpack-plan"
    if not program.exists():
        arguments.error(f"there is no {program}: build the target slimpack-plan, or name a --build")
    papers = {"SlimPack": lambda p: slimpack_rows(p, given.build), "SlimPipe": lambda p: slimpipe_rows(p, given.build), "Zeppelin": zeppelin_rows}
    if given.only and given.only not in papers:
        arguments.error(f"--only is one of {', '.join(papers)}")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        planner = Planner(program, pathlib.Path(scratch))
        for paper, rows_of in papers.items():
            for row in rows_of(planner) if given.only in ("", paper) else ():
                print(row, flush=True)
                rows.append(row)
                print(f"{len(rows)} rows, {len(planner.asked)} plans so far", file=sys.stderr)
    counts = {verdict: sum(r.verdict == verdict for r in rows) for verdict in ("reached", "not reached", NOT_COMPARABLE)}
    print(f"{len(rows)} claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    main()
