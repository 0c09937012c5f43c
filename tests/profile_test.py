#!/usr/bin/env python3
"""From a machine's own measurements to a plan: the profiling scripts on a CPU, their files, slimpack-plan."""
import csv
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parent.parent
SCRIPTS = ROOT / "examples" / "profile"
MODEL = {"model_type": "llama", "hidden_act": "silu", "hidden_size": 128, "intermediate_size": 384, "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_hidden_layers": 4, "vocab_size": 512, "max_position_embeddings": 2048}
NO_TORCH = 77


def python_with_torch():
    """This interpreter, or that of the system's own packages."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import torch.distributed"], capture_output=True).returncode == 0:
            return python
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Profile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.tables = cls.folder / "tables"
        cls.model = cls.folder / "config.json"
        cls.model.write_text(json.dumps(MODEL))
        threads = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([PYTHON, SCRIPTS / "profile_gpu.py", "--model", cls.model, "--out", cls.tables, "--device", "cpu", "--name", "Host-CPU",
                        "--tp", "1", "2", "8", "--longest", "512", "--seconds-each", "0.002"], check=True, timeout=300, env=threads, stderr=subprocess.PIPE)
        ranks = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        command = [PYTHON, SCRIPTS / "profile_collectives.py", "--out", cls.tables, "--device", "cpu", "--name", "Host-CPU", "--largest", "16384"]
        running = [subprocess.Popen(command, env={**threads, **ranks, "RANK": rank, "LOCAL_RANK": rank}, stderr=subprocess.PIPE) for rank in "01"]
        try:
            for process in running:
                _, said = process.communicate(timeout=300)
                assert process.returncode == 0, said.decode()
        finally:
            for process in running:
                process.kill()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_attention_is_measured_for_every_slice_and_share_of_heads(self):
        rows = rows_of(self.tables / "attention.csv")
        sizes = {(int(r["q_tokens"]), int(r["kv_tokens"]), int(r["q_heads"]), int(r["kv_heads"]), int(r["head_dim"])) for r in rows}
        slices = [(q, kv) for kv in (128, 256, 512) for q in (128, 256, 512) if q <= kv]
        self.assertEqual({(q, kv, *heads, 32) for q, kv in slices for heads in ((4, 2), (2, 1))}, sizes)
        self.assertTrue(all(float(r["fwd_ms"]) > 0 and float(r["bwd_ms"]) > 0 for r in rows))

    def test_latent_attention_is_refused(self):
        said = subprocess.run([PYTHON, SCRIPTS / "profile_gpu.py", "--model", ROOT / "examples" / "data" / "models" / "deepseek-v3.json",
                               "--out", self.folder / "latent", "--device", "cpu"], capture_output=True, text=True)
        self.assertEqual(1, said.returncode)
        self.assertIn("latent attention", said.stderr)
        self.assertFalse((self.folder / "latent").exists())

    def test_products_are_those_of_the_model_forward_and_backward(self):
        sizes = {(int(r["m"]), int(r["n"]), int(r["k"])) for r in rows_of(self.tables / "products.csv")}
        up = (512, 2 * 384, 128)  # tokens, gate and up together, hidden width
        down_of_two = (512, 128, 384 // 2)
        logits = (512, 512, 128)
        for m, n, k in (up, down_of_two, logits):
            self.assertLessEqual({(m, n, k), (m, k, n), (n, k, m)}, sizes)

    def test_collectives_are_measured_between_two_ranks(self):
        rows = rows_of(self.tables / "collectives.csv")
        self.assertEqual({(op, str(1024 << i)) for op in ("all_reduce", "send_recv") for i in range(5)}, {(r["op"], r["bytes"]) for r in rows})
        self.assertEqual({("Host-CPU", "2", "2")}, {(r["gpu"], r["gpus"], r["gpus_per_node"]) for r in rows})

    def test_the_tables_plan_a_batch(self):
        gpu = json.loads((ROOT / "examples" / "data" / "gpus" / "a100.json").read_text())
        gpu.update(name="Host-one-socket", source="this test")
        (self.folder / "gpu.json").write_text(json.dumps(gpu))
        (self.folder / "lengths.txt").write_text("512\n100\n300\n" * 8)
        run = subprocess.run([os.environ["SLIMPACK_PLAN"], "--lengths", self.folder / "lengths.txt", "--model", self.model, "--gpu", self.folder / "gpu.json",
                              "--tp", "2", "--pp", "2", "--cost", f"profiled:{self.tables}", "--json", self.folder / "plan.json"], capture_output=True, text=True)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertIn("24 sequences", run.stdout)
        self.assertIn("links     measured", run.stdout)
        self.assertIn("products  measured", run.stdout)
        self.assertNotIn("attention not measured", run.stdout)
        self.assertGreater(json.loads((self.folder / "plan.json").read_text())["step_time"], 0)

    def test_shares_of_a_vocabulary_are_measured(self):
        table = self.folder / "vocabulary.csv"
        subprocess.run([PYTHON, SCRIPTS / "measure_vocabulary.py", "--model", self.model, "--out", table, "--device", "cpu", "--eager", "--tp", "1", "2",
                        "--stages", "1", "4", "--tokens", "64", "--seconds-each", "0.002"], check=True, timeout=300,
                       env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE)
        rows = rows_of(table)
        self.assertEqual({("1", "1", "512"), ("1", "4", "128"), ("2", "1", "256"), ("2", "4", "64")}, {(r["tp"], r["stages"], r["words"]) for r in rows})
        calls = ("embed_ms", "output_ms", "output_weights_ms", "embed_gradients_ms")
        self.assertTrue(all(float(r[call]) > 0 for r in rows for call in calls))

    def test_the_packs_of_a_plan_are_measured(self):
        if subprocess.run([PYTHON, "-c", "import torch; torch.nn.functional.rms_norm"], capture_output=True).returncode:
            self.skipTest("this PyTorch has no norm of its own: it is older than 2.4")
        (self.folder / "lengths.txt").write_text("512\n100\n300\n" * 2)
        for typed in (["--recompute", "none"], ["--recompute", "selective", "--tp", "2"], ["--recompute", "full"]):
            plan, packs = self.folder / "packs.json", self.folder / "packs.csv"
            subprocess.run([os.environ["SLIMPACK_PLAN"], "--lengths", self.folder / "lengths.txt", "--model", self.model, "--gpu", "h100", "--pp", "4", "--json", plan,
                            *typed], check=True, stdout=subprocess.DEVNULL)
            said = subprocess.run([PYTHON, SCRIPTS / "measure_packs.py", "--plan", plan, "--model", self.model, "--out", packs, "--device", "cpu", "--seconds", "1"],
                                  check=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True).stdout
            self.assertIn("measured / predicted", said)
            rows = rows_of(packs)
            self.assertEqual({"forward", "backward"}, {row["pass"] for row in rows})
            self.assertTrue(all(0 < float(row["attention_s"]) < float(row["measured_s"]) for row in rows))


if __name__ == "__main__":
    PYTHON = python_with_torch()
    if PYTHON is None:
        print("PyTorch is not installed: nothing is measured")
        sys.exit(NO_TORCH)
    unittest.main()
