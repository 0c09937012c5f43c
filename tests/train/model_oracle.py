"""Writes oracle.json: loss, gradients and three optimizer steps of a small transformer, by PyTorch in float64.

    python3 tests/train/model_oracle.py > tests/train/oracle.json

The model is written down once more here, in torch's own operations and without slices, so that nothing of
examples/train checks itself. Needs python3-torch (Debian).
"""

import json
import math
import random

import torch

CONFIG = {"layers": 2, "hidden": 16, "heads": 4, "kv_heads": 2, "ffn": 24, "vocab": 24, "rope_theta": 100.0,
          "eps": 1e-5}
LENGTHS = [1, 7, 8, 9, 2, 201]
STEPS = {"rate": 0.01, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "decay": 0.1}


def shapes(c):
    h, k, f = c["hidden"], c["kv_heads"] * c["hidden"] // c["heads"], c["ffn"]
    found = {"embedding": (c["vocab"], h)}
    for l in range(c["layers"]):
        for name, shape in [("attention_gain", (1, h)), ("query", (h, h)), ("key", (k, h)), ("value", (k, h)),
                            ("attention_out", (h, h)), ("ffn_gain", (1, h)), ("gate", (f, h)), ("up", (f, h)),
                            ("down", (h, f))]:
            found[f"layers.{l}.{name}"] = shape
    found["final_gain"] = (1, h)
    found["head"] = (c["vocab"], h)
    return found


def rms_norm(x, gain, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain


def rotary(x, theta):
    """x: (heads, tokens, width); element i turns with element i + width / 2."""
    tokens, width = x.shape[-2], x.shape[-1]
    frequency = theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.arange(tokens, dtype=torch.float64)[:, None] * frequency[None, :]
    low, high = x[..., : width // 2], x[..., width // 2 :]
    return torch.cat([low * angle.cos() - high * angle.sin(), high * angle.cos() + low * angle.sin()], -1)


def logits(c, w, tokens):
    n, heads, kv = len(tokens), c["heads"], c["kv_heads"]
    width = c["hidden"] // heads
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    x = w["embedding"][tokens]
    for l in range(c["layers"]):
        p = {name: w[f"layers.{l}.{name}"] for name in
             ["attention_gain", "query", "key", "value", "attention_out", "ffn_gain", "gate", "up", "down"]}
        y = rms_norm(x, p["attention_gain"], c["eps"])
        q = rotary((y @ p["query"].T).view(n, heads, width).transpose(0, 1), c["rope_theta"])
        k = rotary((y @ p["key"].T).view(n, kv, width).transpose(0, 1), c["rope_theta"])
        v = (y @ p["value"].T).view(n, kv, width).transpose(0, 1)
        k, v = (t.repeat_interleave(heads // kv, 0) for t in (k, v))
        score = (q @ k.transpose(1, 2) / math.sqrt(width)).masked_fill(future, -math.inf)
        x = x + (score.softmax(-1) @ v).transpose(0, 1).reshape(n, -1) @ p["attention_out"].T
        y = rms_norm(x, p["ffn_gain"], c["eps"])
        x = x + (torch.nn.functional.silu(y @ p["gate"].T) * (y @ p["up"].T)) @ p["down"].T
    return rms_norm(x, w["final_gain"], c["eps"]) @ w["head"].T


def batch_loss(c, w, batch):
    """Mean over the tokens of the batch that have a next one."""
    valid = sum(len(tokens) - 1 for tokens in batch)
    total = torch.zeros((), dtype=torch.float64)
    for tokens in batch:
        if len(tokens) > 1:
            total = total + torch.nn.functional.cross_entropy(logits(c, w, tokens)[:-1], tokens[1:], reduction="sum")
    return total / valid


def samples_that_share_beginnings():
    """Tokens, runs [begin, end) of targets, and the weight of the loss of each sample; some are equal, one is the
    beginning of others, and one shares nothing."""
    drawn = random.Random(7)

    def text(n):
        return [drawn.randrange(CONFIG["vocab"]) for _ in range(n)]

    first, turn, second, long = text(30), text(15), text(12), text(70)
    answers = [first + turn + text(20), first + turn + text(9), first + text(25), first + turn[:7],
               second + text(17), second + text(5), second + text(31), long]
    answers.append(list(answers[2]))
    prompts = [len(first), len(first) + len(turn), len(first), 1, len(second), 2, len(second) + 3, 10, len(first) + 4]
    return [{"tokens": tokens, "targets": [[begin, len(tokens)]], "weight": drawn.uniform(-1, 2)}
            for tokens, begin in zip(answers, prompts)]


def samples_loss(c, w, samples):
    """Each sample by itself, over the targets of all."""
    total = torch.zeros((), dtype=torch.float64)
    for s in samples:
        tokens = torch.tensor(s["tokens"])
        for begin, end in s["targets"]:
            found = logits(c, w, tokens)[begin - 1:end - 1]
            total = total + s["weight"] * torch.nn.functional.cross_entropy(found, tokens[begin:end], reduction="sum")
    return total / sum(end - begin for s in samples for begin, end in s["targets"])


def main():
    torch.manual_seed(1)
    batch = [torch.randint(CONFIG["vocab"], (n,)) for n in LENGTHS]
    w = {}
    for name, shape in shapes(CONFIG).items():
        drawn = 0.3 * torch.randn(shape, dtype=torch.float64)
        w[name] = (1 + drawn if name.endswith("gain") else drawn).requires_grad_()
    loss = batch_loss(CONFIG, w, batch)
    loss.backward()
    out = {"config": CONFIG, "sequences": [tokens.tolist() for tokens in batch], "loss": loss.item(),
           "tensors": [{"name": name, "value": t.detach().flatten().tolist(), "gradient": t.grad.flatten().tolist()}
                       for name, t in w.items()]}

    samples = samples_that_share_beginnings()
    loss = samples_loss(CONFIG, w, samples)
    gradients = torch.autograd.grad(loss, list(w.values()))
    out["samples"] = {"all": samples, "loss": loss.item(),
                      "gradients": {name: g.flatten().tolist() for name, g in zip(w, gradients)}}

    decaying = [t for name, t in w.items() if not name.endswith("gain")]
    gains = [t for name, t in w.items() if name.endswith("gain")]
    optimizer = torch.optim.AdamW([{"params": decaying, "weight_decay": STEPS["decay"]},
                                   {"params": gains, "weight_decay": 0.0}],
                                  lr=STEPS["rate"], betas=(STEPS["beta1"], STEPS["beta2"]), eps=STEPS["eps"])
    losses = []
    for _ in range(3):
        optimizer.step()
        optimizer.zero_grad()
        loss = batch_loss(CONFIG, w, batch)
        loss.backward()
        losses.append(loss.item())
    out["adamw"] = dict(STEPS, losses=losses)
    print(json.dumps(out))  # Python writes the shortest digits that read back as the same number


if __name__ == "__main__":
    main()
