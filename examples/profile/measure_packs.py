#!/usr/bin/env python3
"""Measures the packs of a plan on one GPU, to tell how far the plan's prices are off and whether its equal packs are equal.

    python3 measure_packs.py --plan plan.json --model config.json --out packs.csv

runs packs of a stage without logits and, where there are three, without embedding, on one of its tensor-parallel ranks:
one layer, whose time is compared with the plan's price over the stage's layers. Forward is all rows of the pack together
in norms, products, positions and activation, and each slice by itself in attention, its queries against all keys up to
its end. Backward is the gradients of all inputs and weights of the same, and what the plan recomputes. Operands are
random. Each operation of a layer has its own, so that none waits for a message that one GPU does not get; rows of norms
are divided among tensor-parallel ranks. A pack's time is that of its attention and that of all else, each the median of
several runs by events on the GPU, which is kept busy until the host has issued all calls: launches are not in it.

Collectives are not measured, so prices must not have them: with --tp above 1, plan with links that take no time
(README.md). Left out are packs with a part of a sequence that replicas share, since they wait for each other's rows.

Needs PyTorch as profile_gpu.py does. With --device cpu, plans of small models are measured on the host, to try it out.
"""
import argparse
import copy
import dataclasses
import itertools
import json
import math
import pathlib
import statistics
import sys
import time

from profile_gpu import Clock, attention_kernel, head_size, heads_of, name_of, need_torch, torch, write

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
import replay  # noqa: E402

PASSES = ("forward", "backward")
PRODUCTS = ("qkv", "out", "up", "down")
AGAIN = {"none": (), "light": ("norm", "activation"), "attention": ("attention",), "selective": ("norm", "up", "activation"),
         "full": ("norm", "attention", "activation", *PRODUCTS)}
ALIKE = 0.1  # packs whose prices differ by no more are those that a plan makes equal


