#!/usr/bin/env python3
"""Rivals of slimpack-plan's --compare: each has the setting that is fastest for it, and what a table says of them is so."""
import json
import math
import pathlib
import random
import re
import unittest

import command_line_test
from command_line_test import DATA, MODEL, QUADRATIC

PACKERS = ("megatron", "dp_balanced", "karmarkar_karp")
LLAMA_70B = ["--model", "llama-3.1-70b", "--gpu", "h100", "--cost", "transformer"]


def pack_lengths(lengths, replicas, room=math.inf):
    """The formula of include/slimpack/solvers/baselines/pack_lengths.hpp."""
    first, room = max(lengths), min(sum(lengths), room)
    if room <= first:
        return [first]
    most = min(max(first, math.ceil(sum(lengths) / replicas)), room)
    steps = max(11, math.ceil(2 * math.log2(most / first)))
    return sorted({first, room} | {math.floor(first * (most / first) ** (i / steps) + .5) for i in range(1, steps + 1)})


class Rivals(unittest.TestCase):
    Base = command_line_test.CommandLine
    setUp, tearDown, file, run_plan, fails, plans = Base.setUp, Base.tearDown, Base.file, Base.run_plan, Base.fails, Base.plans

    def table(self, out):
        """The cells of each row, by planner; rows of one planner in a list."""
        head = next(line for line in out.splitlines() if line.startswith("planner "))
        names = re.split(r"  +", head)
        rows = {}
        for line in out[out.index(head):].splitlines()[1:]:
            if not line:
                break
            cells = re.split(r"  +", line)
            if len(cells) == len(names):
                rows.setdefault(cells[0], []).append(dict(zip(names, cells)))
        return rows

    def step(self, *arguments):
        """Seconds of a plan, to the last digit; none where it has no plan."""
        path = self.outputs / "step.json"
        run = self.run_plan(*arguments, "--json", path)
        return json.loads(path.read_text())["step_time"] if run.returncode == 0 else None

    def test_each_packer_has_the_fastest_of_all_lengths_of_packs(self):
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        draw = random.Random(seed)
        lengths = [draw.randrange(100, 4000) for _ in range(60)]
        given = ["--lengths", self.file("l.txt", "".join(f"{n}\n" for n in lengths)), *QUADRATIC, "--dp", "2", "--pp", "4"]
        for memory in ([], ["--memory", "40000tokens"]):
            rows = self.table(self.plans(*given, *memory, "--compare", ",".join(PACKERS)))
            for planner in PACKERS:
                row = rows[planner][0]
                best = self.step(*given, *memory, "--planner", planner)
                packs = int(re.search(r"packs of (\d+)", row["ended on"])[1])
                self.assertEqual(best, self.step(*given, *memory, "--planner", planner, "--baseline", f"context={packs}"))
                every = {n: self.step(*given, *memory, "--planner", planner, "--baseline", f"context={n}")
                         for n in pack_lengths(lengths, 2, 40000 if memory else math.inf)}
                self.assertGreaterEqual(len(every), 12)
                fitting = [time for time in every.values() if time is not None]
                self.assertEqual(min(fitting), best, (planner, packs, every))
                self.assertLess(min(fitting), max(fitting))  # so that there was something to choose

    def test_slimpack_is_no_slower_than_a_rival_that_is_tuned(self):
        for name, batch in (("azure_code_2023", 256), ("gsm8k_sft", 512), ("arxiv_summarization", 128)):
            given = ["--lengths", DATA / "lengths" / f"{name}.txt", "--batch", batch, *QUADRATIC, "--pp", "4", "--dp", "2"]
            own = self.step(*given)
            for planner in (*PACKERS, "chunked", "slimpipe"):
                self.assertLessEqual(own, self.step(*given, "--planner", planner, "--lending", "none")
                                     if planner == "slimpipe" else self.step(*given, "--planner", planner), (name, planner))

    def test_the_longest_length_allowed_is_no_length_of_packs(self):
        given = ["--lengths", self.file("l.txt", "4000\n" + "500\n" * 40), *QUADRATIC, "--pp", "4"]
        one, other = (self.table(self.plans(*given, *limit, "--compare", "megatron,karmarkar_karp")) for limit in ([], ["--max-context", "131072"]))
        for planner in ("megatron", "karmarkar_karp"):
            self.assertEqual(one[planner][0]["step time"], other[planner][0]["step time"])

    def test_rows_and_loans_of_slimpipe_are_tuned_and_can_be_fixed(self):
        given = ["--lengths", self.file("l.txt", "60000\n" + "9000\n" * 6), *QUADRATIC, "--pp", "4", "--compare", "slimpipe"]
        best = self.table(self.plans(*given))["slimpipe"][0]
        self.assertRegex(best["ended on"], r"^rows of \d+ in (4|8|16|32) slices")
        fixed = self.table(self.plans(*given, "--slices", "8", "--lending", "level", "--baseline", "context=120000"))["slimpipe"][0]
        self.assertEqual("rows of 120000 in 8 slices, lending level", fixed["ended on"])
        self.assertGreaterEqual(float(fixed["step time"].split()[0]), float(best["step time"].split()[0]))
        none = self.table(self.plans(*given, "--trainer", "shares-rows"))["slimpipe"][0]
        self.assertNotIn("lending", none["ended on"])

    def test_recomputation_that_is_typed_binds_slimpack_which_is_planned_on_that_of_its_rivals_too(self):
        given = ["--lengths", DATA / "lengths" / "mooncake_conversation.txt", "--batch", "256", *MODEL, "--dp", "2", "--pp", "4", "--tp", "2",
                 "--recompute", "selective", "--effort", "fast"]
        out = self.plans(*given, "--compare", "megatron,chunked")
        self.assertIn("recompute selective", next(line for line in out.splitlines() if line.startswith("shape ")))
        rows = self.table(out)
        self.assertEqual("-", rows["slimpack"][0]["ended on"])
        ends = {re.match(r"(--recompute \w+)?", rows[planner][0]["ended on"])[0] for planner in ("megatron", "chunked")} - {""}
        self.assertTrue(ends, rows)
        self.assertEqual(ends, {row["ended on"] for row in rows["slimpack"][1:]})
        rows = self.table(self.plans(*given, "--compare", "megatron,chunked", "--baseline", "recompute=selective"))
        self.assertEqual(1, len(rows["slimpack"]))
        rows = self.table(self.plans(*given, "--compare", "megatron,chunked", "--baseline", "megatron:context=130000,megatron:recompute=full"))
        self.assertEqual("--recompute full, packs of 130000", rows["megatron"][0]["ended on"])
        self.assertEqual(0, self.run_plan(*given, "--compare", "megatron", "--trainer", "shares-rows,selective").stdout.count("--recompute full"))

    def test_what_fits_nowhere_is_shown_at_the_setting_that_holds_least(self):
        given = ["--lengths", self.file("n.txt", "3000\n" + "500\n" * 40), *QUADRATIC, "--pp", "4", "--dp", "2", "--memory", "2000tokens"]
        out = self.plans(*given, "--compare", "megatron")
        row = self.table(out)["megatron"][0]
        self.assertEqual(("-", "packs of 3000"), (row["speed-up over it"], row["ended on"]))
        self.assertRegex(row["peak memory"], r" \*$")
        self.assertIn("* fits the memory limit with no setting", out)
        self.assertIn("No speed-ups", out)

    def test_the_fastest_rival_is_named_and_speed_ups_have_ranges(self):
        lists = ["--lengths", DATA / "lengths" / "arxiv_summarization.txt", "--batch", "128", *MODEL, "--dp", "2", "--pp", "2", "--tp", "2"]
        out = self.plans(*lists, "--compare", "megatron,karmarkar_karp,chunked", "--timeline", self.outputs / "t.html")
        rows = self.table(out)
        seconds = {name: float(row[0]["step time"].split()[0]) * (1e-3 if " ms" in row[0]["step time"] else 1) for name, row in rows.items()}
        best = min((name for name in rows if name != "slimpack"), key=seconds.get)
        self.assertRegex(out, rf"(?m)^The best rival is {best}, which takes {seconds[best] / seconds['slimpack']:.2f}\d* times as long as slimpack")
        for name in ("megatron", "karmarkar_karp", "chunked"):
            low, high = map(float, re.search(r"\((\d\.\d\d) to (\d\.\d\d)\)", rows[name][0]["speed-up over it"]).groups())
            self.assertEqual(low <= 1 <= high, rows[name][0]["speed-up over it"].startswith("as fast"), rows[name][0])
            self.assertLess(low, seconds[name] / seconds["slimpack"])
            self.assertLess(seconds[name] / seconds["slimpack"], high)
        self.assertIn("Ranges of speed-ups: ", out)
        data = json.loads(re.search(r'type="application/json">(.*?)</script>', (self.outputs / "t.html").read_text(), re.S)[1])
        self.assertEqual(["slimpack", "megatron", "karmarkar_karp", "chunked"], [one["label"] for one in data["facts"]["plans"] if "--" not in one["label"]])
        # Prices of one's own were compared with no training.
        self.assertRegex(self.table(self.plans(*lists[:4], *QUADRATIC, "--pp", "4", "--compare", "megatron"))["megatron"][0]["speed-up over it"], r"^\d+\.\d\d x$")

    def test_a_plan_of_a_baseline_is_made_again_from_its_file(self):
        p = self.outputs / "p.json"
        given = ["--lengths", self.file("l.txt", "4000\n" + "500\n" * 40), *QUADRATIC, "--pp", "4"]
        for planner in (*PACKERS, "slimpipe"):
            self.plans(*given, "--planner", planner, "--json", p)
            self.assertIn("from      p.json: the same plan", self.plans("--from", p))

    def test_my_layout_of_today_against_the_best(self):
        lists = ["--lengths", DATA / "lengths" / "arxiv_summarization.txt", "--batch", "128", *LLAMA_70B, "--effort", "look"]
        out = self.plans(*lists, "--auto", "--gpus", "64", "--pp", "4", "--cp", "1", "--compare", "megatron", "--baseline-layout", "tp8,pp4,dp2", "--json", self.outputs / "p.json")
        rows = self.table(out)
        self.assertRegex(rows["megatron"][0]["ended on"], r"^--dp 2 --pp 4 --tp 8( --recompute \w+)?, packs of \d+$")
        self.assertNotIn("shapes    megatron", out)
        steps = [float(row["step time"].split()[0]) for row in rows["slimpack"]]
        self.assertEqual(min(steps), steps[0])  # the fastest of slimpack's leads
        self.assertEqual(steps[0], round(json.loads((self.outputs / "p.json").read_text())["step_time"], 3))
        out = self.plans(*lists, "--pp", "8", "--tp", "8", "--compare", "megatron", "--baseline-layout", "tp8,pp4,dp2", "--memory", "60GiB", "--recompute", "full")
        self.assertRegex(self.table(out)["megatron"][0]["ended on"], r"^--dp 2 --pp 4( --recompute \w+)?, packs of \d+$")

    def test_a_trainer_of_megatron_gets_what_it_runs(self):
        given = ["--lengths", DATA / "lengths" / "arxiv_summarization.txt", "--batch", "128", *LLAMA_70B, "--effort", "look", "--trainer", "megatron"]
        out = self.plans(*given, "--auto", "--gpus", "64", "--pp", "4", "--compare", "megatron,karmarkar_karp", "--json", self.outputs / "p.json")
        self.assertNotIn("vocabulary spread", out)
        self.assertNotRegex(out, r"(?m)^ *dp .* vocabulary")
        plan = json.loads((self.outputs / "p.json").read_text())
        for replica in plan["replicas"]:
            forward, backward = ([[part[0] for part in pack["slices"]] for pack in replica[side]] for side in ("forward", "backward"))
            self.assertEqual(forward, backward)  # whole sequences, the same packs in both passes
            self.assertEqual(len(set(sum(forward, []))), len(sum(forward, [])))
        (self.outputs / "p.json").unlink()
        rows = self.table(out)
        self.assertEqual(rows["slimpack"][0]["step time"], min((rows[name][0]["step time"] for name in ("megatron", "karmarkar_karp")),
                                                               key=lambda text: float(text.split()[0])))
        for typed, word in ((["--vocabulary", "spread", "--pp", "8"], "spread-vocabulary"), (["--weight-gradients", "apart"], "weights-apart"),
                            (["--sharers", "2", "--dp", "2"], "shares-rows")):
            self.fails(2, [" ".join(typed[:2]) + " needs a trainer with " + word], *given, "--tp", "8", *typed)
        for planner in ("chunked", "slimpipe", "te_cp"):
            self.fails(2, [f"the planner {planner} cuts sequences", "--trainer megatron"], *given, "--dp", "2", "--tp", "8", "--compare", planner)

    def test_wrong_settings_and_layouts_are_refused_in_one_line(self):
        two = ["--lengths", self.file("l.txt", "4000\n500\n"), *QUADRATIC, "--pp", "2", "--dp", "2"]
        model = ["--lengths", self.file("m.txt", "4000\n500\n"), *MODEL, "--pp", "2", "--dp", "2"]
        rival = ["--compare", "megatron"]
        for says, arguments in (
                ("--baseline names 'best', which is no baseline; baselines are megatron, dp_balanced", [*two, *rival, "--baseline", "best:context=9000"]),
                ("--baseline sets chunked, which is not planned with", [*two, *rival, "--baseline", "chunked:context=9000"]),
                ("--baseline has no setting 'length=9000'; settings are context=TOKENS and recompute=WHAT", [*two, *rival, "--baseline", "length=9000"]),
                ("--slices is an option of its own", [*two, *rival, "--baseline", "slices=8"]),
                ("--baseline has no setting ''", [*two, *rival, "--baseline", "context=9000,"]),
                ("--baseline context='0' is no number of tokens", [*two, *rival, "--baseline", "context=0"]),
                ("--baseline context='many' is no number of tokens", [*two, *rival, "--baseline", "context=many"]),
                ("--baseline recompute='some' is not none, light, attention, selective or full", [*model, *rival, "--baseline", "recompute=some"]),
                ("--baseline recompute needs --cost transformer or profiled", [*two, *rival, "--baseline", "recompute=full"]),
                ("--baseline recompute=full is not what --trainer can run", [*model, *rival, "--baseline", "recompute=full", "--trainer", "plain"]),
                ("--baseline is about baselines, and none is planned with", [*two, "--baseline", "context=9000"]),
                ("--baseline-layout is for planners of --compare, and none is given there", [*model, "--baseline-layout", "dp4"]),
                ("--baseline-layout 'dp2,gp4': 'gp4' is no degree", [*model, *rival, "--baseline-layout", "dp2,gp4"]),
                ("--baseline-layout 'dp': 'dp' is no degree", [*model, *rival, "--baseline-layout", "dp"]),
                ("--baseline-layout 'dp2,dp2' gives dp twice", [*model, *rival, "--baseline-layout", "dp2,dp2"]),
                ("takes 8 GPUs, and --dp x --pp x --tp x --cp is 4: both sides need as many", [*model, *rival, "--baseline-layout", "dp2,pp4"]),
                ("takes 8 GPUs, and --gpus is 16: both sides need as many",
                 [*model[:-4], "--auto", "--gpus", "16", *rival, "--baseline-layout", "dp2,pp4"]),
                ("--baseline-layout needs --cost transformer or profiled", [*two, *rival, "--baseline-layout", "dp4"])):
            self.fails(2, [says], *arguments)
        self.fails(2, ["a sequence of 4000 tokens exceeds the pack length of 1000"], *two, "--planner", "megatron", "--baseline", "context=1000")
        self.assertIn("megatron has no plan: a sequence of 4000 tokens exceeds the pack length of 1000",
                      self.plans(*two, "--compare", "megatron", "--baseline", "context=1000"))


if __name__ == "__main__":
    unittest.main()
