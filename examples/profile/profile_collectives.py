#!/usr/bin/env python3
"""Measures collectives and messages between GPUs of your own, for `slimpack-plan --cost profiled:DIR`.

    torchrun --nproc-per-node 8 profile_collectives.py --out DIR

on one node, or on several with torchrun's --nnodes, writes DIR/collectives.csv: rank counts that double inside a node,
all of a node's GPUs on node counts that double, and one GPU on each of two nodes. Bytes are counted as NCCL's own
tests do: the whole buffer. A figure is the median of batches of calls, issued one after the other as trainers do.
With --device cpu, gloo's all-reduce and messages are measured: to try it out, not to plan with.
"""
import argparse
import os
import pathlib
import statistics
import time

from profile_gpu import doubling, name_of, need_torch, torch, write

if torch:
    import torch.distributed as dist

CALLS, BATCHES = 10, 5


def calls_of(ranks, group, size, device):
    """Each operation on a buffer of `size` bytes, by its name in the file."""
    whole = torch.zeros(size // 2, dtype=torch.float16, device=device)
    other = torch.zeros_like(whole)
    part = torch.zeros(size // 2 // len(ranks), dtype=torch.float16, device=device)
    calls = {"all_reduce": lambda: dist.all_reduce(whole, group=group)}
    if device.type == "cuda":
        calls["all_gather"] = lambda: dist.all_gather_into_tensor(whole, part, group=group)
        calls["reduce_scatter"] = lambda: dist.reduce_scatter_tensor(part, whole, group=group)
        calls["alltoall"] = lambda: dist.all_to_all_single(other, whole, group=group)
    if len(ranks) == 2:
        first = dist.get_rank() == ranks[0]
        calls["send_recv"] = lambda: dist.send(whole, ranks[1]) if first else dist.recv(whole, ranks[0])
    return calls


def milliseconds(call, group, device):
    """Of one call, a batch of them measured together."""
    def batch():
        dist.barrier(group=group)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return 1e3 * (time.perf_counter() - begin) / CALLS
    batch()
    return statistics.median(batch() for _ in range(BATCHES))


def placements(world, local):
    """Rank lists, and how many of each are on one node."""
    inside = [(list(range(n)), n) for n in doubling(2, local)]
    across = [(list(range(nodes * local)), local) for nodes in doubling(2, world // local)]
    pair = [([0, local], 1)] if world > local > 1 else []
    return inside + across + pair


def rows(arguments, device):
    for ranks, per_node in placements(dist.get_world_size(), int(os.environ["LOCAL_WORLD_SIZE"])):
        group = dist.new_group(ranks)
        if dist.get_rank() in ranks:
            for size in doubling(1024, arguments.largest):
                for op, call in calls_of(ranks, group, size, device).items():
                    yield op, len(ranks), per_node, size, f"{milliseconds(call, group, device):.5g}"
        dist.barrier()


def main():
    parser = argparse.ArgumentParser(description="Measures collectives between the ranks that torchrun starts.")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the CSV file")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--name", help="of the GPU in the file [as the driver says]")
    parser.add_argument("--largest", type=int, default=2**30, help="most bytes of a buffer [1073741824]")
    arguments = parser.parse_args()
    need_torch()
    device = torch.device(arguments.device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    measured = rows(arguments, device)
    if dist.get_rank() == 0:
        write(arguments.out / "collectives.csv", arguments.name or name_of(device),
              ["op", "gpus", "gpus_per_node", "bytes", "ms"], measured)
    else:
        for _ in measured:
            pass
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
