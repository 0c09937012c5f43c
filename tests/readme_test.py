#!/usr/bin/env python3
"""What README.md shows is what is in the tree: its first program, and that program's recorded output."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parent.parent


class Readme(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "README.md").read_text()
        self.blocks = re.findall(r"^```(\w*)\n(.*?)^```$", self.text, re.M | re.S)

    def test_first_program_is_an_example(self):
        language, program = self.blocks[0]
        self.assertEqual("cpp", language)
        self.assertEqual((ROOT / "examples" / "plan_batch.cpp").read_text(), program)
        self.assertEqual((ROOT / "examples" / "plan_batch.expected").read_text(), self.blocks[1][1])

    def test_links_lead_somewhere(self):
        for link in re.findall(r"\]\(([^)#]+)\)", self.text):
            if "://" not in link:
                self.assertTrue((ROOT / link).exists(), link)


if __name__ == "__main__":
    unittest.main()
