#!/usr/bin/env python3
"""slimpack-bench-fidelity on folders that others bring: parts of one, rows and GPUs that nothing is known of."""
import pathlib
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


if __name__ == "__main__":
    unittest.main()