@dataclasses.dataclass(frozen=True)
class Pack:
    which: str  # of PASSES
    replica: int
    number: int
    slices: tuple  # (begin, length), sorted
    shares: bool  # a sequence with another replica
    predicted: float  # seconds of one layer
    busiest: float  # seconds on the part of the model that has most to do

    @property
    def tokens(self):
        return sum(length for _, length in self.slices)

    @property
    def pairs(self):
        """Of a query and a key that it sees."""
        return sum(length * (2 * begin + length + 1) // 2 for begin, length in self.slices)

    @property
    def place(self):
        return self.which, self.replica, self.number

    @property
    def kind(self):
        """Packs of one kind take the same time."""
        return self.which, self.slices, self.shares


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds of one layer."""
    attention: float
    other: float

    @property
    def all(self):
        return self.attention + self.other


def objection(plan, model):
    """Why a plan cannot be measured; None if it can."""
    if plan["cp"] > 1:
        return "context-parallel ranks divide its slices (cp), and this measures whole ones"
    if any(replica.get("loans") for replica in plan["replicas"]):
        return "its stages lend each other attention"
    if plan["stages"] * plan["vpp"] == 1:
        return "its one stage has embedding and logits: plan with --pp 2 or more"
    unlike = ("kv_lora_rank", "hybrid_override_pattern", "linear_attn_config", "mamba_d_state", "block_configs", "attention_chunk_size")
    has_window = model.get("sliding_window") and model.get("use_sliding_window", True)
    if has_window or any(model.get(key) for key in unlike) or any("experts" in key for key in model) or model.get("hidden_act") != "silu":
        return "only layers with grouped-query attention to all tokens before and a dense SwiGLU MLP are measured"
    return None


def measured_part(plan):
    """A part of the model without logits, and without embedding where there are three parts."""
    parts = plan["stages"] * plan["vpp"]
    return parts // 2 if parts > 2 else 0


def layers_on_parts(plan, model):
    """As the plan says or, where it does not, evenly: what is left over goes to the parts after the first."""
    if "layers" in plan:
        return plan["layers"]
    parts = plan["stages"] * plan["vpp"]
    each, over = divmod(model["num_hidden_layers"], parts)
    counts = [each] * parts
    for i in range(over):
        counts[i + 1 if i < parts - 2 else 0] += 1
    return counts


def prices(pack):
    """Seconds of a pack on each part, weight gradients that run apart included."""
    by_stage = [[own if isinstance(own, list) else [own] for own in pack[key]] for key in ("time", "weight_time") if key in pack]
    chunks = len(by_stage[0][0])
    return [sum(times[stage][chunk] for times in by_stage) for chunk in range(chunks) for stage in range(len(by_stage[0]))]


def packs_of(plan, model):
    shared = {merge["sequence"] for merge in plan["merges"]}
    told = [(which, r, i, pack, prices(pack)) for which in PASSES for r, replica in enumerate(plan["replicas"])
            for i, pack in enumerate(replica[which])]
    part = measured_part(plan)
    layers = layers_on_parts(plan, model)[part]
    spent = [sum(own) for own in zip(*(times for *_, times in told))]
    busiest = spent.index(max(spent))
    return [Pack(which, r, i, tuple(sorted((begin, length) for _, begin, length in pack["slices"])),
                 any(sequence in shared for sequence, _, _ in pack["slices"]), times[part] / layers, times[busiest])
            for which, r, i, pack, times in told]


def recomputed(plan):
    """What backward runs again."""
    return AGAIN[plan.get("made_with", {}).get("options", {}).get("recompute", "none")]


def evenly(count):
    """range(count): both ends, then the middle of each gap, so that however few are taken are spread."""
    order, gaps = [0, count - 1], [(0, count - 1)]
    for low, high in gaps:  # which grows
        middle = (low + high) // 2
        if middle > low:
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return list(dict.fromkeys(order))[:count]


def in_turn(packs):
    """A pack of each kind that can be measured, both passes in turn, each as evenly() says from the largest to the smallest."""
    queues = []
    for which in PASSES:
        kinds = {pack.kind: pack for pack in packs if pack.which == which and not pack.shares}
        own = sorted(kinds.values(), key=lambda pack: (-pack.predicted, pack.slices))
        queues.append([own[i] for i in evenly(len(own))])
    return [pack for both in itertools.zip_longest(*queues) for pack in both if pack]


def weights_of(model, tp):
    """Rows and columns of a layer's weights on one rank."""
    size, (q_heads, kv_heads) = head_size(model), heads_of(model, tp)
    hidden, ffn = model["hidden_size"], model["intermediate_size"] // tp
    return {"qkv": ((q_heads + 2 * kv_heads) * size, hidden), "out": (hidden, q_heads * size), "up": (2 * ffn, hidden), "down": (hidden, ffn)}


def flops(model, tp, pack, again):
    """Of a layer's attention and of its products on one rank."""
    def times(name, gradients):
        return 1 if pack.which == "forward" else gradients + (name in again)
    attention = 4 * pack.pairs * heads_of(model, tp)[0] * head_size(model) * times("attention", 2.5)
    return attention, sum(2 * pack.tokens * n * k * times(name, 2) for name, (n, k) in weights_of(model, tp).items())


class Operation:
    """A part of a layer, on operands of its own."""

    def __init__(self, name, call, *operands):
        self.name, self.call, self.operands = name, call, operands
        with torch.no_grad():
            self.gradients = [torch.randn_like(made) for made in self.forward()]

    def forward(self):
        return self.call(*self.operands)

    def backward(self, made):
        torch.autograd.grad(made, self.operands, self.gradients)


def operations_of(model, tp, pack, kernel, device):
    """A layer for a pack on one rank, in order of forward."""
    functional, size, (q_heads, kv_heads) = torch.nn.functional, head_size(model), heads_of(model, tp)
    hidden, rows, shapes = model["hidden_size"], pack.tokens, weights_of(model, tp)
    share = -(-rows // tp)

    def random(*shape):
        return torch.randn(shape, dtype=torch.bfloat16, device=device, requires_grad=True)
    cos, sin = (random(rows, 1, size // 2).detach() for _ in range(2))

    def norm(x, branch, scale):
        x = x + branch
        return x, functional.rms_norm(x, (hidden,), scale, model.get("rms_norm_eps", 1e-5))

    def qkv(x, weight):
        turned, values = functional.linear(x, weight).view(rows, -1, size).split((q_heads + kv_heads, kv_heads), 1)
        a, b = turned.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1), values

    def attention(q, k, v):
        return (kernel(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)),)

    def activation(both):
        gate, value = both.chunk(2, -1)
        return (functional.silu(gate) * value,)

    def product(x, weight):
        return (functional.linear(x, weight),)

    def of_weight(name, call):
        return Operation(name, call, random(rows, shapes[name][1]), random(*shapes[name]))

    def of_slice(begin, length):
        keys = begin + length
        return Operation("attention", attention, random(1, length, q_heads, size), random(1, keys, kv_heads, size), random(1, keys, kv_heads, size))

    def addition():
        return Operation("norm", norm, random(share, hidden), random(share, hidden), random(hidden))
    return [addition(), of_weight("qkv", qkv), *(of_slice(*each) for each in pack.slices), of_weight("out", product),
            addition(), of_weight("up", product), Operation("activation", activation, random(rows, shapes["up"][0])), of_weight("down", product)]


class BusyClock(Clock):
    """Times of calls that the host issues while the GPU is still busy: so that it never waits for the host in between."""
    CYCLES_A_SECOND = 3e9  # more than any GPU has
    MOST_CYCLES = 2e8  # a tenth of a second: beyond it the queue of launches is full, and the GPU is never idle

    def __init__(self, device, seconds_each):
        super().__init__(device, seconds_each)
        self.issued = 0  # seconds of the host for the call before

    def once(self, call):
        prepare, run = call
        prepared = prepare()
        if self.device.type != "cuda":
            begin = time.perf_counter()
            run(prepared)
            return 1e3 * (time.perf_counter() - begin)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(int(min(self.issued * self.CYCLES_A_SECOND, self.MOST_CYCLES)))
        begin.record()
        issued = time.perf_counter()
        run(prepared)
        self.issued = time.perf_counter() - issued
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)


def seconds_of(operations, which, again, clock):
    def nothing():
        return None

    def forward(_):
        for operation in operations:
            operation.forward()

    def graphs():
        """What forward keeps for backward."""
        return [None if operation.name in again else operation.forward() for operation in operations]

    def backward(kept):
        for operation, made in zip(reversed(operations), reversed(kept)):
            operation.backward(made or operation.forward())
    return clock.median((nothing, forward) if which == "forward" else (graphs, backward)) / 1e3


def times_of(model, tp, pack, again, kernel, clock):
    operations = operations_of(model, tp, pack, kernel, clock.device)
    attention, other = ([operation for operation in operations if (operation.name == "attention") == wanted] for wanted in (True, False))
    return Times(*(seconds_of(some, pack.which, again, clock) for some in (attention, other)))


def measure(model, tp, packs, again, device, seconds):
    """Times by kind of pack, of as many as there is time for, and at least one of each pass."""
    kernel, clock = attention_kernel(device)[1], BusyClock(device, 0.02)
    end = time.perf_counter() + seconds
    times = {}
    for i, pack in enumerate(packs):
        if i >= len(PASSES) and time.perf_counter() > end:
            break
        times[pack.kind] = times_of(model, tp, pack, again, kernel, clock)
    return times


def ratios(packs, times):
    """Measured over predicted of every pack: of one that was not measured, that of the most similar one of its pass."""
    known = {pack.kind: (pack, times[pack.kind].all / pack.predicted) for pack in packs if pack.kind in times}

    def similar(pack):
        return min((own for own in known.values() if own[0].which == pack.which),
                   key=lambda own: abs(math.log(own[0].tokens / pack.tokens)) + abs(math.log(own[0].pairs / pack.pairs)))[1]
    return {pack.place: known[pack.kind][1] if pack.kind in times else similar(pack) for pack in packs}


def alike(packs):
    """The most packs whose prices on the busiest part are within ALIKE: those that the plan makes equal."""
    ordered = sorted(packs, key=lambda pack: pack.busiest)
    best, first = [], 0
    for last, pack in enumerate(ordered):
        while pack.busiest > ordered[first].busiest * (1 + ALIKE):
            first += 1
        best = max(best, ordered[first:last + 1], key=len)
    return best


def step_time(plan, factors):
    """Seconds of the plan's step if the times of each pack were multiplied so, on all stages."""
    changed = copy.deepcopy(plan)
    changed.pop("reduction", None)  # it stays as long as the plan says
    for (which, r, number), factor in factors.items():
        pack = changed["replicas"][r][which][number]
        for key in ("time", "weight_time"):
            if key in pack:
                pack[key] = [[one * factor for one in own] if isinstance(own, list) else own * factor for own in pack[key]]
    return max(replay.simulate(changed)[0]) + plan["reduce_time"]


def largest_over_mean(times):
    return max(times) / statistics.mean(times)


def figures(model, tp, packs, times, again):
    """What is told of the measured packs of a pass, by name."""
    ratio = {pack: times[pack.kind].all / pack.predicted for pack in packs}
    median = statistics.median(ratio.values())
    off = sorted(abs(one / median - 1) for one in ratio.values())
    equal = alike(packs)
    kinds = {pack.kind: pack for pack in packs}.values()
    attention, products = (sum(of) for of in zip(*(flops(model, tp, pack, again) for pack in kinds)))
    in_attention, in_other = (sum(getattr(times[pack.kind], of) for pack in kinds) for of in ("attention", "other"))
    return {"packs measured": f"{len(packs)}",
            "measured / predicted, median": f"{median:.3f}",
            "  off that: half of the packs by at most": f"{statistics.median(off):.1%}",
            "  90 % of the packs by at most": f"{off[math.ceil(0.9 * len(off)) - 1]:.1%}",
            "  the worst pack by": f"{off[-1]:.1%}",
            "packs that the plan makes equal": f"{len(equal)}",
            "  largest / mean, predicted": f"{largest_over_mean([pack.busiest for pack in equal]):.3f}",
            "  largest / mean, measured": f"{largest_over_mean([pack.busiest * ratio[pack] for pack in equal]):.3f}",
            "attention's share of the time": f"{in_attention / (in_attention + in_other):.0%}",
            "  TFLOP/s": f"{1e-12 * attention / in_attention:.3g}",
            "TFLOP/s of all else, counting products": f"{1e-12 * products / in_other:.3g}"}


def report(plan, model, packs, times):
    """The lines that are printed."""
    run = [which for which in PASSES if any(pack.which == which for pack in packs)]
    measured = {which: [pack for pack in packs if pack.which == which and pack.kind in times] for which in run}
    if not all(measured.values()):
        return ["a pass has no pack that can be measured"]
    columns = [figures(model, plan["tp"], own, times, recomputed(plan)) for own in measured.values()]
    lines = [f"{name:40}" + "".join(f"{cell:>10}" for cell in cells) for name, *cells in
             [("", *run), *((name, *(column[name] for column in columns)) for name in columns[0])]]
    ratio = ratios(packs, times)
    work = sum(ratio[pack.place] * pack.predicted for pack in packs) / sum(pack.predicted for pack in packs)
    step = step_time(plan, ratio) / plan["step_time"]
    return [*lines, f"if every stage took what was measured, the step would take {step:.3f} times what the plan says, and its work {work:.3f} times; "
                    f"the difference, {step / work - 1:+.1%}, is what unequal errors cost"]


def rows_of(plan, packs, times):
    """The lines of the CSV file."""
    chunk, stage = divmod(measured_part(plan), plan["stages"])
    for pack in packs:
        if pack.kind in times:
            yield (pack.which, pack.replica, stage, chunk, pack.number, len(pack.slices), pack.tokens, pack.pairs, f"{pack.predicted:.6g}",
                   f"{times[pack.kind].all:.6g}", f"{times[pack.kind].attention:.6g}")


COLUMNS = ["pass", "replica", "stage", "chunk", "pack", "slices", "tokens", "pairs", "predicted_s", "measured_s", "attention_s"]


def main():
    parser = argparse.ArgumentParser(description="Measures the packs of a plan on one GPU: a layer of each, beside the plan's price of it.")
    parser.add_argument("--plan", type=pathlib.Path, required=True, help="file that slimpack-plan --json wrote")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="Hugging Face config.json of the plan's model")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="CSV file of packs")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--seconds", type=float, default=60,
                        help="to measure for: where that is too little for all packs, as many as are spread over their sizes [60]")
    arguments = parser.parse_args()
    need_torch()
    plan, model = (json.loads(path.read_text()) for path in (arguments.plan, arguments.model))
    if why := objection(plan, model):
        sys.exit(f"{arguments.plan}: {why}")
    packs, device = packs_of(plan, model), torch.device(arguments.device)
    chunk, stage = divmod(measured_part(plan), plan["stages"])
    print(f"one of {layers_on_parts(plan, model)[measured_part(plan)]} layers of stage {stage}{f', chunk {chunk}' if plan['vpp'] > 1 else ''}, "
          f"on {name_of(device)} with {attention_kernel(device)[0]}")
    if plan["tp"] > 1:
        print("collectives of tensor-parallel ranks are not measured, but predicted unless links inside a node take no time")
    wanted = in_turn(packs)
    times = measure(model, plan["tp"], wanted, recomputed(plan), device, arguments.seconds)
    print(f"{len(packs)} packs; of {len(wanted)} that differ and that one GPU can run, {len(times)} were measured in {arguments.seconds:g} s")
    write(arguments.out, name_of(device), COLUMNS, rows_of(plan, packs, times))
    print("\n".join(report(plan, model, packs, times)))


if __name__ == "__main__":
    main()
