#!/usr/bin/env python3
"""slimpack-train from outside: no plan changes the loss, training learns, failures end all ranks with one line."""
import csv
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

PROGRAM = os.environ.get("SLIMPACK_TRAIN")
MPIRUN = shutil.which("mpirun")
SMALL = "--layers 4 --hidden 16 --heads 2 --kv-heads 1 --ffn 24 --max-context 160 --quantum 16 --batch 6".split()
QUADRATIC = ["--cost", "quadratic:1e-6,1e-8,2,2.5,1e-5,1e-6"]  # plans without measuring: the same on every machine
FULL = bool(os.environ.get("SLIMPACK_FULL"))
BRIEF = [] if FULL else ["--measure-for", "0.1"]  # where it matters little how well times are known
FAST = [] if FULL else ["--effort", "fast"]  # where it matters little how good a plan is
EXACT = ["--precision", "double", "--steps", "8", *QUADRATIC]
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
# Options that all ranks of a job must have alike, each with another value than SMALL has; and those that may differ.
ALIKE = {"max-context": "150", "batch": "5", "seed": "2", "layers": "2,2", "mixers": "window:8,linear", "attention": "dense", "hidden": "32", "heads": "4", "kv-heads": "2", "ffn": "32", "words": "300",
         "precision": "double", "steps": "3", "learning-rate": "1e-2", "weight-decay": "0.2", "clip": "2", "dp": "2", "pp": "1", "vpp": "2",
         "vocabulary": "spread", "transport": "threads", "planner": "megatron", "compare": "megatron", "slices": "8", "relay": "proxies",
         "lending": "pairs", "effort": "fast", "weight-gradients": "apart", "sharers": "1", "exchange": "ring", "rows": "joined",
         "ranks-per-node": "1", "reduction": "exposed", "divide": "estimated", "quantum": "32", "memory": "9000tokens", "cost": "quadratic:1,1,1,1,1,1",
         "measure-for": "0.2", "refit": "1", "recompute": "none", "checksums": "on"}  # the last is a flag
MAY_DIFFER = "documents tree evaluate time-out profile json trace timeline log".split()
# What an option needs beside it, on both ranks.
BESIDE = {"layers": ["--layers", "1,3"], "dp": ["--transport", "mpi"], "slices": ["--planner", "slimpipe", "--slices", "4"], "lending": ["--planner", "slimpipe"],
          "relay": "--planner te_cp --dp 4 --pp 1 --ranks-per-node 2".split(), "reduction": ["--dp", "2", "--pp", "1"], "divide": ["--dp", "2", "--pp", "1"]}
FOX = b"the quick brown fox jumps over the lazy dog; "


