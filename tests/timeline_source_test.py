#!/usr/bin/env python3
"""The timeline page's files in cmake/timeline are what the header has that programs include, and fit each other.

The script is parsed by node, where that is installed.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "cmake/timeline"
WRITER = SOURCES / "write_header.py"


def written(*arguments):
    return subprocess.run([sys.executable, WRITER, *arguments], capture_output=True, text=True, check=False)


class TimelineSource(unittest.TestCase):
    def setUp(self):
        self.script = written("--script").stdout
        self.style = (SOURCES / "page.css").read_text()
        self.elements = (SOURCES / "page.html").read_text()

    def test_header_is_written_anew(self):
        checked = written("--check")
        self.assertEqual(0, checked.returncode, checked.stderr)

    def test_every_part_is_written(self):
        for source in SOURCES.glob("*.js"):
            self.assertIn(source.read_text(), self.script, source.name)

    def test_script_can_be_parsed(self):
        node = shutil.which("node")
        if not node:
            self.skipTest("node is not installed")
        parsed = subprocess.run([node, "--check", "-"], input=self.script, capture_output=True, text=True, check=False)
        self.assertEqual(0, parsed.returncode, parsed.stderr)

    def test_elements_that_the_script_asks_for_are_there(self):
        asked = set(re.findall(r"\$\('([\w-]+)'\)", self.script))
        self.assertGreater(len(asked), 10)
        there = set(re.findall(r'\bid="([\w-]+)"', self.elements)) | set(re.findall(r"\bid: '([\w-]+)'", self.script))
        self.assertLessEqual(asked, there)

    def test_colours_that_are_used_are_defined(self):
        used = set(re.findall(r"var\(--([\w-]+)\)", self.style + self.script))
        self.assertGreater(len(used), 10)
        self.assertLessEqual(used, set(re.findall(r"--([\w-]+):", self.style)))


if __name__ == "__main__":
    unittest.main()
