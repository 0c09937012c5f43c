#!/usr/bin/env python3
"""Plans a matrix of planners, shapes, costs and lists, and replays every plan file with replay.py.

SLIMPACK_PLAN names the program under test. SLIMPACK_FULL=1 runs whole matrices instead of parts.
"""
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import replay  # noqa: E402

DATA = pathlib.Path(__file__).parent.parent / "examples" / "data"
PLANNERS = ["slimpack", "megatron", "dp_balanced", "karmarkar_karp", "chunked", "slimpipe", "te_cp", "llama_cp", "hybrid_dp"]
LISTS = ["gsm8k_sft", "azure_code_2023", "azure_chat_2023", "mooncake_conversation", "linux_source", "narrativeqa_stories"]
QUADRATIC = ["--cost", "quadratic:1e-6,4.069e-11,2,2.5,6.4e-5", "--hop", "2.4e-5"]
TRANSFORMER = ["--model", str(DATA / "models" / "llama-3.1-8b.json"), "--gpu", "h200"]
SEED = 20260
FULL = bool(os.environ.get("SLIMPACK_FULL"))


def plan(arguments):
    """Runs the program; returns its exit status, its standard error and the plan it wrote, if any."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "plan.json"
        run = subprocess.run([os.environ["SLIMPACK_PLAN"], *arguments, "--json", str(path)], capture_output=True, text=True)
        return run.returncode, run.stderr, json.loads(path.read_text()) if path.exists() else None


class Replay(unittest.TestCase):
    def replays(self, arguments):
        status, errors, made = plan(arguments)
        self.assertEqual(0, status, f"{' '.join(arguments)}: {errors}")
        try:
            replay.replay(made)
        except replay.Wrong as wrong:
            self.fail(f"{' '.join(arguments)}: {wrong}")
        return made

    def test_every_planner_shape_and_list(self):
        matrix = list(itertools.product(PLANNERS, LISTS, [(1, 1), (1, 8), (2, 4), (3, 5), (8, 2)], [1, 2], [128, 1000]))
        if not FULL:
            # Each planner on each list once, its shape, chunks and quantum drawn.
            drawn = random.Random(SEED)
            matrix = [drawn.choice([m for m in matrix if m[:2] == pair]) for pair in itertools.product(PLANNERS, LISTS)]
        print(f"{len(matrix)} plans, seed {SEED}")
        for planner, lengths, (dp, pp), vpp, quantum in matrix:
            with self.subTest(planner=planner, lengths=lengths, dp=dp, pp=pp, vpp=vpp, quantum=quantum):
                made = self.replays(["--lengths", str(DATA / "lengths" / f"{lengths}.txt"), *QUADRATIC, "--planner", planner,
                                     "--batch", "128", "--max-context", "131072", "--over-long", "truncate", "--dp", str(dp),
                                     "--pp", str(pp), "--vpp", str(vpp), "--quantum", str(quantum), "--effort", "fast"])
                self.assertEqual((planner, pp, dp, vpp, quantum), (made["planner"], made["stages"], made["dp"], made["vpp"], made["quantum"]))

    def test_memory_caps_are_never_exceeded(self):
        drawn = random.Random(SEED + 1)
        for lengths, pp in itertools.product(LISTS, [4, 8]) if FULL else zip(LISTS, itertools.cycle([4, 8])):
            lines = (DATA / "lengths" / f"{lengths}.txt").read_text().split()[:256]
            longest = min(max(map(int, lines)), 262144)
            cap = drawn.randint(longest, 2 * longest)
            made = self.replays(["--lengths", str(DATA / "lengths" / f"{lengths}.txt"), *QUADRATIC, "--batch", "256", "--pp", str(pp),
                                 "--max-context", "262144", "--over-long", "truncate", "--memory", f"{cap}tokens", "--effort", "fast"])
            self.assertEqual(cap, made["memory_limit"])
            self.assertLessEqual(max(made["replicas"][0]["peak_memory"]), cap)

    def test_forward_alone(self):
        """Plans without a backward, with and without a limit; and what a file claims falsely of them."""
        for lengths, dp, pp, vpp, spare in (("mooncake_conversation", 1, 8, 1, 0), ("azure_code_2023", 3, 2, 2, 500), ("gsm8k_sft", 2, 1, 1, None),
                                            ("narrativeqa_stories", 2, 4, 1, 30000)):
            longest = min(max(map(int, (DATA / "lengths" / f"{lengths}.txt").read_text().split()[:128])), 131072)
            limit = [] if spare is None else ["--memory", f"{longest + spare}tokens"]
            made = self.replays(["--lengths", str(DATA / "lengths" / f"{lengths}.txt"), *QUADRATIC, "--batch", "128", "--max-context", "131072",
                                 "--over-long", "truncate", "--forward-only", "--dp", str(dp), "--pp", str(pp), "--vpp", str(vpp), *limit])
            self.assertEqual(0, sum(len(r["backward"]) for r in made["replicas"]))
            self.assertGreater(made["efficiency"], 0.8)
            made["replicas"][0]["peak_memory"] = [peak - 1 for peak in made["replicas"][0]["peak_memory"]]
            with self.assertRaisesRegex(replay.Wrong, "peak"):
                replay.replay(made)
            made["replicas"][0]["forward"][0]["slices"].pop()
            with self.assertRaises(replay.Wrong):
                replay.replay(made)
        for planner, vpp in (("megatron", 2), ("dp_balanced", 1), ("karmarkar_karp", 1), ("chunked", 2), ("slimpipe", 1)):
            made = self.replays(["--lengths", str(DATA / "lengths" / "azure_code_2023.txt"), *QUADRATIC, "--batch", "128", "--forward-only", "--planner", planner,
                                 "--dp", "2", "--pp", "3", "--vpp", str(vpp)])
            self.assertEqual((planner, 0), (made["planner"], sum(len(r["backward"]) for r in made["replicas"])))

    def test_figures_of_real_lists(self):
        """Simulated figures are exact, so they may be held to: useful work, efficiency, and the limit to a token."""
        for lengths, useful, efficiency in (("mooncake_conversation", 0.97, 0.97), ("narrativeqa_stories", 0.97, 0.97), ("azure_code_2023", 0, 0.95),
                                            ("linux_source", 0, 0.95), ("gsm8k_sft", 0, 0.92)):
            longest = min(max(map(int, (DATA / "lengths" / f"{lengths}.txt").read_text().split()[:512])), 262144)
            cap = max(65536, int(1.25 * longest))
            made = self.replays(["--lengths", str(DATA / "lengths" / f"{lengths}.txt"), *QUADRATIC, "--pp", "8", "--batch", "512",
                                 "--max-context", "262144", "--over-long", "truncate", "--memory", f"{cap}tokens"])
            peak = max(made["replicas"][0]["peak_memory"])
            print(f"{lengths}: useful {1 - made['bubble']:.4f}, efficiency {made['efficiency']:.4f}, peak {peak:.0f} of {cap} tokens, "
                  f"planned in {1e3 * made['planning_seconds']:.1f} ms")
            self.assertGreaterEqual(1 - made["bubble"], useful, lengths)
            self.assertGreaterEqual(made["efficiency"], efficiency, lengths)
            self.assertLessEqual(peak, cap, lengths)

    def test_relays_have_both_parties_of_every_leg(self):
        for planner, tensor, relay in itertools.product(["te_cp", "hybrid_dp", "zeppelin"], ["1", "2"], ["proxies", "proxies:4"]):
            made = self.replays(["--lengths", str(DATA / "lengths" / "linux_source.txt"), *TRANSFORMER, "--planner", planner, "--batch", "64", "--max-context",
                                 "262144", "--over-long", "truncate", "--dp", "16", "--tp", tensor, "--recompute", "selective", "--relay", relay])
            relays = [one for merge in made["merges"] for one in merge.get("relays", [])]
            self.assertTrue(relays or planner != "te_cp", planner)
            strands = [len(one["out"]) for one in relays]  # fewer where a sequence has fewer quanta than there are replicas
            self.assertTrue(not strands or max(strands) == 8 // int(tensor), strands)
        made = self.replays(["--lengths", str(DATA / "lengths" / "linux_source.txt"), *TRANSFORMER, "--planner", "te_cp", "--batch", "16", "--max-context",
                             "65536", "--over-long", "truncate", "--dp", "16", "--recompute", "selective", "--relay", "proxies"])
        merge = next(i for i, one in enumerate(made["merges"]) if "relays" in one)
        for fault, said in ((lambda relay: relay["out"].pop(), "both parties"), (lambda relay: relay.update(segments=0), "in segments"),
                            (lambda relay: relay["in"].reverse(), "next of the ring"), (lambda relay: relay["out"].__setitem__(1, relay["in"][1]), "each once")):
            changed = json.loads(json.dumps(made))
            fault(changed["merges"][merge]["relays"][0])
            with self.assertRaisesRegex(replay.Wrong, said):
                replay.replay(changed)

    def test_transformer_plans(self):
        for number, (planner, vpp, recompute) in enumerate(itertools.product([*PLANNERS, "zeppelin"], [1, 2], ["none", "selective"])):
            if not FULL and number % 4 not in ((0, 3), (1, 2))[number // 4 % 2]:  # two of each planner, that differ in both
                continue
            made = self.replays(["--lengths", str(DATA / "lengths" / "azure_code_2023.txt"), *TRANSFORMER, "--planner", planner, "--batch",
                                 "256", "--dp", "2", "--pp", "4", "--tp", "2", "--vpp", str(vpp), "--recompute", recompute, "--seed", "7", "--explain"])
            self.assertEqual("bytes", made["memory_unit"])
            self.assertEqual("slimpack-plan/2", made["format"])
            self.assertEqual(recompute != "none", made["rank_time"]["recomputation"] > 0)
        self.assertGreater(made["rank_time"]["collectives"], 0)
        for part in ("useful", "collectives", "imbalance", "waiting"):
            changed = json.loads(json.dumps(made))
            changed["rank_time"][part] *= 1.01
            changed["rank_time"]["packs"] -= 0.01 * made["rank_time"][part]
            with self.assertRaises(replay.Wrong):
                replay.replay(changed)

    def test_plans_of_ranks_that_divide_experts(self):
        mixtral = ["--model", str(DATA / "models" / "mixtral-8x7b.json"), "--gpu", "h100"]
        for planner, cost in itertools.product(["slimpack", "megatron"], ["transformer", f"profiled:{DATA / 'profiles'}"]):
            made = self.replays(["--lengths", str(DATA / "lengths" / "arxiv_summarization.txt"), *mixtral, "--planner", planner, "--batch",
                                 "64", "--dp", "8", "--pp", "4", "--ep", "8", "--cost", cost, "--effort", "fast", "--explain"])
            self.assertEqual((8, "slimpack-plan/2"), (made["ep"], made["format"]))

    def test_models_of_several_kinds_of_layers(self):
        hybrids = ["gpt-oss-120b", "llama-4-scout", "qwen3.5-35b-a3b", "nemotron-h-56b"]  # windows, chunks, and two kinds of states
        for number, (model, lengths) in enumerate(itertools.product(hybrids, LISTS[1:5])):
            with self.subTest(model=model, lengths=lengths):
                self.replays(["--lengths", str(DATA / "lengths" / f"{lengths}.txt"), "--model", model, "--gpu", "h100", "--batch", "48",
                              "--max-context", "131072", "--over-long", "truncate", "--dp", "2", "--pp", "4", "--tp", "4", "--memory", "1000GB",
                              "--force", "--cost", f"profiled:{DATA / 'profiles'}" if number % 4 == 3 else "transformer",
                              "--weight-gradients", ("together", "apart")[number % 2], "--effort", "fast", "--explain"])

    def test_a_vocabulary_that_is_spread_over_the_stages(self):
        for dp, pp, vpp, weights, reduction in [(1, 2, 1, "together", "overlapped"), (2, 4, 1, "apart", "overlapped"), (3, 2, 2, "together", "exposed"),
                                                (2, 3, 2, "apart", "overlapped")]:
            with self.subTest(dp=dp, pp=pp, vpp=vpp, weights=weights):
                made = self.replays(["--lengths", str(DATA / "lengths" / "azure_code_2023.txt"), *TRANSFORMER, "--batch", "64", "--dp", str(dp),
                                     "--pp", str(pp), "--tp", "2", "--vpp", str(vpp), "--weight-gradients", weights, "--reduction", reduction,
                                     "--vocabulary", "spread", "--effort", "fast", "--explain"])
                self.assertEqual(("spread", "slimpack-plan/2"), (made["vocabulary"], made["format"]))
        made = self.replays(["--lengths", str(DATA / "lengths" / "azure_code_2023.txt"), *TRANSFORMER, "--batch", "64", "--dp", "2", "--pp", "3", "--tp", "2",
                             "--vocabulary", "spread", "--words", "1,100000,28255", "--effort", "fast", "--explain"])
        self.assertEqual([1, 100000, 28255], made["words"])
        replica = made["replicas"][0]
        pack, told = replica["forward"][0], replica["message"]

        def swap(a, b):
            code = replica["programs"][0]
            i, j = (next(k for k, name in enumerate(code) if name[0] == kind) for kind in (a, b))
            code[i], code[j] = code[j], code[i]

        changes = {"a call left out": lambda: replica["programs"][0].remove("V0"), "a call twice": lambda: replica["programs"][0].append("G0"),
                   "U before V": lambda: swap("U", "V"), "a longer V": lambda: pack.update(output=[10 + t for t in pack["output"]]),
                   "a longer way of E": lambda: told.update(embedded=[1 for _ in told["embedded"]]),
                   "a longer way to the last stage": lambda: told.update(partial=[1 for _ in told["partial"]]),
                   "a vocabulary in one place": lambda: made.pop("vocabulary"), "words of two stages": lambda: made["words"].pop(),
                   "a stage without words": lambda: made.update(words=[0, 100000, 28256]), "other words": lambda: made.update(words=[100000, 1, 28255])}
        for name, change in changes.items():
            kept = json.dumps(made)
            change()
            with self.subTest(change=name), self.assertRaises(replay.Wrong):
                replay.replay(made)
            made = json.loads(kept)
            replica = made["replicas"][0]
            pack, told = replica["forward"][0], replica["message"]

    def test_one_pack_turns_in_the_time_of_two_calls(self):
        """On 3 stages E takes 1 s, F 3 s, V 2 s, B 5 s, U 1 s and G 1 s, and each message 1 s: 17 s there, 6 s of V, 23 s back."""
        pack, three = {"slices": [[0, 0, 8]]}, lambda t: [float(t)] * 3
        replica = {"sequences": [0], "forward": [{**pack, "time": three(3), "embed": three(1), "output": three(2), "output_weights": three(1)}],
                   "backward": [{**pack, "time": three(5), "embed_gradients": three(1)}],
                   "message": {name: [1.0] for name in ("forward", "backward", "embedded", "hidden", "partial", "statistics", "gradients", "to_gradients")},
                   "programs": [["E0", "F0", "V0", "U0", "B0", "G0"]] * 2 + [["E0", "F0", "V0", "B0", "U0", "G0"]],
                   "peak_memory": [8] * 3, "makespan": 46.0, "lower_bound": 0.0}
        made = {"format": "slimpack-plan/2", "transfers": "start", "cost": "by hand", "planner": "hand", "lengths": [8], "stages": 3, "dp": 1,
                "vpp": 1, "quantum": 8, "vocabulary": "spread", "replicas": [replica], "merges": [], "memory_unit": "tokens", "memory_limit": None,
                "reduce_time": 0.0, "step_time": 46.0, "bounds": {"work": 23.0}, "lower_bound": 23.0, "efficiency": 0.5}
        replay.replay(made)
        replica["message"]["partial"] = [[1.0, 3.0]]
        with self.assertRaisesRegex(replay.Wrong, "makespan 46.0 replays as 48.0"):
            replay.replay(made)

    def test_stages_that_lend_each_other_attention(self):
        for dp, pp, vpp, slices, lending, cost in [(1, 2, 1, 4, "level", QUADRATIC), (2, 4, 1, 8, "pairs", QUADRATIC), (1, 3, 2, 6, "level", QUADRATIC),
                                                   (1, 4, 2, 16, "pairs", TRANSFORMER), (2, 4, 1, 8, "level", [*TRANSFORMER, "--vocabulary", "spread"])]:
            with self.subTest(dp=dp, pp=pp, vpp=vpp, lending=lending):
                made = self.replays(["--lengths", str(DATA / "lengths" / "mooncake_conversation.txt"), *cost, "--batch", "64", "--dp", str(dp),
                                     "--pp", str(pp), "--vpp", str(vpp), "--planner", "slimpipe", "--slices", str(slices), "--lending", lending,
                                     "--max-context", "32768", "--over-long", "truncate", "--quantum", "16", "--explain"])
                self.assertTrue(all(replica["loans"] for replica in made["replicas"]))
        first = made["replicas"][0]["loans"][0]
        changes = {"keys that the queries do not see": lambda: first["context"].__setitem__(2, made["lengths"][first["context"][0]]),
                   "another lock step": lambda: first["helper"].__setitem__(1, "F1"), "other queries": lambda: first["queries"].__setitem__(2, 1),
                   "no loans": lambda: made["replicas"][0].pop("loans"), "to itself": lambda: first["helper"].__setitem__(0, first["lender"][0])}
        for name, change in changes.items():
            kept = json.dumps(made)
            change()
            with self.subTest(change=name), self.assertRaises(replay.Wrong):
                replay.replay(made)
            made = json.loads(kept)
            first = made["replicas"][0]["loans"][0]
        for asked, says in ((["--slices", "6"], "choose 4 or 8 slices"), (["--layers", "7,8,8,9"], "choose as many layers"), (["--pp", "1"], "2 stages or more")):
            status, errors, _ = plan(["--lengths", str(DATA / "lengths" / "mooncake_conversation.txt"), *TRANSFORMER, "--batch", "64",
                                      "--planner", "slimpipe", "--lending", "level", "--quantum", "16", *(["--pp", "4"] if "--pp" not in asked else []), *asked])
            self.assertEqual(2, status)
            self.assertIn(says, errors)
            self.assertEqual(1, errors.count("\n"))

    def test_forward_and_backward_packs_differ(self):
        made = self.replays(["--lengths", str(DATA / "lengths" / "mooncake_conversation.txt"), *QUADRATIC, "--batch", "64", "--pp", "4"])
        slices = [[p["slices"] for p in made["replicas"][0][kind]] for kind in ("forward", "backward")]
        self.assertNotEqual(slices[0], slices[1])
        self.assertNotEqual(sorted(sum(slices[0], [])), sorted(sum(slices[1], [])))

    def test_equal_inputs_give_equal_plans(self):
        arguments = ["--lengths", str(DATA / "lengths" / "linux_source.txt"), *QUADRATIC, "--batch", "200", "--pp", "4", "--dp", "2", "--seed", "3"]
        first, second = self.replays(arguments), self.replays(arguments)
        for made in (first, second):
            del made["planning_seconds"]
        self.assertEqual(first, second)

    def test_shared_sequences(self):
        """Two giants among short sequences, on 2 to 5 replicas, and a sequence that no replica can hold alone."""
        with tempfile.TemporaryDirectory() as folder:
            lengths = pathlib.Path(folder) / "lengths.txt"
            lengths.write_text("\n".join(["200000", "90000"] + [str(700 + 37 * i) for i in range(80)]))
            for dp, pp, vpp, cost in [(2, 1, 1, QUADRATIC), (3, 4, 1, QUADRATIC), (5, 2, 2, QUADRATIC),
                                      (4, 2, 1, [*TRANSFORMER, "--recompute", "full"])]:
                with self.subTest(dp=dp, pp=pp, vpp=vpp):
                    made = self.replays(["--lengths", str(lengths), *cost, "--dp", str(dp), "--pp", str(pp), "--vpp", str(vpp),
                                         "--effort", "fast"])
                    self.assertIn(0, [m["sequence"] for m in made["merges"]])
            made = self.replays(["--lengths", str(lengths), *QUADRATIC, "--dp", "4", "--pp", "4", "--memory", "80000tokens"])
            self.assertGreaterEqual(len(made["merges"][0]["replicas"]), 3)  # 200000 / 80000
            self.assertEqual("slimpack-plan/2", made["format"])
            for change in (lambda m: m["replicas"].pop(), lambda m: m["forward"].pop(), lambda m: m["backward"].reverse(),
                           lambda m: m["forward"][0].__setitem__(0, m["forward"][1][0])):
                changed = json.loads(json.dumps(made))
                change(changed["merges"][0])
                with self.assertRaises((replay.Wrong, IndexError)):
                    replay.replay(changed)

    def test_exchanges(self):
        """Each exchange on 2 to 4 replicas; what it takes is in the times of rows, and its place in the order of transfers."""
        giant, short = ["60000"], [str(300 + 211 * i) for i in range(5)]
        with tempfile.TemporaryDirectory() as folder:
            lengths = pathlib.Path(folder) / "lengths.txt"
            lengths.write_text("\n".join(giant + short))
            for exchange, dp, pp, vpp in itertools.product(["keep", "queries", "ring"], [2, 3, 4], [1, 2], [1, 2]):
                if vpp > pp or exchange == "ring" and vpp > 1:  # one row suits no chunks
                    continue
                with self.subTest(exchange=exchange, dp=dp, pp=pp, vpp=vpp):
                    made = self.replays(["--lengths", str(lengths), *QUADRATIC, "--dp", str(dp), "--pp", str(pp), "--vpp", str(vpp),
                                         "--effort", "fast", "--exchange", exchange])
                    self.assertEqual({exchange}, {m["exchange"] for m in made["merges"]})
            made = self.replays(["--lengths", str(lengths), *QUADRATIC, "--dp", "2", "--pp", "2"])
        r, i = made["merges"][0]["replicas"][0], made["merges"][0]["forward"][0][0]
        hop = made["replicas"][0]["message"]["forward"][0]
        row = made["replicas"][r]["forward"][i]

        def dearer():
            row["time"] = [t + hop for t in row["time"]]

        changes = {"a row without its exchange": (lambda: row.update(time=[t - hop for t in row["time"]]), "slices, rows and loans take"),
                   "an exchange too many": (dearer, "slices, rows and loans take"),
                   "an unknown exchange": (lambda: made["merges"][0].update(exchange="gossip"), "exchange of sequence 0 is known"),
                   "a ring of rows": (lambda: made["merges"][0].update(exchange="ring"), "ring of sequence 0 is for one row"),
                   "another order": (lambda: made.update(transfers="end"), "in order of their start")}
        for name, (change, says) in changes.items():
            kept = json.dumps(made)
            change()
            with self.subTest(change=name), self.assertRaisesRegex(replay.Wrong, says):
                replay.replay(made)
            made = json.loads(kept)
            row = made["replicas"][r]["forward"][i]

    def test_rows_of_which_a_replica_has_nothing(self):
        """Replica 0 runs the first 2 tokens of 8 and replica 1 the rest, 1 s a token: each waits for the other's row."""
        def replica(begin, length, makespan):
            pack = [{"slices": [[0, begin, length]], "time": [float(length)]}]
            return {"sequences": [0], "forward": pack, "backward": json.loads(json.dumps(pack)), "message": {"forward": [0], "backward": [0]},
                    "programs": [["F0", "B0"]], "peak_memory": [length], "makespan": makespan, "lower_bound": 0.0}

        made = {"format": "slimpack-plan/2", "transfers": "start", "cost": "a token a second", "planner": "hand", "lengths": [8], "stages": 1,
                "dp": 2, "vpp": 1, "quantum": 2, "replicas": [replica(0, 2, 16.0), replica(2, 6, 14.0)], "memory_unit": "tokens",
                "memory_limit": None, "reduce_time": 0.0, "step_time": 16.0, "bounds": {"work": 8.0}, "lower_bound": 8.0, "efficiency": 0.5,
                "merges": [{"sequence": 0, "exchange": "keep", "replicas": [0, 1], "forward": [[0, None], [None, 0]],
                            "backward": [[None, 0], [0, None]]}]}
        replay.replay(made)
        changes = {"another exchange": (lambda: made["merges"][0].update(exchange="queries"), "have a pack of each replica"),
                   "a row of nobody": (lambda: made["merges"][0]["forward"].append([None, None]), "has tokens"),
                   "rows at once": (lambda: made["replicas"][0].update(makespan=4.0), "makespan 4.0 replays as 16.0"),
                   "rows in another order": (lambda: made["merges"][0]["forward"].reverse(), "follows 0")}
        for name, (change, says) in changes.items():
            kept = json.dumps(made)
            change()
            with self.subTest(change=name), self.assertRaisesRegex(replay.Wrong, says):
                replay.replay(made)
            made = json.loads(kept)

    def test_samples_that_share_beginnings(self):
        """A root of 3 tokens and two sequences behind it, of 4 and 2 tokens, on one stage: a second a token forward, two backward."""
        def packs(*of, each):
            return [{"slices": slices, "time": [each * sum(n for _, _, n in slices)]} for slices in of]

        replica = {"sequences": [0, 1, 2], "forward": packs([[0, 0, 3], [1, 3, 2]], [[1, 5, 2]], [[2, 3, 2]], each=1.0),
                   "backward": packs([[2, 3, 2], [1, 3, 4]], [[0, 0, 3]], each=2.0), "message": {"forward": [0, 0, 0], "backward": [0, 0]},
                   "programs": [["F0", "F1", "F2", "B0", "B1"]], "peak_memory": [9], "makespan": 27.0, "lower_bound": 0.0}
        made = {"format": "slimpack-plan/2", "transfers": "start", "cost": "by hand", "planner": "hand", "lengths": [3, 4, 2], "parents": [-1, 0, 0],
                "samples": [[1, 7, 2], [2, 4, 1], [2, 5, 1]], "targets": [[0, 1, 2, 4], [1, 3, 4, 2], [2, 4, 1, 1]], "stages": 1, "dp": 1, "vpp": 1,
                "quantum": 2, "replicas": [replica], "merges": [], "memory_unit": "tokens", "memory_limit": None, "reduce_time": 0.0,
                "step_time": 27.0, "bounds": {"work": 27.0}, "lower_bound": 27.0, "efficiency": 1.0}
        replay.replay(made)

        def forward(*of):
            made["replicas"][0]["forward"] = packs(*of, each=1.0)

        def backward(*of):
            made["replicas"][0]["backward"] = packs(*of, each=2.0)

        changes = {"a sequence before its parent": (lambda: forward([[1, 3, 2], [0, 0, 3]], [[1, 5, 2]], [[2, 3, 2]]), "sequence 0 has run before 1 begins"),
                   "a parent before its child": (lambda: backward([[2, 3, 2], [0, 0, 3]], [[1, 3, 4]]), "sequence 1 has run before 0 begins"),
                   "a parent in two, about its child": (lambda: backward([[1, 3, 4], [0, 2, 1]], [[2, 3, 2], [0, 0, 2]]), "sequence 2 has run before 0 begins"),
                   "a cut off the quantum of its sequence": (lambda: forward([[0, 0, 3], [1, 3, 1]], [[1, 4, 3]], [[2, 3, 2]]), "ends on the quantum"),
                   "places without their depth": (lambda: forward([[0, 0, 3], [1, 0, 2]], [[1, 2, 2]], [[2, 0, 2]]), "starts on the quantum|follows 3"),
                   "a parent that comes later": (lambda: made.update(parents=[-1, 2, -1]), "in one piece"),
                   "parents of too few": (lambda: made.update(parents=[-1, 0]), "each sequence has a parent"),
                   "an order that is not depth-first": (lambda: made.update(lengths=[3, 4, 2, 1], parents=[-1, 0, -1, 1]), "sequence 3 is in one piece"),
                   "a sample that ends elsewhere": (lambda: made["samples"][0].__setitem__(1, 8), "samples: tokens 7 to 8 of sequence 1 are its own"),
                   "samples in another order": (lambda: made["samples"].reverse(), "come behind those before"),
                   "a target that nothing predicts": (lambda: made["targets"][0].__setitem__(1, 0), "are behind a token"),
                   "targets twice": (lambda: made["targets"].insert(1, [0, 2, 1, 1]), "come behind those before"),
                   "targets of nobody": (lambda: made["targets"][1].__setitem__(3, 0), "count for a sample"),
                   "another format": (lambda: made.update(format="slimpack-plan/1"), "forests are of slimpack-plan/2"),
                   "half a tree": (lambda: made["replicas"][0]["sequences"].pop(), "sequence 2 is on one replica"),
                   "a list": (lambda: made.pop("parents"), "samples: tokens 6 to 7 of sequence 1 are its own")}
        for name, (change, says) in changes.items():
            kept = json.dumps(made)
            change()
            with self.subTest(change=name), self.assertRaisesRegex(replay.Wrong, says):
                replay.replay(made)
            made = json.loads(kept)

    def test_tokens_that_are_forwarded_alone_are_held_for_those_behind_them(self):
        """The root's tokens are held to the end of the last forward behind them, and those of its children to their own."""
        replica = {"sequences": [0, 1, 2], "forward": [{"slices": [[s, begin, n]], "time": [1.0]} for s, begin, n in ([0, 0, 3], [1, 3, 4], [2, 3, 2])],
                   "backward": [], "message": {"forward": [0, 0, 0], "backward": []}, "programs": [["F0", "F1", "F2"]], "peak_memory": [7],
                   "makespan": 3.0, "lower_bound": 0.0}
        made = {"format": "slimpack-plan/2", "transfers": "start", "cost": "by hand", "planner": "hand", "lengths": [3, 4, 2], "parents": [-1, 0, 0],
                "stages": 1, "dp": 1, "vpp": 1, "quantum": 2, "replicas": [replica], "merges": [], "memory_unit": "tokens", "memory_limit": None,
                "reduce_time": 0.0, "step_time": 3.0, "bounds": {"work": 3.0}, "lower_bound": 3.0, "efficiency": 1.0}
        replay.replay(made)
        replica["forward"][1], replica["forward"][2] = replica["forward"][2], replica["forward"][1]
        replay.replay(made)  # now 3 + 2, then 3 + 4
        made["parents"], replica["forward"][1]["slices"], replica["forward"][2]["slices"] = [-1, 0, 1], [[1, 3, 4]], [[2, 7, 2]]
        with self.assertRaisesRegex(replay.Wrong, "peak .7. replays as .9.0."):
            replay.replay(made)

    def test_paths_that_replicas_compute_again(self):
        """A root of 3 tokens and two sequences behind it, of 4 and 2 tokens, one on each replica: the second has the root's tokens again."""
        def replica(*slices):
            packs = [{"slices": list(slices), "time": [sum(n for _, _, n in slices) * 1.0]}]
            tokens = packs[0]["time"][0]
            return {"sequences": sorted({s for s, _, _ in slices}), "forward": packs, "backward": [{**packs[0], "slices": list(slices)[::-1]}],
                    "message": {"forward": [0], "backward": [0]}, "programs": [["F0", "B0"]], "peak_memory": [tokens], "makespan": 2 * tokens, "lower_bound": 0.0}

        def plan_of(lengths, parents, copies, other):
            return {"format": "slimpack-plan/2", "transfers": "start", "cost": "by hand", "planner": "hand", "lengths": lengths, "parents": parents,
                    "copies": copies, "stages": 1, "dp": 2, "vpp": 1, "quantum": 1, "replicas": [replica([0, 0, 3], [1, 3, 4]), other], "merges": [],
                    "memory_unit": "tokens", "memory_limit": None, "reduce_time": 0.0, "step_time": 14.0, "bounds": {"work": 9.0}, "lower_bound": 9.0,
                    "efficiency": 9 / 14}

        inside = plan_of([3, 4, 5], [-1, 0, -1], [[2, 0, 3]], replica([2, 0, 5]))
        behind = plan_of([3, 4, 2, 3], [-1, 0, 3, -1], [[3, 0, 3]], replica([3, 0, 3], [2, 3, 2]))
        for made in (inside, behind):
            replay.replay(made)
        changes = {"another length": (inside, lambda p: p["copies"][0].__setitem__(2, 2), "up to its end"),
                   "another path": (inside, lambda p: p["copies"][0].__setitem__(1, 1), "up to its end"),
                   "no copy": (inside, lambda p: p.update(copies=[[2, 0, 3], [1, 0, 3]]), "in order"),
                   "twice": (behind, lambda p: p["copies"].append([3, 0, 3]), "in order, one of a sequence"),
                   "of a copy": (behind, lambda p: p["copies"][0].__setitem__(1, 3), "copies the path of sequence 3"),
                   "a list": (behind, lambda p: p.update(copies=[]), "sequence 2 is in one piece"),
                   "in another place": (plan_of([3, 3, 4, 2], [-1, -1, 0, 1], [[1, 0, 3]], replica([1, 0, 3], [3, 3, 2])), lambda p: None, "behind those of the batch")}
        for name, (made, change, says) in changes.items():
            changed = json.loads(json.dumps(made))
            change(changed)
            with self.subTest(change=name), self.assertRaisesRegex(replay.Wrong, says):
                replay.replay(changed)

    def test_an_order_of_transfers_that_ranks_do_not_come_to(self):
        """Two replicas run the rows of two sequences in one order; where transfers were in another, each would wait for the other."""
        programs = [[[("F", 0, 0), ("F", 1, 0), ("B", 0, 0), ("B", 1, 0)]] for _ in range(2)]
        plan_of_rows = {"format": "slimpack-plan/2", "stages": 1, "vpp": 1}
        tied = {(kind, r, pack): {(kind, 0, pack), (kind, 1, pack)} for kind in "FB" for r in range(2) for pack in range(2)}
        at = {"F0": 0.0, "F1": 1.0, "B0": 2.0, "B1": 3.0}

        def check(times):
            starts = sorted((((r, k[0], int(k[1]), 0), t) for k, t in times.items() for r in range(2)), key=lambda s: s[1])
            replay.check_transfers(plan_of_rows, programs, starts, {key: t + 1 for key, t in starts}, tied)

        check(at)
        with self.assertRaisesRegex(replay.Wrong, "F1 begins when its rows are exchanged"):
            check({**at, "F0": 1.5})

    def test_a_changed_plan_is_found_out(self):
        made = self.replays(["--lengths", str(DATA / "lengths" / "gsm8k_sft.txt"), *QUADRATIC, "--batch", "64", "--pp", "3"])
        replica = made["replicas"][0]
        changes = [lambda: replica.update(makespan=replica["makespan"] * 1.001), lambda: replica["peak_memory"].__setitem__(0, 1),
                   lambda: replica["forward"][0]["slices"].pop(), lambda: replica["programs"][1].reverse(),
                   lambda: made.update(lower_bound=made["lower_bound"] / 2), lambda: made.update(memory_limit=1)]
        for number, change in enumerate(changes):
            kept = json.dumps(made)
            change()
            with self.subTest(change=number), self.assertRaises(replay.Wrong):
                replay.replay(made)
            made = json.loads(kept)
            replica = made["replicas"][0]

    def test_common_cuts(self):
        """Each piece runs backward as it ran forward, and costs a call in each pass; plans with common cuts make fewer calls."""
        for lengths, dp, pp, vpp, weights, divide in (("linux_source", 1, 8, 1, "together", "searched"), ("azure_code_2023", 4, 4, 1, "apart", "estimated"),
                                                      ("narrativeqa_stories", 2, 4, 2, "together", "searched"), ("mooncake_conversation", 4, 2, 1, "together", "searched")):
            cuts = {}
            for where in ("anywhere", "forward"):
                arguments = ["--lengths", str(DATA / "lengths" / f"{lengths}.txt"), *QUADRATIC, "--batch", "64", "--dp", str(dp), "--pp", str(pp),
                             "--vpp", str(vpp), "--weight-gradients", weights, "--call-overhead", "6.4e-5", "--backward-cuts", where, "--effort", "fast"]
                made = self.replays([*arguments, *(["--divide", divide] if dp > 1 else [])])
                cuts[where] = [{tuple(s) for r in made["replicas"] for pack in r[kind] for s in pack["slices"]} for kind in ("forward", "backward")]
            with self.subTest(lengths=lengths, dp=dp, pp=pp, vpp=vpp):
                forward, backward = cuts["anywhere"]
                self.assertNotEqual(forward, backward)
                begins = {kind: {s[:2] for s in slices} for kind, slices in (("F", forward), ("B", backward))}
                self.assertLess(len(cuts["forward"][0]), len(begins["F"] | begins["B"]), "than at the cuts of either pass")
        moved = made["replicas"][0]["backward"][0]["slices"]
        sequence, begin, length = next(s for s in moved if s[2] > 256)
        at = moved.index([sequence, begin, length])
        moved[at:at + 1] = [[sequence, begin + 128, length - 128], [sequence, begin, 128]]
        made["cost"] = "cut"
        with self.assertRaisesRegex(replay.Wrong, "piece by piece"):
            replay.replay(made)

    def test_weight_gradients_apart(self):
        """On one stage, B and then W take as long as a B that has both, and their tokens are held as long."""
        made = self.replays(["--lengths", str(DATA / "lengths" / "gsm8k_sft.txt"), *QUADRATIC, "--batch", "64", "--memory", "3000tokens"])
        made["cost"] = "halves"
        replica = made["replicas"][0]
        for pack in replica["backward"]:
            pack["weight_time"] = [t / 2 for t in pack["time"]]
            pack["time"] = pack["weight_time"][:]
        code = [part for name in replica["programs"][0] for part in ([name, "W" + name[1:]] if name[0] == "B" else [name])]
        replica["programs"][0] = code
        replay.replay(made)
        first = code.index("W0")
        changes = {"missing": lambda: code.remove("W0"), "twice": lambda: code.append("W0"),
                   "before its B": lambda: code.__setitem__(slice(first - 1, first + 1), ["W0", "B0"]),
                   "not priced": lambda: replica["backward"][0].pop("weight_time"),
                   "late, so that more is held": lambda: code.sort(key=lambda name: (name[0] == "W", name[0] == "B")),
                   "slower": lambda: replica["backward"][0].update(weight_time=[2 * t for t in replica["backward"][0]["time"]])}
        for name, change in changes.items():
            kept = json.dumps(made)
            change()
            with self.subTest(change=name), self.assertRaises(replay.Wrong):
                replay.replay(made)
            made = json.loads(kept)
            replica = made["replicas"][0]
            code = replica["programs"][0]


if __name__ == "__main__":
    unittest.main()