class Train(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.documents = cls.folder / "documents"
        (cls.documents / "deep").mkdir(parents=True)
        chance = random.Random(5)
        for i in range(24):  # most are short, a few longer than the context, one has two bytes
            size = 2 if i == 0 else 700 if i % 8 == 7 else chance.randrange(3, 90)
            (cls.documents / "deep" / f"{i}.txt").write_bytes(bytes(chance.choice(b"abcdefgh \n") for _ in range(size)))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def command(self, *arguments, ranks=0):
        launcher = [MPIRUN, "-np", str(ranks)] if ranks else []
        return [*launcher, PROGRAM, "--documents", str(self.documents), *SMALL, *map(str, arguments)]

    def run_train(self, *arguments, ranks=0, timeout=60):
        return subprocess.run(self.command(*arguments, ranks=ranks), capture_output=True, text=True, timeout=timeout,
                              cwd=self.folder, env={**os.environ, **MPI})

    def trains(self, *arguments, ranks=0):
        """The rows of a run's log, and what it said."""
        log = self.folder / "log.csv"
        log.unlink(missing_ok=True)
        run = self.run_train("--log", log, *arguments, ranks=ranks)
        self.assertEqual(0, run.returncode, run.stderr)
        with open(log) as file:
            return list(csv.DictReader(file)), run.stdout

    def losses(self, *arguments, ranks=0):
        return [float(row["loss"]) for row in self.trains(*arguments, ranks=ranks)[0]]

    def fails(self, status, says, *arguments, ranks=0):
        run = self.run_train(*arguments, ranks=ranks)
        said = [line for line in run.stderr.splitlines() if line.startswith("slimpack-train: ")]
        self.assertEqual(1, len(said), run.stderr)
        if not ranks:
            self.assertEqual(status, run.returncode)
            self.assertEqual(1, run.stderr.count("\n"), run.stderr)
        self.assertNotEqual(0, run.returncode)
        for word in says:
            self.assertIn(word, said[0])

    def reference(self):
        return self.losses(*EXACT, "--planner", "megatron")

    def assert_same_curve(self, expected, got):
        self.assertEqual(len(expected), len(got))
        most = max(abs(a / b - 1) for a, b in zip(got, expected))
        self.assertLess(most, 1e-10)
        return most

    def test_a_long_sliced_curve_is_the_uncut_one(self):
        steps = "200" if FULL else "60"
        arguments = ["--steps", steps, "--effort", "fast", *EXACT[:2], *QUADRATIC]
        uncut = self.losses("--planner", "megatron", *arguments)
        file = self.folder / "sliced.json"
        most = self.assert_same_curve(uncut, self.losses("--pp", "2", "--json", file, *arguments))
        replica = json.loads(file.read_text())["replicas"][0]
        cuts = {way: sorted(s for pack in replica[way] for s in pack["slices"]) for way in ("forward", "backward")}
        self.assertGreater(len(cuts["forward"]), len(replica["sequences"]))
        self.assertNotEqual(cuts["forward"], cuts["backward"])
        print(f"{steps} steps, sliced on 2 stages against uncut on 1: losses differ by {most:.1e} at most, "
              f"from {uncut[0]:.4f} to {uncut[-1]:.4f}")

    def test_no_plan_changes_the_loss_curve(self):
        expected = self.reference()
        self.assertLess(expected[-1], expected[0])
        for planners, shapes in (("slimpack megatron dp_balanced karmarkar_karp chunked slimpipe", ("--dp 2 --pp 2", "--pp 4", "--pp 2 --vpp 2")),
                                 ("te_cp llama_cp hybrid_dp zeppelin", ("--dp 2 --pp 2", "--dp 3", "--dp 2 --pp 2 --vpp 2"))):  # replicas share sequences
            for turn, planner in enumerate(planners.split()):  # shapes take turns, but for those of the first planner
                for shape in shapes if FULL or turn == 0 else [shapes[turn % 3]]:
                    with self.subTest(planner=planner, shape=shape):
                        self.assert_same_curve(expected, self.losses(*EXACT, "--planner", planner, *shape.split()))

    def test_trees_have_the_losses_of_flat_copies(self):
        tree = self.folder / "tree.tsv"
        tree.write_text("-1\t60\t0\t0\n0\t30\t30\t1\n0\t25\t20\t0\n2\t40\t40\t2\n2\t9\t9\t1\n2\t17\t0\t0\n5\t20\t20\t1\n5\t3\t3\t1\n-1\t90\t70\t1\n")
        expected = self.losses(*EXACT, "--tree", tree, "--planner", "flat")  # on one rank
        self.assertLess(expected[-1], expected[0])
        spread = [*EXACT[:4], *BRIEF, "--vocabulary", "spread"]
        for arguments, ranks in ((EXACT, 0), ([*EXACT, "--pp", 3], 0), ([*EXACT, "--dp", 2, "--pp", 2], 0), ([*EXACT, "--pp", 2, "--vpp", 2], 0),
                                 ([*EXACT, "--pp", 2, "--weight-gradients", "apart"], 0), ([*EXACT, "--dp", 3, "--divide", "estimated"], 0),
                                 ([*spread, "--pp", 2], 0), ([*spread, "--dp", 2, "--pp", 2], 0),
                                 *([([*EXACT, "--pp", 2], 2), ([*spread, "--dp", 2, "--pp", 2], 4)] if MPIRUN else [])):
            with self.subTest(arguments=arguments, ranks=ranks):
                self.assert_same_curve(expected, self.losses("--tree", tree, *FAST, *arguments, ranks=ranks))
        rows, said = self.trains(*EXACT, "--tree", tree, "--pp", 2, "--compare", "flat", "--evaluate", self.documents / "deep" / "7.txt")
        for planner in ("slimpack", "flat"):
            self.assert_same_curve(expected, [float(row["loss"]) for row in rows if row["planner"] == planner])
        self.assertRegex(said, r"slimpack is [0-9.]+ x as fast over all steps, [0-9.]+ x in the median, [0-9.]+ x in that of plans; losses differ")
        self.assertIn("samples    7, 751 tokens flat, 294 different, in 9 sequences", said)
        self.assertIn("evaluat", said)

    def test_mixed_layers_have_the_losses_of_uncut_sequences(self):
        mixed = [*EXACT, "--mixers", "full,window:24,linear"]
        expected = self.losses(*mixed, "--planner", "megatron")
        self.assertLess(expected[-1], expected[0])
        self.assertNotEqual(self.reference(), expected)
        tree = self.folder / "mixed.tsv"
        tree.write_text("-1\t60\t0\t0\n0\t30\t30\t1\n0\t25\t20\t0\n2\t40\t40\t2\n2\t9\t9\t1\n-1\t90\t70\t1\n")
        for arguments, ranks in ((["--pp", 2, "--weight-gradients", "apart"], 0), (["--dp", 2, "--pp", 2, "--recompute", "none"], 0),
                                 (["--pp", 4, "--compare", "slimpipe,chunked"], 0), *([(["--pp", 2], 2)] if MPIRUN else [])):
            with self.subTest(arguments=arguments, ranks=ranks):
                rows, said = self.trains(*mixed, *FAST, *arguments, ranks=ranks)
                self.assertIn("mixers full, window:24, linear", said)
                for planner in {row["planner"] for row in rows}:
                    self.assert_same_curve(expected, [float(row["loss"]) for row in rows if row["planner"] == planner])
                self.assertEqual({"1"}, {row["peaks_agree"] for row in rows})
        turns = [*EXACT, "--mixers", "window:24,linear"]
        self.assert_same_curve(self.losses(*turns, "--planner", "megatron"), self.losses(*turns, *FAST, "--pp", 2, "--vpp", 2))
        self.assert_same_curve(self.losses(*mixed, "--tree", tree, "--planner", "flat"), self.losses(*mixed, *FAST, "--tree", tree, "--pp", 2))
        measured, _ = self.trains("--mixers", "linear,full", "--pp", 2, "--memory", "200KiB", "--steps", 3, *BRIEF, *FAST, "--evaluate", self.documents)
        for row in measured:
            self.assertEqual(row["peak_bytes"], row["predicted_peak_bytes"])
            self.assertLessEqual(float(row["peak_bytes"]), 200 * 1024)

    def test_bad_mixers_are_refused(self):
        for mixers, says in (("", "--mixers '' has ''; write full"), ("window:0", "'window:0': a window has from 1, the token itself"), ("full,window", "has 'window'; write full"),
                             ("gated", "has 'gated'; write full"), ("full,full,full,full,linear", "--mixers has 5 mixers, --layers 4: give no more")):
            self.fails(2, [says, "--mixers"], "--mixers", mixers)
        self.fails(2, ["--mixers gives parts of a stage different numbers of linear layers"], "--pp", 2, "--vpp", 2, "--mixers", "full,full,linear")
        for arguments, says in ((["--dp", 2, "--sharers", 2], "replicas cannot share one; give --sharers 1"), (["--dp", 2, "--planner", "te_cp"], "of the planner te_cp"),
                                (["--pp", 2, "--planner", "slimpipe", "--lending", "pairs"], "stages cannot lend each other"), (["--compare", "milp"], "milp")):
            self.fails(2, ["--mixers has linear layers" if says != "milp" else "milp", says], "--mixers", "full,linear", *arguments)

    def test_bad_trees_are_refused(self):
        tree = self.folder / "bad.tsv"
        tree.write_text("-1\t60\t0\t1\n")
        self.fails(2, ["no token is trained on"], "--tree", tree)
        tree.write_text("-1\t60\n1\tx\n")
        self.fails(2, ["bad.tsv"], "--tree", tree)
        self.fails(2, ["the planner flat is for samples that share beginnings: give --tree"], "--planner", "flat")
        self.fails(2, ["the planner megatron plans no samples that share beginnings"], "--tree", tree, "--compare", "megatron")

    def test_checksums_change_no_loss_and_say_what_they_take(self):
        for shape, ranks in (("--dp 2 --pp 2", 0), *([("--dp 2 --pp 2", 4)] if MPIRUN else [])):
            with self.subTest(ranks=ranks):
                plain, quiet = self.trains(*EXACT, *shape.split(), ranks=ranks)
                checked, said = self.trains(*EXACT, *shape.split(), "--checksums", ranks=ranks)
                self.assertEqual([row["loss"] for row in plain], [row["loss"] for row in checked])
                self.assertRegex(said, r"checksums of messages took [0-9.]+ ms a step on each rank, [0-9.]+ % of its time \(medians\)")
                self.assertNotIn("checksums", quiet)

    def test_proxies_relay_rows_between_nodes(self):
        expected = self.reference()
        for planner, shape, ranks in (("te_cp", "--dp 4 --ranks-per-node 2 --relay proxies", 0), ("te_cp", "--dp 4 --pp 2 --ranks-per-node 4 --relay proxies:3", 0),
                                      ("hybrid_dp", "--dp 8 --ranks-per-node 4 --relay proxies:2", 0), ("te_cp", "--dp 4 --ranks-per-node 2 --relay proxies:2", 4)):
            with self.subTest(planner=planner, shape=shape, ranks=ranks):
                if ranks and not MPIRUN:
                    continue
                plain, _ = self.trains(*EXACT, "--planner", planner, "--quantum", "4", *shape.split()[:2], *(["--pp", "2"] if "--pp" in shape else []))
                rows, _ = self.trains(*EXACT, "--planner", planner, "--quantum", "4", *shape.split(), ranks=ranks)
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                for row, direct in zip(rows, plain):
                    self.assertEqual(row["predicted_exchanged_bytes"], row["exchanged_bytes"])
                    self.assertGreaterEqual(float(row["exchanged_bytes"]), float(direct["exchanged_bytes"]))
                self.assertGreater(sum(float(row["exchanged_bytes"]) for row in rows), sum(float(row["exchanged_bytes"]) for row in plain))
        for planner, typed, said in (("te_cp", "--dp 4 --relay proxies", "--ranks-per-node, a multiple of the 1 of --pp, from 2 to less than all 4 ranks"),
                                     ("te_cp", "--dp 4 --pp 2 --relay proxies --ranks-per-node 3", "a multiple of the 2 of --pp, from 4 to less than all 8 ranks"),
                                     ("megatron", "--dp 4 --relay proxies --ranks-per-node 2", "te_cp, hybrid_dp and zeppelin"),
                                     ("te_cp", "--dp 4 --relay proxies:0 --ranks-per-node 2", "proxies:N with N segments from 1")):
            self.fails(2, [said], *EXACT, "--planner", planner, *typed.split())

    def test_stages_lend_each_other_attention(self):
        expected = self.reference()
        for shape, ranks in (("--pp 2 --slices 4 --lending level", 0), ("--pp 4 --lending level", 0), ("--pp 2 --vpp 2 --slices 4 --lending pairs", 0),
                             ("--pp 2 --lending level", 2)):
            with self.subTest(shape=shape, ranks=ranks):
                if ranks and not MPIRUN:
                    continue
                rows, said = self.trains(*EXACT, "--planner", "slimpipe", "--quantum", "4", *shape.split(), ranks=ranks)
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                self.assertGreater(sum(int(row["loan_messages"]) for row in rows), 0)
                self.assertTrue(all(int(row["loans_agree"]) for row in rows))
                self.assertRegex(said, r"stages lent each other attention in \d of 8 steps .* bytes and messages as predicted in 8 of 8 steps")
        self.fails(2, ["needs equal layers on every part"], *EXACT, "--planner", "slimpipe", "--pp", "3", "--lending", "level")
        self.fails(2, ["choose 4 or 8 slices"], *EXACT, "--planner", "slimpipe", "--pp", "4", "--slices", "6", "--lending", "level")

    @unittest.skipUnless(MPIRUN, "mpirun not found")
    def test_nor_do_processes(self):
        expected = self.reference()
        for shape in ("--pp 2", "--dp 2"):
            with self.subTest(shape=shape):
                self.assert_same_curve(expected, self.losses(*EXACT, *shape.split(), ranks=2))

    def test_measures_once_and_fits_what_ran(self):
        """A stage profile is written, and read by the next run; a fit to steps tells its drift, and changes no loss."""
        exact = EXACT[:4]
        expected = self.losses(*exact, "--pp", "2", *QUADRATIC)
        for ranks in (0, *([4 if FULL else 2] if MPIRUN else [])):
            with self.subTest(ranks=ranks):
                file = self.folder / f"profile{ranks}.json"
                shape = ["--pp", "2", "--dp", "2"] if ranks == 4 else ["--pp", "2"]
                rows, said = self.trains(*exact, *shape, *BRIEF, "--profile", file, "--refit", "4", ranks=ranks)
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                self.assertRegex(said, r"measured .* \d+ kinds of packs left out are \d+\.\d % off the fit of the others")
                self.assertRegex(said, r"refit      to \d+ packs of 4 steps and all ranks, which took \d+\.\d+ of what was predicted")
                made = json.loads(file.read_text())
                self.assertEqual("slimpack-stage-profile/2", made["format"])
                self.assertEqual((2, 2), (len(made["forward"]), len(made["backward"])))
                self.assertRegex(said, r"measured .* by part, with a standard error of \d+\.\d % at most; ")
                self.assertRegex(said, r"slimpack +step .* off \(both medians\), with a standard error of \d+\.\d %; ")
                before = file.read_bytes()
                rows, _ = self.trains(*exact, *shape, "--profile", file, ranks=ranks)
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                self.assertEqual(before, file.read_bytes())
        rates = {way: [[pack, slice_, token, pair] for pack, slice_, token, pair, _, _ in made[way]] for way in ("forward", "backward")}
        first = {key: value for key, value in made.items() if key not in ("forward_spread", "backward_spread")}
        first |= {**rates, "format": "slimpack-stage-profile/1", "check": {key: made["check"][key] for key in ("kinds", "median", "worst")}}
        (self.folder / "first.json").write_text(json.dumps(first))
        rows, said = self.trains(*exact, "--pp", "2", "--profile", self.folder / "first.json")
        self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
        self.assertNotIn("standard error", said)
        self.fails(2, ["is of 2 parts, --pp x --vpp are 4", "remove it to measure anew"], *exact, "--pp", "4", "--profile", file)
        (self.folder / "bad.json").write_text("{}")
        self.fails(2, ["bad.json: is no profile of slimpack-train (", "format", "); remove it to measure anew"], *exact, "--profile", self.folder / "bad.json")
        self.fails(2, ["--refit needs --cost measured"], *EXACT, "--refit", "3")
        self.fails(2, ["--seed: -1 is no whole number from 0"], *EXACT, "--seed", "-1")

    def test_evaluates_what_is_held_out(self):
        """After the same training, the same loss on texts that were held out, on any ranks; that of one stage is all uncut packs."""
        held_out = self.folder / "held_out.txt"
        held_out.write_bytes(FOX * 40)
        learnt = self.folder / "learnt"
        learnt.mkdir(exist_ok=True)
        (learnt / "same.txt").write_bytes(FOX * 40)
        told = set()
        for shape, ranks in (("--pp 1", 0), ("--pp 2 --dp 2", 0), ("--pp 2 --vpp 2", 0), ("--pp 4 --memory 160tokens", 0),
                             *([("--pp 2 --dp 2", 4)] if MPIRUN else [])):
            run = self.run_train(*EXACT, *FAST, "--evaluate", held_out, *shape.split(), ranks=ranks)
            self.assertEqual(0, run.returncode, run.stderr)
            line = next(line for line in run.stdout.splitlines() if line.startswith("evaluated"))
            self.assertIn("12 documents held out, 1800 bytes: loss ", line)
            told.add(line[:line.index("; forward alone")])
        self.assertEqual(1, len(told), told)
        # What a model has learnt it knows better than it did before.
        loss = lambda text: float(text[text.index(": loss ") + 7:].split()[0])
        runs = [self.run_train(*EXACT[:2], *QUADRATIC, "--documents", learnt, "--batch", "3", "--steps", steps, "--evaluate", held_out).stdout
                for steps in (1, 40)]
        self.assertLess(loss(runs[1]), loss(runs[0]) - 0.5)
        self.fails(2, ["nowhere.txt", "no folder and no file"], "--evaluate", "nowhere.txt")
        self.fails(2, ["--evaluate", "--vocabulary spread"], "--evaluate", held_out, "--vocabulary", "spread", "--pp", "2")

    def test_replicas_share_by_any_exchange(self):
        expected = self.losses(*EXACT, "--planner", "megatron", "--max-context", "600")
        for exchange in ("keep", "queries", "ring"):
            with self.subTest(exchange=exchange):
                rows, said = self.trains(*EXACT, "--dp", "3", "--sharers", "3", "--effort", "fast", "--max-context", "600",
                                         "--exchange", exchange)
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                self.assertTrue(any(float(row["exchanged_bytes"]) > 0 for row in rows))
                for row in rows:
                    self.assertEqual(row["predicted_exchanged_bytes"], row["exchanged_bytes"])
                    self.assertGreaterEqual(float(row["predicted_peak_bytes"]), float(row["peak_bytes"]))

    def test_nor_do_other_layers_on_the_parts(self):
        expected = self.losses(*EXACT)
        file = self.folder / "layers.json"
        for layers in ("2,1,1", "1,1,2", "2,2,0", "0,2,2", "0,4,0"):
            with self.subTest(layers=layers):
                rows, _ = self.trains(*EXACT, "--pp", "3", "--layers", layers, "--json", file)
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                made = json.loads(file.read_text())
                self.assertEqual(("slimpack-plan/2", layers), (made["format"], ",".join(map(str, made["layers"]))))
                self.assertEqual([(row["predicted_peak_bytes"], "1") for row in rows], [(row["peak_bytes"], row["peaks_agree"]) for row in rows])

    def test_stages_without_layers_train_alike(self):
        expected = self.losses(*EXACT, "--max-context", "600")
        for shape, ranks in (("--pp 3 --layers 2,2,0 --weight-gradients apart", 0), ("--pp 3 --layers 0,4,0 --weight-gradients apart", 0),
                             ("--pp 3 --layers 0,2,2 --dp 2 --sharers 2 --rows joined", 0), ("--pp 3 --layers 2,2,0 --dp 2 --sharers 2 --exchange ring", 0),
                             ("--pp 2 --layers 4,0 --planner slimpipe", 0), ("--pp 2 --layers 0,4", 2), ("--pp 2 --layers 4,0 --dp 2 --sharers 2", 4)):
            if ranks and not MPIRUN:
                continue
            with self.subTest(shape=shape, ranks=ranks):
                rows, _ = self.trains(*EXACT, *FAST, "--max-context", "600", *shape.split(), ranks=ranks)
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                for row in rows:
                    self.assertEqual(row["predicted_exchanged_bytes"], row["exchanged_bytes"])
        held_out = self.folder / "held_out.txt"
        held_out.write_bytes(FOX)
        _, said = self.trains("--pp", "2", "--layers", "4,0", "--steps", "2", "--measure-for", "0.1", "--evaluate", held_out)  # and its times are measured
        self.assertIn("evaluated  1 documents held out", said)
        self.fails(2, ["part 1 of 3 has no layer; only the first and the last"], "--pp", "3", "--layers", "2,0,2")
        self.fails(2, ["--vocabulary spread leaves a part without layers nothing to do"], "--pp", "2", "--layers", "4,0", "--vocabulary", "spread")

    def test_weight_gradients_run_apart(self):
        expected = self.losses(*EXACT)
        for shape in ("--pp 3", "--pp 2 --vpp 2", "--pp 2 --dp 2 --sharers 2"):
            with self.subTest(shape=shape):
                rows, said = self.trains(*EXACT, *FAST, *shape.split(), "--weight-gradients", "apart")
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                self.assertGreater(sum(int(row["packs_apart"]) for row in rows), 0)
                self.assertIn("weight gradients ran apart in", said)

    def test_nor_does_a_spread_vocabulary(self):
        measured = ["--precision", "double", "--steps", "8", *BRIEF]  # its times are measured
        expected = self.losses(*EXACT, "--max-context", "600")
        spread = [*measured, "--vocabulary", "spread", "--effort", "fast", "--max-context", "600"]
        # Every run measures, so that a few shapes have what many have under SLIMPACK_FULL.
        shapes = ["--pp 2 --vpp 2", "--pp 2 --dp 2 --divide estimated --reduction exposed"]
        shapes += (["--pp 2", "--pp 3 --dp 2 --sharers 1", "--pp 4 --weight-gradients apart", "--pp 2 --dp 2 --sharers 2"] if FULL else
                   ["--pp 3 --dp 2 --sharers 1 --weight-gradients apart"])
        for shape in shapes:
            with self.subTest(shape=shape):
                rows, _ = self.trains(*spread, *shape.split())
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                for row in rows:
                    self.assertEqual((row["peak_bytes"], "1"), (row["predicted_peak_bytes"], row["peaks_agree"]))
                    self.assertEqual(row["predicted_exchanged_bytes"], row["exchanged_bytes"])
        if MPIRUN:
            self.assert_same_curve(expected, self.losses(*spread, "--pp", "2", "--dp", "2", ranks=4))

    def test_nor_do_unequal_shares_of_its_words(self):
        expected = self.losses(*EXACT, "--max-context", "600")
        spread = ["--precision", "double", "--steps", "8", *BRIEF, "--vocabulary", "spread", "--effort", "fast", "--max-context", "600"]
        file = self.folder / "words.json"
        for shape, words in (("--pp 2", "1,255"), ("--pp 3 --dp 2 --sharers 2", "20,200,36"), ("--pp 2 --vpp 2 --weight-gradients apart", "255,1"),
                             ("--pp 4", "64,64,64,64")):
            with self.subTest(shape=shape, words=words):
                rows, said = self.trains(*spread, *shape.split(), "--words", words, "--json", file)
                self.assert_same_curve(expected, [float(row["loss"]) for row in rows])
                counts = [int(n) for n in words.split(",")]
                self.assertEqual(counts if len(set(counts)) > 1 else None, json.loads(file.read_text()).get("words"))
                self.assertEqual(len(set(counts)) > 1, f"words {words}" in said)
                for row in rows:
                    self.assertEqual((row["peak_bytes"], "1"), (row["predicted_peak_bytes"], row["peaks_agree"]))
                    self.assertEqual(row["predicted_exchanged_bytes"], row["exchanged_bytes"])
        if MPIRUN:
            self.assert_same_curve(expected, self.losses(*spread, "--pp", "2", "--dp", "2", "--words", "1,255", ranks=4))
            two = ["--steps", "2", *BRIEF, "--pp", "2", "--vocabulary", "spread"]
            self.job_refuses(2, ["--words"], [*two, "--words", "56,200"], [*two, "--words", "200,56"])

    def test_ranks_that_plan_their_own_train_alike(self):
        shape = ["--dp", "3", "--pp", "2", "--sharers", "3", "--effort", "fast", "--max-context", "600"]
        expected = self.losses(*EXACT, "--planner", "megatron", "--max-context", "600")
        file = self.folder / "own.json"
        rows, _ = self.trains(*EXACT, *shape, "--divide", "estimated", "--compare", "chunked", "--json", file)
        self.assert_same_curve(expected, [float(row["loss"]) for row in rows if row["planner"] == "slimpack"])
        self.assertTrue(any(float(row["exchanged_bytes"]) > 0 for row in rows))
        for row in rows:
            self.assertEqual(row["predicted_exchanged_bytes"], row["exchanged_bytes"])
            self.assertGreater(float(row["predicted_s"]), 0)
        whole = json.loads(file.read_text())  # parts of all replicas, put together
        self.assertEqual(3, len(whole["replicas"]))
        self.assertTrue(all(replica["sequences"] for replica in whole["replicas"]))
        if MPIRUN:
            self.assert_same_curve(expected, self.losses(*EXACT, *shape, "--divide", "estimated", ranks=6))

    def test_compared_planners_leave_training_alone(self):
        arguments = ["--precision", "double", "--steps", "6", "--pp", "2", *QUADRATIC]
        rows, said = self.trains("--compare", "megatron,karmarkar_karp", *arguments)
        self.assertEqual(["slimpack", "megatron", "karmarkar_karp"] * 6, [row["planner"] for row in rows])
        self.assert_same_curve(self.losses(*arguments), [float(row["loss"]) for row in rows[::3]])
        for row in rows:  # every planner's run of a step begins with the same weights
            self.assertAlmostEqual(1, float(row["loss"]) / float(rows[3 * int(row["step"])]["loss"]), delta=1e-12)
        self.assertIn("slimpack is", said)

    def test_what_backward_computes_again_has_the_same_losses_and_fewer_bytes(self):
        peaks = {}
        for what in ("none", "light"):
            rows, said = self.trains("--recompute", what, "--pp", "2", *EXACT)
            peaks[what] = max(float(row["peak_bytes"]) for row in rows)
            self.assertEqual(what == "none", "nothing computed again" in said)
        self.assert_same_curve(*(self.losses("--recompute", what, "--pp", "2", *EXACT) for what in peaks))
        print(f"light keeps {peaks['light'] / peaks['none']:.1%} of the bytes of none")
        self.assertLess(peaks["light"], 0.8 * peaks["none"])

    def test_peaks_are_the_predicted_bytes(self):
        for shape in ("--pp 1", "--pp 2", "--dp 2 --pp 2", "--pp 2 --vpp 2", "--pp 2 --recompute none", "--pp 2 --weight-gradients apart --recompute none"):
            with self.subTest(shape=shape):
                rows, _ = self.trains("--steps", "4", "--compare", "megatron", *shape.split(), *QUADRATIC)
                for row in rows:
                    self.assertEqual((row["peak_bytes"], "1"), (row["predicted_peak_bytes"], row["peaks_agree"]))
                    self.assertGreater(float(row["peak_bytes"]), 0)

    def test_measured_costs_plan_the_same_on_every_rank(self):
        _, said = self.trains("--steps", "2", "--pp", "2", "--dp", "2", "--measure-for", "0.1")
        self.assertLess(float(re.search(r"measured   this machine in (\d+\.\d+) s", said)[1]), 3)  # which it takes by default
        self.assertRegex(said, r"trials     \d+ kinds, run \d+ times in all; (medians known to \d+\.\d % at worst|some have fewer than 5 packs); times o")
        _, said = self.trains("--steps", "1", "--pp", "2", "--measure-for", "0.001")
        self.assertIn("trials     4 kinds, run 4 times in all; some have fewer than 5 packs", said)
        self.assertRegex(said, r"no time within --measure-for 0.0 for \d+ more: .* slices? of .* tokens.*; and others")
        self.fails(2, ["--measure-for needs --cost measured"], "--measure-for", "1", *QUADRATIC)

    def test_a_memory_limit_holds(self):
        measured = ["--steps", "3", "--pp", "2", *BRIEF, *([] if FULL else ["--profile", self.folder / "limited.json"])]  # once for both
        free, _ = self.trains(*measured, "--planner", "chunked")
        most = max(float(row["peak_bytes"]) for row in free)
        rows, _ = self.trains(*measured, "--memory", f"{most / 1000 * 0.8}KB")
        self.assertLessEqual(max(float(row["peak_bytes"]) for row in rows), 0.8 * most)
        self.fails(3, ["tokens are missing; raise --memory or leave it out, or lower --max-context"], "--memory", "1tokens", *QUADRATIC)
        self.fails(3, ["chunked", "limit"], "--planner", "chunked", "--memory", "100tokens", *QUADRATIC)

    def test_training_learns(self):
        learnt = self.folder / "learnt"
        learnt.mkdir(exist_ok=True)
        for i in range(8):
            (learnt / f"{i}.txt").write_bytes(FOX * (2 + i))
        losses = self.losses("--steps", "40", "--pp", "2", "--documents", learnt, "--learning-rate", "1e-2", *QUADRATIC)
        self.assertLess(losses[-1], losses[0] - 2)

    def test_a_folder_is_read_in_order_without_what_is_no_text(self):
        tree = self.folder / "tree"
        left_out = [(name, FOX) for name in (".git/config", "build/o.txt", "build-x/o.txt", "out/o.txt")]
        for name, content in (("a.txt", b"x" * 400), ("b/c.txt", FOX), ("binary", b"ab\0cd" * 9), ("one", b"1"),
                              ("empty", b""), *left_out):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(content)
        (tree / "link").symlink_to(tree / "a.txt")
        _, said = self.trains("--steps", "1", "--documents", tree, "--batch", "4", *QUADRATIC)
        self.assertIn(f"documents  4, {400 + len(FOX)} bytes, longest 160;", said)  # 160 + 160 + 80, and the fox

    def test_files_show_the_measured_step(self):
        names = [self.folder / name for name in ("page.html", "trace.json", "plan.json")]
        self.trains("--steps", "2", "--pp", "2", "--compare", "megatron", "--timeline", names[0], "--trace", names[1],
                    "--json", names[2], *QUADRATIC)
        self.assertIn("measured", names[0].read_text())
        events = json.loads(names[1].read_text())["traceEvents"]
        self.assertTrue(any("measured" in str(e.get("args", {}).get("name", "")) for e in events))
        self.assertEqual("slimpack-plan/1", json.loads(names[2].read_text())["format"])

    def test_bad_input_ends_with_its_reason(self):
        empty = self.folder / "nothing"
        empty.mkdir(exist_ok=True)
        nowhere = self.folder / "nowhere"
        for says, arguments in ((["--planner", "nobody"], ["--planner", "nobody"]),
                                (["--compare", "nobody"], ["--compare", "megatron,nobody"]),
                                (["--pp 8", "--layers 4"], ["--pp", "8"]),
                                (["--vpp 3"], ["--vpp", "3"]),
                                (["--layers has 2 counts", "3 parts"], ["--pp", "3", "--layers", "2,2"]),
                                (["--layers '2,x'", "2,1,1"], ["--layers", "2,x"]),
                                (["different counts", "--vpp"], ["--pp", "2", "--vpp", "2", "--layers", "1,1,1,2"]),
                                (["even number"], ["--heads", "3"]),
                                (["--memory", "64MiB"], ["--memory", "much"]),
                                (["bytes", "--cost measured"], ["--memory", "1MiB", *QUADRATIC]),
                                (["quadratic:", "six"], ["--cost", "quadratic:1,2"]),
                                (["--vocabulary spread", "--pp 2"], ["--vocabulary", "spread"]),
                                (["--words '100,156' is for a vocabulary that is spread"], ["--pp", "2", "--words", "100,156"]),
                                (["--words has 3 counts, --pp is 2"], ["--pp", "2", "--vocabulary", "spread", "--words", "100,100,56"]),
                                (["--words '100,100' is 200 words, they must be from 256"], ["--pp", "2", "--vocabulary", "spread", "--words", "100,100"]),
                                (["--words '0,256' is neither a count of words"], ["--pp", "2", "--vocabulary", "spread", "--words", "0,256"]),
                                (["--words 'many' is neither a count of words"], ["--words", "many"]),
                                (["--vocabulary spread", "--cost measured"], ["--vocabulary", "spread", "--pp", "2", *QUADRATIC]),
                                (["--steps"], ["--steps", "0"]),
                                (["--learning-rate: 'nan' is no number from 0 to 1e+12"], ["--learning-rate", "nan"]),
                                (["--weight-decay: 'inf' is no number"], ["--weight-decay", "inf"]),
                                (["--clip: '0' is no number above 0, up to 1e+12; see"], ["--clip", "0"]),
                                (["--time-out: 'nan' is no number from 0.001 to 1e+06"], ["--time-out", "nan"]),
                                (["1e+300 is more"], ["--cost", "quadratic:1e300,1,2,2,1,1"]),
                                (["--divide estimated is about several replicas"], ["--divide", "estimated", *QUADRATIC]),
                                (["--reduction exposed is about several replicas"], ["--reduction", "exposed"]),
                                (["--checksums is about messages between ranks: give --pp or --dp"], ["--checksums", *QUADRATIC]),
                                (["--compare slimpack is --planner itself"], ["--compare", "slimpack"]),
                                (["--compare names megatron twice"], ["--compare", "megatron,megatron"]),
                                (["--trace is empty: give a file"], ["--trace", ""]),
                                (["--precision"], ["--precision", "half"]),
                                (["--recompute", "selective"], ["--recompute", "selective"]),
                                (["nowhere"], ["--documents", nowhere]),
                                (["no text file"], ["--documents", empty]),
                                (["--batch 5000"], ["--batch", "5000"]),
                                (["cannot be written"], ["--timeline", nowhere / "page.html"])):
            with self.subTest(arguments=arguments):
                self.fails(2, says, *arguments)

    def test_help_names_every_option(self):
        run = self.run_train("--help-all")
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        for option in ("documents max-context batch seed layers hidden heads kv-heads ffn precision recompute steps "
                       "learning-rate weight-decay clip dp pp vpp transport time-out planner compare effort quantum "
                       "vocabulary rows ranks-per-node checksums memory cost profile measure-for refit json trace timeline log").split():
            self.assertIn("--" + option, run.stdout)
        daily = self.run_train("--help")
        self.assertEqual((0, ""), (daily.returncode, daily.stderr))
        options = [set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", text, re.M)) for text in (daily.stdout, run.stdout)]
        self.assertLess(options[0], options[1])
        self.assertIn(f"--help-all shows {len(options[1]) - len(options[0])} more", daily.stdout)

    def test_a_loss_that_is_no_number_ends_the_training(self):
        for shape, ranks in (("--dp 2 --pp 2", 0), *([("--pp 2", 2)] if MPIRUN else [])):
            page = self.folder / "never.html"
            self.fails(1, ["step ", ": the loss is not a number; lower --learning-rate"], "--steps", "20", "--learning-rate", "1e12", *shape.split(), "--timeline", page, *QUADRATIC,
                       ranks=ranks)
            self.assertFalse(page.exists())

    def test_models_that_are_too_large_say_what_to_lower(self):
        self.fails(3, ["do not fit into this machine's memory; lower --hidden, --ffn, --layers"], "--hidden", "1048576", *QUADRATIC)

    def test_columns_of_figures_stand_apart(self):
        _, said = self.trains("--steps", "1", "--layers", "1", *QUADRATIC)
        self.assertRegex(said, r" {2}\d{6} bytes +\d{6} bytes\n")

    def job(self, *ranks, before=()):
        """The exit status of each rank of a job whose ranks have options of their own, and what was said on stderr."""
        command, folder = [MPIRUN], pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for rank, arguments in enumerate(ranks):
            first = [line for at, line in before if at == rank]
            script = "; ".join([*first, '"$@"', f"echo $? > {folder / str(rank)}"])  # mpirun sees 0, and ends no other rank
            command += [":"] * (rank > 0) + ["-np", "1", "sh", "-c", script, "sh", *self.command(*arguments)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=self.folder, env={**os.environ, **MPI})
        self.assertEqual(0, run.returncode, run.stderr)
        return [int((folder / str(rank)).read_text()) for rank in range(len(ranks))], run.stderr

    def job_refuses(self, status, says, *ranks, before=()):
        """All ranks end with the status, within the time-out of job(), and one line says why."""
        statuses, said = self.job(*ranks, before=before)
        lines = [line for line in said.splitlines() if line.startswith("slimpack-train: ")]
        self.assertEqual(([status] * len(ranks), 1), (statuses, len(lines)), said)
        for word in says:
            self.assertIn(word, lines[0])

    @unittest.skipUnless(MPIRUN, "mpirun not found")
    def test_a_rank_that_refuses_ends_the_job_with_its_sentence(self):
        two = ["--pp", "2", "--steps", "2", *QUADRATIC]
        measured = ["--pp", "2", "--steps", "2", *BRIEF]
        nowhere, broken, other = (self.folder / name for name in ("nowhere", "broken.json", "other"))
        broken.write_text("{")
        other.mkdir(exist_ok=True)
        (other / "short.txt").write_bytes(FOX)
        for status, says, rank_0, rank_1 in (
                (2, ["rank 1: ", "--words"], two, [*two, "--words", "12"]),
                (2, ["rank 0: ", "--words"], [*two, "--words", "12"], two),
                (2, ["rank 1: ", "nowhere: cannot be read"], two, [*two, "--documents", nowhere]),
                (2, ["rank 1: ", "nowhere: cannot be read"], [*two, "--evaluate", other], [*two, "--evaluate", nowhere]),
                (2, ["rank 1: ", "broken.json: is no profile"], measured, [*measured, "--profile", broken]),
                (2, ["rank 1: ", "--documents is empty"], two, [*two, "--documents", ""]),
                (2, ["rank 1: ", "other holds 1 documents, --batch 6"], two, [*two, "--documents", other]),
                (2, ["rank 1: --help", "not on the others"], two, [*two, "--help"]),
                (2, ["rank 0: --help", "not on the others"], ["--help-all"], two),
                (2, ["rank 0: ", "--clip", "; rank 1: ", "--words"], [*two, "--clip", "0"], [*two, "--words", "12"])):
            with self.subTest(says=says):
                self.job_refuses(status, says, rank_0, rank_1)
        said = self.run_train(*two, "--words", "12", ranks=2, timeout=30).stderr
        self.assertEqual((1, 0), (said.count("slimpack-train: --words"), said.count("rank 0: --words")), said)  # alike, so without ranks
        self.job_refuses(2, ["ranks 1 and 3: --words"], *[[*two, "--pp", "4", "--words", words] for words in ("256", "12", "256", "12")])
        statuses, _ = self.job(["--help"], ["--help"])
        self.assertEqual([0, 0], statuses)

    @unittest.skipUnless(MPIRUN, "mpirun not found")
    def test_ranks_compare_options_before_they_train(self):
        text = self.run_train("--help-all").stdout
        options = set(re.findall(r"^  (?:-h,)?--([a-z-]+)", text, re.M)) - {"help", "help-all"}
        self.assertEqual(options, {*ALIKE, *MAY_DIFFER})
        default = ["--pp", "2", "--steps", "2"]
        for turn, (option, value) in enumerate(ALIKE.items()):
            if not FULL and turn % 2 and option not in ("words", "learning-rate", "clip", "weight-decay", "steps", "reduction", "seed", "cost"):
                continue
            cost = [] if option in ("cost", "measure-for", "refit", "reduction", "vocabulary") else QUADRATIC
            beside = [*default, *cost, *BESIDE.get(option, [])]
            with self.subTest(option=option):
                self.job_refuses(2, [f"ranks differ in --{option}: ", f"{'0.01' if option == 'learning-rate' else value} on rank 1", "on rank 0, "],
                                 beside, [*beside, "--" + option, *([] if option == "checksums" else [value])])
        self.job_refuses(2, ["ranks differ in --seed: 1 on ranks 0 and 1, 3 on rank 2; in --clip: 1 on ranks 0 and 2, 2 on rank 1; give"],
                         *[["--pp", "3", "--steps", "2", *QUADRATIC, "--clip", clip, "--seed", seed] for clip, seed in (("1", "1"), ("2", "1"), ("1", "3"))])

    @unittest.skipUnless(MPIRUN, "mpirun not found")
    def test_ranks_compare_what_they_have_read(self):
        two = ["--pp", "2", "--steps", "2", *QUADRATIC]
        copied, changed, texts = (self.folder / name for name in ("copied", "changed", "texts"))
        for folder in (copied, changed):
            shutil.copytree(self.documents, folder, dirs_exist_ok=True)
        file = changed / "deep" / "7.txt"
        file.write_bytes(b"z" + file.read_bytes()[1:])  # as long
        texts.mkdir(exist_ok=True)
        (texts / "fox.txt").write_bytes(FOX)
        self.job_refuses(2, ["ranks differ in the documents of --documents: ", " on rank 0, ", " on rank 1"], two, [*two, "--documents", changed])
        self.job_refuses(2, ["ranks differ in the documents of --evaluate: ", "not given on rank 1"], [*two, "--evaluate", texts], two)
        profile = self.folder / "of_rank_0.json"
        measured = ["--pp", "2", "--steps", "1", "--measure-for", "0.1"]
        self.trains(*measured, "--profile", profile)
        self.job_refuses(2, ["ranks differ in the profile of --profile: one with the fingerprint", "on rank 0, no file on rank 1"],
                         [*measured, "--profile", profile], [*measured, "--profile", self.folder / "lacks.json"])
        self.assertFalse((self.folder / "lacks.json").exists())
        statuses, said = self.job([*two, "--time-out", "50", "--json", "rank_0.json"], [*two, "--documents", copied, "--time-out", "40"])
        self.assertEqual([0, 0], statuses, said)

    @unittest.skipUnless(MPIRUN, "mpirun not found")
    def test_a_rank_without_memory_says_so_on_all(self):
        large = ["--pp", "2", "--steps", "1", "--hidden", "256", "--ffn", "8192", *QUADRATIC]
        self.job_refuses_as((3, 1), ["rank 1: the model, and what a step keeps of it, do not fit"], large, large, before=[(1, "ulimit -v 260000")])

    def job_refuses_as(self, statuses, says, *ranks, before=()):
        got, said = self.job(*ranks, before=before)
        lines = [line for line in said.splitlines() if line.startswith("slimpack-train: ")]
        self.assertEqual(1, len(lines), said)
        self.assertNotIn(0, got)
        for word in says:
            self.assertIn(word, lines[0])

    def test_threads_refuse_without_a_rank(self):
        for arguments in (["--words", "12"], ["--documents", self.folder / "nowhere"]):
            run = self.run_train("--transport", "threads", "--pp", "2", *QUADRATIC, *arguments, timeout=20)
            self.assertEqual((2, 1), (run.returncode, run.stderr.count("\n")), run.stderr)
            self.assertNotIn("rank", run.stderr)

    @unittest.skipUnless(MPIRUN, "mpirun not found")
    def test_a_job_of_another_size_is_refused_once(self):
        self.fails(2, ["takes 4 ranks, mpirun started 2"], "--pp", "4", ranks=2)

    def test_a_step_that_fails_says_so_once(self):
        self.fails(1, ["rank", "waited 0.001 s"], "--pp", "2", "--hidden", "128", "--max-context", "2000",
                   "--documents", pathlib.Path(__file__).parent, "--time-out", "0.001", *QUADRATIC)

    def job_without_a_rank(self, sent, *arguments):
        """What a job of two ranks says when one of them is sent a signal after some steps."""
        job = subprocess.Popen(self.command("--pp", "2", "--steps", "1000000", *QUADRATIC, *arguments, ranks=2),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **MPI})
        self.addCleanup(lambda: job.poll() is None and job.kill())
        while not job.stdout.readline().strip().startswith("3 "):
            self.assertIsNone(job.poll())
        ranks = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        os.kill(int(ranks[-1]), sent)
        said = job.communicate(timeout=20)[1]
        self.assertNotEqual(0, job.returncode)
        return said

    @unittest.skipUnless(MPIRUN, "mpirun not found")
    def test_a_killed_rank_ends_the_job(self):
        self.job_without_a_rank(signal.SIGKILL)

    @unittest.skipUnless(MPIRUN, "mpirun not found")
    def test_a_rank_that_stands_still_ends_the_job(self):
        said = self.job_without_a_rank(signal.SIGSTOP, "--time-out", "1")
        self.assertEqual(1, sum(line.startswith("slimpack-train: rank 0") for line in said.splitlines()), said)


if __name__ == "__main__":
    if not PROGRAM:
        print("SLIMPACK_TRAIN names no program: skipped")
        raise SystemExit(77)
    unittest.main()
