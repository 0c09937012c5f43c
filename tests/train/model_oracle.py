"""Writes oracle.json: loss, gradients and three optimizer steps of a small transformer, and loss and gradients of one
whose layers mix tokens in several ways, by PyTorch in float64.

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
MIXED = dict(CONFIG, layers=3, mixers=["full", "window:5", "linear"])
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
        if mixer_of(c, l) == "linear":
            found[f"layers.{l}.state_gate"] = (c["heads"], h)
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


def mixer_of(c, l):
    return c["mixers"][l % len(c["mixers"])] if "mixers" in c else "full"


def attention(c, q, k, v, window):
    """q, k, v: (heads, tokens, width); a query attends to itself and the window - 1 tokens before."""
    n, width = q.shape[-2:]
    unseen = torch.ones(n, n, dtype=torch.bool)
    unseen = unseen.triu(1) | unseen.tril(-window)
    q, k = rotary(q, c["rope_theta"]), rotary(k, c["rope_theta"])
    return (q @ k.transpose(1, 2) / math.sqrt(width)).masked_fill(unseen, -math.inf).softmax(-1) @ v


def recurrence(q, k, v, gate):
    """gate: (heads, tokens); S = gate S + k v^T and o = q S, token by token."""
    state, outputs = torch.zeros(q.shape[0], q.shape[2], v.shape[2], dtype=torch.float64), []
    for t in range(q.shape[1]):
        state = gate[:, t, None, None] * state + k[:, t, :, None] * v[:, t, None, :]
        outputs.append((q[:, t, None, :] @ state)[:, 0])
    return torch.stack(outputs, 1)


def logits(c, w, tokens):
    n, heads, kv = len(tokens), c["heads"], c["kv_heads"]
    width = c["hidden"] // heads
    x = w["embedding"][tokens]
    for l in range(c["layers"]):
        p = {name: w[f"layers.{l}.{name}"] for name in
             ["attention_gain", "query", "key", "value", "attention_out", "ffn_gain", "gate", "up", "down"]}
        y = rms_norm(x, p["attention_gain"], c["eps"])
        q = (y @ p["query"].T).view(n, heads, width).transpose(0, 1)
        k, v = ((y @ p[name].T).view(n, kv, width).transpose(0, 1).repeat_interleave(heads // kv, 0)
                for name in ("key", "value"))
        mixer = mixer_of(c, l)
        if mixer == "linear":
            mixed = recurrence(q, k, v, (y @ w[f"layers.{l}.state_gate"].T).sigmoid().T)
        else:
            mixed = attention(c, q, k, v, int(mixer.partition(":")[2] or n))
        x = x + mixed.transpose(0, 1).reshape(n, -1) @ p["attention_out"].T
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


def weights_of(c):
    w = {}
    for name, shape in shapes(c).items():
        drawn = 0.3 * torch.randn(shape, dtype=torch.float64)
        w[name] = (1 + drawn if name.endswith("gain") else drawn).requires_grad_()
    return w


def found(c, w, batch, samples):
    """Weights, loss and gradients of a batch, and those of samples."""
    loss = batch_loss(c, w, batch)
    gradients = torch.autograd.grad(loss, list(w.values()))
    out = {"config": c, "loss": loss.item(),
           "tensors": [{"name": name, "value": t.detach().flatten().tolist(), "gradient": g.flatten().tolist()}
                       for (name, t), g in zip(w.items(), gradients)]}
    loss = samples_loss(c, w, samples)
    gradients = torch.autograd.grad(loss, list(w.values()))
    out["samples"] = {"loss": loss.item(), "gradients": {name: g.flatten().tolist() for name, g in zip(w, gradients)}}
    return out


def main():
    torch.manual_seed(1)
    batch = [torch.randint(CONFIG["vocab"], (n,)) for n in LENGTHS]
    w = weights_of(CONFIG)
    samples = samples_that_share_beginnings()
    out = found(CONFIG, w, batch, samples)
    out["sequences"] = [tokens.tolist() for tokens in batch]
    out["samples"]["all"] = samples
    out["mixed"] = found(MIXED, weights_of(MIXED), batch, samples)
    for t in w.values():
        t.grad = None
    batch_loss(CONFIG, w, batch).backward()

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
