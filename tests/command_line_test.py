#!/usr/bin/env python3
"""The command line's contract: exit status, one clear line on standard error, nothing written when it fails."""
import contextlib
import csv
import gzip
import io
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import types
import unittest

from replay import Wrong, replay, rows_of

DATA = pathlib.Path(__file__).parent.parent / "examples" / "data"
QUADRATIC = ["--cost", "quadratic:1e-6,4.069e-11,2,2.5,6.4e-5", "--hop", "2.4e-5"]
MODEL = ["--model", str(DATA / "models" / "llama-3.1-8b.json"), "--gpu", "h100"]
FULL = bool(os.environ.get("SLIMPACK_FULL"))


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.inputs = self.folder / "in"
        self.outputs = self.folder / "out"
        self.inputs.mkdir()
        self.outputs.mkdir()

    def tearDown(self):
        self.temporary.cleanup()

    def file(self, name, content):
        path = self.inputs / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def run_plan(self, *arguments):
        return subprocess.run([os.environ["SLIMPACK_PLAN"], *map(str, arguments)], capture_output=True, text=True, cwd=self.folder, timeout=120)

    def fails(self, status, says, *arguments):
        """Exit status, a single line that says all of `says`, and no output file."""
        outputs = ["--json", self.outputs / "p.json", "--trace", self.outputs / "t.json", "--timeline", self.outputs / "t.html"]
        run = self.run_plan(*arguments, *([] if "--json" in arguments else outputs))
        self.assertEqual(status, run.returncode, run.stderr)
        self.assertEqual(1, run.stderr.count("\n"), run.stderr)
        self.assertTrue(run.stderr.startswith("slimpack-plan: "), run.stderr)
        for word in says:
            self.assertIn(word, run.stderr)
        self.assertEqual([], list(self.outputs.iterdir()))

    def line(self, out, name):
        """The line of a report that begins with this word."""
        return next(line for line in out.splitlines() if line.startswith(name + " "))

    def plans(self, *arguments):
        run = self.run_plan(*arguments)
        self.assertEqual(0, run.returncode, run.stderr)
        return run.stdout

    def test_help_and_no_arguments(self):
        run = self.run_plan("--help-all")
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        for option in ("config completion lengths from trainer format field empty list-models force model mtp batch token-budget batches seed max-context over-long pad-to quantum gpu auto gpus dp pp tp cp ep summary expert-imbalance expert-overlap expert-nodes vpp memory "
                       "recompute memory-table hop call-overhead relay layers reduction cost planner compare baseline baseline-layout explain search-report effort weight-gradients backward-cuts zones rows divide threads time-limit json trace timeline graph").split():
            self.assertIn("--" + option, run.stdout)
        run = self.run_plan()
        self.assertEqual(2, run.returncode)
        self.assertIn("--help", run.stderr)
        self.assertEqual(1, run.stderr.count("\n"))

    def test_help_has_the_options_of_daily_use_in_groups(self):
        daily, everything = self.plans("--help"), self.plans("--help-all")
        self.assertRegex(daily, r"slimpack-plan --help-all shows \d+ more")
        options = {text: re.findall(r"^  (?:-h,)?(--[a-z-]+)", text, re.M) for text in (daily, everything)}
        self.assertLess(set(options[daily]), set(options[everything]))
        more = re.search(r"--help-all shows (\d+) more", daily)[1]
        self.assertEqual(len(options[everything]), len(options[daily]) + int(more))
        self.assertTrue(18 <= len(set(options[daily]) - {"--help", "--help-all"}) <= 24, options[daily])
        self.assertEqual(["Options", "Batch", "Model and machine", "Planning", "Output"], re.findall(r"^([A-Z][a-z ]+):$", daily.split("Examples:")[0], re.M))
        for option in ("--lengths", "--model", "--pp", "--auto", "--compare", "--timeline"):
            self.assertIn(option, options[daily])
        for option in ("--call-overhead", "--search-report", "--expert-nodes"):
            self.assertNotIn(option, options[daily])

    def test_version(self):
        version = dict(re.findall(r"#define SLIMPACK_VERSION_(MAJOR|MINOR|PATCH) (\d+)", (DATA.parent.parent / "include" / "slimpack" / "version.hpp").read_text()))
        self.assertEqual("slimpack-plan {MAJOR}.{MINOR}.{PATCH}\n".format(**version), self.plans("--version"))

    def test_examples_of_the_help_have_only_options_of_the_help(self):
        for asked in ("--help", "--help-all"):
            before, examples = self.plans(asked).split("Examples:\n")
            self.assertGreaterEqual(examples.count("slimpack-plan "), 3)
            for option in re.findall(r"--[a-z-]+", examples):
                self.assertIn(option + " ", before)

    def test_amounts_have_any_case_and_a_space(self):
        lengths = ("--lengths", self.file("l.txt", "100\n200\n"))
        for amount in ("70GiB", "70gib", "70 GiB", "70 GIB"):
            self.assertIn("70.00 GiB limit", self.plans(*lengths, *MODEL, "--tp", "2", "--memory", amount))
        for amount in ("8192tokens", "8192 Tokens"):
            self.assertIn("8192 tokens limit", self.plans(*lengths, *QUADRATIC, "--memory", amount))
        self.fails(2, ["is not an amount"], *lengths, *QUADRATIC, "--memory", "8192 ")
        self.fails(2, ["is not an amount"], *lengths, *QUADRATIC, "--memory", "8 GiB s")

    def test_bad_lengths_name_file_and_line(self):
        for content, says in (("", ["no lengths"]), ("\n\n", ["no lengths"]), ("0\n0\n", ["all of its 2 sequences are empty"]), ("5\n-3\n", ["line 2"]), ("5\n7\nabc\n", ["line 3"]),
                              ("12.5\n", ["line 1"]), ("99999999999999999999\n", ["line 1"]), ("3000000000\n", ["line 1"])):
            with self.subTest(content=content):
                self.fails(2, ["bad.txt", *says], "--lengths", self.file("bad.txt", content), *QUADRATIC)
        self.fails(2, ["nowhere.txt"], "--lengths", self.inputs / "nowhere.txt", *QUADRATIC)
        self.fails(2, [], "--lengths", self.inputs, *QUADRATIC)
        for option in ("--lengths", "--json", "--trace", "--timeline", "--graph", "--from", "--memory-table"):
            given = {"--lengths": self.file("l.txt", "5\n"), "--json": self.outputs / "p.json", option: ""}
            self.fails(2, [f"{option} is empty: give a file"], *QUADRATIC, *(word for pair in given.items() for word in pair))

    def test_pipes_that_nobody_writes_are_refused(self):
        pipe = self.inputs / "pipe"
        os.mkfifo(pipe)
        self.fails(2, ["pipe", "expected a file"], "--lengths", pipe, *QUADRATIC)
        self.fails(2, ["pipe", "expected a file"], "--lengths", self.file("l.txt", "100\n"), "--model", pipe, "--gpu", "h100")
        self.fails(2, ["pipe", "expected a file"], "--lengths", self.file("l.txt", "100\n"), *MODEL[:2], "--gpu", pipe)
        self.fails(2, ["pipe", "expected a file"], *self.profiled("--gpu", "h100", "--cost", f"profiled:{pipe}"))

    def test_pipes_that_are_written_are_read(self):
        for name in ("/dev/stdin", "-"):
            run = subprocess.run([os.environ["SLIMPACK_PLAN"], "--lengths", name, *QUADRATIC], input="100\n200\n", capture_output=True, text=True)
            self.assertIn("2 sequences, 300 tokens", run.stdout)

    def test_json_lines(self):
        path = self.file("batch.jsonl", '{"n": 300, "ids": [1, 2, 3]}\n{"n": 500, "ids": [1]}\n')
        self.assertIn("2 sequences, 800 tokens", self.plans("--lengths", path, "--field", "n", *QUADRATIC))
        self.assertIn("2 sequences, 4 tokens", self.plans("--lengths", path, "--field", "ids", "--format", "jsonl", *QUADRATIC))
        self.fails(2, ["line 1", 'lacks the key "m", it has n, ids', "--field NAME"], "--lengths", path, "--field", "m", *QUADRATIC)
        self.fails(2, ["line 1", 'lacks the key "length", it has n, ids', "--field NAME"], "--lengths", path, *QUADRATIC)
        self.fails(2, ["line 2"], "--lengths", self.file("b.jsonl", '{"length": 3}\n{"length": \n'), *QUADRATIC)

    def test_other_lists_of_lengths(self):
        array = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }".ljust(117) + b"\n" + struct.pack("<ii", 300, 500)
        for name, content, options in (("a.json", "[300, 500]", []), ("b.json", '[{"n": 300}, {"n": 500}]', ["--field", "n"]), ("c.csv", "id,n\na,300\nb,500\n", ["--field", "n"]),
                                       ("d.csv", "length\n300\n500\n", []), ("e.npy", array, []), ("f", "n\n300\n500\n", ["--format", "csv"])):
            self.assertIn("2 sequences, 800 tokens", self.plans("--lengths", self.file(name, content), *options, *QUADRATIC))
        self.fails(2, ["c.csv:1: lacks the column length, it has id, n", "--field NAME"], "--lengths", self.inputs / "c.csv", *QUADRATIC)
        self.fails(2, ["f2.npy", "not integers", "numpy.save"], "--lengths", self.file("f2.npy", array.replace(b"<i4", b"<f2")), *QUADRATIC)

    def test_compressed_lists(self):
        path = self.file("l.txt.gz", gzip.compress(b"300\n500\n"))
        run = self.run_plan("--lengths", path, *QUADRATIC)
        if run.returncode:
            self.fails(2, ["l.txt.gz: is compressed with gzip", "libboost-iostreams-dev"], "--lengths", path, *QUADRATIC)
        else:
            self.assertIn("2 sequences, 800 tokens", run.stdout)
            self.fails(2, ["bad.gz: line 2"], "--lengths", self.file("bad.gz", gzip.compress(b"300\nx\n")), *QUADRATIC)
            self.fails(2, ["cut.gz: could not be read to its end"], "--lengths", self.file("cut.gz", pathlib.Path(path).read_bytes()[:-9]), *QUADRATIC)
            self.fails(2, ["twice.gz: is compressed with gzip twice", "gzip -dc"], "--lengths",
                       self.file("twice.gz", gzip.compress(pathlib.Path(path).read_bytes())), *QUADRATIC)
            self.fails(2, ["idx.gz", "uncompressed"], "--lengths", self.file("idx.gz", gzip.compress((DATA / "megatron" / "tiny.idx").read_bytes())), *QUADRATIC)
        for start, kind in ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\0", "xz"), (b"BZh9", "bzip2")):
            self.fails(2, [f"is compressed with {kind}", "decompress it first"], "--lengths", self.file("l", start + b"\0" * 9), *QUADRATIC)

    def test_lists_that_may_be_misread(self):
        lists = pathlib.Path(__file__).parent / "io" / "lists"
        all13 = "13 sequences, 52099 tokens"
        for name, options, says in (("dict_lengths_plural.json", ["--field", "lengths"], all13), ("semicolon.csv", [], all13), ("tabs.tsv", [], all13), ("pandas_index.csv", [], all13),
                                    ("nested_field.jsonl", ["--field", "meta.length"], all13), ("cu_seqlens.npy", ["--format", "cu_seqlens"], all13),
                                    ("azure.csv", ["--field", "ContextTokens+GeneratedTokens"], "13 sequences, 52229 tokens"),
                                    ("rollout_len.jsonl", ["--field", "prompt_length+response_length"], "13 sequences, 53399 tokens"),
                                    ("hist.jsonl", ["--field", "count"], 'note      "count" is read as lengths, as asked; the file has other numbers under "length", too\n'),
                                    ("batches_of_lengths.json", ["--format", "json"], "3 sequences, 13 tokens")):
            self.assertIn(says, self.plans("--lengths", lists / name, *options, *QUADRATIC))
        for name, options, says in (("messages.jsonl", ["--field", "messages"], "messages[0] is an object, expected a token id"),
                                    ("conversations.jsonl", ["--field", "conversations"], "conversations[0] is an object, expected a token id"),
                                    ("batches_of_lengths.json", [], "counted as tokens with --format json"), ("nested_tokens.json", [], '[0][0][0] is "a", expected a token id'),
                                    ("cu_seqlens.npy", [], "they are read with --format cu_seqlens as ends, with --format npy as lengths"), ("rollout_nan.jsonl", [], "line 1: holds NaN"),
                                    ("null_one.jsonl", [], "line 6: length is null"), ("missing_one.jsonl", [], 'line 6: lacks the key "length"'),
                                    ("shard.00000.mds", [], "is a shard of MosaicML's streaming (MDS)")):
            self.fails(2, [f"{name}: ", says], "--lengths", lists / name, *options, *QUADRATIC)
        self.fails(2, ["length says 9 tokens, and input_ids says 1; name the field that holds the length or the tokens: --field NAME"], "--lengths",
                   self.file("l.jsonl", '{"length": 9, "input_ids": [1]}\n{"length": 9, "input_ids": [1]}\n'), *QUADRATIC)
        self.fails(2, ["in every sample: with --field length it is read as tokens"], "--lengths", self.file("l.jsonl", '{"length": 2, "text": "ab"}\n{"length": 3, "text": "abc"}\n'), *QUADRATIC)
        self.fails(2, ["with --field length each is read once"], "--lengths", self.file("h.csv", "length,count\n500,5\n300,7\n"), *QUADRATIC)
        self.assertIn("4 sequences, 390 tokens", self.plans("--lengths", self.file("c.jsonl", '{"cu": [0, 100, 300]}\n{"cu": [0, 50, 90]}\n'), "--field", "cu",
                                                            "--format", "cu_seqlens", *QUADRATIC))
        self.assertIn('note      "length" alone is read; the file has "prompt_len", too: with --field length+prompt_len their sum is read\n',
                      self.plans("--lengths", self.file("p.csv", "length,prompt_len\n500,30\n300,7\n"), *QUADRATIC))
        run = self.run_plan("--lengths", self.file("l.csv", "a,length\n1," + "y\x07" * 100000 + "\n"), *QUADRATIC)
        self.assertEqual((2, True, False), (run.returncode, len(run.stderr) < 400, "\x07" in run.stderr))

    def test_sequences_without_tokens(self):
        path = self.file("l.jsonl", '{"n": 700}\n{"n": 0}\n{"n": 500}\n{"n": 0}\n{"n": 900}\n')
        typed = ("--lengths", path, "--field", "n", *QUADRATIC, "--json", self.outputs / "p.json")
        self.fails(2, ["l.jsonl: line 2: the sequence is empty, expected at least 1 token: leave empty sequences out, or give --empty skip"], *typed, "--empty", "reject")
        for option in ([], ["--empty", "skip"]):
            self.assertIn(f"note      2 of 5 sequences are empty and left out; the first is {path}: line 2\n", self.plans(*typed, *option))
            self.assertEqual((path, [(0, 700), (2, 500), (4, 900)]), self.data_of("p.json"))
        self.plans(*typed, "--seed", "3", "--batch", "1", "--batches", "3")
        self.assertEqual([(0, 700), (2, 500), (4, 900)], sorted(self.data_of(f"p-{i}.json")[1][0] for i in range(3)))
        run = self.run_plan("--from", self.outputs / "p.json", "--empty", "skip")
        self.assertEqual(2, run.returncode)
        self.assertIn("--empty is about the sequences of --lengths", run.stderr)

    def test_columns_that_python_converts(self):
        for start, kind, read in ((b"PAR1\x15\x06", "a Parquet file", "read_parquet"), (b"ARROW1\0\0", "an Arrow file", "open_file"), (b"\xff" * 4 + b"\x80", "an Arrow stream", "open_stream")):
            for field, columns in (("length", ["length"]), ("n", ["n"]), ("prompt+response", ["prompt", "response"])):
                options = [] if field == "length" else ["--field", field]
                self.fails(2, [f"is {kind}", 'python3 -c "import', f"{read}('", f"{columns}", "> lengths.txt"], "--lengths", self.file("l", start), *options, *QUADRATIC)

    def test_the_line_of_python_counts_tokens_and_nothing_else(self):
        """The line that the message prints, on rows as pandas gives them: numbers, and arrays of NumPy."""
        said = self.run_plan("--lengths", self.file("l", b"PAR1\x15\x06"), "--field", "a+b", *QUADRATIC).stderr
        line = re.search(r'python3 -c "(.*)" > lengths', said).group(1)
        line = re.sub(r"^import pandas; ", "", line).replace(f"pandas.read_parquet('{self.inputs / 'l'}', columns=['a', 'b'])", "table")

        class array(list):
            ndim = 1

            def __init__(self, values, kind):
                super().__init__(values)
                self.size, self.dtype = len(values), types.SimpleNamespace(kind=kind)

            __radd__ = __add__ = lambda self, other: self

        def printed(*rows):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(line, {"table": types.SimpleNamespace(itertuples=lambda index: rows)})
            return out.getvalue()

        ids = lambda *values: array(values, "i")
        self.assertEqual("7\n5\n3\n", printed((3, 4), (ids(1, 2), 3), (ids(7, 8, 9), ids())))
        self.assertEqual("nan\n", printed((float("nan"), 2)))
        self.assertNotRegex(printed((array([{"role": "user"}], "O"), 2)), r"(?m)^\d+$")
        for text in ("two words", None):
            self.assertRaises(TypeError, printed, (text, 2))

    def test_token_budget(self):
        path = self.file("l.txt", "100\n2000\n300\n50\n1000\n")
        made = self.inputs / "p.json"
        typed = ("--lengths", path, *QUADRATIC, "--json", made)
        for budget, sizes in ((2000, [[100], [2000], [300, 50, 1000]]), (2100, [[100, 2000], [300, 50, 1000]]), (3450, [[100, 2000, 300, 50, 1000]])):
            self.plans(*typed, "--token-budget", budget, "--batches", len(sizes))
            files = [made] if len(sizes) == 1 else [self.inputs / f"p-{i}.json" for i in range(len(sizes))]
            self.assertEqual(sizes, [json.loads(file.read_text())["lengths"] for file in files])
            self.fails(2, [f"fills {len(sizes)} of the {len(sizes) + 1} batches of --token-budget {budget}", "--batches"], *typed, "--token-budget", budget, "--batches", len(sizes) + 1)
        self.fails(2, ["sequence 1 has 2000 tokens", "--token-budget 1999", "--over-long"], *typed, "--token-budget", "1999")
        self.plans(*typed, "--token-budget", "1999", "--max-context", "1999", "--over-long", "truncate")
        self.fails(2, ["--batch", "--token-budget"], *typed, "--token-budget", "1999", "--batch", "2")

    def test_megatron_index(self):
        whole = (DATA / "megatron" / "tiny.idx").read_bytes()
        lengths = [int(x) for x in (DATA / "megatron" / "tiny.lengths.txt").read_text().split()]
        self.assertIn(f"{len(lengths)} sequences, {sum(lengths)} tokens", self.plans("--lengths", DATA / "megatron" / "tiny.idx", *QUADRATIC))
        for size in (5, 20, 33, 40, len(whole) - 1):
            self.fails(2, ["cut.idx"], "--lengths", self.file("cut.idx", whole[:size]), "--format", "idx", *QUADRATIC)
        self.fails(2, ["bad.idx"], "--lengths", self.file("bad.idx", whole[:18] + b"\xff" * 8 + whole[26:]), *QUADRATIC)

    def test_exchanges(self):
        path = self.file("giant.txt", "60000\n400\n900\n")
        two = ("--lengths", path, *QUADRATIC, "--dp", "2")
        for option, wrong, choices in (("--exchange", "nonsense", "{keep,queries,ring,any}"), ("--exchange", "keep,ring", "{keep,queries,ring,any}"),
                                       ("--divide", "half", "{searched,estimated}")):
            self.fails(2, [f"{option}: {wrong} not in {choices}", "--help"], *two, option, wrong)
        for option in (("--exchange", "ring"), ("--sharers", "2"), ("--divide", "estimated")):
            for planner, how in (("megatron", "puts each sequence on one replica"), ("hybrid_dp", "shares sequences by rules of its own")):
                self.fails(2, [f"{option[0]} is for the planner slimpack; {planner} {how}: leave it out"], *two, "--planner", planner, *option)
            self.plans(*two, "--planner", "megatron", "--compare", "slimpack", *option)
        self.plans(*two, "--planner", "megatron", "--sharers", "1")
        for exchange in ("keep", "queries", "ring"):
            made = self.inputs / f"{exchange}.json"
            self.assertIn("shared    sequence 0 (60000 tokens) by replicas 0 1", self.plans(*two, "--exchange", exchange, "--json", made))
            self.assertEqual({exchange}, {m["exchange"] for m in json.loads(made.read_text())["merges"]})
        self.fails(2, ["--sharers 1 shares no sequence, so there is nothing for --exchange to do: leave out one of them"], *two, "--exchange", "ring", "--sharers", "1")

    def test_many_shared_sequences_are_one_line(self):
        for count, lines in ((2, 2), (9, 1)):
            given = ("--lengths", self.file("l.txt", "60000\n" * count), *QUADRATIC, "--dp", "2", "--memory", "40000tokens")
            shared = re.findall(r"(?m)^shared    .*", self.plans(*given))
            self.assertEqual(lines, len(shared))
            self.assertEqual(count, len(re.findall(r"(?m)^shared    sequence ", self.plans(*given, "--verbose"))))
        self.assertEqual("shared    9 sequences with 540000 tokens, the longest of 60000, by 2 replicas each (--verbose lists them)", shared[0])

    def test_over_long(self):
        path = self.file("long.txt", "100\n900\n300\n")
        self.fails(2, ["1 of 3", "500", "--over-long"], "--lengths", path, *QUADRATIC, "--max-context", "500")
        out = self.plans("--lengths", path, *QUADRATIC, "--max-context", "500", "--over-long", "truncate")
        exceed = "note      1 of 3 sequences exceed --max-context 500: "
        self.assertIn(exceed + "truncated, which loses 400 of the 1300 tokens of the list, 30.77 %\n", out)
        self.assertIn("3 sequences, 900 tokens", out)
        out = self.plans("--lengths", path, *QUADRATIC, "--max-context", "500", "--over-long", "drop")
        self.assertIn(exceed + "dropped, which loses 900 of the 1300 tokens of the list, 69.23 %\n", out)
        self.assertIn("2 sequences, 400 tokens", out)
        self.fails(2, ["nothing is left"], "--lengths", path, *QUADRATIC, "--max-context", "50", "--over-long", "drop")

    def test_pad_to_rounds_lengths_up(self):
        path, made = self.file("l.txt", "100\n128\n1\n300\n"), self.outputs / "p.json"
        out = self.plans("--lengths", path, *QUADRATIC, "--pad-to", "16", "--json", made)
        # 100 to 112, 1 to 16, 300 to 304: 12 + 15 + 4 of 112 + 128 + 16 + 304.
        self.assertIn("padding   31 of 560 tokens, 5.54 %: --pad-to rounds each length up to a multiple of 16\n", out)
        self.assertIn("4 sequences, 560 tokens", out)
        self.assertEqual([(0, 112), (1, 128), (2, 16), (3, 304)], self.data_of("p.json")[1])
        plan = json.loads(made.read_text())
        self.assertEqual({"lengths": path, "pad-to": "16"}, plan["made_with"]["batch"])
        again = self.plans("--from", made, "--json", self.outputs / "q.json")
        self.assertIn("the same plan", again)
        self.assertEqual(plan["made_with"], json.loads((self.outputs / "q.json").read_text())["made_with"])
        made.unlink(), (self.outputs / "q.json").unlink()
        # Shuffled, and in batches: each has the padding of its own sequences.
        out = self.plans("--lengths", path, *QUADRATIC, "--pad-to", "16", "--seed", "1", "--batch", "2", "--batches", "2")
        of = [list(map(int, re.search(r"padding   (\d+) of (\d+) tokens", part).groups())) for part in out.split("batch 1\n")]
        self.assertEqual((31, 560), tuple(map(sum, zip(*of))))
        out = self.plans("--lengths", path, *QUADRATIC, "--pad-to", "16", "--batch", "2", "--batches", "2", "--summary")
        self.assertIn("padding   31 of 560 tokens", out)
        # A budget counts what runs: 2 x 112 are more than 220 tokens.
        self.assertIn("1 sequences, 112 tokens", self.plans("--lengths", self.file("m.txt", "100\n100\n"), *QUADRATIC, "--pad-to", "16", "--token-budget", "220"))
        self.assertNotIn("padding", self.plans("--lengths", path, *QUADRATIC))
        self.assertIn("padding   0 of 529 tokens, 0.00 %", self.plans("--lengths", path, *QUADRATIC, "--pad-to", "1"))
        out = self.plans("--lengths", path, *QUADRATIC, "--pad-to", "16", "--max-context", "160", "--over-long", "truncate")
        self.assertIn("4 sequences, 416 tokens", out)  # 112 + 128 + 16 + 160
        self.fails(2, ["--pad-to 16 would pad a sequence of --max-context 150 to 160 tokens"], "--lengths", path, *QUADRATIC, "--pad-to", "16", "--max-context", "150")
        for value in ("0", "-1", "x", "2147483648"):
            self.fails(2, ["--pad-to"], "--lengths", path, *QUADRATIC, "--pad-to", value)

    def slices_of(self, plan):
        """The lengths of all slices of a plan, forward and backward, and the tokens of each pass."""
        slices = {way: [s[2] for replica in plan["replicas"] for pack in replica[way] for s in pack["slices"]] for way in ("forward", "backward")}
        return [n for way in slices.values() for n in way], [sum(way) for way in slices.values()]

    def test_context_ranks_divide_each_slice(self):
        path, made = self.file("l.txt", "1000\n3001\n77\n12345\n"), self.outputs / "p.json"
        for cp, quantum in ((2, 128), (3, 132), (4, 128), (1, 128)):
            for planner in ("slimpack", "chunked", "slimpipe") if cp == 4 else ("slimpack",):
                with self.subTest(cp=cp, planner=planner):
                    typed = ["--lengths", path, *MODEL, "--cost", "transformer", "--pp", "2", "--dp", "2", "--tp", "2", "--cp", cp, "--effort", "fast", "--planner", planner,
                             "--json", made]
                    out = self.plans(*typed)
                    plan = json.loads(made.read_text())
                    self.assertEqual(quantum, plan["quantum"])
                    odd = sum(n % (2 * cp) != 0 for n in (1000, 3001, 77, 12345))
                    verb = "sequences have last slices of" if odd > 1 else "sequences has a last slice of"
                    note = f"note      {odd} of 4 {verb} no multiple of {2 * cp} tokens, 2 x --cp, as zigzag ring attention needs; --pad-to {2 * cp} pads them\n"
                    self.assertEqual(cp > 1, note in out, out)
                    slices, _ = self.slices_of(plan)
                    self.assertLessEqual(sum(n % (2 * cp) != 0 for n in slices), 2 * odd)  # of each pass the last of these sequences
                    out = self.plans(*typed, "--pad-to", 2 * cp)
                    plan = json.loads(made.read_text())
                    replay(plan)
                    lengths = [(n + 2 * cp - 1) // (2 * cp) * 2 * cp for n in (1000, 3001, 77, 12345)]
                    self.assertEqual(lengths, plan["lengths"])
                    slices, sums = self.slices_of(plan)
                    self.assertEqual({0}, {n % (2 * cp) for n in slices})
                    self.assertEqual([sum(lengths)] * 2, sums)
                    self.assertNotIn("zigzag", out)
        made.unlink()
        typed = ["--lengths", path, *MODEL, "--cost", "transformer", "--pp", "2", "--effort", "fast"]
        self.fails(2, ["--quantum 100 is no multiple of --cp 3", "give a multiple of 6, or leave it out for 132"], *typed, "--cp", "3", "--quantum", "100")
        out = self.plans(*typed, "--cp", "4", "--quantum", "100", "--pad-to", "8")
        self.assertIn("note      cuts at multiples of 100 tokens make slices of no multiple of 8 tokens, 2 x --cp, as zigzag ring attention needs: give a --quantum", out)

    def test_auto_chooses_the_quantum_of_each_layout(self):
        made = self.outputs / "p.json"
        typed = ["--lengths", self.file("l.txt", "9000\n3001\n77\n"), *MODEL, "--cost", "transformer", "--auto", "--effort", "look", "--json", made]
        self.plans(*typed, "--gpus", "6", "--cp", "3")
        plan = json.loads(made.read_text())
        self.assertEqual((3, 132), (plan["cp"], plan["quantum"]))
        self.assertIn("the same plan", self.plans("--from", made))
        self.plans(*typed, "--gpus", "6", "--quantum", "100")
        plan = json.loads(made.read_text())
        self.assertEqual((100, 0), (plan["quantum"], 100 % plan["cp"]))
        self.plans(*typed, "--gpus", "8", "--cp", "4")
        self.assertEqual(128, json.loads(made.read_text())["quantum"])
        made.unlink()
        self.fails(2, ["--quantum 100 is no multiple of --cp 3"], *typed[:-2], "--gpus", "6", "--cp", "3", "--quantum", "100")

    def test_batches(self):
        path = self.file("four.txt", "1\n2\n4\n8\n")
        self.fails(2, ["4 sequences", "5"], "--lengths", path, *QUADRATIC, "--batch", "5")
        self.fails(2, ["4 sequences"], "--lengths", path, *QUADRATIC, "--batch", "2", "--batches", "3")
        self.plans("--lengths", path, *QUADRATIC, "--batch", "2", "--batches", "2", "--json", self.outputs / "p.json")
        lengths = [json.loads((self.outputs / f"p-{i}.json").read_text())["lengths"] for i in (0, 1)]
        self.assertEqual([[1, 2], [4, 8]], lengths)
        self.plans("--lengths", path, *QUADRATIC, "--seed", "1", "--json", self.outputs / "s.json")
        self.assertEqual([1, 2, 4, 8], sorted(json.loads((self.outputs / "s.json").read_text())["lengths"]))

    def data_of(self, name):
        """The file of a plan's data, and the row of each sequence with its length, as the replay reads them."""
        made = json.loads((self.outputs / name).read_text())
        replay(made)
        return made["data"]["file"], list(zip(rows_of(made["data"]), made["lengths"]))

    def test_plan_files_say_which_rows_of_the_data_they_have(self):
        lengths = [100 + 7 * i for i in range(9)]
        kinds = {"l.txt": "\n" + "\n\n".join(map(str, lengths)), "l.csv": "id,n\n\n" + "".join(f"a,{n}\n" for n in lengths), "l.json": json.dumps(lengths),
                 "l.jsonl": "\n".join(f'{{"n": {n}}}\n' for n in lengths)}
        for name, content in kinds.items():
            path = self.file(name, content)
            field = ["--field", "n"] if name in ("l.csv", "l.jsonl") else []
            self.plans("--lengths", path, *field, *QUADRATIC, "--batch", "4", "--batches", "2", "--json", self.outputs / "p.json")
            for batch in (0, 1):
                self.assertEqual((path, [(i, lengths[i]) for i in range(4 * batch, 4 * batch + 4)]), self.data_of(f"p-{batch}.json"))
        path = self.inputs / "l.txt"
        for options, kept in ((["--seed", "3"], lengths), (["--seed", "3", "--max-context", "130", "--over-long", "drop"], lengths[:5]),
                              (["--max-context", "130", "--over-long", "truncate"], [min(n, 130) for n in lengths])):
            self.plans("--lengths", path, *QUADRATIC, *options, "--json", self.outputs / "p.json")
            file, rows = self.data_of("p.json")
            self.assertEqual((str(path), sorted(rows)), (file, list(enumerate(kept))))
            self.assertEqual("--seed" in options, rows != sorted(rows))
        self.plans("--lengths", path, *QUADRATIC, "--token-budget", "350", "--batches", "3", "--json", self.outputs / "p.json")
        rows = [[row for row, _ in self.data_of(f"p-{batch}.json")[1]] for batch in range(3)]
        self.assertEqual([[0, 1, 2], [3, 4], [5, 6]], rows)

    def test_rows_are_kept_where_a_plan_is_made_again(self):
        path = self.file("l.txt", "300\n500\n7000\n70\n")
        typed = ["--lengths", path, *QUADRATIC, "--seed", "1", "--batch", "2", "--batches", "2", "--json", self.outputs / "p.json"]
        self.plans(*typed)
        for batch in (0, 1):
            made = json.loads((self.outputs / f"p-{batch}.json").read_text())
            self.assertEqual({"lengths": path, "batch": "2", "batches": "2", "seed": "1", "number": str(batch)}, made["made_with"]["batch"])
            self.assertIn("the same plan", self.plans("--from", self.outputs / f"p-{batch}.json", "--json", self.outputs / "q.json"))
            again = json.loads((self.outputs / "q.json").read_text())
            self.assertEqual((made["data"], made["made_with"]), (again["data"], again["made_with"]))
            replay(again)
        self.plans("--from", self.outputs / "p-1.json", "--lengths", self.file("m.txt", "200\n100\n"), "--json", self.outputs / "q.json")
        again = json.loads((self.outputs / "q.json").read_text())
        self.assertEqual({"file": str(self.inputs / "m.txt"), "rows": [0, 1]}, again["data"])
        self.assertEqual({"lengths": str(self.inputs / "m.txt")}, again["made_with"]["batch"])
        without = {key: value for key, value in made.items() if key != "data"}
        (self.outputs / "p.json").write_text(json.dumps(without))
        self.plans("--from", self.outputs / "p.json", "--json", self.outputs / "q.json")
        self.assertNotIn("data", json.loads((self.outputs / "q.json").read_text()))
        (self.outputs / "p.json").unlink()
        for rows, says in (([0], "data.rows is an array, expected 2 rows, one per sequence"), ([0, -1], "data.rows[1] is -1"), ([3, 3], "row 3 comes twice")):
            bad = self.file("bad.json", json.dumps({**made, "data": {"file": path, "rows": rows}}))
            run = self.run_plan("--from", bad)
            self.assertEqual((2, 1), (run.returncode, run.stderr.count("\n")), run.stderr)
            self.assertIn(says, run.stderr)
            with self.assertRaises(Wrong):
                replay(json.loads(pathlib.Path(bad).read_text()))

    def test_a_long_list_without_a_batch_is_noted(self):
        said = "sequences are planned as one batch, one step of training; --batch 512"
        for size in (2048, 2049):
            lengths = ("--lengths", self.file("l.txt", "100\n" * size), *QUADRATIC, "--effort", "fast")
            self.assertEqual(size == 2049, f"note      all {size} {said}" in self.plans(*lengths))
            self.assertNotIn("as one batch", self.plans(*lengths, "--batch", size))

    def test_bad_models_and_gpus(self):
        lengths = self.file("l.txt", "100\n200\n")
        good = json.loads((DATA / "models" / "llama-3.1-8b.json").read_text())
        for key, value in (("hidden_size", None), ("num_hidden_layers", None), ("num_attention_heads", 0), ("vocab_size", -5),
                           ("num_hidden_layers", "many"), ("num_key_value_heads", 7), ("intermediate_size", 1e300)):
            changed = {**good, key: value}
            if value is None:
                del changed[key]
            with self.subTest(key=key, value=value):
                self.fails(2, ["config.json", key], "--lengths", lengths, "--model", self.file("config.json", json.dumps(changed)), "--gpu", "h100")
        self.fails(2, ["config.json"], "--lengths", lengths, "--model", self.file("config.json", "{ not json"), "--gpu", "h100")
        self.fails(2, ["v100", "--gpu takes a100, b200, h100, h100-96gb-500w, h200, h800, or a JSON file"], "--lengths", lengths, "--model", DATA / "models" / "llama-3.1-8b.json", "--gpu", "v100")
        self.fails(2, ["gpu.json"], "--lengths", lengths, "--model", DATA / "models" / "llama-3.1-8b.json", "--gpu", self.file("gpu.json", "{}"))
        self.fails(2, ["--model", "--gpu", "--cost quadratic:L,A,RL,RA,O and --hop SECONDS"], "--lengths", lengths)

    def planned_model(self, config, *arguments):
        """The report, of one stage of a short batch whose memory is not looked at."""
        typed = ["--lengths", self.file("l.txt", "9000\n100\n200\n"), "--model", config, "--gpu", "h200", "--memory", "10000000tokens", "--effort", "fast"]
        return self.plans(*typed, *arguments)

    def test_models_are_told_with_what_their_layers_are(self):
        models = pathlib.Path(__file__).parent / "io" / "models"
        for name, facts in (("Qwen--Qwen3-30B-A3B", "30.5 B parameters, 3.0 B active, 48 layers full, experts in all of them"),
                            ("ernie-4.5-21b-a3b", "21.8 B parameters, 3.4 B active, 28 layers full, experts in 27 of them"),
                            ("smollm3-3b", "3.1 B parameters, 36 layers full")):
            out = self.planned_model(models / f"{name}.json")
            self.assertRegex(self.line(out, "model"), rf"^model     {re.escape(name)}, cost \S+ on \S+: {facts}$")
            self.assertNotIn("note      ", out.split("\nmodel ")[0].split("prices")[0])
        self.assertIn("note      of the model only the language model is planned, llm_config; left out: \"vision_config\"\n", self.planned_model(models / "internvl3-8b.json"))
        out = self.planned_model(models / "internvl3-8b.json", "--batch", "2")
        self.assertIn("7.6 B parameters", out)

    def test_layers_of_every_kind_are_told(self):
        models = pathlib.Path(__file__).parent / "io" / "models"
        for name, facts in (("gpt-oss-120b", "116.8 B parameters, 5.1 B active, 18 layers full + 18 window 128, experts in all of them"),
                            ("deepseek-v3.2", r"671.\d B parameters, 3\d.\d B active, 61 layers top 2048, experts in 58 of them"),
                            ("llama-4-scout", r"107.8 B parameters, 1\d.\d B active, 12 layers full \+ 36 chunks of 8192, experts in all of them"),
                            ("nemotron-3-nano-30b-a3b", r"31.6 B parameters, 3.\d B active, 6 layers full \+ 23 Mamba-2 \+ 23 without attention, experts in 23 of them"),
                            ("nemotron-h-56b", r"56.3 B parameters, 10 layers full \+ 54 Mamba-2 \+ 54 without attention"),
                            ("qwen3-next-80b-a3b", r"79.7 B parameters, 3.\d B active, 12 layers full \+ 36 delta rule, experts in all of them"),
                            (models / "minimax-m1.json", r"456.1 B parameters, 47.\d B active, 10 layers full \+ 70 Lightning, experts in all of them"),
                            (models / "jamba-v0.1.json", r"51.6 B parameters, 11.8 B active, 4 layers full \+ 28 Mamba, experts in 16 of them")):
            with self.subTest(name):
                out = self.planned_model(name)
                self.assertRegex(self.line(out, "model"), ": " + facts.replace(" + 18 window", r" \+ 18 window") + "$")
        self.fails(2, ["zamba2", "whose shared_blocks is true", "which is not priced; give times of its stages instead"], "--lengths", self.file("l.txt", "100\n"), "--gpu", "h200",
                   "--model", self.file("zamba.json", '{"model_type": "zamba2", "num_hidden_layers": 4}'))

    def test_layers_that_predict_further_tokens_are_planned_where_asked(self):
        left_out = "note      num_nextn_predict_layers is 1: layers that predict further tokens are left out; a training with them takes longer (--mtp on plans them)\n"
        for typed in ((), ("--mtp", "off")):
            out = self.planned_model("deepseek-v3", *typed)
            self.assertIn(left_out, out)
            self.assertIn(": 671.0 B parameters, 36.6 B active, 61 layers full, experts in 58 of them\n", out)
        out = self.planned_model("deepseek-v3", "--mtp", "on", "--json", self.outputs / "p.json")
        self.assertNotIn("further tokens are left out", out)
        self.assertRegex(self.line(out, "model"), r": 68\d.\d B parameters, .*, 62 layers full, experts in 59 of them, the last predicts further tokens$")
        self.assertIn("the same plan", self.plans("--from", self.outputs / "p.json"))  # the option is in the plan
        (self.outputs / "p.json").unlink()
        given = ["--lengths", self.file("l.txt", "100\n200\n")]
        self.fails(2, ["--mtp on: llama-3.1-8b has no layers that predict further tokens; leave it out"], *given, *MODEL, "--mtp", "on")
        self.fails(2, ["--mtp", "both"], *given, *MODEL, "--mtp", "both")
        self.fails(2, ["--mtp is about the layers of a model: give --model, or leave it out"], *given, *QUADRATIC, "--mtp", "on")

    def profiled(self, *arguments):
        """The arguments of a small plan with a profile."""
        return ["--lengths", self.file("l.txt", "100\n200\n5000\n"), "--model", DATA / "models" / "llama-3.1-8b.json", "--tp", "2", "--pp", "4", *arguments]

    def test_profiles_that_are_shipped(self):
        for gpu, kernel in (("h100", "H100-SXM5"), ("a100", "A100-PCIe")):
            out = self.plans(*self.profiled("--gpu", gpu, "--cost", f"profiled:{DATA / 'profiles'}", "--json", self.outputs / "p.json"))
            for word in ("% measured", "% interpolated", "% extrapolated", "% derived", "% modelled", kernel, "so that no time falls", "links     measured",
                         "% attention: ", "% products: ", "% element-wise: ", "% traffic: ",
                         f"profiles/gemm_bf16_{gpu}_sxm.csv:", "% faster than the smaller size", "memory_galvatron.csv:1: skipped"):
                self.assertIn(word, out)
            other = "a100" if gpu == "h100" else "h100"
            self.assertNotIn(f"gemm_bf16_{other}_sxm.csv:2", out)
            for table in (DATA / "profiles").glob("*.csv"):
                self.assertEqual(1, out.count(f"table     {table}: "), table)
            for name, use in ((f"gemm_bf16_{gpu}_sxm", "all 1100 rows used for products"), (f"gemm_bf16_{other}_sxm", f"all 1100 rows not used, of {other.upper()}-SXM"),
                              (f"collectives_nvlink_{gpu}_sxm", "all 252 rows used for links"), ("memory_galvatron", "not used, its columns are no measurements"),
                              (f"attention_fwd_causal_{gpu}_sxm", "all 600 rows used for the shape of attention, scaled to "), ("layer_ops_vidur", "not used, no layer of llama-3.1-8b on tp 2")):
                self.assertRegex(out, rf"(?m)^table     .*/{name}\.csv: .*{re.escape(use)}")
            self.assertEqual(f"profiled:{DATA / 'profiles'}", json.loads((self.outputs / "p.json").read_text())["cost"])

    def test_a_gpu_that_was_not_measured(self):
        for gpu in ("h200", "b200"):
            self.fails(2, [gpu, "only on a100, h100", "examples/profile", "--cost transformer"], *self.profiled("--gpu", gpu, "--cost", f"profiled:{DATA / 'profiles'}"))

    def test_prices_are_measured_where_tables_are_shipped(self):
        made = {}
        errors = [row for row in self.table("price_errors") if row["model"] == "dense"]
        for gpu, typed, cost in (("h100", [], "measured"), ("a100", [], "measured"), ("h100-96gb-500w", [], "measured"), ("h200", [], "transformer"),
                                 ("h100", ["--cost", "measured"], "measured"), ("h100", ["--cost", "transformer"], "transformer"),
                                 ("h100", ["--cost", "transformer:sheet"], "transformer:sheet")):
            out = self.plans(*self.profiled("--gpu", gpu, *typed, "--json", self.outputs / "p.json"))
            plan = json.loads((self.outputs / "p.json").read_text())
            self.assertEqual(cost, plan["cost"])
            self.assertTrue(self.line(out, "prices").startswith(f"prices    {cost}: "), out)
            family = gpu.split("-")[0] if any(gpu.split("-")[0] == row["gpu"] for row in errors) else None
            own = [row for row in errors if row["cost"] == cost and family in (None, row["gpu"])]
            self.says_errors(out, own, ", on other GPUs than this" if family is None else "")
            if cost == "measured":
                self.assertRegex(self.line(out, "prices"), r", \d+ % of the time interpolated between measured points, \d+ % extrapolated from them$")
            made[gpu, cost] = plan["step_time"]
        self.assertLess(made["h100", "transformer:sheet"], made["h100", "measured"])
        self.assertLess(made["h100", "measured"], made["h100-96gb-500w", "measured"], "a slower clock and memory")
        self.assertIn("table     ", self.plans(*self.profiled("--gpu", "h100", "--verbose")))
        (self.outputs / "p.json").unlink()
        self.fails(2, ["H200", "only on a100, h100", "--cost transformer"], *self.profiled("--gpu", "h200", "--cost", "measured"))
        self.fails(2, ["measured, transformer, transformer:sheet, profiled:DIR"], *self.profiled("--gpu", "h100", "--cost", "transformer:sheets"))

    def table(self, name):
        return list(csv.DictReader((DATA / f"{name}.csv").read_text().splitlines()))

    def says_errors(self, out, rows, unlike=""):
        """A report says of these rows of price_errors.csv, and of no others, how long the trainings took beside their predictions."""
        said = re.findall(r"(?m)^          checked on .*$", out)
        self.assertEqual(len(rows), len(said), out)
        for row, line in zip(rows, said):
            longer = 1 / (1 + float(row["worst_error_pct"]) / 100) - 1
            one = row["runs"] == "1"
            self.assertEqual(f"          checked on {row['runs']} published training{'' if one else 's'} ({row['what']}){unlike}: "
                             f"{'it' if one else 'off by ' + row['mean_error_pct'] + ' % in the mean, at worst one'} took "
                             f"{abs(100 * longer):.1f} % {'longer' if longer > 0 else 'less'} than such prices say", line)

    def program_with(self, **tables):
        """A copy of the program beside data of its own, whose tables of errors are these."""
        home = self.folder / "home"
        (home / "data").mkdir(parents=True)
        shutil.copy(os.environ["SLIMPACK_PLAN"], home / "slimpack-plan")
        for name in ("models", "gpus", "profiles"):
            (home / "data" / name).symlink_to(DATA / name)
        for name, rows in tables.items():
            with (home / "data" / f"{name}.csv").open("w") as out:
                written = csv.DictWriter(out, self.table(name)[0])
                written.writeheader()
                written.writerows(rows)
        return home / "slimpack-plan"

    def test_prices_of_a_model_with_experts_name_trainings_with_experts(self):
        errors = self.table("price_errors")
        typed = ["--lengths", self.file("l.txt", "100\n200\n5000\n"), "--model", "mixtral-8x7b", "--tp", "8", "--dp", "8", "--ep", "8"]
        for gpu, cost, unlike in (("h100", "measured", ""), ("h100", "transformer", ""), ("h100", "transformer:sheet", ""), ("h800", "transformer", ""),
                                  ("a100", "measured", ", on other GPUs than this"), ("b200", "transformer", ", on other GPUs than this")):
            own = [row for row in errors if (row["cost"], row["model"]) == (cost, "experts") and (unlike or row["gpu"] == gpu)]
            self.says_errors(self.plans(*typed, "--gpu", gpu, "--cost", cost), own, unlike)
        self.assertRegex(self.plans(*typed, "--gpu", "h100"), r"(?m)^ +checked on 1 published training \(DeepSeek-V3 in FP8\): it took")
        dense = [row for row in errors if row["model"] == "dense"]
        program = self.program_with(price_errors=dense)
        out = subprocess.run([program, *map(str, typed), "--gpu", "h100"], capture_output=True, text=True, cwd=self.folder).stdout
        self.says_errors(out, [row for row in dense if (row["cost"], row["gpu"]) == ("measured", "h100")], ", of models without experts")

    def test_flops_beyond_the_peak_are_said_to_be_wrong_prices(self):
        tables = self.inputs / "tables"
        tables.mkdir()
        for name in ("gemm_bf16_h100_sxm", "attention_fwd_causal_h100_sxm"):  # in units of 20 us, as if they were ms
            rows = list(csv.DictReader((DATA / "profiles" / f"{name}.csv").read_text().splitlines()))
            with (tables / f"{name}.csv").open("w") as out:
                written = csv.DictWriter(out, rows[0])
                written.writeheader()
                written.writerows({key: float(cell) / 50 if key.endswith("ms") else cell for key, cell in row.items()} for row in rows)
        lengths = ["--lengths", self.file("l.txt", "10000\n15000\n8000\n"), *MODEL, "--pp", "4", "--effort", "fast"]
        for cost, typed, times in (("quadratic:1e-9,0,1,1,0", ["--hop", "0"], 1), (f"profiled:{tables}", [], 1),
                                   (f"profiled:{tables}", ["--auto", "--gpus", "4"], 2)):  # the ranking says so, too
            out = self.plans(*lengths, "--cost", cost, *typed)
            self.assertEqual(times, len(re.findall("(?m)^" + re.escape(
                f"MFU above 100 %: the prices of --cost {cost} are beyond the peak of H100-SXM5-80GB, so no GPU of this kind can be so fast. "
                "Measure them (examples/profile), or leave --cost out.") + "$", out)), out)
        self.assertNotIn("MFU above", self.plans(*lengths))

    def test_tables_say_what_gpus_reach(self):
        lengths = [100, 200, 5000]
        out = self.plans(*self.profiled("--gpu", "h100", "--json", self.outputs / "p.json", "--explain"))
        plan = json.loads((self.outputs / "p.json").read_text())
        # Llama 3.1 8B: 6 flops of each weight but the embedding's; 12 a query width and attended pair
        weights = 8030261248 - 128256 * 4096 - (2 * 32 + 1) * 4096
        flops = sum(6 * weights * n + 12 * 32 * 4096 * n * (n + 1) / 2 for n in lengths)
        self.assertAlmostEqual(plan["mfu"], flops / (plan["step_time"] * 8 * 989e12), delta=1e-6)
        row = self.line(out, "slimpack")
        self.assertIn(f" {sum(lengths) / plan['step_time'] / 8:.0f} ", row)
        self.assertIn(f"{100 * plan['mfu']:.1f} %", row)
        spent = plan["rank_time"]
        self.assertAlmostEqual(1 - plan["bubble"], (spent["useful"] + spent["collectives"]) / sum(spent.values()), delta=1e-9)
        self.assertIn(f"{100 * spent['useful'] / sum(spent.values()):.2f} %", row)
        self.assertIn(f"{100 * (1 - plan['efficiency']):.2f} %", row)
        for words in ("bubble", "efficiency"):
            self.assertNotIn(words, out)
        self.assertRegex(self.plans("compare", self.outputs / "p.json", self.outputs / "p.json"), rf"(?m)^MFU +{100 * plan['mfu']:.1f} %")

    def test_memory_is_split_and_a_margin_is_left(self):
        given = self.profiled("--gpu", "h100", "--dp", "4", "--explain")
        out = self.plans(*given)
        self.assertIn("70.43 GiB limit per GPU: 74.51 GiB less a margin of 4.08 GiB (fragments 2.24 GiB, workspaces 608.00 MiB, communicators 1.25 GiB)", out)
        held = {name.strip(): (float(size) / (1024 if unit == "MiB" else 1), over) for name, size, unit, over in
                re.findall(r"(?m)^(\S.*?)  +([\d.]+) (GiB|MiB) +[\d.]+ %  +(.*)$", out.split("memory of the fullest GPU")[1])}
        self.assertAlmostEqual(held["gradients"][0], 2 * held["weights"][0], delta=0.02)
        self.assertAlmostEqual(held["optimizer"][0], 6 * held["weights"][0] / 4, delta=0.02)
        self.assertEqual(("not sharded", "4 copies"), (held["weights"][1], held["optimizer"][1]))
        peak = float(re.search(r"(?m)^slimpack .* ([\d.]+) GiB ", out)[1])
        self.assertAlmostEqual(peak, sum(size for size, _ in held.values()), delta=0.05)
        self.assertIn("keys and values of other replicas", held)  # the plan shares a sequence: what is kept of it is counted once
        self.assertNotIn("logits of a spread vocabulary", held)
        self.assertNotIn("margin", self.plans(*given, "--memory", "70GiB"))

    def test_one_file_is_a_profile(self):
        path = DATA / "profiles" / "gemm_bf16_h100_sxm.csv"
        out = self.plans(*self.profiled("--gpu", "h100", "--cost", f"profiled:{path}"))
        self.assertIn("attention not measured", out)
        self.assertIn("products  measured", out)
        self.assertIn("links     not measured", out)

    def test_bad_profiles_name_file_and_line(self):
        head = "gpu,m,n,k,ms\n"
        rows = "H100,128,1024,1024,1\nH100,256,1024,1024,2\nH100,512,1024,1024,4\n"
        attention = "gpu,kernel,batch,q_tokens,kv_tokens,q_heads,kv_heads,head_dim,"
        for content, says in (("gpu,m,n,ms\n" + rows, [":2: has 5 cells, expected 4"]),
                              ("gpu,m,n,ms\nH100,1,2,3\n", [":1: lacks the column k"]),
                              ("gpu,m,n,k,minutes\n" + rows, [":1: lacks the column s, ms, us or ns"]),
                              (attention + "fwd_min\nH100,f,1,8,8,1,1,64,2\n", [":1: column fwd_min has an unknown unit", "fwd_ms"]),
                              (head + "H100,1,2,3,4ms\n", [":2: column ms: ", "4ms", "number without a unit"]),
                              (head + rows + "H100,1024,1024,1024,-8\n", [":5: column ms: -8 is not more than 0"]),
                              (head + rows + "H100,1024,1024,1024,0\n", [":5: column ms: 0 is not more than 0"]),
                              (head, [":1: no rows follow"]), ("", [": is empty"]),
                              ("a,b\n1,2\n", ["measures nothing", "gpu m n k ms"])):
            with self.subTest(content=content):
                self.fails(2, ["bad.csv", *says], *self.profiled("--gpu", "h100", "--cost", "profiled:" + self.file("bad.csv", content)))

    def test_profiles_that_are_not_there(self):
        self.fails(2, ["nowhere", "cannot be opened"], *self.profiled("--gpu", "h100", "--cost", f"profiled:{self.inputs / 'nowhere'}"))
        self.fails(2, ["holds no .csv files"], *self.profiled("--gpu", "h100", "--cost", f"profiled:{self.outputs}"))
        self.fails(2, ["--cost profiled: names no tables", "profiled:DIR"], *self.profiled("--gpu", "h100", "--cost", "profiled:"))
        self.fails(2, ["--cost profiled needs --model", "--gpu"], "--lengths", self.file("l.txt", "100\n"), "--cost", f"profiled:{DATA / 'profiles'}")
        self.fails(2, ["--cost 'profiled'", "profiled:DIR"], *self.profiled("--gpu", "h100", "--cost", "profiled"))

    def test_times_that_fall_are_noted_and_planned_with(self):
        path = self.file("falling.csv", "gpu,m,n,k,ms\nH100,128,1024,1024,1\nH100,256,1024,1024,0.5\nH100,512,1024,1024,4\n")
        out = self.plans(*self.profiled("--gpu", "h100", "--cost", "profiled:" + path))
        self.assertIn(f"note      {path}:3: column ms: m 256, n 1024, k 1024, 50 % faster than the smaller size in line 2", out)

    def test_too_few_sizes_are_noted_and_planned_with(self):
        attention = "gpu,kernel,batch,q_tokens,kv_tokens,q_heads,kv_heads,head_dim,fwd_ms\n"
        for content, says in (("gpu,m,n,k,ms\nH100,128,1024,1024,0.1\n", ":2: H100 has 1 size in this file, too few to fit"),
                              (attention + "H100,f,1,1024,1024,8,8,128,0.1\n", ":2: H100 has 1 size in this file, too few to fit"),
                              ("gpu,op,gpus,bytes,ms\nH100,all_gather,2,1024,0.1\nH100,all_gather,2,4096,0.2\n", ":3: H100 has 2 sizes in this file, too few to fit")):
            path = self.file("few.csv", content)
            self.assertIn(f"note      {path}{says}", self.plans(*self.profiled("--gpu", "h100", "--cost", "profiled:" + path)))

    def test_links_that_are_left_out_are_noted(self):
        gpu = json.loads((DATA / "gpus" / "h100.json").read_text())
        gpu["inside"]["bandwidth"] = 50e9
        path = DATA / "profiles" / "collectives_nvlink_h100_sxm.csv"
        out = self.plans(*self.profiled("--gpu", self.file("gpu.json", json.dumps(gpu)), "--cost", f"profiled:{path}"))
        self.assertIn("note      collectives of H100-SXM5-80GB inside a node left out: ", out)
        self.assertIn(f"table     {path}: all 252 rows not used, links of another machine", out)
        self.assertIn("links     not measured", out)

    def test_times_out_of_all_measure_are_named(self):
        for factor, says in ((1e-3, "faster than the peak of H100"), (1e3, "slower than a hundredth of the peak of H100")):
            lines = (DATA / "profiles" / "gemm_bf16_h100_sxm.csv").read_text().splitlines()
            rows = [line.rsplit(",", 1) for line in lines[1:]]
            path = self.file("p.csv", "\n".join([lines[0], *(f"{left},{float(time) * factor}" for left, time in rows)]) + "\n")
            out = self.plans(*self.profiled("--gpu", "h100", "--cost", "profiled:" + path))
            self.assertRegex(out, rf"(?m)^note      {re.escape(path)}:2: product: .*{says}.*Such times in all: 1100$")

    def test_a_row_of_an_unusual_shape_rejects_no_folder(self):
        head = "gpu,kernel,batch,q_tokens,kv_tokens,q_heads,kv_heads,head_dim,fwd_ms\n"
        rows = "".join(f"H100,f,1,{1 << i},{1 << i},32,8,128,{0.01 * 4 ** max(0, i - 10)}\n" for i in range(8, 15))
        for shape, lines in (("192/128", 8), ('"192, 128"', 8), ("192/128/64", 7)):
            path = self.file("a.csv", head + rows + f"H100,f,1,4096,4096,128,128,{shape},1.9\n")
            out = self.plans(*self.profiled("--gpu", "h100", "--cost", "profiled:" + path))
            self.assertIn(f"table     {path}: all {lines} rows used for attention", out)
            (self.assertNotIn if lines == 8 else self.assertIn)(f"note      {path}:9: column head_dim: ", out)

    def test_gpus_are_known_without_their_maker_and_case(self):
        names = ["h100", "H100", "NVIDIA H100 80GB HBM3"]
        rows = (DATA / "profiles" / "gemm_bf16_h100_sxm.csv").read_text()
        steps = set()
        for name in names:
            path = self.file("p.csv", rows.replace("H100-SXM5-80GB", name))
            out = self.plans(*self.profiled("--gpu", name, "--cost", "profiled:" + path))
            self.assertIn("all 1100 rows used for products", out)
            steps.add(re.search(r"(?m)^slimpack +(\S+ \S+)", out)[1])
        self.assertEqual(1, len(steps), steps)

    # 10^5 rows may take ten times as long as 10^4, and some more; not a hundred times.
    def test_reading_grows_with_the_rows(self):
        tables = {
            "products": ("gpu,m,n,k,ms", lambda i: f"H100,{1 + i},4096,4096,{0.01 + 5e-5 * i}"),
            "attention": ("gpu,kernel,batch,q_tokens,kv_tokens,q_heads,kv_heads,head_dim,fwd_ms",
                          lambda i: f"H100,f,1,{128 + i},{128 + i},32,8,128,{0.02 + 1e-12 * (128 + i) ** 2}"),
            "links": ("gpu,op,gpus,bytes,ms", lambda i: f"H100,all_reduce,8,{1024 + 8 * i},{0.02 + 1e-5 * i}"),
        }
        for what, (head, row) in tables.items():
            def seconds_for(rows):
                path = self.file("p.csv", "\n".join([head, *map(row, range(rows)), ""]))
                start = os.times()
                out = self.plans(*self.profiled("--gpu", "h100", "--cost", "profiled:" + path))
                self.assertIn(f"all {rows} rows used for {what}", out)
                end = os.times()  # of the processor: other programs may run beside
                return end.children_user + end.children_system - start.children_user - start.children_system
            with self.subTest(what):
                rows = 10_000 if FULL else 5_000
                few = min(seconds_for(rows) for _ in range(2))
                self.assertLess(seconds_for(10 * rows), 20 * few)

    def test_writing_grows_with_the_batches(self):
        def seconds_for(batches):
            lengths = self.file("l.txt", "100\n300\n" * batches)
            before = os.times()
            self.plans("--lengths", lengths, *QUADRATIC, "--planner", "megatron", "--batch", 2, "--batches", batches, "--json", self.outputs / "p.json")
            return os.times().children_user - before.children_user  # the system makes files at its own pace
        few = min(seconds_for(2048) for _ in range(2))
        self.assertLess(seconds_for(16384), 16 * few)
        self.assertEqual(16384, sum(1 for _ in self.outputs.iterdir()))

    def test_hop_replaces_the_measured_time_of_a_message(self):
        path = self.outputs / "p.json"
        self.plans(*self.profiled("--gpu", "h100", "--cost", f"profiled:{DATA / 'profiles'}", "--hop", "0.25", "--json", path))
        for message in json.loads(path.read_text())["replicas"][0]["message"]["forward"]:
            self.assertEqual(0.25, message)

    def test_memory_tables(self):
        table = DATA / "saved_tensors"
        peaks = []
        for cost in ("transformer", f"profiled:{DATA / 'profiles'}"):
            for name in ("flash_attention.json", "torchtitan.json"):
                path = self.outputs / "p.json"
                self.plans(*self.profiled("--gpu", "h100", "--cost", cost, "--memory-table", table / name, "--json", path))
                peaks.append(max(json.loads(path.read_text())["replicas"][0]["peak_memory"]))
        self.assertLess(peaks[0], peaks[1])
        self.assertLess(peaks[2], peaks[3])
        (self.outputs / "p.json").unlink()
        self.fails(2, ["table.json"], *self.profiled("--gpu", "h100", "--memory-table", self.file("table.json", "{}")))
        self.fails(2, ["--memory-table"], "--lengths", self.file("l.txt", "100\n"), *QUADRATIC, "--memory-table", table / "torchtitan.json")

    def test_bad_shapes(self):
        lengths = self.file("l.txt", "100\n200\n")
        self.fails(2, ["--pp 33", "32 layers"], "--lengths", lengths, *MODEL, "--pp", "33")
        self.fails(2, ["--pp 33", "32 layers"], "--lengths", lengths, *MODEL, *QUADRATIC, "--pp", "33")
        self.fails(2, ["--vpp 2", "32 layers"], "--lengths", lengths, *MODEL, "--pp", "17", "--vpp", "2")
        self.fails(2, ["--tp 3 does not divide the 32 query heads of llama-3.1-8b; choose 1, 2, 4, 8, 16 or 32"], "--lengths", lengths, *MODEL, "--tp", "3")
        for option in ("--pp", "--dp", "--tp", "--cp", "--vpp", "--quantum", "--batch", "--batches", "--max-context", "--time-limit"):
            self.fails(2, [option, "--help"], "--lengths", lengths, *QUADRATIC, option, "0")
            self.fails(2, [option, "--help"], "--lengths", lengths, *QUADRATIC, option, "two")

    def test_bad_usage(self):
        lengths = self.file("l.txt", "100\n200\n")
        self.fails(2, ["best", "slimpack, flat, megatron, dp_balanced, karmarkar_karp, chunked"], "--lengths", lengths, *QUADRATIC, "--planner", "best")
        self.fails(2, ["best", "slimpack, flat, megatron"], "--lengths", lengths, *QUADRATIC, "--compare", "megatron,best")
        self.fails(2, ["--help"], "--lengths", lengths, *QUADRATIC, "--no-such-option")
        self.fails(2, ["--lengths"], *QUADRATIC)
        given = ("--lengths", lengths, *QUADRATIC)
        for typed, meant in (("--time-limt", "--time-limit"), ("--lenghts", "--lengths"), ("--jsn=p.json", "--json"), ("--replicas", None)):
            self.fails(2, [f"{typed.split('=')[0]} is no option", f"did you mean {meant}?" if meant else "option; see"], *given, typed, "5")
        self.fails(2, ["--length is no option; did you mean --lengths?"], "--length", lengths, *QUADRATIC)
        self.fails(2, ["'512' belongs to no option"], *given, "512")
        self.fails(2, ["--hop"], "--lengths", lengths, "--cost", "quadratic:1,2,3,4,5")
        self.fails(2, ["five numbers"], "--lengths", lengths, "--hop", "0", "--cost", "quadratic:1,2,3,4")
        self.fails(2, ["five numbers"], "--lengths", lengths, "--hop", "0", "--cost", "quadratic:1,2,3,4,-1")
        self.fails(2, ["--cost"], "--lengths", lengths, "--cost", "magic")
        for amount in ("80", "80XB", "-3GiB", "12.5tokens", "manytokens", "0tokens"):
            self.fails(2, ["--memory", amount], "--lengths", lengths, *QUADRATIC, "--memory", amount)
        self.fails(2, ["--memory", "tokens"], "--lengths", lengths, *QUADRATIC, "--memory", "80GiB")

    def test_repeated_options(self):
        given = ("--lengths", self.file("l.txt", "100\n200\n"), *QUADRATIC)
        self.fails(2, ["--pp has 2 values, and takes one"], *given, "--pp", "2", "--pp", "4")
        out = self.plans(*given, "--compare", "megatron", "--compare", "chunked,dp_balanced", "--explain", "--explain")
        for planner in ("megatron", "chunked", "dp_balanced"):
            self.assertRegex(out, rf"(?m)^{planner} ")

    def test_options_that_would_do_nothing(self):
        given = ("--lengths", self.file("l.txt", "100\n200\n"))
        for says, options in (("--over-long is about sequences longer than --max-context", ["--over-long", "drop"]),
                              ("--sharers 3 exceeds the replicas, --dp 2", ["--dp", "2", "--sharers", "3"]),
                              ("--exchange is about several replicas: give --dp", ["--exchange", "ring"]), ("--divide is about several replicas", ["--divide", "estimated"]),
                              ("--force lets --memory exceed the GPU's", ["--force"]), ("--recompute needs --cost transformer or profiled", ["--recompute", "full"]),
                              ("--sharers 1 shares no sequence, so there is nothing for --rows to do", ["--dp", "2", "--sharers", "1", "--rows", "joined"]),
                              ("--rows is about sequences that replicas share; megatron puts each", ["--dp", "2", "--planner", "megatron", "--rows", "joined"]),
                              ("--compare slimpack is --planner itself: leave it out", ["--compare", "megatron,slimpack"]),
                              ("--compare names chunked twice", ["--compare", "chunked,megatron", "--compare", "chunked"]),
                              ("--search-report is of the planner slimpack", ["--planner", "megatron", "--search-report"]),
                              ("--weight-gradients apart is for the planner slimpack", ["--planner", "chunked", "--weight-gradients", "apart"])):
            self.fails(2, [says, "--help"], *given, *QUADRATIC, *options)
        for says, options in (("--reduction exposed is about sums of gradients over copies of the weights", ["--tp", "2", "--reduction", "exposed"]),
                              ("--layers auto is about several parts, and --pp x --vpp is 1", ["--layers", "auto"]),
                              ("--sharers 1 shares no sequence, so there is nothing for --zones to do", ["--dp", "2", "--zones", "--sharers", "1"])):
            self.fails(2, [says, "--help"], *given, *MODEL, *options)
        for option in ([], ["--format", "text"]):
            self.fails(2, ["l.txt: is one length a line, which has no field n"], *given, *QUADRATIC, *option, "--field", "n")
        self.fails(2, ["tiny.idx: is a Megatron-LM index, which has no field n"], "--lengths", DATA / "megatron" / "tiny.idx", *QUADRATIC, "--field", "n")
        for seed in ("-1", "1.5", "1e3", "99999999999999999999"):
            self.fails(2, [f"--seed: {seed} is no whole number from 0"], *given, *QUADRATIC, "--seed", seed)

    def test_memory_above_the_gpus(self):
        given = ("--lengths", self.file("l.txt", "100\n200\n"), *MODEL, "--tp", "2", "--memory", "76GiB")
        self.fails(2, ["--memory 76.00 GiB exceeds the 74.51 GiB of H100-SXM5-80GB", "--force"], *given)
        self.assertIn("76.00 GiB limit", self.plans(*given, "--force"))

    def test_models_and_gpus_have_names(self):
        lengths = ("--lengths", self.file("l.txt", "100\n200\n"))
        listed = self.plans("--list-models")
        for model in (DATA / "models").glob("*.json"):
            self.assertRegex(listed, rf"(?m)^{re.escape(model.stem)} +\d+ +\d+ +\d+ +\d+ +(\d+|-) +\d+$")
        for model, gpu, cost in (("llama-3.1-8b", "h100", "measured"), ("Llama-3.1-8B", "H100", "measured"), ("llama-3.1-8b", "H800", "transformer")):
            self.assertIn(f"llama-3.1-8b, cost {cost} on {gpu.upper()}", self.plans(*lengths, "--model", model, "--gpu", gpu, "--tp", "2"))
        self.fails(2, ["llama-9: cannot be opened", "--model takes deepseek-v3, ", "llama-3.1-8b", "or a JSON file"], *lengths, "--model", "llama-9", "--gpu", "h100")

    def test_options_of_a_file(self):
        self.file("l.txt", "100\n2000\n300\n")
        head = f'# a comment\nlengths = "{self.inputs}/l.txt"\ncost = "{QUADRATIC[1]}"\nhop = {QUADRATIC[3]}\n'
        path = self.file("plan.toml", head + 'pp = 2\nexplain = true\ncompare = ["megatron", "chunked"]\n')
        out = self.plans("--config", path)
        for word in ("dp 1 x pp 2", "megatron", "chunked", "stages' time"):
            self.assertIn(word, out)
        self.assertIn("dp 2 x pp 4", self.plans("--config", path, "--pp", "4", "--dp", "2"))
        self.fails(2, ["--config nowhere.toml cannot be opened"], "--config", "nowhere.toml")
        for content, says in (("pps = 2\n", "bad.toml: --pps is no option; did you mean --pp?"), ("\x80{]\n", "is no list of options"), ("pp = many\n", "--pp: Value many"), ("pp = 2\npp = 4\n", "--pp has 2 values"),
                              ("[plan]\npp = 2\n", "bad.toml: has the section plan"), ("list-models = true\n", "not allowed in a configuration file"),
                              ("cost = quadratic:1,2,3,4,5\n", "one with commas is in quotes")):
            self.fails(2, [says, "--help"], "--config", self.file("bad.toml", content))

    def test_completion(self):
        options = set(re.findall(r"--[a-z-]+", self.plans("--help-all").split("Examples:")[0]))
        self.assertIn("--help-all", options)
        for shell in ("bash", "zsh"):
            script = self.plans("--completion", shell)
            self.assertLessEqual(options, set(re.findall(r"--[a-z-]+", script)), shell)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script, text=True, check=True)
        ask = 'source "$1"; COMP_WORDS=(slimpack-plan "${@:2}"); COMP_CWORD=$(($# - 1)); _slimpack_plan; echo "${COMPREPLY[*]}"'
        script = self.file("completion.bash", self.plans("--completion", "bash"))
        for typed, completed in ((["--form"], "--format"), (["--format", "js"], "jsonl json"), (["--planner", "mega"], "megatron"), (["--model", "llama-3.1-8"], "llama-3.1-8b"),
                                 (["--gpu", "h1"], "h100 h100-96gb-500w"), (["--json", "x"], "")):
            self.assertEqual(completed + "\n", subprocess.run(["bash", "-c", ask, "bash", script, *typed], capture_output=True, text=True).stdout)
        self.fails(2, ["fish not in {bash,zsh}"], "--completion", "fish")

    def test_planners_that_were_not_built(self):
        run = self.run_plan("--lengths", self.file("l.txt", "100\n"), *QUADRATIC, "--planner", "milp")
        if run.returncode:
            self.assertIn("--planner milp was not built: install coinor-libcbc-dev", run.stderr)

    def test_numbers_that_are_none(self):
        lengths = self.file("l.txt", "100\n5000\n")
        cost = ["--cost", "quadratic:1e-6,4e-11,2,2.5,6e-5"]
        self.fails(2, ["--hop"], "--lengths", lengths, *cost, "--hop", "nan")
        self.fails(2, ["--hop"], "--lengths", lengths, *cost, "--hop", "inf")
        self.fails(2, ["--cost quadratic takes numbers from 0 to 1e+12, and 1e+308 is more"], "--lengths", lengths, "--cost", "quadratic:1e308,1e308,2,2,1", "--hop", "1",
                   "--pp", "2")
        self.fails(2, ["times must be"], "--lengths", lengths, "--cost", "quadratic:1e12,1,2,2,1", "--hop", "1", "--pp", "2")
        self.fails(2, ["--hop: '1e15' is no number from 0 to 1e+12"], "--lengths", lengths, *cost, "--hop", "1e15")
        self.fails(2, ["--quantum"], "--lengths", lengths, *QUADRATIC, "--quantum", "9223372036854775807")
        self.fails(2, ["--pp times --vpp"], "--lengths", lengths, *QUADRATIC, "--pp", "65536", "--vpp", "65536")
        self.fails(2, ["--pp"], "--lengths", lengths, *QUADRATIC, "--pp", "2147483647")
        self.fails(2, ["--memory"], "--lengths", lengths, *QUADRATIC, "--memory", "")
        self.fails(2, ["a\\x0ab"], "--lengths", lengths, *QUADRATIC, "--planner", "a\nb")

    def test_outputs_never_replace_inputs_or_each_other(self):
        lengths = self.file("l.txt", "100\n5000\n")
        self.fails(2, ["l.txt", "an input"], "--lengths", lengths, *QUADRATIC, "--json", lengths)
        out = self.outputs / "a"
        self.fails(2, ["another output"], "--lengths", lengths, *QUADRATIC, "--json", out, "--trace", self.outputs / "." / "a")
        self.assertEqual("100\n5000\n", pathlib.Path(lengths).read_text())

    def test_standard_output(self):
        given = ("--lengths", self.file("l.txt", "100\n5000\n"), *QUADRATIC)
        self.plans(*given, "--json", self.inputs / "p.json")
        run = self.run_plan(*given, "--json", "-", "--trace", self.outputs / "t.json")
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertEqual(json.loads((self.inputs / "p.json").read_text())["hash"], json.loads(run.stdout)["hash"])
        self.assertIn("planner ", run.stderr)
        self.assertIn(f"wrote {self.outputs / 't.json'}", run.stderr)
        (self.outputs / "t.json").unlink()
        self.fails(2, ["standard output", "two outputs are -"], *given, "--json", "-", "--trace", "-")
        self.fails(2, ["standard output", "--batches has 2"], *given, "--json", "-", "--batch", "1", "--batches", "2")
        with open("/dev/full", "w") as full:
            run = subprocess.run([os.environ["SLIMPACK_PLAN"], *given, "--json", "-", "--trace", self.outputs / "t.json"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((2, "slimpack-plan: standard output cannot be written"), (run.returncode, run.stderr.splitlines()[-1]))
        self.assertEqual([], list(self.outputs.iterdir()))

    def test_standard_output_that_is_full_is_told(self):
        given = ("--lengths", self.file("l.txt", "100\n5000\n"), *QUADRATIC)
        for arguments in (given, (*given, "--batch", "1", "--batches", "2"), (*given, "--batch", "1", "--batches", "2", "--summary"), ("--help",), ("--help-all",), ("--version",), ("--list-models",),
                          ("--completion", "bash")):
            with self.subTest(arguments=arguments[-1]), open("/dev/full", "w") as full:
                run = subprocess.run([os.environ["SLIMPACK_PLAN"], *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual((2, 1), (run.returncode, run.stderr.count("standard output cannot be written")), run.stderr)

    def test_a_data_set_that_does_not_fit_as_one_batch_is_told_so(self):
        lengths = self.file("set.txt", "100\n" * 2100 + "5000\n")
        run = self.run_plan("--lengths", lengths, *QUADRATIC, "--pp", "2", "--memory", "4000tokens", "--effort", "fast")
        self.assertEqual(3, run.returncode, run.stderr)
        self.assertIn("--batch 512, not all 2101 sequences as one batch, fits: ", run.stderr)
        self.plans("--lengths", lengths, "--batch", "512", *QUADRATIC, "--pp", "2", "--memory", "4000tokens", "--effort", "fast")

    def test_plan_files_that_were_changed_are_refused_though_their_hash_fits(self):
        lengths = self.file("l.txt", "".join(f"{100 * n}\n" for n in range(1, 25)))
        whole = self.inputs / "whole.json"
        self.plans("--lengths", lengths, *QUADRATIC, "--pp", "2", "--dp", "2", "--effort", "fast", "--json", whole)
        edited = self.inputs / "edited.json"

        def double(plan, key):
            plan[key] *= 2

        def edit(change):
            plan = json.loads(whole.read_text())
            change(plan)
            edited.write_text(json.dumps(plan))
            return plan

        def refused(*says):
            for arguments in (("compare", edited, whole), ("--from", edited)):
                run = self.run_plan(*arguments)
                self.assertEqual(2, run.returncode, run.stderr)
                for text in says:
                    self.assertIn(text, run.stderr)
        for says, change in (
                ("each token must run once", lambda p: p["replicas"][0]["forward"][-1]["slices"][-1].__setitem__(2, 128)),
                ("comes next", lambda p: p["replicas"][1]["backward"][0]["slices"].pop()),
                ("it must be on 1, or on those that share it", lambda p: p["replicas"][0].update(sequences=[])),
                ("it must be on 1, or on those that share it", lambda p: p["replicas"].__setitem__(1, p["replicas"][0]))):
            with self.subTest(says=says):
                edit(change)
                refused(says)
        for says, change in (
                ("efficiency is ", lambda p: p.update(efficiency=7.5)),
                ("step_time is ", lambda p: double(p, "step_time")),
                ("lower_bound is ", lambda p: double(p, "lower_bound")),
                ("bubble is no share", lambda p: p.update(bubble=-0.5)),
                ("step_time is ", lambda p: p["replicas"][0].update(makespan=1e300))):
            with self.subTest(says=says):
                plan = edit(change)
                fits = re.search(r'expected "([0-9a-f]{16})", the hash', self.run_plan("compare", edited).stderr)
                if fits:
                    plan["hash"] = fits[1]
                    edited.write_text(json.dumps(plan))
                refused(*((says, "the file was changed; plan the batch again") if fits else ()))
        self.assertEqual(0, self.run_plan("compare", whole, whole).returncode)

    def outputs_of(self, old):
        """Names of outputs, which have been written before where that is asked."""
        names = [self.outputs / name for name in ("p.json", "t.json", "t.html", "p.dot")]
        for name in names if old else []:
            name.write_text("old")
        return names, [x for pair in zip(("--json", "--trace", "--timeline", "--graph"), names) for x in pair]

    def test_outputs_are_written_all_or_none(self):
        given = ("--lengths", self.file("l.txt", "100\n300\n"), *QUADRATIC)
        names, options = self.outputs_of(old=True)
        run = self.run_plan(*given, *options[2:], "--json", "/dev/full")
        self.assertEqual(2, run.returncode)
        self.assertEqual({(name.name, "old") for name in names}, {(p.name, p.read_text()) for p in self.outputs.iterdir()})
        self.plans(*given, *options)
        self.assertEqual({name.name for name in names}, {p.name for p in self.outputs.iterdir() if p.read_text() != "old"})
        limited = self.file("m.txt", "100\n300\n5000\n1000\n")  # the second batch does not fit
        run = self.run_plan("--lengths", limited, *QUADRATIC, "--memory", "900tokens", "--batch", "2", "--batches", "2", "--json", self.inputs / "q.json")
        self.assertEqual((3, []), (run.returncode, list(self.inputs.glob("q*"))), run.stderr)

    def test_a_signal_leaves_no_temporary_file(self):
        lengths = self.file("l.txt", "100\n300\n" * 4096)
        names, options = self.outputs_of(old=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            command = [os.environ["SLIMPACK_PLAN"], "--lengths", lengths, *QUADRATIC, "--planner", "megatron", "--batch", "2", "--batches", "4096", "--json", self.outputs / "p.json"]
            run = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while run.poll() is None and not any(p.suffix == ".tmp" for p in self.outputs.iterdir()):
                time.sleep(0.001)
            run.send_signal(number)
            self.assertEqual(b"", run.communicate()[1])
            self.assertEqual(-number, run.returncode)
            self.assertEqual({(name.name, "old") for name in names}, {(p.name, p.read_text()) for p in self.outputs.iterdir()})

    def test_a_signal_at_any_time_leaves_old_or_new_outputs(self):
        given = ("--lengths", self.file("l.txt", "100\n300\n"), *QUADRATIC)
        _, options = self.outputs_of(old=False)
        start = time.perf_counter()
        self.plans(*given, *options)
        whole = time.perf_counter() - start
        ended = set()
        moments = 60 if FULL else 20
        for i in range(moments):
            names, _ = self.outputs_of(old=True)
            run = subprocess.Popen([os.environ["SLIMPACK_PLAN"], *map(str, given), *map(str, options)], stdout=subprocess.DEVNULL)
            time.sleep(1.2 * whole * i / moments)
            run.send_signal(signal.SIGTERM)
            ended.add(run.wait())
            self.assertEqual({name.name for name in names}, {p.name for p in self.outputs.iterdir()})
            self.assertEqual(1, len({name.read_text() == "old" for name in names}))
        self.assertIn(-signal.SIGTERM, ended)

    def test_a_signal_never_ends_what_is_done(self):
        """Once standard output is closed all is written: a status that says "interrupted" would be wrong."""
        given = ("--lengths", self.file("l.txt", "100\n300\n"), *QUADRATIC, "--json", self.outputs / "p.json")
        for i in range(200 if FULL else 40):
            run = subprocess.Popen([os.environ["SLIMPACK_PLAN"], *map(str, given)], stdout=subprocess.PIPE, text=True)
            for line in run.stdout:
                if line.startswith("wrote "):
                    run.send_signal(signal.SIGINT)
            status = run.wait()
            self.assertTrue(json.loads((self.outputs / "p.json").read_text()))
            if status == 0:
                continue
            self.assertEqual(-signal.SIGINT, status)  # it came while the report was still on its way

    def test_outputs_follow_links_to_where_no_file_is_yet(self):
        given = ("--lengths", self.file("l.txt", "100\n300\n"), *QUADRATIC)
        (self.outputs / "inner").mkdir()
        link = self.outputs / "link.json"
        link.symlink_to("inner/made.json")
        for _ in range(2):  # then it is there
            self.plans(*given, "--json", link)
            self.assertTrue(link.is_symlink())
            self.assertEqual("slimpack-plan/2", json.loads((self.outputs / "inner" / "made.json").read_text())["format"])
            self.assertEqual(["made.json"], [p.name for p in (self.outputs / "inner").iterdir()])
        run = self.run_plan(*given, "--json", link, "--trace", self.outputs / "inner" / "made.json")
        self.assertIn("it is an input, or another output", run.stderr)
        link.unlink()
        link.symlink_to("nowhere/made.json")
        run = self.run_plan(*given, "--json", link)
        self.assertEqual((2, True), (run.returncode, link.is_symlink()))
        self.assertIn("its folder does not exist", run.stderr)

    def test_names_cannot_move_the_cursor(self):
        name = "l\x1b[31m\x9b2J\u202e.txt"
        path = self.file(name, "100\n300\n")
        shown = "l\\x1b[31m\\x9b2J\\u202e.txt"
        out = self.plans("--lengths", path, *QUADRATIC, "--json", self.outputs / "p\x1b[2J.json", "--trace", self.outputs / "t.json")
        self.assertIn(shown, self.line(out, "batch"))
        self.assertIn("p\\x1b[2J.json", out)
        self.plans("--lengths", path, *QUADRATIC, "--json", self.outputs / "q.json")
        compared = self.run_plan("compare", self.outputs / "p\x1b[2J.json", self.outputs / "q.json")
        gpu = json.loads((DATA / "gpus" / "h100.json").read_text())
        gpu["name"] = "H\x1b]0;owned\x07100"
        model = self.inputs / "m\x1b[1m.json"
        shutil.copy(MODEL[1], model)
        told = [out, compared.stdout, self.plans("--lengths", path, "--model", model, "--gpu", self.file("g\x1b[.json", json.dumps(gpu)), "--pp", "2", "--tp", "2", "--explain", "--cost", "transformer")]
        for arguments in (["--lengths", path + "\x1b[1m"], ["--lengths", path, "--planner", "\x1b[1m"], ["--lengths", path, "--\x1b[1m", "3"], ["compare", path, "\x1b[1m"],
                          ["--lengths", path, *QUADRATIC, "--json", "\x1b[1m/a.json"], ["--lengths", path, "--memory", "\x1b[1m"], ["--lengths", path, "--field", "\x1b[1m", "--format", "csv"],
                          ["--lengths", self.file("c.csv", "a\x1b[1m,b\n1,2\n"), *QUADRATIC, "--format", "csv"], ["--lengths", self.file("j.jsonl", '{"\\u001b[1m": 2}\n'), *QUADRATIC],
                          ["--config", self.file("c.toml", "a\x1b[1m = 3\n")]):
            run = self.run_plan(*arguments)
            self.assertNotEqual(0, run.returncode)
            self.assertEqual(1, run.stderr.count("\n"), run.stderr)
            told += [run.stdout, run.stderr]
        for text in told:
            self.assertEqual([], [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e")], text)

    def test_errors_are_short_whatever_was_typed(self):
        path = self.file("l.txt", "100\n300\n")
        long = "x" * 100000
        for arguments in (["--planner", long], ["--memory", long], ["--cost", long], ["--layers", long], ["--seed", long], ["--compare", long], ["--" + long], [long], ["--relay", long],
                          ["--trainer", long], ["--pp", long], ["--effort", long]):
            run = self.run_plan("--lengths", path, *QUADRATIC, *arguments)
            self.assertEqual((2, 1), (run.returncode, run.stderr.count("\n")), arguments[0][:20])
            self.assertLess(len(run.stderr), 1100, arguments[0][:20])
        for name, content in (("a.jsonl", '{"%s": 1}\n' % long), ("a.csv", f"{long},b\n1,2\n"), ("a.txt", long + "\n"), ("a.json", '["%s"]' % long)):
            run = self.run_plan("--lengths", self.file(name, content), *QUADRATIC)
            self.assertEqual((2, 1), (run.returncode, run.stderr.count("\n")), run.stderr[:200])
            self.assertLess(len(run.stderr), 600, name)

    def test_keys_that_come_twice_are_refused(self):
        gpu = (DATA / "gpus" / "h100.json").read_text().replace('"memory_bytes"', '"memory_bytes": 1, "memory_bytes"', 1)
        self.fails(2, ['twice.json: has two keys "memory_bytes"'], "--lengths", self.file("l.txt", "100\n"), *MODEL[:2], "--gpu", self.file("twice.json", gpu), "--pp", "8")

    def test_values_that_nest_deep_are_refused(self):
        deep = '{"num_hidden_layers": ' + "[" * 100000
        self.fails(2, ["is nested more than 100 deep"], "--lengths", self.file("l.txt", "100\n"), "--model", self.file("m.json", deep), "--gpu", "h100")

    def test_a_plan_above_the_gpu_says_by_how_much(self):
        out = self.plans("--lengths", self.file("l.txt", "100000\n"), *MODEL, "--pp", "2", "--memory", "400GiB", "--force", "--explain")
        self.assertRegex(out, r"The plan is too large for it: it has 74\.51 GiB, [\d.]+ [GM]iB too little\.")
        self.assertNotRegex(out, r"-\d+ bytes")

    def test_thousands_of_stages(self):
        """A plan has as many instructions as packs times stages: packs are fewer where stages are thousands."""
        lengths = self.file("l.txt", "".join(f"{50 + 37 * i % 9000}\n" for i in range(512)))
        stages = 4096 if FULL else 2048
        out = self.plans("--lengths", lengths, "--cost", "quadratic:1e-6,4.069e-11,2,2,6.4e-5", "--hop", "2.4e-5", "--pp", stages, "--effort", "fast")
        self.assertIn(f"pp {stages}", self.line(out, "shape"))

    def test_an_ignored_signal_stays_ignored(self):
        command = [os.environ["SLIMPACK_PLAN"], "--lengths", self.file("l.txt", "100\n300\n" * 4096), *QUADRATIC, "--planner", "megatron", "--batch", "2", "--batches", "4096", "--json", self.outputs / "p.json"]
        run = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        while run.poll() is None and not any(self.outputs.iterdir()):
            time.sleep(0.001)
        run.send_signal(signal.SIGHUP)
        self.assertEqual(0, run.wait())

    def test_a_pack_above_the_chunk_is_no_matter_of_memory(self):
        lengths = self.file("l.txt", "13801\n28008\n")
        self.plans("--lengths", lengths, *QUADRATIC, "--quantum", "1000000", "--planner", "chunked", "--pp", "2")

    def test_memory_that_cannot_hold_a_sequence(self):
        path = self.file("l.txt", "100\n5000\n")
        self.fails(3, ["5000 tokens", "4000 tokens", "1000 tokens are missing", "--memory 5120tokens fits", "on the same number of GPUs (", " useful, 0.00 % to gain), and --dp 2 fits"], "--lengths", path, *QUADRATIC,
                   "--memory", "4000tokens")
        self.fails(3, ["1000 tokens are missing; --memory 5120tokens fits"], "--lengths", path, *QUADRATIC,
                   "--memory", "4000tokens", "--sharers", "1")
        self.fails(3, ["GiB", "missing", "--recompute"], "--lengths", self.file("m.txt", "131072\n"), *MODEL, "--tp", "2", "--pp", "4")
        self.fails(3, ["GiB", "missing", "GPUs instead of 1"], "--lengths", path, "--gpu", "h100", "--model", DATA / "models" / f"{'deepseek-v3' if FULL else 'mixtral-8x7b'}.json")
        self.fails(3, ["1F1B", "exceeds"], "--lengths", self.file("n.txt", "500\n" * 64), *QUADRATIC, "--planner", "megatron",
                   "--baseline", "context=4000", "--memory", "3000tokens")
        self.fails(3, ["1000 tokens are missing", "this search ended after 1"], "--lengths", path, *QUADRATIC, "--memory", "4000tokens",
                   "--time-limit", "1")

    def test_sequences_whose_sharers_keep_more_than_they_have_room_for(self):
        options = [*MODEL, "--pp", "2", "--cost", "transformer", "--effort", "fast", "--over-long", "truncate"]
        source = ["--lengths", DATA / "lengths" / "linux_source.txt", "--seed", "1", *options]
        longest = [*source, "--batch", "1000"] if FULL else ["--lengths", self.file("l.txt", "1000000\n" + "500\n" * 63), *options]
        self.fails(3, ["a sequence of 1000000 tokens, shared by 64 replicas, needs", "each keeps the keys and values of all others", "--exchange any fits"],
                   *longest, "--dp", "64", "--max-context", "1000000")
        # No division has room for as many sharers as that takes, and one has for fewer.
        self.plans(*source, "--dp", "16", "--batch", "512", "--max-context", "262144")

    def advice(self, *arguments):
        """What to type, as the line on standard error ends: one thing or the other."""
        run = self.run_plan(*arguments)
        self.assertEqual(3, run.returncode, run.stderr)
        return [advice.split() for advice in re.findall(r"(?:; |, and )(--[^:]*) fits: \S+ \S+ a step on ", run.stderr)]

    def test_advice_typed_back_plans(self):
        one = ["--lengths", self.file("one.txt", "131072\n")]
        llama = [*one, *MODEL, "--pp", "4"]
        deepseek = [*one, "--gpu", "h100", "--model", DATA / "models" / "deepseek-v3.json"]
        whole = ["--lengths", self.file("n.txt", "500\n" * 64), *QUADRATIC, "--planner", "megatron", "--baseline", "context=4000", "--memory", "3000tokens"]
        shared = ["--lengths", self.file("s.txt", "100\n5000\n"), *QUADRATIC, "--memory", "3000tokens"]
        mooncake = ["--lengths", DATA / "lengths" / "mooncake_conversation.txt", "--batch", "256", "--seed", "1"]
        layouts = [] if FULL else ["--recompute", "full"]  # fewer to try
        for typed in ([*llama, "--tp", "2"], [*llama, "--tp", "2", "--dp", "2", "--sharers", "1"], [*llama, "--recompute", "full", "--memory", "30GiB"],
                      [*llama, "--tp", "2", "--planner", "megatron"], deepseek, whole, shared, [*one, *MODEL, "--auto", "--gpus", "1"],
                      [*llama, "--auto", "--gpus", "8", "--tp", "2", "--memory", "24GiB", *layouts], [*shared[:-1], "1000tokens", "--dp", "2", "--sharers", "2", "--exchange", "queries"],
                      [*shared[:-1], "1000tokens", "--dp", "2", "--divide", "estimated"], [*shared, "--planner", "slimpipe", "--slices", "2", "--pp", "2"],
                      [*mooncake, *MODEL, "--dp", "32", "--pp", "2", "--effort", "fast"]):
            for advice in self.advice(*typed):
                with self.subTest(typed=typed, advice=advice):
                    changed = list(map(str, typed))
                    for name, value in zip(advice[::2], advice[1::2]):
                        if name in changed:
                            changed[changed.index(name) + 1] = value
                        else:
                            changed += [name, value]
                    self.plans(*changed)

    def test_advice_takes_no_more_gpus_than_it_must(self):
        self.assertEqual([["--recompute", "light"]], self.advice("--lengths", self.file("one.txt", "131072\n"), *MODEL, "--tp", "2", "--pp", "4"))

    def test_advice_is_affordable(self):
        mooncake = ["--lengths", DATA / "lengths" / "mooncake_conversation.txt", "--batch", "64"]
        for cost in (QUADRATIC, [*MODEL, "--tp", "2", "--pp", "4"]):  # a thousand GPUs share what one holds under a higher limit
            (name, value), *more = self.advice(*mooncake, *cost, "--memory", "1000tokens")
            self.assertEqual(("--memory", []), (name, more))
            self.assertLessEqual(87571, int(value.removesuffix("tokens")))
            self.assertLessEqual(int(value.removesuffix("tokens")), 1.05 * 87571)
        advised = self.advice(*mooncake, *MODEL)[0]  # fewer GPUs than twice, and not a power of two
        self.assertEqual(["--pp", "3"], advised[:2])

    def auto(self, *arguments, gpus=16):
        """The options of a choice for a batch of two long and many short sequences, and where its plan is written."""
        prices = [] if FULL else ["--cost", "transformer"]  # prices of measured tables take several times as long
        lengths = self.file("auto.txt", "".join(f"{n}\n" for n in [60000, 30000] + list(range(500, 6000, 250)) + [40000, 9000] + list(range(520, 6020, 250))))
        return ["--lengths", lengths, *MODEL, "--auto", "--gpus", gpus, "--batch", 24, "--batches", 2, "--effort", "fast", *prices, "--json", self.outputs / "p.json", *arguments]

    def chosen(self):
        plans = [json.loads((self.outputs / f"p-{i}.json").read_text()) for i in (0, 1)]
        shapes = [[p[key] for key in ("dp", "stages", "tp", "cp", "vpp")] for p in plans]
        self.assertEqual(*shapes)
        return shapes[0], [p["step_time"] for p in plans]

    def test_auto_chooses_one_shape_for_all_batches(self):
        out = self.plans(*self.auto("--compare", "megatron"))
        self.assertIn("shapes    megatron on 16 GPUs", out)
        self.assertRegex(out, r"megatron .* --")
        for word in ("slimpack on 16 GPUs", "2 batches", "layouts", "proven to be slower", "tokens/s/GPU", "recompute", "layers"):
            self.assertIn(word, out)
        shape, times = self.chosen()
        self.assertEqual(16, math.prod(shape[:4]))
        by_hand = []
        for pp, tp, cp in ((1, 1, 1), (1, 1, 4), (1, 8, 1), (2, 1, 8), (2, 2, 4), (2, 8, 1), (4, 1, 2), (4, 2, 1), (4, 2, 2), (8, 2, 1), (16, 1, 1)):
            typed = [x for x in self.auto() if x not in ("--auto", "--gpus", 16)]
            typed[typed.index("--effort"):typed.index("--effort")] = ["--pp", pp, "--tp", tp, "--cp", cp, "--dp", 16 // pp // tp // cp]
            if self.run_plan(*typed).returncode == 0:
                by_hand.append(sum(self.chosen()[1]))
        self.assertGreater(len(by_hand), 3)
        self.assertLessEqual(sum(times), min(by_hand))

    def test_auto_keeps_what_is_given(self):
        self.plans(*self.auto("--tp", 4, "--vpp", 2, "--recompute", "full"))
        shape, _ = self.chosen()
        self.assertEqual((16, 4, 2), (math.prod(shape[:4]), shape[2], shape[4]))

    def test_what_auto_chose_is_made_again(self):
        # A first look at a layout, one by estimates, the fast effort and the normal one: options say which of them a plan is of.
        efforts = set()
        cases = itertools.product((20000, 40000, 60000, 90000), ("fast", "normal")) if FULL else ((20000, "fast"), (90000, "normal"))
        for longest, effort in cases:
            lengths = self.file("again.txt", f"{longest}\n" + "".join(f"{n}\n" for n in range(500, 9000, 250)))
            self.plans("--lengths", lengths, *MODEL, "--auto", "--gpus", "8", "--recompute", "none", "--effort", effort, "--json", self.outputs / "p.json")
            made = json.loads((self.outputs / "p.json").read_text())["made_with"]["options"]
            efforts.add((made["effort"], made.get("divide")))
            self.assertIn("the same plan", self.plans("--from", self.outputs / "p.json"), (longest, effort, made))
        self.assertGreater(len(efforts), 1)

    def test_batches_are_divided_by_estimates(self):
        path = self.file("l.txt", "60000\n" + "".join(f"{700 + 40 * i}\n" for i in range(60)))
        plans = []
        for how, threads in (("estimated", 1), ("estimated", 2), ("searched", 2)):
            name = self.inputs / f"{how}-{threads}.json"
            self.plans("--lengths", path, *QUADRATIC, "--pp", "4", "--dp", "4", "--effort", "fast", "--divide", how, "--threads",
                       threads, "--compare", "megatron", "--json", name)
            plans.append(json.loads(name.read_text()))
        self.assertEqual(plans[0]["hash"], plans[1]["hash"])
        self.assertNotEqual(plans[0]["hash"], plans[2]["hash"])
        self.assertTrue(plans[0]["merges"])
        self.assertLess(plans[0]["step_time"], 1.02 * plans[2]["step_time"])
        self.fails(2, ["--divide", "searched"], "--lengths", path, *QUADRATIC, "--divide", "evenly")

    def test_auto_does_not_depend_on_threads(self):
        gpus, counts = (16, (1, 2, 3)) if FULL else (8, (1, 3))
        outputs = []
        for threads in counts:
            out = self.plans(*self.auto("--threads", threads, gpus=gpus))
            outputs.append((out[:out.index("batch 0")], *((self.outputs / f"p-{i}.json").read_text().split('"planning_seconds"')[0] for i in (0, 1))))
        for other in outputs[1:]:
            self.assertEqual(outputs[0], other)

    def test_auto_tunes_what_it_compares(self):
        self.plans(*self.auto("--planner", "megatron"))
        tuned = sum(self.chosen()[1])
        self.plans(*self.auto("--planner", "megatron", "--pp", 4, "--tp", 2, "--cp", 2))
        self.assertLessEqual(tuned, sum(self.chosen()[1]))

    def test_milp_is_never_behind(self):
        if "not built" in self.run_plan("--lengths", "x", *QUADRATIC, "--planner", "milp").stderr:
            self.skipTest("built without CBC")
        times = []
        for planner in ("slimpack", "milp"):
            self.plans("--lengths", self.file("l.txt", "100\n300\n"), *QUADRATIC, "--pp", "2", "--planner", planner, "--json", self.outputs / "p.json")
            times.append(json.loads((self.outputs / "p.json").read_text())["step_time"])
        self.assertLessEqual(times[1], times[0])

    def test_milp_refuses_what_it_cannot_plan(self):
        if "not built" in self.run_plan("--lengths", "x", *QUADRATIC, "--planner", "milp").stderr:
            self.skipTest("built without CBC")
        lengths = ["--lengths", self.file("l.txt", "100\n300\n"), *QUADRATIC, "--pp", "2"]
        for milp in (["--planner", "milp"], ["--compare", "milp"]):
            self.fails(2, [" ".join(milp), "--weight-gradients apart"], *lengths, *milp, "--weight-gradients", "apart")
            self.fails(2, [" ".join(milp), "--vpp 2"], *lengths, *milp, "--vpp", "2")
        self.plans(*lengths, "--planner", "milp", "--weight-gradients", "together", "--vpp", "1")

    def test_bad_choices(self):
        lengths = ["--lengths", self.file("l.txt", "100\n200\n")]
        self.fails(2, ["--auto", "--gpus"], *lengths, *MODEL, "--auto")
        self.fails(2, ["--gpus", "--auto"], *lengths, *MODEL, "--gpus", "8")
        self.fails(2, ["--gpus", "0"], *lengths, *MODEL, "--auto", "--gpus", "0")
        self.fails(2, ["--auto", "quadratic"], *lengths, *QUADRATIC, "--auto", "--gpus", "8")
        self.fails(2, ["no shape of 6 GPUs"], *lengths, *MODEL, "--auto", "--gpus", "6", "--tp", "4")
        self.fails(2, ["--tp 3 does not divide the 32 query heads"], *lengths, *MODEL, "--auto", "--gpus", "6", "--tp", "3")
        self.fails(3, ["none of", "2 GPUs", "are missing", "--gpus 4 fits"], "--lengths", self.file("m.txt", "131072\n"), *MODEL, "--auto", "--gpus", "2")

    def test_layers_of_stages(self):
        lengths = ["--lengths", self.file("l.txt", "".join(f"{700 + 40 * i}\n" for i in range(60))), *MODEL]
        steps = {}
        for layers, got in (("even", None), ("auto", [8, 9, 9, 6]), ("8,9,9,6", [8, 9, 9, 6]), ("2,10,10,10", [2, 10, 10, 10])):
            out = self.plans(*lengths, "--pp", "4", "--tp", "2", "--layers", layers, "--explain", "--json", self.outputs / "p.json")
            made = json.loads((self.outputs / "p.json").read_text())
            steps[layers], uneven = made["step_time"], made["rank_time"]["imbalance"] / sum(made["rank_time"].values())
            self.assertEqual(got, made.get("layers"))
            self.assertEqual(got is not None, "layers " + ",".join(map(str, got or [])) in self.line(out, "shape"))
            print(f"--layers {layers}: {1e3 * steps[layers]:.2f} ms, imbalance of stages {100 * uneven:.1f} %")
        self.assertEqual(steps["auto"], steps["8,9,9,6"])
        self.assertLess(steps["auto"], 0.95 * steps["even"])
        self.assertLess(steps["even"], steps["2,10,10,10"])
        (self.outputs / "p.json").unlink()
        for counts, parts, says in (("9,9,9,9", ["--pp", "4"], "gives 4 counts, 36 in sum, and --pp x --vpp is 4"), ("16,16", ["--pp", "4"], "gives 2 counts, 32 in sum, and --pp x --vpp is 4"),
                                    ("9,9", [], "gives 2 counts, 18 in sum, and --pp x --vpp is 1")):
            self.fails(2, ["--layers " + says + "; give one count for each part, 32 in sum, or --layers even"], *lengths, *parts, "--layers", counts)
        self.fails(2, ["--layers '9,-1'", "9,9,9,5"], *lengths, "--pp", "2", "--layers", "9,-1")
        self.fails(2, ["--layers needs --cost transformer or profiled"], "--lengths", self.file("q.txt", "100\n"), *QUADRATIC, "--layers", "auto")
        self.fails(2, ["--layers 16,16 needs --pp and --vpp under --auto"], *lengths, "--auto", "--gpus", "4", "--layers", "16,16")

    def test_stages_without_layers(self):
        lengths = ["--lengths", self.file("l.txt", "40000\n" + "".join(f"{700 + 140 * i}\n" for i in range(24))), *MODEL]
        made = self.outputs / "p.json"
        for typed in ("--pp 4 --layers 11,11,10,0", "--pp 4 --layers 0,11,11,10", "--pp 4 --layers 0,16,16,0 --dp 2", "--pp 2 --vpp 2 --layers 11,11,10,0",
                      "--pp 2 --layers 32,0", "--pp 3 --layers 16,16,0 --recompute full --weight-gradients apart", "--pp 4 --layers 11,11,10,0 --forward-only",
                      "--pp 4 --layers 11,11,10,0 --dp 2 --reduction exposed --planner megatron", "--pp 4 --layers 11,11,10,0 --planner slimpipe",
                      "--pp 4 --layers 11,11,10,0 --dp 2 --planner te_cp", "--pp 4 --layers 0,11,11,10 --planner chunked"):
            for cost in ("measured", "transformer", "transformer:sheet"):
                with self.subTest(typed=typed, cost=cost):
                    tp = ["--tp", "8"] if "full" not in typed else ["--tp", "4"]
                    effort = [] if "--forward-only" in typed else ["--effort", "look"]
                    self.plans(*lengths, *tp, "--cost", cost, *effort, "--memory", "1024GiB", "--force", "--explain", "--timeline", self.outputs / "t.html", "--json", made, *typed.split())
                    plan = json.loads(made.read_text())
                    replay(plan)
                    self.assertEqual(typed.split("--layers ")[1].split()[0], ",".join(map(str, plan["layers"])))
                    self.assertTrue(all(math.isfinite(x) for x in (plan["step_time"], plan["lower_bound"], plan["efficiency"])))
                    self.assertGreater(plan["efficiency"], 0)
        self.assertIn("the same plan", self.plans("--from", made))
        # In a plan file, too, a part has a layer or an end of the model.
        for layers, says in ([11, 0, 11, 10], "layers[1]"), ([11, 11, 11, -1], "layers[3]"), ([11, 11, 10], "layers"):
            bad = self.file("bad.json", json.dumps({**plan, "layers": layers}))
            with self.assertRaises(Wrong):
                replay({**plan, "layers": layers})
            run = self.run_plan("--from", bad)
            self.assertEqual((2, 1), (run.returncode, run.stderr.count("\n")), run.stderr)
            self.assertIn(says, run.stderr)
        made.unlink(), (self.outputs / "t.html").unlink()
        for typed, part in (("--pp 4 --layers 11,0,11,10", "part 1 of 4"), ("--pp 2 --vpp 2 --layers 11,11,0,10", "part 2 of 4"),
                            ("--pp 2 --layers 32,0 --vocabulary spread", "part 1 of 2")):
            self.fails(2, [part, "has no layer and no end of the model"], *lengths, *typed.split())

    def test_auto_gives_a_stage_of_a_large_vocabulary_no_layer(self):
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 8,
                  "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 262144, "hidden_act": "silu", "max_position_embeddings": 32768, "tie_word_embeddings": False}
        model = ["--lengths", self.file("l.txt", "3000\n" * 16), "--model", self.file("wide.json", json.dumps(config)), "--gpu", "h100", "--cost", "transformer", "--pp", "3",
                 "--json", self.outputs / "p.json"]
        steps = {}
        # 4 h^2 + 3 h f = 16 million weights a layer, and 268 million of the output layer: as many as 16 layers.
        for layers in ("auto", "6,6,0", "6,5,1"):
            self.plans(*model, "--layers", layers)
            made = json.loads((self.outputs / "p.json").read_text())
            replay(made)
            steps[layers] = made["step_time"]
            self.assertEqual([6, 6, 0] if layers == "auto" else [int(n) for n in layers.split(",")], made["layers"])
        self.assertEqual(steps["auto"], steps["6,6,0"])
        self.assertLess(steps["auto"], steps["6,5,1"])

    def test_unequal_shares_of_the_words(self):
        lengths = ["--lengths", self.file("w.txt", "".join(f"{700 + 140 * i}\n" for i in range(60))), *MODEL, "--pp", "3", "--tp", "2", "--vocabulary", "spread",
                   "--effort", "fast"]
        files = "--json", self.outputs / "p.json", "--timeline", self.outputs / "t.html"
        plans = {}
        for cost in ("measured", "transformer", "transformer:sheet"):
            for words in ("even", "42752,42752,42752", "1,64127,64128", "auto"):
                with self.subTest(cost=cost, words=words):
                    out = self.plans(*lengths, "--cost", cost, "--words", words, *files)
                    made = json.loads((self.outputs / "p.json").read_text())
                    replay(made)
                    plans[words] = made["step_time"]
                    if "words" in made:
                        shown = ",".join(map(str, made["words"]))
                        self.assertEqual((3, 128256), (len(made["words"]), sum(made["words"])))
                        self.assertIn(f"vocabulary spread, words {shown}", self.line(out, "shape"))
                        self.assertIn('"words":' + json.dumps(made["words"], separators=(",", ":")), (self.outputs / "t.html").read_text())
                        self.assertEqual(shown, made["made_with"]["options"]["words"])
                        self.assertIn("the same plan", self.plans("--from", self.outputs / "p.json"))
                    else:
                        self.assertNotIn(", words", self.line(out, "shape"))
                    self.assertEqual(words == "1,64127,64128", "words" in made) if words != "auto" else None
            self.assertEqual(plans["even"], plans["42752,42752,42752"])
            self.assertLessEqual(plans["auto"], plans["even"])
            print(f"--words, {cost}: {plans}")
        # Eleven layers each on two stages and ten on the last, which has time for more words.
        self.assertLess(plans["auto"], plans["even"])
        made = json.loads((self.outputs / "p.json").read_text())
        self.assertGreater(made["words"][2], made["words"][0])
        for words, says in ([1, 2], "words has size 2"), ([0, 1, 2], "words[0]"), (3, "words"):
            run = self.run_plan("--from", self.file("bad.json", json.dumps({**made, "words": words})))
            self.assertEqual((2, 1), (run.returncode, run.stderr.count("\n")), run.stderr)
            self.assertIn(says, run.stderr)
        for name in ("p.json", "t.html"):
            (self.outputs / name).unlink()
        out = self.plans(*lengths, "--words", "auto", "--compare", "megatron,chunked", "--trainer", "packflow")
        self.assertIn("ended on", out)
        trained = ["--trainer", "spread-vocabulary"]
        self.fails(2, ["--words auto needs a trainer with unequal-words"], *lengths, *trained, "--words", "auto")
        self.fails(2, ["--words 1,64127,64128 needs a trainer with unequal-words"], *lengths, *trained, "--words", "1,64127,64128")
        self.plans(*lengths, *trained, "--words", "even")
        auto = [*lengths[:2], *MODEL, "--auto", "--gpus", "3", "--effort", "fast"]
        spread = [*auto, "--pp", "3", "--vocabulary", "spread"]
        found = self.plans(*spread)
        self.assertIn("spread, unequal", found)
        self.assertNotIn("unequal", self.plans(*spread, "--words", "even"))
        self.assertNotIn("unequal", self.plans(*spread, "--trainer", "spread-vocabulary"))
        for says, typed in ((["--words gives 2 counts, 128256 in sum", "--pp is 3"], ["--words", "1,128255"]),
                            (["--words gives 3 counts, 128255 in sum", "128256 in sum, or --words even"], ["--words", "1,1,128253"]),
                            (["--words '0,1,128255' is not even, auto"], ["--words", "0,1,128255"]), (["--words '1,-1,128256'"], ["--words", "1,-1,128256"]),
                            (["--words 'many'"], ["--words", "many"])):
            self.fails(2, says, *lengths, *typed)
        for words in ("auto", "even", "64128,64128"):
            self.fails(2, ["--words is about a vocabulary that is spread"], *lengths[:2], *MODEL, "--pp", "2", "--words", words)
            self.fails(2, ["--words is about a vocabulary that is spread"], *auto, "--vocabulary", "last", "--words", words)
        self.fails(2, ["--words '64128,64128' needs --vocabulary spread and --pp under --auto"], *auto, "--words", "64128,64128")
        self.fails(2, ["--vocabulary spread needs --cost transformer or profiled"], *lengths[:2], *QUADRATIC, "--pp", "2", "--vocabulary", "spread", "--words", "auto")

    def test_a_spread_vocabulary(self):
        lengths = ["--lengths", self.file("v.txt", "".join(f"{700 + 40 * i}\n" for i in range(60))), *MODEL]
        steps = {}
        for where in ("last", "spread"):
            out = self.plans(*lengths, "--pp", "4", "--tp", "2", "--vocabulary", where, "--explain", "--compare", "chunked",
                             "--json", self.outputs / "p.json", "--trace", self.outputs / "t.json", "--timeline", self.outputs / "t.html")
            made = json.loads((self.outputs / "p.json").read_text())
            steps[where] = made["step_time"]
            self.assertEqual(None if where == "last" else where, made.get("vocabulary"))
            self.assertEqual(where == "spread", "vocabulary spread" in self.line(out, "shape"))
            self.assertIn("chunked", out)
            print(f"--vocabulary {where}: {1e3 * steps[where]:.2f} ms")
        self.assertLess(steps["spread"], 0.95 * steps["last"])
        for name in ("p.json", "t.json", "t.html"):
            (self.outputs / name).unlink()
        out = self.plans(*lengths, "--auto", "--gpus", "4", "--pp", "4", "--effort", "fast", "--json", self.outputs / "p.json")
        self.assertIn("--vocabulary spread", out)
        self.assertIn("vocabulary", out.splitlines()[1])
        self.assertEqual("spread", json.loads((self.outputs / "p.json").read_text())["vocabulary"])
        out = self.plans(*lengths, "--auto", "--gpus", "4", "--pp", "4", "--effort", "fast", "--vocabulary", "last", "--json", self.outputs / "p.json")
        self.assertNotIn("vocabulary", out)
        (self.outputs / "p.json").unlink()
        self.fails(2, ["--vocabulary spread needs --pp 2 or more"], *lengths, "--vocabulary", "spread")
        self.fails(2, ["--vocabulary spread needs --pp 2 or more"], *lengths, "--auto", "--gpus", "4", "--pp", "1", "--vocabulary", "spread")
        self.fails(2, ["--vocabulary spread needs --cost transformer or profiled", "quadratic"], *lengths[:2], *QUADRATIC, "--pp", "2",
                   "--vocabulary", "spread")
        self.fails(2, ["--vocabulary"], *lengths, "--pp", "2", "--vocabulary", "first")

    def test_reduction_beside_the_work(self):
        lengths = ["--lengths", self.file("r.txt", "".join(f"{100 + 10 * i}\n" for i in range(32))), *MODEL, "--dp", "2", "--pp", "2", "--tp", "2"]
        steps = {}
        for vpp in ("1", "4"):
            for when in ("exposed", "overlapped"):
                out = self.plans(*lengths, "--vpp", vpp, "--reduction", when, "--compare", "megatron", "--explain", "--json", self.outputs / "p.json",
                                 "--timeline", self.outputs / "t.html")
                made = json.loads((self.outputs / "p.json").read_text())
                self.assertEqual(when == "overlapped", "reduction" in made)
                self.assertEqual(when == "overlapped", '"streams":' in (self.outputs / "t.html").read_text())
                steps[vpp, when] = made["step_time"], made["rank_time"]["communication"] / sum(made["rank_time"].values())
                print(f"--vpp {vpp} --reduction {when}: {1e3 * made['step_time']:.2f} ms, {100 * steps[vpp, when][1]:.1f} % communication")
        self.assertLess(steps["4", "overlapped"][0], 0.95 * steps["4", "exposed"][0])
        self.plans(*lengths, "--vpp", "4", "--json", self.outputs / "p.json")
        self.assertEqual(steps["4", "overlapped"][0], json.loads((self.outputs / "p.json").read_text())["step_time"], "it is the default")
        self.plans(*lengths[:-6], "--pp", "2", "--json", self.outputs / "p.json")
        self.assertNotIn("reduction", json.loads((self.outputs / "p.json").read_text()), "one copy of the weights has nothing to reduce")
        for file in ("p.json", "t.html"):
            (self.outputs / file).unlink()
        self.fails(2, ["--reduction needs --cost transformer or profiled"], "--lengths", self.file("q.txt", "100\n"), *QUADRATIC, "--reduction",
                   "overlapped")
        self.fails(2, ["--reduction", "overlapped"], *lengths, "--reduction", "sometimes")

    def test_ranks_that_divide_experts(self):
        mixtral = ["--model", DATA / "models" / "mixtral-8x7b.json", "--gpu", "h100"]
        lengths = ["--lengths", self.file("e.txt", "".join(f"{700 + 40 * i}\n" for i in range(64)))]
        typed = [*lengths, *mixtral, "--pp", "4", "--dp", "8", "--effort", "fast", "--json", self.outputs / "p.json"]
        self.assertEqual(3, self.run_plan(*typed).returncode, "8 experts on each GPU of a stage do not fit")
        steps = {}
        for name, more in {"plain": [], "even": ["--expert-imbalance", "1"], "hidden": ["--expert-overlap", "1"],
                           "column": ["--expert-imbalance", self.file("even.txt", "1\n" * 32)],
                           "uneven": ["--expert-imbalance", self.file("uneven.txt", "1\n" * 31 + "3\n")],
                           "measured": ["--cost", f"profiled:{DATA / 'profiles'}"]}.items():
            out = self.plans(*typed, "--ep", "8", *more)
            made = json.loads((self.outputs / "p.json").read_text())
            self.assertEqual((8, "slimpack-plan/2"), (made["ep"], made["format"]))
            self.assertIn("dp 8 x pp 4 x tp 1 x cp 1, ep 8", out)
            steps[name] = made["step_time"]
        self.assertEqual(steps["even"], steps["column"])
        self.assertLess(steps["even"], steps["plain"])
        self.assertLess(steps["hidden"], steps["plain"])
        self.assertLess(steps["even"], steps["uneven"])
        fewer, priced = ([], []) if FULL else (["--pp", "4"], ["--cost", "transformer"])  # layouts, and prices that take less time
        out = self.plans(*lengths, *mixtral, *fewer, "--auto", "--gpus", "16", "--vocabulary", "last", "--effort", "fast", "--json", self.outputs / "p.json")
        self.assertRegex(out, r"dp +pp +tp +cp +ep +vpp")
        self.assertGreater(json.loads((self.outputs / "p.json").read_text()).get("ep", 1), 1)
        out = self.plans(*lengths, *mixtral, *priced, "--auto", "--gpus", "16", "--ep", "4", "--effort", "fast", "--json", self.outputs / "p.json")
        self.assertEqual(4, json.loads((self.outputs / "p.json").read_text())["ep"])
        (self.outputs / "p.json").unlink()
        fails = lambda says, *arguments: self.fails(2, says, *lengths, *arguments)
        fails(["--ep 8", "llama-3.1-8b has no experts"], *MODEL, "--dp", "8", "--ep", "8")
        fails(["--ep 8", "llama-3.1-8b has no experts"], *MODEL, "--auto", "--gpus", "8", "--ep", "8")
        fails(["--ep 3 does not divide the 8 experts"], *mixtral, "--dp", "3", "--ep", "3")
        fails(["--ep 8 does not divide the 4 ranks of a stage", "--dp 2"], *mixtral, "--dp", "2", "--tp", "2", "--ep", "8")
        fails(["--ep needs --cost transformer or profiled"], *QUADRATIC, "--dp", "2", "--ep", "2")
        fails(["--ep", "--help"], *mixtral, "--ep", "0")
        fails(["no shape of 8 GPUs", "--ep"], *mixtral, "--auto", "--gpus", "8", "--pp", "4", "--ep", "8")
        for option, value in (("--expert-imbalance", "2"), ("--expert-overlap", "0.5"), ("--expert-nodes", "4")):
            fails([option, "--ep"], *mixtral, option, value)
            fails([option, "llama-3.1-8b has no experts"], *MODEL, "--auto", "--gpus", "8", option, value)
        ep = [*mixtral, "--dp", "8", "--ep", "8"]
        for value in ("0.9", "-1", "1,2", "nan"):
            fails(["--expert-imbalance", value], *ep, "--expert-imbalance", value)
        for value in ("1.1", "-0.1", "much", "nan"):
            fails([f"--expert-overlap: '{value}' is no number from 0 to 1", "--help"], *ep, "--expert-overlap", value)
        fails(["--expert-imbalance 8.5 is more than the busiest of --ep 8 ranks can have", "a factor from 1 to 8"], *ep, "--expert-imbalance", "8.5")
        roomy = [*lengths, *mixtral, "--tp", "4", "--dp", "2", "--ep", "8", "--effort", "fast", "--memory", "1000GiB", "--force", "--json", self.inputs / "m.json"]
        for imbalance in ("1.2", self.file("each.txt", "1.2\n" * 32)):  # they are of no use without --ep, and nobody typed them then
            self.plans(*roomy, "--expert-nodes", "1", "--expert-imbalance", imbalance)
            self.plans("--from", self.inputs / "m.json", "--ep", "1", "--json", self.inputs / "r.json")
            self.assertFalse([name for name in json.loads((self.inputs / "r.json").read_text())["made_with"]["options"] if name.startswith("expert-")])
        self.fails(2, ["--expert-nodes is about experts"], "--from", self.inputs / "m.json", "--ep", "1", "--expert-nodes", "2")
        fails(["high.txt, line 32: --expert-imbalance 9 is more than"], *ep, "--expert-imbalance", self.file("high.txt", "1\n" * 31 + "9\n"))
        fails(["--expert-nodes", "--help"], *ep, "--expert-nodes", "0")
        fails(["few.txt", "2 factors", "32 layers"], *ep, "--expert-imbalance", self.file("few.txt", "1.2\n1\n"))
        fails(["bad.txt, line 2"], *ep, "--expert-imbalance", self.file("bad.txt", "1.2\nhigh\n"))
        fails(["low.txt, line 1"], *ep, "--expert-imbalance", self.file("low.txt", "0.5\n"))
        pipe = self.inputs / "factors"
        os.mkfifo(pipe)
        fails(["factors", "expected a file"], *ep, "--expert-imbalance", pipe)
        fails(["nowhere", "cannot be opened", "--expert-imbalance"], *ep, "--expert-imbalance", self.inputs / "nowhere")

    def test_explain_says_where_the_time_goes(self):
        lengths = ["--lengths", self.file("l.txt", "60000\n" + "".join(f"{700 + 40 * i}\n" for i in range(60)))]
        for cost in (QUADRATIC, [*MODEL, "--tp", "2", "--recompute", "selective"]):
            out = self.plans(*lengths, *cost, "--dp", "2", "--pp", "4", "--compare", "megatron,chunked", "--explain", "--json", self.outputs / "p.json")
            self.assertRegex(out, r"useful: \d+\.\d % of the stages' time is work of the batch; the rest is ")
            rows = re.findall(r"^(slimpack|megatron|chunked) +((?:-?\d+\.\d\d %[ \n]*){7})$", out, re.M)
            self.assertEqual(["slimpack", "megatron", "chunked"], [name for name, _ in rows])  # and slimpack again on layouts of the others
            for name, shares in rows:
                shares = [float(x) for x in re.findall(r"-?\d+\.\d\d", shares)]
                self.assertAlmostEqual(100, sum(shares), delta=0.04)
                self.assertEqual(cost is not QUADRATIC, shares[1] > 0, name)
                if name == "slimpack":  # rivals compute again what is fastest for them
                    self.assertEqual(cost is not QUADRATIC, shares[2] > 0)
            made = json.loads((self.outputs / "p.json").read_text())
            self.assertEqual("slimpack-plan/2", made["format"])
            time = {"s": 1, "ms": 1e-3, "us": 1e-6}
            floor, unit = re.search(r"with any layout, layers and recomputation, a step takes at least ([\d.]+) (m?s|us), which is", out).groups()
            self.assertLess(float(floor) * time[unit], 1.001 * made["rank_time"]["useful"] / 8)
            self.assertAlmostEqual(float(floor) * time[unit], made["any_layout_bound"], delta=0.005 * made["any_layout_bound"])
            self.assertLessEqual(made["any_layout_bound"], made["step_time"])

    def test_weight_gradients_apart(self):
        lengths = self.file("l.txt", "".join(f"{n}\n" for n in range(100, 4100, 100)))
        programs = []
        for weights in ([], ["--weight-gradients", "together"], ["--weight-gradients", "apart"]):
            self.plans("--lengths", lengths, *QUADRATIC, "--pp", "4", *weights, "--json", self.outputs / "p.json")
            programs.append((self.outputs / "p.json").read_text())
        self.assertFalse(any('"W' in text for text in programs[:2]))
        self.assertIn('"W', programs[2])
        # Calls of their own cost time: here a plan with weight gradients together is faster, and apart may be that one.
        lengths = self.file("l.txt", "1000\n2500\n4000\n")
        steps = {}
        for weights in ("together", "apart"):
            self.plans("--lengths", lengths, "--cost", "quadratic:1e-6,1e-10,2,2,2e-2", "--hop", "1e-5", "--pp", "4", "--effort", "fast", "--weight-gradients", weights, "--json", self.outputs / "p.json")
            steps[weights] = json.loads((self.outputs / "p.json").read_text())["step_time"]
        self.assertLessEqual(steps["apart"], steps["together"])

    def test_backward_cuts_and_calls(self):
        lengths = self.file("l.txt", "".join(f"{n}\n" for n in range(100, 8100, 100)))
        told = {}
        for name, more in (("plain", []), ("calls", ["--call-overhead", "1e-3"]), ("forward", ["--call-overhead", "1e-3", "--backward-cuts", "forward"])):
            out = self.plans("--lengths", lengths, *QUADRATIC, "--pp", "4", *more, "--json", self.outputs / "p.json")
            told[name] = re.findall(r"^pieces +(\d+) in (\d+) forward packs, (\d+) in (\d+) backward packs$", out, re.M)
            replica = json.loads((self.outputs / "p.json").read_text())["replicas"][0]
            counted = [str(n) for kind in ("forward", "backward") for n in (sum(len(p["slices"]) for p in replica[kind]), len(replica[kind]))]
            self.assertEqual([] if name == "plain" else [tuple(counted)], told[name])
        (forward, _, backward, _), = told["forward"]
        self.assertEqual(forward, backward)
        (self.outputs / "p.json").unlink()
        for text, more in (("--backward-cuts forward is for the planner slimpack", ["--planner", "chunked", "--backward-cuts", "forward"]),
                           ("--call-overhead is not in the model of the planner milp", ["--planner", "milp", "--call-overhead", "1e-3"]),
                           ("--call-overhead", ["--call-overhead", "-1"]), ("--call-overhead", ["--call-overhead", "nan"]),
                           ("--forward-only cannot be combined with --backward-cuts: nothing runs backward", ["--forward-only", "--backward-cuts", "forward"])):
            self.fails(2, [text], "--lengths", lengths, *QUADRATIC, *more)

    def test_an_evaluation_holds_weights_and_what_runs(self):
        """qwen2.5-7b on two tensor-parallel ranks, by hand: h 3584, 14 query heads and 2 of keys and values a rank of 128, f 18944, 152,064 words."""
        h, heads, kv, f, words, layers = 3584, 14, 2, 18944 // 2, 152064 // 2, 28
        weights = layers * (2 * h * heads * 128 + 2 * h * kv * 128 + 3 * h * f) + 2 * h * words
        keys_and_values = layers * 2 * kv * 128 * 2  # bytes a token
        layer = 2 * (4 * h // 2 + 2 * heads * 128 + 2 * kv * 128 + 3 * f)
        logits = 2 * h // 2 + 4 * words
        qwen = ["--model", DATA / "models" / "qwen2.5-7b.json", "--gpu", "h100", "--tp", "2", "--json", self.outputs / "p.json"]
        lengths = self.file("l.txt", "128\n")
        out = self.plans("--lengths", lengths, *qwen, "--forward-only", "--explain")
        held = json.loads((self.outputs / "p.json").read_text())["replicas"][0]["peak_memory"]
        self.assertEqual([2 * weights + 128 * (keys_and_values + max(layer, logits))], held)
        self.assertRegex(out, r"\nweights +7\.09 GiB +99\.4 %")
        self.assertRegex(out, r"\nrunning forward pack +37\.56 MiB")
        self.assertIn("evaluates forward alone: no gradients, no optimizer, nothing kept for a backward; weights, keys and values", out)
        for word in ("backwarded", "reduction", "recomputation", "optimizer  ", "step"):
            self.assertNotIn(word, out.split("evaluates forward alone", 1)[1], word)
        # Of a batch, keys and values of what is under way: less than a step keeps by far. A limit between the two is planned for one alone.
        many = self.file("m.txt", "".join(f"{n}\n" for n in (30000, 9000, 4000, 4000, 2000, 500)))
        self.plans("--lengths", many, *qwen, "--forward-only", "--pp", "2")
        evaluated = max(json.loads((self.outputs / "p.json").read_text())["replicas"][0]["peak_memory"])
        self.plans("--lengths", many, *qwen, "--pp", "2", "--effort", "fast")
        trained = max(json.loads((self.outputs / "p.json").read_text())["replicas"][0]["peak_memory"])
        self.assertLess(3 * evaluated, trained)
        limit = f"{math.ceil(evaluated / 2**30 * 8) / 8}GiB"
        self.plans("--lengths", many, *qwen, "--forward-only", "--pp", "2", "--memory", limit)
        self.assertLessEqual(max(json.loads((self.outputs / "p.json").read_text())["replicas"][0]["peak_memory"]), float(limit[:-3]) * 2**30)
        self.assertEqual(3, self.run_plan("--lengths", many, *qwen, "--pp", "2", "--memory", limit, "--time-limit", "2000").returncode)
        (self.outputs / "p.json").unlink()
        self.fails(3, ["missing", "an evaluation on"], "--lengths", many, *qwen, "--forward-only", "--memory", "7GiB")

    def test_evaluations_are_compared_and_explained(self):
        lengths = ["--lengths", self.file("l.txt", "".join(f"{n}\n" for n in (9000, 4000, 700, 100, 3000, 12000, 500, 64) * 2))]
        rivals = ["megatron", "dp_balanced", "karmarkar_karp", "chunked", "slimpipe"]
        given = [*lengths, *MODEL, "--pp", "2", "--dp", "2", "--tp", "2", "--forward-only"]
        out = self.plans(*given, "--compare", ",".join(rivals), "--explain", "--timeline", self.outputs / "p.html", "--json", self.outputs / "p.json")
        times = {name: float(ms) for name, ms in re.findall(r"^(\w+) +([\d.]+) ms  ", out, re.M)}
        self.assertEqual({"slimpack", *rivals}, set(times))
        self.assertEqual("slimpack", min(times, key=times.get))
        self.assertIn("On as many GPUs, with any layout and layers, an evaluation takes at least", out)
        self.assertIn("keys and values of sequences under way", out)
        for word in ("% backward", "reduction of gradients", "recomputation", "MFU:"):
            self.assertNotIn(word, out)
        floor = float(re.search(r"Without slicing, an evaluation takes at least ([\d.]+) ms", out)[1])
        for rival in rivals:
            self.plans(*given, "--planner", rival, "--json", self.outputs / "r.json")
            made = json.loads((self.outputs / "r.json").read_text())
            self.assertEqual((rival, 0), (made["planner"], sum(len(r["backward"]) for r in made["replicas"])))
            self.assertAlmostEqual(times[rival], 1e3 * made["step_time"], 1)
            self.assertTrue(rival in ("chunked", "slimpipe") or 1e3 * made["step_time"] >= floor - 0.01, rival)
            self.assertIn("the same plan", self.plans("--from", self.outputs / "r.json"))
        self.assertNotIn("backward packs", self.plans(*given, "--call-overhead", "1e-5"))

    def test_a_layout_is_chosen_for_evaluations(self):
        lengths = ["--lengths", self.file("l.txt", "".join(f"{n}\n" for n in (9000, 4000, 700, 100, 3000, 12000, 500, 64) * 8))]
        given = [*lengths, *MODEL, "--forward-only", "--auto", "--gpus", "8", "--json", self.outputs / "p.json"]
        out = self.plans(*given, "--compare", "megatron", "--explain")
        ranking = out.split("\n\n", 1)[0]
        self.assertNotRegex(ranking, r"selective|full|spread|step time")
        made = json.loads((self.outputs / "p.json").read_text())
        self.assertIn("the same plan", self.plans("--from", self.outputs / "p.json"))
        # No other layout that is typed is faster.
        for layout in (["--dp", "8"], ["--pp", "8"], ["--tp", "8"], ["--dp", "2", "--pp", "4"], ["--dp", "4", "--tp", "2"], ["--pp", "4", "--tp", "2"]):
            self.plans(*lengths, *MODEL, "--forward-only", *layout, "--json", self.outputs / "q.json")
            self.assertLessEqual(made["step_time"], json.loads((self.outputs / "q.json").read_text())["step_time"] * (1 + 1e-9), layout)
        # A model that no step of two GPUs fits is evaluated on them.
        large = [*lengths, "--model", DATA / "models" / "llama-3.1-70b.json", "--gpu", "h200", "--auto", "--gpus", "2"]
        self.assertRegex(self.plans(*large, "--forward-only"), r"\nslimpack ")
        self.assertEqual(3, self.run_plan(*large, "--time-limit", "2000").returncode)

    def test_what_evaluations_cannot_have_is_refused(self):
        lengths = self.file("l.txt", "100\n200\n")
        given = ["--lengths", lengths, *MODEL, "--dp", "2", "--pp", "2", "--forward-only"]
        for text, more in (("the planner te_cp: te_cp shares sequences among replicas", ["--compare", "te_cp"]),
                           ("the planner zeppelin", ["--planner", "zeppelin"]), ("the planner milp: milp solves models of training steps", ["--planner", "milp"]),
                           ("--lending level: stages lend each other attention in the lock steps of training steps", ["--compare", "slimpipe", "--lending", "level"]),
                           ("--sharers: an evaluation's replicas share no sequence", ["--sharers", "2"]), ("--effort: forward packs have a search", ["--effort", "fast"]),
                           ("--recompute full: nothing runs backward", ["--recompute", "full"]), ("--weight-gradients", ["--weight-gradients", "apart"]),
                           ("--reduction: there are no gradients", ["--reduction", "exposed"]), ("--vocabulary spread", ["--vocabulary", "spread"])):
            if "milp" in more and "milp" not in self.run_plan("--completion", "bash").stdout:
                continue
            self.fails(2, ["--forward-only cannot be combined with " + text, "leave out one of them"], *given, *more)
        self.plans(*given, "--recompute", "none", "--compare", "slimpipe", "--lending", "none")

    def test_unwritable_outputs(self):
        lengths = self.file("l.txt", "100\n200\n")
        for path in (self.folder / "missing" / "p.json", self.outputs, "/proc/p.json"):
            self.fails(2, ["cannot be written", str(path)], "--lengths", lengths, *QUADRATIC, "--json", path)
        run = self.run_plan("--lengths", lengths, *QUADRATIC, "--json", "/dev/full")
        self.assertEqual(2, run.returncode)
        self.assertIn("/dev/full", run.stderr)

    def test_outputs_and_table(self):
        lengths = self.file("l.txt", "100\n2000\n300\n4000\n500\n")
        out = self.plans("--lengths", lengths, *QUADRATIC, "--pp", "2", "--compare", "megatron,dp_balanced,karmarkar_karp,chunked",
                         "--json", self.outputs / "p.json", "--trace", self.outputs / "t.json", "--timeline", self.outputs / "t.html")
        for word in ("step time", "speed-up", "tokens/s/GPU", "MFU", "useful", "to gain", "peak memory", "planning", "slimpack", "megatron", "dp_balanced",
                     "karmarkar_karp", "chunked", "p.json", "t.json", "t.html", "Without slicing, a step takes at least", "step time: from the common start"):
            self.assertIn(word, out)
        self.assertEqual({"p.json", "t.json", "t.html"}, {p.name for p in self.outputs.iterdir()})
        self.assertTrue(json.loads((self.outputs / "t.json").read_text()))
        self.assertNotIn("http", (self.outputs / "t.html").read_text().replace("http-equiv", ""))

    def test_search_report(self):
        """Every shipped move, with counts that can be, and the same whatever the number of threads."""
        shipped = (DATA.parent.parent / "include" / "slimpack" / "solvers" / "improve" / "shipped.hpp").read_text()
        moves = set(re.search(r"using shipped = moves<([^>]*)>", shipped)[1].split(", "))
        self.assertIn("swap", moves)
        lengths = self.file("l.txt", "60000\n9000\n9000\n4000\n" + "".join(f"{300 + 40 * i}\n" for i in range(40)))
        plan = ["--lengths", lengths, *QUADRATIC, "--pp", "4", "--dp", "2"]
        tables = []
        for threads in (1, 3):
            out = self.plans(*plan, "--threads", threads, "--search-report", "--json", self.outputs / f"{threads}.json")
            tables.append(re.search(r"\nsearch +tried +taken +gained\n(.*?)\nCounted over all replicas (.*)", out, re.S))
        self.assertEqual(tables[0][1], tables[1][1])
        rows = [line.split() for line in tables[0][1].splitlines()]
        for name, tried, taken, gained, unit in rows:
            self.assertGreaterEqual(int(tried), max(int(taken), 1), name)
            self.assertGreaterEqual(int(taken), 0, name)
            self.assertGreaterEqual(float(gained), 0, name)
            self.assertTrue(int(taken) > 0 or float(gained) == 0, name)
            self.assertIn(unit, ("us", "ms", "s"))
        names = [row[0] for row in rows]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(moves, set(names))
        for name in set(names) - moves:  # what is no move is explained below the table
            self.assertRegex(tables[0][2], rf"\b{name}\b")
        self.plans(*plan, "--json", self.outputs / "p.json")
        self.assertEqual({self.hash_in("p.json")}, {self.hash_in("1.json"), self.hash_in("3.json")})

    def hash_in(self, name):
        return json.loads((self.outputs / name).read_text())["hash"]

    def test_plans_are_made_again(self):
        lengths = ["--lengths", self.file("l.txt", "".join(f"{300 + 711 * i % 9000}\n" for i in range(24)) + "30000\n"), "--effort", "fast"]
        model = self.file("mine.json", (DATA / "models" / "llama-3.1-8b.json").read_text().replace('"num_hidden_layers": 32', '"num_hidden_layers": 16'))
        gpu = self.file("gpu.json", (DATA / "gpus" / "h100.json").read_text().replace('"gpus_per_node": 8', '"gpus_per_node": 4'))
        experts = ["--model", "mixtral-8x7b", "--gpu", "h100", "--tp", "4", "--dp", "2", "--ep", "8", "--memory", "1000GiB", "--force"]
        mine = ["--model", model, "--gpu", gpu, "--cost", "transformer", "--tp", "2"]
        one = [*MODEL, "--tp", "2", "--pp", "4"]
        for arguments in ([*QUADRATIC, "--pp", "4", "--quantum", "64"], [*QUADRATIC, "--pp", "2", "--vpp", "2", "--planner", "chunked", "--max-context", "9000", "--over-long", "truncate"],
                          [*QUADRATIC, "--pp", "4", "--weight-gradients", "apart"], [*QUADRATIC, "--dp", "2", "--pp", "2", "--memory", "20000tokens", "--exchange", "any"],
                          [*QUADRATIC, "--dp", "2", "--divide", "estimated", "--sharers", "1"], 
                          [*one, "--dp", "2", "--vocabulary", "spread", "--layers", "auto"], [*one, "--dp", "2", "--recompute", "selective", "--reduction", "exposed", "--planner", "megatron"],
                          [*one, "--seed", "7", "--batch", "12", "--layers", "9,9,9,5"], [*one, "--cost", "transformer:sheet", "--hop", "0.0001"], [*mine, "--pp", "4"],
                          [*experts, "--expert-overlap", "0.5", "--expert-imbalance", "1.2"], [*one, "--config", self.file("c.toml", 'dp = 2\nrecompute = "full"\n')],
                          [*mine, "--auto", "--gpus", "4", "--pp", "2", "--exchange", "queries", "--trainer", "queries,chunks"]):
            with self.subTest(arguments=arguments):
                self.plans(*lengths, *arguments, "--json", self.outputs / "p.json")
                made = json.loads((self.outputs / "p.json").read_text())
                self.assertEqual("slimpack-plan/2", made["format"])
                out = self.plans("--from", self.outputs / "p.json", "--json", self.outputs / "q.json")
                self.assertIn(f"from      p.json: the same plan, hash {made['hash']}\n", out)
                self.assertEqual(made["hash"], self.hash_in("q.json"))
        self.plans("--lengths", lengths[1], *QUADRATIC, "--pp", "2", "--forward-only", "--json", self.outputs / "p.json")
        self.assertIn("the same plan", self.plans("--from", self.outputs / "p.json"))
        self.plans(*lengths, *mine, "--pp", "2", "--json", self.outputs / "p.json")
        for path in (model, gpu, lengths[1]):  # their contents are in the plan
            os.unlink(path)
        self.assertIn("the same plan", self.plans("--from", self.outputs / "p.json"))

    def test_batches_are_made_again_one_by_one(self):
        path = self.file("l.txt", "300\n500\n70000\n70\n")
        self.plans("--lengths", path, *MODEL, "--tp", "4", "--pp", "4", "--batch", "2", "--batches", "2", "--json", self.outputs / "p.json")
        for batch in (0, 1):
            self.assertIn("the same plan", self.plans("--from", self.outputs / f"p-{batch}.json"))

    def test_options_beside_from(self):
        path = self.file("l.txt", "300\n500\n7000\n")
        p = self.inputs / "p.json"
        self.plans("--lengths", path, *QUADRATIC, "--pp", "2", "--effort", "fast", "--json", p)
        self.assertIn("from      p.json: the same plan", self.plans("--from", p, "--pp", "2", "--compare", "megatron"))
        self.assertIn("from      p.json, but with --pp 4 instead of 2, --quantum 64 instead of 128\n", self.plans("--from", p, "--pp", "4", "--quantum", "64"))
        other = self.file("m.txt", "100\n200\n")
        self.assertIn(f"from      p.json, but with --lengths {other}, --batch 1\n", self.plans("--from", p, "--lengths", other, "--batch", "1"))
        self.fails(2, ["--batch is about the sequences of --lengths", "p.json has its batch"], "--from", p, "--batch", "2")
        self.fails(2, ["--from repeats the plan", "--auto chooses one"], "--from", p, "--auto", "--gpus", "4")
        self.fails(2, ["--recompute needs --cost transformer"], "--from", p, "--recompute", "full")
        self.plans("--lengths", path, *QUADRATIC, "--dp", "2", "--pp", "2", "--effort", "fast", "--exchange", "ring", "--rows", "joined", "--json", self.inputs / "q.json")
        for typed in (["--dp", "1"], ["--planner", "megatron"], ["--sharers", "1"], ["--dp", "1", "--forward-only"]):  # what then does nothing is dropped
            self.plans("--from", self.inputs / "q.json", *typed, "--json", self.inputs / "r.json")
            self.assertNotIn("exchange", json.loads((self.inputs / "r.json").read_text())["made_with"]["options"])
        self.fails(2, ["--exchange is about several replicas"], "--from", self.inputs / "q.json", "--dp", "1", "--exchange", "keep")
        for option, value in (MODEL[:2], MODEL[2:]):
            self.fails(2, ["p.json was made with a quadratic cost", f"{option} does not change", "--cost"], "--from", p, option, value)
        self.assertIn("--cost measured instead of quadratic", self.plans("--from", p, *MODEL, "--cost", "measured", "--tp", "8"))
        self.fails(2, ["p.json", "it is an input"], "--from", p, "--json", p)
        self.fails(2, ["--lengths is required, or --from"], *QUADRATIC)

    def test_plans_that_cannot_be_made_again(self):
        path = self.file("l.txt", "300\n500\n")
        p = self.inputs / "p.json"
        self.plans("--lengths", path, *QUADRATIC, "--time-limit", "10000", "--json", p)
        self.fails(2, ["a time limit ended its search", "cannot be repeated", "--time-limit"], "--from", p)
        self.fails(2, ["does not say what it was made with"], "--from", pathlib.Path(__file__).parent / "fuzz" / "seeds" / "plan_file" / "chunks.json")
        self.fails(2, ["nowhere.json"], "--from", self.inputs / "nowhere.json")
        self.plans("--lengths", path, *MODEL, "--tp", "2", "--json", p)
        good = p.read_text()
        made = json.loads(good)["made_with"]
        for key, value, says in (("version", 1, "version"), ("longest", 0, "longest"), ("options", [], "options"), ("options", {"pp": 2}, "made_with.options.pp"),
                                 ("options", {"colour": "red"}, "made with --colour, which this version does not have"), ("options", {**made["options"], "pp": "x"}, "p.json: "),
                                 ("options", {**made["options"], "auto": "true", "gpus": "8"}, "--auto, which makes no plan"), ("options", {**made["options"], "batches": "3"}, "--batches, which makes no plan"),
                                 ("options", {**made["options"], "time-limit": "1"}, "--time-limit, which makes no plan"), ("options", {**made["options"], "json": "x"}, "--json, which makes no plan"),
                                 ("inputs", [{"option": "model"}], "name"), ("inputs", [{**made["inputs"][0], "content": "{}"}], "it was changed"),
                                 ("inputs", [{**made["inputs"][0], "hash": "12"}], "16 hexadecimal digits"), ("colour", "red", "not a known key")):
            with self.subTest(key=key, value=value):
                p.write_text(json.dumps({**json.loads(good), "made_with": {**made, key: value}}))
                self.fails(2, [str(p), says], "--from", p)

    def test_what_has_changed_since_is_named(self):
        tables = self.inputs / "tables"
        shutil.copytree(DATA / "profiles", tables)
        p = self.inputs / "p.json"
        self.plans("--lengths", self.file("l.txt", "300\n500\n9000\n"), *MODEL, "--tp", "2", "--pp", "2", "--cost", f"profiled:{tables}", "--json", p)
        self.assertIn("the same plan", self.plans("--from", p))
        table = tables / "gemm_bf16_h100_sxm.csv"
        head, *rows = table.read_text().splitlines()
        ms = head.split(",").index("ms")
        slower = [row.split(",") for row in rows]
        for cells in slower:
            cells[ms] = str(1.5 * float(cells[ms]))
        table.write_text("\n".join([head, *(",".join(cells) for cells in slower)]) + "\n")
        (tables / "collectives_nvlink_h100_sxm.csv").unlink()
        old = json.loads(p.read_text())
        p.write_text(json.dumps({**old, "made_with": {**old["made_with"], "version": "0.0.9"}}))
        run = self.run_plan("--from", p, "--json", self.outputs / "again.json")
        self.assertEqual((4, ""), (run.returncode, run.stderr))  # a script can tell: it is another plan
        self.assertNotEqual(old["hash"], self.hash_in("again.json"))
        (self.outputs / "again.json").unlink()
        self.assertIn("4 --from made another plan", self.plans("--help-all"))
        out = run.stdout
        self.assertIn(f"instead of {old['hash']}: slimpack was 0.0.9 and is ", out)
        for says in ("from      p.json: another plan, hash ", "gemm_bf16_h100_sxm.csv has changed", "collectives_nvlink_h100_sxm.csv is gone"):
            self.assertIn(says, out)
        shutil.rmtree(tables)
        self.fails(2, [str(tables)], "--from", p)
        self.assertIn(f"but with --cost measured instead of profiled:{tables}", self.plans("--from", p, "--cost", "measured"))

    def test_trainers_get_what_they_can_run(self):
        lengths = ["--lengths", self.file("l.txt", "".join(f"{300 + 711 * i % 9000}\n" for i in range(24)) + "60000\n")]
        two = [*lengths, *QUADRATIC, "--pp", "2", "--dp", "2"]
        for typed, word in ((["--vpp", "2"], "chunks"), (["--weight-gradients", "apart"], "weights-apart"), (["--sharers", "2"], "shares-rows"),
                            (["--exchange", "keep"], "shares-rows"), (["--exchange", "ring"], "ring"), (["--exchange", "queries"], "queries"), (["--exchange", "any"], "shares-rows"),
                            (["--planner", "te_cp"], "ring"), (["--planner", "hybrid_dp"], "ring"), (["--planner", "llama_cp"], "shares-rows")):
            with self.subTest(word=word):
                self.fails(2, [" ".join(typed) + " needs a trainer with " + word, "--trainer"], *two, *typed, "--trainer", "plain")
                self.plans(*two, *typed, "--trainer", word)
        one = [*lengths, *MODEL, "--tp", "4", "--pp", "4", "--effort", "fast"]
        for typed, word in ((["--vocabulary", "spread"], "spread-vocabulary"), (["--recompute", "light"], "light"), (["--recompute", "selective"], "selective"), (["--recompute", "full"], "full"), (["--recompute", "attention"], "attention")):
            with self.subTest(word=word):
                self.fails(2, [" ".join(typed) + " needs a trainer with " + word, "--trainer"], *one, *typed, "--trainer", "plain")
                self.plans(*one, *typed, "--trainer", word)
        for typed in (["--planner", "zeppelin"], ["--compare", "megatron,zeppelin"]):
            self.fails(2, ["zeppelin needs --cost transformer or profiled", "no links of a GPU"], *two, *typed)
        self.fails(2, ["--trainer 'fast' is not packflow, plain, megatron, or a list", "shares-rows"], *one, "--trainer", "fast")
        for given, exchanges in (("plain", set()), ("shares-rows", {"keep"}), ("queries", {"queries"}), ("packflow", {"keep"})):
            self.plans(*two, "--memory", "70000tokens", "--trainer", given, "--json", self.outputs / "p.json")
            self.assertEqual(exchanges, {merge["exchange"] for merge in json.loads((self.outputs / "p.json").read_text())["merges"]}, given)

    def test_what_is_computed_again_orders_memory_and_time(self):
        lengths = ["--lengths", self.file("l.txt", "30000\n" * 8 + "4000\n" * 16)]
        held, steps = {}, {}
        for planner in ("slimpack", "megatron"):
            for what in ("none", "light", "attention", "selective", "full"):
                self.plans(*lengths, *MODEL, "--tp", "2", "--pp", "4", "--planner", planner, "--recompute", what, "--effort", "fast", "--memory", "4000GB", "--force",
                           "--explain", "--json", self.outputs / "p.json")
                plan = json.loads((self.outputs / "p.json").read_text())
                held[planner, what], steps[planner, what] = max(plan["replicas"][0]["peak_memory"]), plan["step_time"]
                self.assertEqual(what != "none", plan["rank_time"]["recomputation"] > 0, what)
        (self.outputs / "p.json").unlink()
        for planner in ("slimpack", "megatron"):
            for less, more in (("none", "light"), ("light", "selective"), ("selective", "full")):
                self.assertLess(steps[planner, less], steps[planner, more])
            self.assertLess(held[planner, "light"], held[planner, "none"])
        # Packs of whole sequences are the same whatever is computed again: what a live token keeps orders them.
        for less, more in (("full", "selective"), ("selective", "light"), ("light", "attention")):
            self.assertLess(held["megatron", less], held["megatron", more])
        self.assertEqual(held["megatron", "attention"], held["megatron", "none"])
        print("a step of megatron takes " + ", ".join(f"{steps['megatron', what]:.3f} s {what}" for what in ("none", "light", "selective", "full")))

    def test_full_recomputation_keeps_what_later_slices_read(self):
        asked = ["--lengths", self.file("l.txt", "60000\n" * 4), *MODEL, "--tp", "2", "--pp", "4", "--effort", "fast", "--explain"]
        row = "kept beside them for later slices: keys and values"
        self.assertIn(row, self.plans(*asked, "--recompute", "full"))
        for typed in (["--recompute", "light"], ["--recompute", "full", "--planner", "megatron"], ["--recompute", "full", "--trainer", "megatron"]):
            self.assertNotIn(row, self.plans(*asked, *typed))

    def test_a_table_that_says_nothing_of_a_recomputation_is_refused(self):
        table = json.loads((DATA / "saved_tensors/flash_attention.json").read_text())
        for tensor in table["layer"]:
            tensor["kept"] = [what for what in tensor.get("kept", []) if what != "light"]
        asked = ["--lengths", self.file("l.txt", "3000\n" * 8), *MODEL, "--memory-table", self.file("own.json", json.dumps(table)), "--effort", "fast"]
        for typed in (["--recompute", "light"], ["--compare", "megatron", "--baseline", "recompute=light"]):
            self.fails(2, ['own.json says of no tensor that recomputation "light" keeps it', '"kept"'], *asked, *typed, "--dp", "2")
        self.assertNotIn(" light ", self.plans(*asked, "--auto", "--gpus", "2"))
        self.fails(2, ["--recompute", "lite", "light"], *asked, "--recompute", "lite")

    def test_zones_limit_who_shares(self):
        # Nodes of 8 GPUs: a replica of 2 x 2 GPUs leaves two on a node.
        asked = ["--lengths", self.file("l.txt", "20000\n" + "500\n" * 8), *MODEL, "--dp", "8", "--pp", "2", "--tp", "2", "--effort", "fast",
                 "--recompute", "full", "--cost", "transformer"]
        def sharers(*typed):
            self.plans(*asked, *typed, "--json", self.outputs / "p.json")
            plan = json.loads((self.outputs / "p.json").read_text())
            return max(len(merge["replicas"]) for merge in plan["merges"]), plan
        free, _ = sharers()
        limited, plan = sharers("--zones")
        print(f"{free} replicas share the longest sequence, {limited} in its zone")
        self.assertGreater(free, limited)
        self.plans("--from", self.outputs / "p.json", "--json", self.outputs / "q.json")
        self.assertEqual(plan["hash"], json.loads((self.outputs / "q.json").read_text())["hash"])
        for name in ("p.json", "q.json"):
            (self.outputs / name).unlink()
        self.fails(2, ["--zones is for the planner slimpack"], *asked, "--zones", "--planner", "megatron")
        self.fails(2, ["--zones needs --cost transformer or profiled"], "--lengths", asked[1], "--dp", "2", *QUADRATIC, "--zones")
        self.fails(2, ["--zones is about several replicas"], "--lengths", asked[1], *MODEL, "--zones")

    def test_rows_are_relayed_between_nodes(self):
        ring = ["--lengths", self.file("l.txt", "65536\n" + "4000\n" * 12), *MODEL, "--effort", "fast", "--recompute", "selective", "--cost",
                "transformer"]
        def steps(*typed):
            out = self.plans(*ring, *typed, "--explain", "--json", self.outputs / "p.json")
            return out, json.loads((self.outputs / "p.json").read_text())
        wide = ["--dp", "16", "--planner", "te_cp"]
        plain, direct = steps(*wide)
        self.assertNotIn("strands", plain)
        self.assertFalse(any("relays" in merge for merge in direct["merges"]))
        said, once = steps(*wide, "--relay", "proxies")
        self.assertRegex(said, r"te_cp: rows of \d+ sequences cross between nodes in 8 strands of 1 segment: [\d.]+ \wi?B over adapters, [\d.]+ \wi?B more inside nodes; "
                               r"the longest transfer, keys and values of 4096 tokens, takes [\d.]+ us, and over one adapter [\d.]+ us\.")
        _, often = steps(*wide, "--relay", "proxies:8")
        self.assertEqual([8], sorted({relay["segments"] for merge in often["merges"] for relay in merge.get("relays", [])}))
        print(f"ring of 16: {direct['step_time']} s, relayed {once['step_time']} s, in 8 segments {often['step_time']} s")
        self.assertLess(once["step_time"], direct["step_time"])
        self.assertLessEqual(often["step_time"], once["step_time"])
        self.assertEqual(once["hash"], json.loads((self.plans("--from", self.outputs / "p.json", "--relay", "proxies", "--json", self.outputs / "q.json"),
                                                   (self.outputs / "q.json").read_text())[1])["hash"])
        gpu = json.loads((DATA / "gpus" / "h100.json").read_text())
        shipped = ring[ring.index("--gpu") + 1]
        for adapters in (4, 2):
            ring[ring.index("--gpu") + 1] = self.file("gpu.json", json.dumps({**gpu, "adapters_per_node": adapters}))
            _, fewer = steps(*wide, "--relay", "proxies")
            self.assertEqual({adapters}, {len(relay["out"]) for merge in fewer["merges"] for relay in merge.get("relays", [])})
        ring[ring.index("--gpu") + 1] = shipped
        for name in ("p.json", "q.json"):
            (self.outputs / name).unlink()
        for typed, said in ((["--dp", "8", "--planner", "te_cp"], "8 GPUs are on one node of 8, and nothing crosses: leave them out"),
                            (["--dp", "16", "--planner", "llama_cp"], "llama_cp sends over an adapter of each replica already"),
                            (["--dp", "16"], "te_cp, hybrid_dp and zeppelin; none of them is asked"),
                            (["--dp", "2", "--pp", "8", "--planner", "zeppelin"], "choose a divisor below that")):
            self.fails(2, [said], *ring, *typed, "--relay", "proxies")
        for wrong in ("all", "proxies:0", "proxies:x", "proxies:5000"):
            self.fails(2, [f"--relay '{wrong}' is not none, proxies, or proxies:N with N segments from 1 to 4096"], *ring, *wide, "--relay", wrong)
        self.fails(2, ["--relay needs --cost transformer or profiled", "no links of a GPU"], "--lengths", self.file("l.txt", "65536\n"), "--cost",
                   "quadratic:1e-6,4e-11,2,2.5,6e-5", "--hop", "2e-5", *wide, "--relay", "proxies")
        for adapters, said in ((3, "adapters_per_node is 3, expected a divisor of gpus_per_node, 8"), (1, "a node has one adapter, and nothing to spread over")):
            ring[ring.index("--gpu") + 1] = self.file("gpu.json", json.dumps({**gpu, "adapters_per_node": adapters}))
            self.fails(2, [said], *ring, *wide, "--relay", "proxies")

    def test_attention_of_a_pack_covers_exchanges_and_rows_may_be_remapped(self):
        self.fails(2, ["--rows is about several replicas"], "--lengths", DATA / "lengths" / "gsm8k_sft.txt", "--cost", "quadratic:1,2,3,4,5", "--hop", "0", "--rows", "joined")
        given = ["--lengths", DATA / "lengths" / "linux_source.txt", "--batch", "128", *MODEL, "--dp", "8", "--pp", "2", "--tp", "2", "--max-context", "65536",
                 "--over-long", "truncate", "--cost", "transformer", "--planner", "zeppelin", "--json", self.outputs / "p.json"]
        steps = []
        for how in ([], ["--rows", "apart"], ["--rows", "joined"]):
            out = self.plans(*given, *how, "--explain")
            made = re.search(r"zeppelin: if rows were remapped .*: ([0-9.]+) GB sent in a step; makespan .* as planned, .* in lock step, .* remapped", out)
            self.assertTrue(made, out)
            self.assertGreater(float(made[1]), 0)
            steps.append(json.loads((self.outputs / "p.json").read_text()))
        self.assertEqual(steps[0]["hash"], steps[1]["hash"])
        self.assertLess(steps[2]["step_time"], steps[0]["step_time"])

    def test_a_layout_is_chosen_for_the_trainer(self):
        model = ["--lengths", self.file("l.txt", "".join(f"{300 + 711 * i % 9000}\n" for i in range(24))), *MODEL, "--auto", "--gpus", "8", "--effort", "fast", "--cost", "transformer"]
        def made(*options):
            out = self.plans(*model, *options, "--json", self.outputs / "p.json")
            return int(re.search(r"of (\d+) layouts", out)[1]), json.loads((self.outputs / "p.json").read_text())
        every, _ = made()
        self.assertEqual(every, made("--trainer", "packflow")[0])
        few, plan = made("--trainer", "plain")
        self.assertLess(few, every / 4)
        self.assertEqual((1, []), (plan["vpp"], plan["merges"]))
        self.assertNotIn("vocabulary", plan)
        self.assertNotIn("recompute", plan["made_with"]["options"])
        counts = {word: made("--trainer", word)[0] for word in ("chunks", "spread-vocabulary", "full")}
        for word, count in counts.items():
            self.assertLess(few, count, word)
        self.assertLess(counts["full"], every)

    def test_a_summary_of_batches(self):
        rows = [300, 500, 9000, 70, 4000, 4000, 100, 100, 12000, 50]
        given = ["--lengths", self.file("l.txt", "".join(f"{n}\n" for n in rows)), *QUADRATIC, "--pp", "2", "--batch", "2", "--batches", "5", "--compare", "megatron"]
        out = self.plans(*given, "--summary", "--json", self.outputs / "p.json", "--timeline", self.outputs / "t.html")
        self.assertEqual({"t.html", *(f"p-{b}.json" for b in range(5))}, {path.name for path in self.outputs.iterdir()})
        plans = [json.loads((self.outputs / f"p-{b}.json").read_text()) for b in range(5)]
        steps = [plan["step_time"] for plan in plans]
        line = next(line for line in out.splitlines() if line.startswith("slimpack step time"))
        scale = {"s": 1, "ms": 1e-3, "us": 1e-6}
        told = [float(number) * scale[unit] for number, unit in re.findall(r"([\d.]+) (s|ms|us)\b", line)]
        ordered = sorted(steps)
        expected = [ordered[0], ordered[0] + .4 * (ordered[1] - ordered[0]), ordered[2], ordered[4] - .4 * (ordered[4] - ordered[3]), ordered[4], sum(steps) / 5]
        for value, wanted in zip(told, expected, strict=True):
            self.assertLess(abs(value / wanted - 1), 1e-2)
        useful = sorted(1 - plan["bubble"] for plan in plans)
        self.assertIn(f"{100 * useful[2]:.2f} %", next(line for line in out.splitlines() if line.startswith("  useful")))
        self.assertIn(f"The slowest batch is number {steps.index(max(steps))}.", out)
        self.assertNotIn("Simulated by", out)
        data = json.loads(re.search(r'type="application/json">(.*?)</script>', (self.outputs / "t.html").read_text(), re.S)[1])
        self.assertEqual(["slimpack", "megatron"], [series["planner"] for series in data["batches"]["series"]])
        self.assertEqual([round(1e9 * step) for step in steps], data["batches"]["series"][0]["steps"])
        self.assertEqual(data["plans"][0]["step"], max(data["batches"]["series"][0]["steps"]))
        for path in self.outputs.iterdir():
            path.unlink()
        self.fails(2, ["--summary is about several batches"], *given[:-6], "--summary")
        self.fails(2, ["--explain is about each batch"], *given, "--summary", "--explain")

    def test_compare_shows_plans_side_by_side(self):
        given = ("--lengths", self.file("l.txt", "100\n2000\n300\n4000\n500\n"), *QUADRATIC, "--pp", "2")
        a, b, c = (self.inputs / name for name in ("a.json", "b.json", "c.json"))
        self.plans(*given, "--json", a)
        self.plans(*given, "--planner", "megatron", "--json", b)
        self.plans(*given, "--batch", "3", "--json", c)
        page = self.outputs / "page.html"
        out = self.plans("compare", a, b, "--timeline", page)
        self.assertRegex(out, r"(?m)^plan +a\.json +b\.json$")
        self.assertRegex(out, r"(?m)^planner +slimpack +megatron$")
        steps = [json.loads(file.read_text())["step_time"] for file in (a, b)]
        self.assertRegex(out, rf"(?m)^speed-up +1\.00 x +{steps[0] / steps[1]:.2f} x$")
        for name in ("a (slimpack)", "b (megatron)"):
            self.assertIn(name, page.read_text())
        page.unlink()
        self.assertRegex(self.plans("compare", a, b, c), r"(?m)^speed-up .* -$")
        for says, arguments in ((["two plan files"], ["compare", a]), (["two plan files"], ["compare"]), (["nowhere.json", "cannot be opened"], ["compare", a, "nowhere.json"]),
                                (["l.txt", "not JSON"], ["compare", a, self.inputs / "l.txt"]), (["c.json: is of another batch"], ["compare", a, c, "--timeline", page]),
                                (["it is an input"], ["compare", a, b, "--timeline", a])):
            run = self.run_plan(*arguments)
            self.assertEqual((2, 1), (run.returncode, run.stderr.count("\n")), run.stderr)
            for word in says:
                self.assertIn(word, run.stderr)
            self.assertFalse(page.exists())

    def test_graphs_are_drawn_of_small_plans(self):
        self.plans("--lengths", self.file("l.txt", "100\n2000\n"), *QUADRATIC, "--pp", "2", "--graph", self.outputs / "p.dot")
        drawing = (self.outputs / "p.dot").read_text()
        self.assertTrue(drawing.startswith("digraph"), drawing)
        self.assertIn("color=red", drawing)
        (self.outputs / "p.dot").unlink()
        self.fails(2, ["too many to draw", "2000"], "--lengths", self.file("n.txt", "16384\n" * 64), *QUADRATIC, "--pp", "8",
                   "--json", self.outputs / "p.json", "--graph", self.outputs / "p.dot")

    def test_graphs_of_shared_sequences_have_gates(self):
        out = self.plans("--lengths", self.file("l.txt", "32768\n2048\n1024\n"), *QUADRATIC, "--pp", "2", "--dp", "2", "--quantum", "4096",
                         "--graph", self.outputs / "p.dot")
        self.assertRegex(out, "shared +sequence 0 .* by replicas 0 1, in ")
        drawing = (self.outputs / "p.dot").read_text()
        rows = sum(int(n) for n in re.search(r"in (\d+) rows forward and (\d+) backward", out).groups())
        self.assertEqual(2 * rows, drawing.count("shape=point"))  # a gate of each row on each of two stages
        for replica in (0, 1):
            self.assertIn(f"replica {replica}, stage 1", drawing)
        self.assertIn("color=red", drawing)

    def test_over_memory_baselines_are_marked(self):
        out = self.plans("--lengths", self.file("n.txt", "500\n" * 64), *QUADRATIC, "--pp", "4", "--compare", "megatron", "--baseline", "context=4000",
                         "--memory", "3000tokens")
        self.assertRegex(out, r"megatron .* - .* tokens \* .* packs of 4000")
        self.assertIn("* fits the memory limit with no setting", out)

    def test_time_limit_marks_the_plan(self):
        path = self.outputs / "p.json"
        said = "The time of --time-limit ran out for slimpack: with more time the plan may be faster.\n"
        self.assertNotIn(said, self.plans("--lengths", self.file("l.txt", "100\n"), *QUADRATIC, "--time-limit", "60000"))
        out = self.plans("--lengths", DATA / "lengths" / "azure_code_2023.txt", "--batch", "512", *QUADRATIC, "--pp", "8", "--effort", "high",
                   "--time-limit", "50", "--json", path)
        made = json.loads(path.read_text())
        self.assertTrue(made["truncated"])
        self.assertIn(said, out)
        self.assertLess(made["planning_seconds"], 2)


if __name__ == "__main__":
    unittest.main()
