#!/usr/bin/env python3
"""Samples that share beginnings, on the command line: trees, token ids, and what cannot stand beside them."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

DATA = pathlib.Path(__file__).parent.parent / "examples" / "data"
QUADRATIC = ["--cost", "quadratic:1e-6,4.069e-11,2,2.5,0", "--hop", "2.4e-5"]
WITH_OVERHEAD = ["--cost", "quadratic:1e-6,0,2,2.5,2.9e-5", "--hop", "2.4e-5"]
TREE = "-1\t512\t0\t0\n0\t90\t90\t1\n0\t700\t20\t2\n"
ANSWERS = [{"input_ids": [1, 2, 3, 4, 5, 6, 7, 8], "loss_mask": [0, 0, 0, 0, 0, 0, 1, 1]},
           {"input_ids": [1, 2, 3, 4, 5, 6, 9, 9], "loss_mask": [0, 0, 0, 0, 0, 0, 1, 0]},
           {"input_ids": [1, 2, 3, 5], "loss_mask": [0, 0, 0, 1]},
           {"input_ids": [1, 2, 3, 5], "loss_mask": [0, 0, 0, 1]}]


class Trees(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content)
        return str(path)

    def lines(self, samples, name="samples.jsonl"):
        return self.file(name, "".join(json.dumps(sample) + "\n" for sample in samples))

    def run_plan(self, *arguments):
        return subprocess.run([os.environ["SLIMPACK_PLAN"], *map(str, arguments)], capture_output=True, text=True, cwd=self.folder,
                              timeout=300)

    def report(self, *arguments):
        run = self.run_plan(*arguments)
        self.assertEqual(0, run.returncode, run.stderr)
        return run.stdout

    def plan(self, *arguments):
        return json.loads(self.report(*arguments, "--json", "-"))

    def fails(self, says, *arguments, status=2):
        """An exit status, a single line that says so, and no output file."""
        (self.folder / "plan.json").unlink(missing_ok=True)
        run = self.run_plan(*arguments, *QUADRATIC, "--json", self.folder / "plan.json", "--timeline", self.folder / "page.html")
        self.assertEqual(status, run.returncode, run.stderr)
        self.assertEqual(1, run.stderr.count("\n"), run.stderr)
        self.assertIn(says, run.stderr)
        self.assertFalse((self.folder / "plan.json").exists() or (self.folder / "page.html").exists())

    def test_the_table_says_what_is_shared(self):
        report = self.report("--lengths", DATA / "trees" / "mooncake_sessions_512.tsv", "--format", "tree", "--pp", 4, "--effort", "fast",
                             *QUADRATIC)
        self.assertIn("batch     512 samples, 8633098 tokens flat, 1913355 different (4.51 x fewer), in 812 sequences, longest path 96007 "
                      "(mooncake_sessions_512.tsv, file order)\n", report)
        self.assertNotIn("Without slicing", report)

    def test_a_plan_has_the_sequences_of_the_tree_and_their_rows(self):
        made = self.plan("--lengths", self.file("tree.tsv", "-1\t100\t2\t1\n0\t412\t0\t0\n1\t90\t90\t1\n1\t700\t20\t2\n"), "--format", "tree",
                         *QUADRATIC)
        self.assertEqual([512, 90, 700], made["lengths"])
        self.assertEqual([0, 2, 3], rows(made["data"]["rows"]))
        self.assertEqual(["lengths", "format"], list(made["made_with"]["batch"]))
        self.assertEqual("tree", made["made_with"]["batch"]["format"])
        slices = sorted(s for pack in made["replicas"][0]["forward"] for s in pack["slices"])
        self.assertEqual([[0, 0, 512], [1, 512, 90], [2, 512, 700]], joined(slices))

    def test_a_tail_without_targets_is_left_out(self):
        report = self.report("--lengths", self.file("tree.tsv", TREE + "0\t30\t0\t1\n"), "--format", "tree", *QUADRATIC)
        self.assertIn("note      30 of 1332 tokens are left out, since no target comes behind them\n", report)

    def test_bad_trees_are_named_by_their_line(self):
        for text, says in ((TREE + "5\t9\t9\t1\n0\t9\t9\t1\n0\t9\t9\t1\n", "line 4: the node has the parent 5, and its own number is 3"),
                           (TREE + "0\t0\t0\t1\n", "line 4: length is \"0\", expected a whole number from 1"),
                           (TREE + "0\t9\t10\t1\n", "line 4: has 10 targets in 9 tokens"),
                           ("-1\t9\t2\t1\t7-10\n", "line 1: the run \"7-10\" ends beyond its node, which has 9 tokens"),
                           ("", "holds no nodes")):
            with self.subTest(says):
                self.fails("tree.tsv: " + says, "--lengths", self.file("tree.tsv", text), "--format", "tree")

    def test_equal_token_ids_are_planned_once(self):
        made = self.plan("--lengths", self.lines(ANSWERS), "--share-prefixes", *QUADRATIC)
        self.assertEqual([3, 3, 2, 1, 1], made["lengths"])
        self.assertEqual([0, 0, 0, 1, 2], rows(made["data"]["rows"]))
        report = self.report("--lengths", self.lines(ANSWERS), "--share-prefixes", *QUADRATIC)
        self.assertIn("batch     4 samples, 23 tokens flat, 10 different (2.30 x fewer), in 5 sequences, longest path 8", report)
        self.assertIn("note      1 of 24 tokens are left out, since no target comes behind them\n", report)

    def test_a_fork_is_where_it_pays(self):
        """Packs take 29 us more in each pass, a token 3 us in both: a fork must save 19.3 tokens."""
        samples = [{"input_ids": [7] * shared + [10 + i] * 40} for shared in (19, 20) for i in (0, 1)]
        for sample in samples[2:]:
            sample["input_ids"][0] = 8
        made = self.plan("--lengths", self.lines(samples), "--share-prefixes", *WITH_OVERHEAD)
        self.assertEqual([59, 59, 20, 40, 40], made["lengths"])
        report = self.report("--lengths", self.lines(samples), "--share-prefixes", *WITH_OVERHEAD)
        self.assertIn("note      a fork of samples takes as long as 20 tokens: where it saves less, each sample has its tokens for itself\n",
                      report)

    def test_batches_are_taken_of_samples(self):
        rng = random.Random(20261130)
        prompts = [[rng.randrange(1000) for _ in range(50)] for _ in range(4)]
        samples = [{"input_ids": prompts[i % 4] + [2000 + i] * 9} for i in range(12)]
        file = self.lines(samples)
        made = self.plan("--lengths", file, "--share-prefixes", "--batch", 8, *QUADRATIC)
        self.assertEqual(4 * 50 + 8 * 9, sum(made["lengths"]))
        made = self.plan("--lengths", file, "--share-prefixes", "--batch", 6, "--seed", 1, *QUADRATIC)
        taken = {i for i in range(12) if any(i == row for row in rows(made["data"]["rows"]))}
        self.assertTrue(taken <= set(range(12)) and len(taken) <= 6)
        self.assertEqual([], [p for p in self.folder.iterdir() if p.suffix == ".json"])

    def test_bad_token_ids_are_named_by_their_line(self):
        first = ANSWERS[0]
        for second, says in (({"input_ids": [1], "loss_mask": [1, 1]}, "line 2: loss_mask has 2 elements, and \"input_ids\" has 1 tokens"),
                             ({"input_ids": [1, "a"]}, "line 2: input_ids[1] is \"a\", expected a whole number"),
                             ({"input_ids": [1, 2, 4], "shares": [0, 3]}, "line 2: token 2 is 4, and 3 in row 0"),
                             ({"text": "a"}, "line 2: lacks the key \"input_ids\", it has text; name the field that holds the length or the "
                                             "tokens: --field NAME")):
            with self.subTest(says):
                self.fails("samples.jsonl: " + says, "--lengths", self.lines([first, second]), "--share-prefixes")

    def test_what_cannot_stand_beside_a_tree_is_refused(self):
        tree = ["--lengths", self.file("tree.tsv", TREE), "--format", "tree"]
        for option in (["--batch", 2], ["--batches", 2], ["--token-budget", 9000], ["--seed", 1], ["--field", "a"], ["--empty", "reject"],
                       ["--share-prefixes"], ["--max-context", 2000, "--over-long", "drop"]):
            with self.subTest(option):
                name = next(o for o in reversed(option) if str(o).startswith("--"))
                self.fails(f"{name} cannot be combined with --format tree: ", *tree, *option)
        for option, says in ((["--pad-to", 8], "--pad-to pads each sequence at its end"),
                             (["--compare", "megatron"], "the planner megatron plans each sample by itself"),
                             (["--planner", "chunked"], "the planner chunked plans each sample by itself"),
                             (["--trainer", "megatron"], "--trainer megatron cuts no sequence"),
                             (["--max-context", 1211], "the longest sample of")):
            with self.subTest(option):
                self.fails(says, *tree, *option)
        self.report(*tree, "--max-context", 1212, *QUADRATIC)

    def test_a_plan_of_replicas_that_copy_paths_is_as_it_claims(self):
        file = self.folder / "plan.json"
        self.report("--lengths", DATA / "trees/mooncake_sessions_512.tsv", "--format", "tree", *QUADRATIC, "--pp", 2, "--dp", 3, "--effort",
                    "fast", "--json", file)
        self.assertTrue(json.loads(file.read_text())["copies"])
        self.replays(file)

    def replays(self, file):
        run = subprocess.run([sys.executable, pathlib.Path(__file__).parent / "replay.py", file], capture_output=True, text=True)
        self.assertEqual(0, run.returncode, run.stdout + run.stderr)

    def test_a_tree_is_evaluated_by_packs_of_forward_alone(self):
        """A path is held until the last sample that goes on from it has run; on several replicas some paths are computed again."""
        file = self.folder / "plan.json"
        tree = ["--lengths", DATA / "trees/mooncake_sessions_512.tsv", "--format", "tree"]
        for layout in (["--pp", 4], ["--pp", 2, "--vpp", 2, "--dp", 3], ["--pp", 2, "--memory", "96007tokens"]):
            with self.subTest(layout):
                report = self.report(*tree, *QUADRATIC, *layout, "--forward-only", "--compare", "flat,tree_micro_batches", "--json", file)
                self.assertIn("evaluates forward alone", report)
                made = json.loads(file.read_text())
                self.assertEqual([[]] * len(made["replicas"]), [replica["backward"] for replica in made["replicas"]])
                self.assertEqual("--dp" in layout, bool(made.get("copies")))
                self.replays(file)
                times = {line.split()[0]: float(line.split()[1]) for line in report.splitlines() if line.startswith(("slimpack ", "flat "))}
                self.assertLess(3.5, times["flat"] / times["slimpack"])
        self.fails("of 96007 tokens and less need 96007 tokens, the limit is 96006 tokens", *tree, "--pp", 2, "--memory",
                   "96006tokens", "--forward-only", status=3)

    def test_the_backward_of_a_tree_is_cut_where_its_forward_is(self):
        file = self.folder / "plan.json"
        for dp in (1, 3):
            made = self.plan("--lengths", DATA / "trees/mooncake_sessions_512.tsv", "--format", "tree", *QUADRATIC, "--pp", 2, "--dp", dp,
                             "--effort", "fast", "--backward-cuts", "forward")
            file.write_text(json.dumps(made))
            for replica in made["replicas"]:
                pieces = [sorted(s for pack in replica[way] for s in pack["slices"]) for way in ("forward", "backward")]
                self.assertEqual(*pieces)
                self.assertLess(len(replica["sequences"]), len(pieces[0]))
            self.replays(file)

    def test_a_layout_is_chosen_for_a_tree(self):
        shown = self.report("--lengths", self.file("tree.tsv", TREE), "--format", "tree", "--model", "llama-3.1-8b", "--gpu", "h100", "--auto",
                            "--gpus", 8, "--effort", "fast")
        self.assertIn("samples", shown)

    def test_rivals_plan_the_same_samples(self):
        tree = ["--lengths", self.file("tree.tsv", TREE), "--format", "tree", *QUADRATIC, "--compare", "flat,tree_micro_batches"]
        rows = {line.split()[0]: line.split() for line in self.report(*tree).splitlines() if line.startswith(("slimpack ", "flat ", "tree_micro"))}
        self.assertEqual({"slimpack", "flat", "tree_micro_batches"}, set(rows))
        self.fails("the planner flat is slimpack with each sample alone", "--lengths", self.file("list.txt", "100\n200\n"),
                   "--compare", "flat")

    def test_token_ids_are_read_from_json_lines_alone(self):
        self.fails("--share-prefixes compares token ids, which are read from JSON lines, and not with --format csv", "--lengths",
                   self.lines(ANSWERS), "--share-prefixes", "--format", "csv")
        self.fails("--over-long truncate would cut off what samples that share beginnings are trained on", "--lengths", self.lines(ANSWERS),
                   "--share-prefixes", "--max-context", 4, "--over-long", "truncate")
        made = self.plan("--lengths", self.lines(ANSWERS), "--share-prefixes", "--max-context", 7, "--over-long", "drop", *QUADRATIC)
        self.assertEqual([3, 4, 1], made["lengths"])

    def test_sharing_nothing_is_planned_as_a_list(self):
        samples = [{"input_ids": [i] * 300 * (i + 1)} for i in range(6)]
        made = [self.plan("--lengths", self.lines(samples), *sharing, "--pp", 2, *QUADRATIC) for sharing in ([], ["--share-prefixes"])]
        for key in ("lengths", "data", "replicas", "step_time", "bounds"):
            self.assertEqual(made[0][key], made[1][key], key)

    def test_the_plan_of_a_tree_is_made_again_from_its_file(self):
        for arguments in (["--lengths", self.lines(ANSWERS), "--share-prefixes"], ["--lengths", self.file("tree.tsv", TREE), "--format", "tree"]):
            with self.subTest(arguments):
                file = self.folder / "first.json"
                self.report(*arguments, "--pp", 2, *QUADRATIC, "--json", file)
                self.assertRegex(self.report("--from", file), r"from      first.json: the same plan, hash \w+\n")
                made = json.loads(file.read_text())
                again = self.plan("--from", file)
                for key in ("hash", "lengths", "parents", "samples", "targets", "data", "made_with", "replicas"):
                    self.assertEqual(made[key], again[key], key)
                self.fails("--share-prefixes is about the sequences of --lengths, and", "--from", file, "--share-prefixes")

    def test_replicas_have_copies_of_what_several_need(self):
        tree = ["--lengths", self.file("tree.tsv", "-1\t5000\t0\t0\n" + "0\t3000\t3000\t1\n" * 8), "--format", "tree"]
        file = self.folder / "plan.json"
        report = self.report(*tree, "--dp", 2, *QUADRATIC, "--json", file)
        made = json.loads(file.read_text())
        copied = sum(made["lengths"]) - 29000
        self.assertIn(f"batch     8 samples, 64000 tokens flat, 29000 different (2.21 x fewer), in {len(made['lengths'])} sequences, "
                      f"{copied} tokens copied to other replicas, longest path 8000 ", report)
        self.assertEqual(len(made["lengths"]), len(rows(made["data"]["rows"])))

    def test_help_and_completion_name_trees(self):
        everything = self.report("--help-all")
        self.assertIn("--share-prefixes", everything)
        self.assertRegex(everything, r"tree: a node a line")
        self.assertTrue(re.search(r"--format\) COMPREPLY=\(\$\(compgen -W \"[^\"]*\btree\b", self.report("--completion", "bash")))


def rows(data):
    """Rows as plan files have them: numbers, and runs of numbers."""
    return [row for one in data for row in (range(one["first"], one["first"] + one["count"]) if isinstance(one, dict) else [one])]


def joined(slices):
    """Slices of a sequence that follow each other, as one."""
    made = []
    for sequence, begin, length in slices:
        if made and made[-1][0] == sequence and made[-1][1] + made[-1][2] == begin:
            made[-1][2] += length
        else:
            made.append([sequence, begin, length])
    return made


if __name__ == "__main__":
    unittest.main()
