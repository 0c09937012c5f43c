#!/usr/bin/env python3
"""slimpack-bench-fidelity on folders that others bring: parts of one, rows and GPUs that nothing is known of."""
import csv
import itertools
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DATA = pathlib.Path(__file__).parent.parent / "examples" / "data"
if len(sys.argv) < 2:
    sys.exit(77)  # no optimised slimpack-bench-fidelity to run: skipped
BENCH = pathlib.Path(sys.argv.pop(1))
ATTENTION = "gpu,kernel,batch,q_tokens,kv_tokens,q_heads,kv_heads,head_dim,fwd_ms\n"


class Fidelity(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def copy(self, name):
        to = self.folder / name
        to.parent.mkdir(exist_ok=True)
        shutil.copy(DATA / name, to)
        return to

    def scores(self, only):
        done = subprocess.run([BENCH, "--only", only, self.folder], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertNotIn("nan", done.stdout)
        return done.stdout

    def test_a_subject_that_cannot_be_read_leaves_the_others(self):
        self.copy("published/zero_bubble_throughput.csv")
        out = self.scores("F5,F11")
        self.assertIn("pairs in the right order", out)
        self.assertIn("not scored: " + str(self.folder / "profiles"), out)
        self.assertIn("1 goals, missed: F11 (not scored)", out)

    def test_a_goal_without_rows_is_neither_met_nor_missed(self):
        (self.folder / "profiles").mkdir()
        (self.folder / "profiles" / "few.csv").write_text(ATTENTION + "H100,fa3,1,128,128,32,8,128,0.02\n")
        out = self.scores("F9,F11")
        self.assertIn("no rows mean error", out)
        self.assertIn("0 goals, missed: none", out)

    def test_kernels_that_no_model_can_be_fitted_to_are_left_out(self):
        (self.folder / "profiles").mkdir()
        rows = "".join(f"H100,fa3,1,{1024 + 8 * i},{1024 + 8 * i},32,8,128,0.1\n" for i in range(25))
        (self.folder / "profiles" / "alike.csv").write_text(ATTENTION + rows)
        self.assertIn("left out: attention fa3 on H100, all points of attention are of like size", self.scores("F9"))

    def test_a_group_measured_at_one_size_is_left_out(self):
        file = self.copy("profiles/collectives_nvlink_h100_sxm.csv")
        alone = self.scores("F11")
        with file.open("a") as out:
            out.write("H100-SXM5-80GB,all_reduce,16,1024,0.02\n")
        self.assertEqual(self.scores("F11"), alone)

    def test_a_size_measured_twice_is_left_out_whole(self):
        file = self.copy("profiles/collectives_nvlink_h100_sxm.csv")
        alone = self.scores("F11").splitlines()
        lines = file.read_text().splitlines()
        file.write_text("\n".join(lines + lines[1:]) + "\n")
        mean = [line for line in alone if line.strip().startswith("met")]
        self.assertEqual([line for line in self.scores("F11").splitlines() if line.strip().startswith("met")], mean)

    def test_a_schedule_that_is_not_known_is_left_out(self):
        file = self.copy("published/zero_bubble_throughput.csv")
        alone = self.scores("F5")
        lines = file.read_text().splitlines()
        file.write_text("\n".join(lines + [lines[1].replace("ZB-2p", "GPipe")]) + "\n")
        self.assertEqual(self.scores("F5"), alone)
        self.assertIn("left out: " + str(file) + f":{len(lines) + 1}, schedule GPipe", self.scores("F4"))

    def test_tables_of_another_gpu_are_scored_or_named_and_the_rest_is_scored(self):
        for name in ("attention_fwd_slices_a100_pcie", "attention_fwd_bwd_a100_h100"):
            self.copy(f"profiles/{name}.csv")
        lines = (DATA / "profiles" / "attention_fwd_slices_a100_pcie.csv").read_text().splitlines()
        rows = [line.rsplit(",", 1) for line in lines[1:]]
        for gpu in ("H200-SXM5-141GB", "NVIDIA L40S"):  # slices three times as fast
            faster = (f"{left.replace('A100-PCIe-80GB', gpu)},{float(time) / 3}" for left, time in rows)
            (self.folder / "profiles" / f"{gpu}.csv").write_text("\n".join((lines[0], *faster)) + "\n")
        out = self.scores("F8,F9,F10")
        self.assertNotIn("not scored:", out)
        self.assertIn("left out: attention cudnn-9.27 on NVIDIA L40S, no file in gpus/ describes it", out)
        for gpu in ("A100-PCIe-80GB", "H200-SXM5-141GB"):
            self.assertIn(f"F8   attention cudnn-9.27 on {gpu}, slices", out)
            self.assertTrue(f"F10  attention cudnn-9.27 on {gpu} from" in out or f"left out: F10 attention cudnn-9.27 on {gpu}, " in out, out)

    def test_models_that_are_not_known_are_named(self):
        for name in ("profiles/gemm_bf16_h100_sxm.csv", "profiles/collectives_nvlink_h100_sxm.csv", "profiles/gemm_bf16_a100_sxm.csv"):
            self.copy(name)
        trainings = self.copy("published/nemo_pretraining.csv")
        head, first = trainings.read_text().splitlines()[:2]
        known = next(csv.DictReader((head, first)))["model"]
        trainings.write_text("\n".join((head, first.replace(known, "Nemotron4-340B"), first.replace(known, "Nemotron4-340B"))) + "\n")
        out = self.scores("F6")
        self.assertIn(f"left out: {trainings}:2 and 1 more, model Nemotron4-340B: no models/nemotron4-340b.json describes it", out)

    def test_published_mixtures_of_experts_fit_where_they_were_trained(self):
        for name in ("gemm_bf16_h100_sxm", "collectives_nvlink_h100_sxm", "gemm_bf16_a100_sxm", "attention_fwd_causal_h100_sxm"):
            self.copy(f"profiles/{name}.csv")
        trainings = self.copy("published/moe_training.csv")
        out = self.scores("F6")
        rows = re.findall(r"^ +(moe_training-\d+ .*): (\d+) predicted, (\d+) published; ([\d.]+) GiB on the fullest stage of ([\d.]+) GiB$", out, re.M)
        self.assertEqual(3, len(rows), out)
        for name, predicted, published, needed, there in rows:
            print(f"{name}: {predicted} tokens/s/GPU, {published} published, {needed} of {there} GiB")
            self.assertLess(float(needed), float(there), name)
        lines = trainings.read_text().splitlines()
        trainings.write_text("\n".join((*lines, lines[3].replace("Mixtral-8x7B", "DBRX"), lines[3].replace(",H100,", ",X900,"),
                                         lines[3].replace(",8,8,flash", ",3,8,flash"))) + "\n")
        out = self.scores("F6")
        self.assertIn(f"left out: {trainings}:5, model DBRX: no models/dbrx.json describes it", out)
        self.assertIn(f"left out: {trainings}:6, GPU X900: no gpus/x900.json describes it", out)
        self.assertIn(f"left out: {trainings}:7, expert parallelism of 3 does not divide the 8 experts", out)

    def test_pipelines_without_profiled_times_are_named(self):
        file = self.copy("published/zero_bubble_throughput.csv")
        lines = file.read_text().splitlines()
        model = lines[1].split(",")[lines[0].split(",").index("model")]
        file.write_text("\n".join(lines + [lines[1].replace(model, "9.9B")]) + "\n")
        self.assertIn(f"left out: {file}:{len(lines) + 1}, model 9.9B: no times of it in zero_bubble_profiled_times.csv", self.scores("F4"))

    def assert_same_table(self, shipped, made):
        """Percentages within a quarter of one: mathematical libraries differ by processor in the last digit, and a quantile goes from one run to the next."""
        tables = [list(csv.DictReader(file.read_text().splitlines())) for file in (shipped, made)]
        self.assertEqual(*([[{key: text for key, text in row.items() if not key.endswith("_pct")} for row in table] for table in tables]))
        for old, new in zip(*tables):
            for key in old:
                if key.endswith("_pct"):
                    self.assertAlmostEqual(float(old[key]), float(new[key]), delta=0.25, msg=f"{key} of {new}")

    def test_price_errors_that_are_shipped_are_those_of_today(self):
        made, speed_ups = self.folder / "price_errors.csv", self.folder / "speed_up_errors.csv"
        done = subprocess.run([BENCH, "--only", "F15", "--rows", "--price-errors", made, "--speed-up-errors", speed_ups], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stdout)
        self.assert_same_table(DATA / "price_errors.csv", made)
        self.assert_same_table(DATA / "speed_up_errors.csv", speed_ups)
        kinds = set()
        for row in csv.DictReader(made.read_text().splitlines()):
            mean, worst = float(row["mean_error_pct"]), float(row["worst_error_pct"])
            print(f"{row['cost']} on {row['gpu']}, {row['runs']} of {row['what']}: {mean} % off, at worst {worst} %")
            kinds.add((row["cost"], row["model"]))
            if row["model"] == "dense" and row["cost"] != "transformer:sheet":
                self.assertLessEqual(mean, 10)
                self.assertLessEqual(abs(worst), 25)
            if row["cost"] == "transformer:sheet":
                self.assertNotIn("FP8", row["what"])
        self.assertEqual({(cost, model) for cost in ("measured", "transformer", "transformer:sheet") for model in ("dense", "experts")}, kinds)
        self.assertIn("and 1 more, a data sheet's prices have products in bf16, not in FP8", done.stdout)
        self.checks_speed_ups(done.stdout, list(csv.DictReader(speed_ups.read_text().splitlines())))

    def checks_speed_ups(self, out, shipped):
        """The spread of speed-ups is that of the errors of single runs: taken from the rows printed, in pairs of one batch."""
        work = {}
        for file, batch in (("zero_bubble_throughput", lambda r: int(r["micro_batch"]) * int(r["microbatches"])), ("recompute_iteration_time", lambda r: int(r["global_batch"])),
                            ("megatron_sc21_ptd_vs_zero3", lambda r: int(r["global_batch"])), ("megatron_sc21_weak_scaling", lambda r: int(r["global_batch"]))):
            for row in csv.DictReader((DATA / "published" / f"{file}.csv").read_text().splitlines()):
                work[row["row_id"]] = (file, row["gpus"], row["hidden"], row["layers"], batch(row))
        self.assertEqual(["measured", "transformer", "transformer:sheet"], [row["cost"] for row in shipped])
        for row in shipped:
            part = out[out.index(f"--cost {row['cost']}: seconds of iterations in bf16"):]
            runs = [(work[name], float(predicted) / float(measured)) for name, predicted, measured
                    in re.findall(r"^ +(\S+)\s.*?([\d.e-]+) +([\d.e-]+)  -?[\d.]+ %$", part[:part.index("\n\n")], re.M) if name in work]
            self.assertEqual(80, len(runs))
            errors = sorted(abs(math.log(a[1] / b[1])) for a, b in itertools.combinations(runs, 2) if a[0] == b[0])
            self.assertEqual(int(row["pairs"]), len(errors))
            kept = 100 * (math.exp(errors[math.ceil(.9 * len(errors)) - 1]) - 1)
            print(f"{row['cost']}: nine of ten of {len(errors)} speed-ups within {kept:.2f} %")
            self.assertAlmostEqual(float(row["nine_of_ten_pct"]), kept, delta=.06)

    def test_few_speed_ups_give_no_range(self):
        for name in ("profiles/gemm_bf16_a100_sxm.csv", "profiles/attention_fwd_causal_a100_sxm.csv", "profiles/collectives_nvlink_a100_sxm.csv",
                     "published/recompute_iteration_time.csv", "published/megatron_sc21_weak_scaling.csv", "published/megatron_sc21_ptd_vs_zero3.csv"):
            self.copy(name)
        made = self.folder / "speed_up_errors.csv"
        done = subprocess.run([BENCH, "--only", "F15", "--speed-up-errors", made, self.folder], capture_output=True, text=True)
        self.assertIn("GPT by Megatron-LM before flash attention: 2 rows", done.stdout)
        self.assertEqual("cost,model,what,pairs,nine_of_ten_pct\n", made.read_text())

    def test_a_table_that_cannot_be_written_is_an_error(self):
        self.copy("published/zero_bubble_throughput.csv")
        for option in ("--price-errors", "--speed-up-errors"):
            done = subprocess.run([BENCH, "--only", "F5", option, self.folder / "none" / "e.csv", self.folder], capture_output=True, text=True)
            self.assertEqual((2, f"slimpack-bench-fidelity: {self.folder / 'none' / 'e.csv'}: cannot be written\n"), (done.returncode, done.stderr))

    def test_nothing_to_score_is_an_error(self):
        for only in ("F4", "F5,F4"):
            done = subprocess.run([BENCH, "--only", only, self.folder], capture_output=True, text=True)
            self.assertEqual(1, done.returncode)
            self.assertEqual(f"slimpack-bench-fidelity: {self.folder}: holds no row that {only.replace(',', ', ')} can be scored on\n", done.stderr)
        done = subprocess.run([BENCH, "--only", "F99", self.folder], capture_output=True, text=True)
        self.assertEqual((2, 1), (done.returncode, done.stderr.count("\n")))

    def test_times_that_are_not_more_than_zero_are_refused_by_file_and_line(self):
        file = self.copy("published/zero_bubble_throughput.csv")
        profiled = self.copy("published/zero_bubble_profiled_times.csv")
        for changed, column, only in ((file, "derived_iteration_s", "F4"), (profiled, "t_f_ms", "F4")):
            good = changed.read_text()
            lines = [line.split(",") for line in good.splitlines()]
            at = lines[0].index(column)
            for bad in ("-1", "0", "nan", "inf"):
                changed.write_text("\n".join(",".join(c if (i, k) != (2, at) else bad for k, c in enumerate(line)) for i, line in enumerate(lines)) + "\n")
                done = subprocess.run([BENCH, "--only", only, self.folder], capture_output=True, text=True)
                self.assertEqual(1, done.returncode, (column, bad))
                self.assertIn(f"not scored: {changed}:3: column {column}: ", done.stdout)
            changed.write_text(good)


if __name__ == "__main__":
    unittest.main()
