#!/usr/bin/env python3
"""Measures the kernels of one model on a GPU of your own, for `slimpack-plan --cost profiled:DIR`.

    python3 profile_gpu.py --model config.json --out DIR

writes DIR/attention.csv and DIR/products.csv. Attention is forward and backward of causal slices: q queries against
kv keys, of which the queries are the last, as slimpack cuts sequences. Products are a layer's and the logits', forward
and both gradients of backward, one shard of each tensor-parallel degree. Each figure is the median of several runs
with a cold L2 cache, after warm-up. profile_collectives.py beside this file measures the links.

Needs PyTorch, 2.5 or newer for a fused kernel; flash-attn is preferred where it is installed. With --device cpu the
same code measures the host, with the textbook's attention if nothing better is there: to try it out, not to plan with.
"""
import argparse
import contextlib
import csv
import json
import pathlib
import statistics
import sys
import time

try:
    import torch
except ModuleNotFoundError:
    torch = None  # --help needs none


def need_torch():
    if torch is None:
        sys.exit("this measures with PyTorch, which this python3 has not: python3 -m pip install torch")


class Clock:
    """Times of single calls in milliseconds: events on a GPU, the host's clock on a CPU."""

    def __init__(self, device, seconds_each):
        self.device, self.seconds_each = device, seconds_each
        # Written before each call, so that no operand is left in a cache: larger than any GPU's L2.
        self.flush = torch.empty(2**29 if device.type == "cuda" else 0, dtype=torch.int8, device=device)

    def once(self, call):
        if self.device.type != "cuda":
            begin = time.perf_counter()
            call()
            return 1e3 * (time.perf_counter() - begin)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flush.zero_()
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    def median(self, call):
        self.once(call)
        warm = self.once(call)
        repeats = min(max(int(1e3 * self.seconds_each / max(warm, 1e-3)), 3), 30)
        return statistics.median(self.once(call) for _ in range(repeats))


def textbook(q, k, v):
    """Softmax over all scores, for hosts without a fused kernel."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    later = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).triu(k.shape[2] - q.shape[2] + 1)
    return (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(later, float("-inf")).softmax(-1) @ v


def attention_kernel(device):
    """Name and call of the best causal attention there is, on [1, heads, tokens, size], queries at the last keys."""
    if device.type == "cuda":
        try:
            import flash_attn
        except ImportError:
            pass
        else:
            def flash(q, k, v):
                return flash_attn.flash_attn_func(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), causal=True)
            return "flash-attn-" + flash_attn.__version__, flash
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.attention.bias import causal_lower_right
    except ImportError:
        return "textbook", textbook

    # Left to itself PyTorch takes another kernel for whole sequences than for slices, with other times (README.md).
    one_kernel = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)

    def fused(q, k, v):
        mask = causal_lower_right(q.shape[2], k.shape[2])
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION) if one_kernel else contextlib.nullcontext():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    return f"torch-sdpa{'-flash' if one_kernel else ''}-{torch.__version__}", fused


def doubling(low, high):
    return [low << i for i in range(64) if low << i <= high]


def head_size(model):
    return model.get("head_dim") or model["hidden_size"] // model["num_attention_heads"]


def heads_of(model, tp):
    """Query and key/value heads of a tensor-parallel rank; key/value heads are copied when there are more ranks."""
    heads = model["num_attention_heads"]
    return heads // tp, max(model.get("num_key_value_heads", heads) // tp, 1)


def attention_rows(model, arguments, clock):
    size = head_size(model)
    kernel, call = attention_kernel(clock.device)

    def random(heads, tokens):
        return torch.randn(1, heads, tokens, size, dtype=torch.bfloat16, device=clock.device, requires_grad=True)
    for tp in arguments.tp:
        q_heads, kv_heads = heads_of(model, tp)
        for keys in doubling(arguments.shortest, arguments.longest):
            k, v = random(kv_heads, keys), random(kv_heads, keys)
            for queries in doubling(arguments.shortest, keys):
                q = random(q_heads, queries)
                forward = clock.median(lambda: call(q, k, v))
                out = call(q, k, v)
                gradient = torch.randn_like(out)
                backward = clock.median(lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True))
                yield kernel, 1, queries, keys, q_heads, kv_heads, size, f"{forward:.5g}", f"{backward:.5g}"


def product_rows(model, arguments, clock):
    size, vocabulary = head_size(model), model["vocab_size"]
    hidden, ffn = model["hidden_size"], model["intermediate_size"]
    shapes = set()
    for tp in arguments.tp:
        q_heads, kv_heads = heads_of(model, tp)
        weights = (((q_heads + 2 * kv_heads) * size, hidden), (hidden, q_heads * size), (2 * ffn // tp, hidden),
                   (hidden, ffn // tp), (vocabulary // tp, hidden))
        for m in doubling(arguments.shortest, min(arguments.longest, 16384)):
            for n, k in weights:
                shapes |= {(m, n, k), (m, k, n), (n, k, m)}  # forward, gradient of the input, of the weights
    for m, n, k in sorted(shapes):
        a, b = (torch.randn(shape, dtype=torch.bfloat16, device=clock.device) for shape in ((m, k), (k, n)))
        yield m, n, k, f"{clock.median(lambda: a @ b):.5g}"


def name_of(device):
    """Up to the first hyphen it is what --gpu, or the "name" of a GPU description, has to begin with."""
    if device.type != "cuda":
        return "CPU"
    return torch.cuda.get_device_name(device).replace("NVIDIA ", "").replace(" ", "-")


def write(path, gpu, columns, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["gpu", *columns])
        for row in rows:
            out.writerow([gpu, *row])
            file.flush()
    print(f"wrote {path}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description="Measures attention and products of a model on one GPU.")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="Hugging Face config.json")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the CSV files")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--name", help="of the GPU in the files [as the driver says]")
    parser.add_argument("--tp", type=int, nargs="+", default=[1, 2, 4, 8], help="tensor-parallel degrees [1 2 4 8]")
    parser.add_argument("--shortest", type=int, default=128, help="least tokens of a slice [128]")
    parser.add_argument("--longest", type=int, default=131072, help="most tokens of a sequence [131072]")
    parser.add_argument("--seconds-each", type=float, default=0.1, help="about how long each figure is measured [0.1]")
    arguments = parser.parse_args()
    need_torch()
    model = json.loads(arguments.model.read_text())
    if "kv_lora_rank" in model:
        sys.exit(f"{arguments.model}: has latent attention (kv_lora_rank), whose kernels this does not measure")
    degrees = [tp for tp in arguments.tp if tp > 0 and model["num_attention_heads"] % tp == 0]
    if degrees != arguments.tp:
        print(f"tensor-parallel degrees that divide {model['num_attention_heads']} heads: {degrees}", file=sys.stderr)
    arguments.tp = degrees
    device = torch.device(arguments.device)
    gpu = arguments.name or name_of(device)
    clock = Clock(device, arguments.seconds_each)
    write(arguments.out / "attention.csv", gpu,
          ["kernel", "batch", "q_tokens", "kv_tokens", "q_heads", "kv_heads", "head_dim", "fwd_ms", "bwd_ms"],
          attention_rows(model, arguments, clock))
    write(arguments.out / "products.csv", gpu, ["m", "n", "k", "ms"], product_rows(model, arguments, clock))


if __name__ == "__main__":
    main()
