#!/usr/bin/env python3
"""What measure_packs.py reads in a plan file and tells of given times: all of it that needs neither PyTorch nor a GPU."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parent.parent
SCRIPT = ROOT / "examples" / "profile" / "measure_packs.py"
MODELS = ROOT / "examples" / "data" / "models"
sys.path.insert(0, str(SCRIPT.parent))
import measure_packs  # noqa: E402
from measure_packs import Pack, Times  # noqa: E402

MODEL = {"hidden_act": "silu", "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 9,
         "vocab_size": 512}


def plan_of(forward, backward, **changed):
    """A plan file of one replica and three stages, as far as it is read without running it."""
    packs = {which: [{"slices": slices, "time": times} for slices, times in own] for which, own in (("forward", forward), ("backward", backward))}
    return {"stages": 3, "dp": 1, "tp": 1, "cp": 1, "vpp": 1, "merges": [], "replicas": [packs], **changed}


def pack(which, number, slices, predicted=1.0, shares=False, busiest=None):
    return Pack(which, 0, number, tuple(slices), shares, predicted, predicted if busiest is None else busiest)


def planned(*arguments):
    """The plan file that slimpack-plan writes for a list of its own."""
    with tempfile.TemporaryDirectory() as folder:
        lengths, plan = pathlib.Path(folder) / "lengths.txt", pathlib.Path(folder) / "plan.json"
        lengths.write_text("".join(f"{n}\n" for n in [12000, 900, 300, 2100, 5000, 700, 128, 4100] * 3))
        subprocess.run([os.environ["SLIMPACK_PLAN"], "--lengths", lengths, "--effort", "fast", "--json", plan, *arguments], check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads(plan.read_text())


H100 = ["--model", str(MODELS / "llama-3.1-8b.json"), "--gpu", "h100"]


class ReadsPlans(unittest.TestCase):
    def test_a_slice_attends_to_all_before_it_and_to_itself(self):
        forward, = measure_packs.packs_of(plan_of([([[1, 256, 128], [0, 0, 3]], [9, 6, 9])], []), MODEL)
        self.assertEqual(((0, 3), (256, 128)), forward.slices)
        self.assertEqual(131, forward.tokens)
        self.assertEqual((1 + 2 + 3) + sum(range(257, 385)), forward.pairs)

    def test_prices_are_of_one_layer_of_an_inner_stage(self):
        plan = plan_of([([[0, 0, 128]], [0.5, 0.3, 0.9])], [([[0, 0, 128]], [0.6, 0.6, 1.2])])
        forward, backward = measure_packs.packs_of(plan, MODEL)
        self.assertAlmostEqual(0.3 / 3, forward.predicted)
        self.assertAlmostEqual(0.6 / 3, backward.predicted)
        self.assertEqual((0.9, 1.2), (forward.busiest, backward.busiest))

    def test_weight_gradients_that_run_apart_are_in_the_price(self):
        plan = plan_of([], [([[0, 0, 128]], [4, 3, 5])])
        plan["replicas"][0]["backward"][0]["weight_time"] = [1, 3, 1]
        self.assertEqual(6 / 3, measure_packs.packs_of(plan, MODEL)[0].predicted)

    def test_the_inner_part_may_be_a_chunk(self):
        plan = plan_of([([[0, 0, 128]], [[10, 11], [20, 21], [30, 31]])], [], vpp=2, layers=[1, 1, 1, 4, 1, 1])
        self.assertEqual(3, measure_packs.measured_part(plan))  # chunk 1 of stage 0
        self.assertEqual(11 / 4, measure_packs.packs_of(plan, MODEL)[0].predicted)

    def test_layers_lie_on_parts_as_slimpack_spreads_them(self):
        of = {parts: measure_packs.layers_on_parts({"stages": parts, "vpp": 1}, {"num_hidden_layers": 32}) for parts in (2, 4, 5, 17)}
        self.assertEqual({2: [16, 16], 4: [8] * 4, 5: [6, 7, 7, 6, 6], 17: [1, *[2] * 15, 1]}, of)

    def test_packs_with_shared_sequences_are_not_run(self):
        plan = plan_of([([[0, 0, 128]], [1, 1, 1]), ([[0, 128, 128], [1, 0, 64]], [1, 1, 1])], [], merges=[{"sequence": 1}])
        packs = measure_packs.packs_of(plan, MODEL)
        self.assertEqual([False, True], [pack.shares for pack in packs])
        self.assertEqual(packs[:1], measure_packs.in_turn(packs))

    def test_what_cannot_be_measured_is_said(self):
        self.assertIsNone(measure_packs.objection(plan_of([], []), MODEL))
        for plan, model, says in ((plan_of([], [], cp=2), MODEL, "context-parallel"), (plan_of([], [], stages=1), MODEL, "--pp 2"),
                                  (plan_of([], [], replicas=[{"loans": [1]}]), MODEL, "lend"), (plan_of([], []), {**MODEL, "num_local_experts": 8}, "dense"),
                                  (plan_of([], []), {**MODEL, "sliding_window": 4096}, "to all tokens before")):
            self.assertIn(says, measure_packs.objection(plan, model))
        dense = {path.stem for path in MODELS.glob("*.json") if not measure_packs.objection(plan_of([], []), json.loads(path.read_text()))}
        self.assertEqual({"llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "qwen2.5-7b"}, dense)

    def test_plans_of_the_program_say_what_backward_runs_again(self):
        for typed, again in ((["none"], ()), (["light"], ("norm", "activation")), (["selective"], ("norm", "up", "activation")),
                             (["full"], ("norm", "attention", "activation", "qkv", "out", "up", "down"))):
            self.assertEqual(again, measure_packs.recomputed(planned(*H100, "--pp", "4", "--recompute", *typed)))


class Chooses(unittest.TestCase):
    def test_however_few_are_taken_they_are_spread(self):
        self.assertEqual([0, 8, 4, 2, 6, 1, 3, 5, 7], measure_packs.evenly(9))
        for count in range(40):
            self.assertEqual(list(range(count)), sorted(measure_packs.evenly(count)))

    def test_the_largest_and_the_smallest_come_first_and_none_twice(self):
        packs = [pack(which, i, [(0, 128 * size)], size) for which in ("forward", "backward") for i, size in enumerate([2, 5, 3, 5, 1, 4])]
        order = measure_packs.in_turn(packs)
        self.assertEqual([("forward", 5), ("backward", 5), ("forward", 1), ("backward", 1)], [(one.which, one.predicted) for one in order[:4]])
        self.assertEqual(10, len({one.kind for one in order}))
        self.assertEqual(10, len(order))


class Tells(unittest.TestCase):
    def test_flops_are_those_of_a_rank(self):
        own = pack("forward", 0, [(10, 2)])  # 11 + 12 pairs; heads of 16
        weights = (2 + 2 * 1) * 16 * 64 + 2 * 16 * 64 + 3 * 48 * 64
        self.assertEqual((4 * 23 * 2 * 16, 2 * 2 * weights), measure_packs.flops(MODEL, 2, own, ()))
        back = pack("backward", 0, [(10, 2)])
        self.assertEqual((3.5 * 4 * 23 * 2 * 16, 3 * 2 * 2 * weights), measure_packs.flops(MODEL, 2, back, measure_packs.AGAIN["full"]))
        self.assertEqual((2.5 * 4 * 23 * 2 * 16, 2 * 2 * (2 * weights + 2 * 48 * 64)), measure_packs.flops(MODEL, 2, back, measure_packs.AGAIN["selective"]))

    def test_packs_that_were_not_measured_are_like_the_most_similar_of_their_pass(self):
        long, short = pack("forward", 0, [(90000, 1000)], 4), pack("forward", 1, [(0, 8000)], 2)
        between, backward = pack("forward", 2, [(0, 7000)], 3), pack("backward", 0, [(0, 7000)], 1)
        times = {long.kind: Times(5, 1), short.kind: Times(1, 4), backward.kind: Times(6, 1)}
        self.assertEqual({long.place: 1.5, short.place: 2.5, between.place: 2.5, backward.place: 7},
                         measure_packs.ratios([long, short, between, backward], times))

    def test_equal_packs_are_those_of_the_most_common_price(self):
        packs = [pack("forward", i, [(0, 128 + i)], 1, busiest=price) for i, price in enumerate([0.2, 1.0, 1.09, 1.05, 1.2, 5, 5.1])]
        self.assertEqual([1.0, 1.05, 1.09], [one.busiest for one in measure_packs.alike(packs)])

    def test_a_step_is_as_long_as_its_packs(self):
        quadratic = ["--cost", "quadratic:1e-6,4e-11,2,2.5,6e-5", "--hop", "0"]
        for typed in ([*quadratic, "--pp", "4"], [*quadratic, "--pp", "2", "--vpp", "2", "--model", H100[1]],
                      [*quadratic, "--pp", "3", "--dp", "4"], [*quadratic, "--pp", "4", "--weight-gradients", "apart"]):
            with self.subTest(typed):
                plan = planned(*typed)
                places = [(which, r, i) for which in measure_packs.PASSES for r, replica in enumerate(plan["replicas"]) for i in range(len(replica[which]))]
                self.assertAlmostEqual(1, measure_packs.step_time(plan, dict.fromkeys(places, 1)) / plan["step_time"], 9)
                self.assertAlmostEqual(2, measure_packs.step_time(plan, dict.fromkeys(places, 2)) / plan["step_time"], 9)
                self.assertLess(plan["step_time"], measure_packs.step_time(plan, {place: 1 + (place[2] % 3) for place in places}))

    def test_the_table_and_the_file(self):
        plan, model = planned(*H100, "--pp", "4", "--dp", "2"), json.loads((MODELS / "llama-3.1-8b.json").read_text())
        packs = measure_packs.packs_of(plan, model)
        order = measure_packs.in_turn(packs)
        times = {one.kind: Times(one.predicted / 2, one.predicted * (1 if i == 0 else 0.75)) for i, one in enumerate(order)}
        lines = measure_packs.report(plan, model, packs, times)
        cells = {line[:40].strip(): line[40:].split() for line in lines[:-1]}
        self.assertEqual(["forward", "backward"], cells[""])
        self.assertEqual(["1.250", "1.250"], cells["measured / predicted, median"])
        self.assertEqual(["20.0%", "0.0%"], cells["the worst pack by"])
        self.assertRegex(lines[-1], r"the step would take 1\.[234]\d\d times what the plan says, and its work 1\.[234]\d\d times; the difference, [+-]\d")
        rows = list(measure_packs.rows_of(plan, packs, times))
        self.assertEqual({len(measure_packs.COLUMNS)}, set(map(len, rows)))
        self.assertEqual(sum(not one.shares for one in packs), len(rows))
        for row in map(dict, (zip(measure_packs.COLUMNS, row) for row in rows)):
            told = plan["replicas"][row["replica"]][row["pass"]][row["pack"]]
            self.assertEqual((2, 0, len(told["slices"])), (row["stage"], row["chunk"], row["slices"]))
            self.assertEqual(f"{told['time'][2] / 8:.6g}", row["predicted_s"])

    def test_help_and_the_lack_of_pytorch(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "torch.py").write_text("raise ModuleNotFoundError\n")
            without = {**os.environ, "PYTHONPATH": folder}
            said = subprocess.run([sys.executable, SCRIPT, "--help"], env=without, capture_output=True, text=True)
            self.assertEqual((0, ""), (said.returncode, said.stderr))
            said = subprocess.run([sys.executable, SCRIPT, "--plan", "p.json", "--model", "m.json", "--out", "o.csv"], env=without, capture_output=True, text=True)
            self.assertEqual(1, said.returncode)
            self.assertIn("PyTorch", said.stderr)


if __name__ == "__main__":
    unittest.main()
