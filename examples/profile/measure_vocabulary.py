#!/usr/bin/env python3
"""Measures a share of a spread vocabulary on one GPU: whether a p-th of the words takes a p-th of the time.

    python3 measure_vocabulary.py --model config.json --out vocabulary.csv

runs, for packs of several sizes, the four calls of a stage (include/slimpack/core/wiring/step_kinds.hpp) on its words, a p-th of a
t-th of them all:

    E  embed            rows of the pack's own words are added to what the stages before have found
    V  output           logits, their maximum and sum of exponentials, and the gradient of the hidden rows so far
    U  output_weights   the statistics of all stages correct the gradient of the logits, which becomes that of the weights
    G  embed_gradients  gradients of the pack's own words are added to those of the weights, in fp32

Operands are random, words too. Gradients of the output layer are added up in the product, in bf16. What a logit goes through
between V's two products is compiled to one kernel or a few by torch.compile; --eager leaves it to PyTorch's own. Messages
and collectives are not in it. Each time is a median by events on the GPU, which is kept busy until the host has issued all.

Needs PyTorch as profile_gpu.py does. With --device cpu it measures the host, to try it out.
"""
import argparse
import json
import pathlib

from measure_packs import BusyClock
from profile_gpu import name_of, need_torch, torch, write

CALLS = ("embed", "output", "output_weights", "embed_gradients")
COLUMNS = ["kernels", "hidden", "vocabulary", "tp", "stages", "words", "tokens", *(f"{call}_ms" for call in CALLS)]


def exponentials(logits):
    """Of a pack's logits: the largest, the sum of exponentials below it, and these."""
    wide = logits.float()
    largest = wide.amax(1, keepdim=True)
    powers = (wide - largest).exp()
    return largest, powers.sum(1, keepdim=True), powers.to(logits.dtype)


class Share:
    """A stage's words, and a pack of tokens."""

    def __init__(self, hidden, vocabulary, words, tokens, fuse, device):
        def random(*shape):
            return torch.randn(shape, dtype=torch.bfloat16, device=device)
        self.rows, self.result = random(tokens, hidden), random(tokens, hidden)
        self.weights, self.gradients = random(words, hidden), random(words, hidden)
        self.wide = torch.zeros(words, hidden, device=device)
        targets = torch.randint(vocabulary, (tokens,), device=device)
        self.own = (targets < words).nonzero().squeeze(1)  # known to the host, as a trainer knows its tokens
        self.targets = targets[self.own]
        self.fuse = fuse
        self.sum, self.powers = None, None

    def embed(self):
        self.result.index_add_(0, self.own, self.weights[self.targets])

    def output(self):
        logits = self.rows @ self.weights.t()
        largest, self.sum, self.powers = self.fuse(logits)
        asked = logits[self.own, self.targets]
        partial = self.powers @ self.weights
        return largest, asked, partial, self.weights[self.targets]

    def output_weights(self):
        scaled = self.rows * self.sum.reciprocal().to(self.rows.dtype)
        self.gradients.addmm_(self.powers.t(), scaled)
        self.gradients.index_add_(0, self.targets, self.rows[self.own], alpha=-1)

    def embed_gradients(self):
        self.wide.index_add_(0, self.targets, self.rows[self.own].float())


def measured(model, words, tokens, fuse, clock):
    """Milliseconds of each call."""
    share = Share(model["hidden_size"], model["vocab_size"], words, tokens, fuse, clock.device)
    share.output()  # what U needs

    def of(name):
        return clock.median((lambda: None, lambda _: getattr(share, name)()))
    return [of(name) for name in CALLS]


def rows_of(model, arguments, fuse, kernels, clock):
    for tp in arguments.tp:
        for stages in arguments.stages:
            words = max(1, model["vocab_size"] // tp // stages)
            for tokens in arguments.tokens:
                times = measured(model, words, tokens, fuse, clock)
                yield kernels, model["hidden_size"], model["vocab_size"], tp, stages, words, tokens, *(f"{time:.5g}" for time in times)


def main():
    parser = argparse.ArgumentParser(description="Measures the calls for a share of a spread vocabulary on one GPU.")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="Hugging Face config.json")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="CSV file")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--tp", type=int, nargs="+", default=[1], help="tensor-parallel degrees [1]")
    parser.add_argument("--stages", type=int, nargs="+", default=[1, 2, 4, 8, 16], help="over which words are spread [1 2 4 8 16]")
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 2048, 8192], help="of a pack [512 2048 8192]")
    parser.add_argument("--eager", action="store_true", help="do not compile what is between products")
    parser.add_argument("--seconds-each", type=float, default=0.1, help="about how long each figure is measured [0.1]")
    arguments = parser.parse_args()
    need_torch()
    model = json.loads(arguments.model.read_text())
    device = torch.device(arguments.device)
    fuse = exponentials if arguments.eager else torch.compile(exponentials, dynamic=True)
    kernels = f"torch-{torch.__version__}{'-eager' if arguments.eager else '-compiled'}"
    with torch.no_grad():
        write(arguments.out, name_of(device), COLUMNS, rows_of(model, arguments, fuse, kernels, BusyClock(device, arguments.seconds_each)))


if __name__ == "__main__":
    main()
