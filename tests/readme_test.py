#!/usr/bin/env python3
"""What README.md shows is what is in the tree: its programs, and their recorded output."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parent.parent


class Readme(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "README.md").read_text()
        self.blocks = re.findall(r"^```(\w*)\n(.*?)^```$", self.text, re.M | re.S)

    def test_programs_are_examples_with_their_output(self):
        programs = [at for at, (language, text) in enumerate(self.blocks) if language == "cpp" and text.startswith("// ")]
        for at, name in zip(programs, ["plan_batch", "adopt"], strict=True):
            self.assertEqual((ROOT / "examples" / f"{name}.cpp").read_text(), self.blocks[at][1])
            self.assertEqual((ROOT / "examples" / f"{name}.expected").read_text(), self.blocks[at + 1][1])

    def test_links_lead_somewhere(self):
        for link in re.findall(r"\]\(([^)#]+)\)", self.text):
            if "://" not in link:
                self.assertTrue((ROOT / link).exists(), link)


if __name__ == "__main__":
    unittest.main()
