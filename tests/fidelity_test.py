#!/usr/bin/env python3
"""slimpack-bench-fidelity on folders that others bring: parts of one, rows and GPUs that nothing is known of."""
import csv
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

    def test_price_errors_that_are_shipped_are_those_of_today(self):
        made = self.folder / "price_errors.csv"
        done = subprocess.run([BENCH, "--only", "F15", "--price-errors", made], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertEqual((DATA / "price_errors.csv").read_text(), made.read_text())
        for cost, gpu, what, runs, mean, bias, worst in list(csv.reader(made.read_text().splitlines()))[1:]:
            print(f"{cost} on {gpu}, {runs} of {what}: {mean} % off, at worst {worst} %")
            if cost != "transformer:sheet":
                self.assertLessEqual(float(mean), 10)
                self.assertLessEqual(abs(float(worst)), 25)

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
