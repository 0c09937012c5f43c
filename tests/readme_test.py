#!/usr/bin/env python3
"""What READMEs show is what is in the tree: programs and their recorded output, links, paths, and options.

    readme_test.py             checks
    readme_test.py --update    copies the code that READMEs show anew from the tree, after the tree has changed

A comment above a block of code says where its text comes from:

    <!-- examples/adopt.cpp -->                         the whole file
    <!-- examples/write_slicer.cpp: struct halves -->   from the line that begins so to the next one that begins with },
                                                        or that line alone where it ends with ;

All C++ and all of CMake has such a source, so that the build compiles and tests it. Programs whose names the environment gives
(SLIMPACK_PLAN, SLIMPACK_TRAIN) are asked for their options, and the first for what quickstart.sh prints.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEWCOMERS = ROOT / "README.md"
MAP = ROOT / "include/slimpack/README.md"
READMES = [NEWCOMERS, MAP, *(ROOT / folder / "README.md" for folder in
                             ("examples", "examples/data", "examples/profile", "tests", "benchmarks"))]
BLOCK = re.compile(r"^(?:<!-- (?P<source>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
LONGEST = 179  # lines of what a newcomer reads
MOST_FILES = 3  # to open for a recipe


def blocks(readme):
    return list(BLOCK.finditer(readme.read_text()))


def shown(source):
    """The text that a comment above a block names."""
    path, _, start = source.partition(": ")
    text = (ROOT / path).read_text()
    if not start:
        return text
    begin = text.index("\n" + start) + 1
    line, rest = text[begin:].split("\n", 1)
    return line + "\n" + ("" if line.endswith(";") else rest[:re.compile(r"^}.*\n", re.M).search(rest).end()])


def slug(heading):
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Readme(unittest.TestCase):
    def test_code_is_what_the_tree_has(self):
        for readme in READMES:
            for block in blocks(readme):
                if block["source"]:
                    self.assertEqual(shown(block["source"]), block["text"], f"{readme}, {block['source']}: run {__file__} --update")
                else:
                    self.assertNotIn(block["language"], ("cpp", "cmake"), f"{readme} has code without a source:\n{block['text']}")

    def test_links_lead_somewhere(self):
        for readme in READMES:
            for link in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", readme.read_text())):
                if "://" in link:
                    continue
                path, _, anchor = link.partition("#")
                to = readme.parent / path if path else readme
                self.assertTrue(to.exists(), f"{readme}: {link}")
                if anchor:
                    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", to.read_text()), re.M)
                    self.assertIn(anchor, [slug(h) for h in headings], f"{readme}: {link}")

    def test_headers_that_are_named_are_there(self):
        there = [p.relative_to(ROOT).as_posix() for p in (ROOT / "include").rglob("*.hpp")]
        there += [p.relative_to(ROOT).as_posix() for folder in ("examples", "benchmarks") for p in (ROOT / folder).rglob("*.hpp")]
        for readme in READMES:
            for name in re.findall(r"`([\w/]+\.hpp)`", readme.read_text()):
                self.assertTrue(any(("/" + path).endswith("/" + name) for path in there), f"{readme}: {name}")

    def test_options_are_those_of_the_programs(self):
        for program, variable in (("slimpack-plan", "SLIMPACK_PLAN"), ("slimpack-train", "SLIMPACK_TRAIN")):
            if not os.environ.get(variable):
                continue
            options = set(re.findall(r"--[a-z-]+", subprocess.run([os.environ[variable], "--help-all"], capture_output=True,
                                                                 text=True, check=True).stdout))
            for readme in READMES:
                text = readme.read_text().replace("\\\n", "")
                for command in re.findall(rf"(?:^|[`/]){program} ([^`\n#]*)", text, re.M):
                    for option in re.findall(r"(?<!\S)--[a-z-]+", command):
                        self.assertIn(option, options, f"{readme}: {program} {command}")

    def test_quickstart_says_how_long_it_takes_and_where_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            for name, text in (("examples/quickstart.sh", (ROOT / "examples/quickstart.sh").read_text()), ("cmake/install-packages.sh", "echo installs"),
                               ("bin/cmake", '#!/bin/sh\necho "cmake $1"'), ("build/gcc-release/examples/slimpack-plan", "#!/bin/sh\necho plans")):
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_text(text)
                (tree / name).chmod(0o755)
            said = subprocess.run(["bash", tree / "examples/quickstart.sh"], env={**os.environ, "PATH": f"{tree / 'bin'}:{os.environ['PATH']}"},
                                  capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertRegex(said[0], r"about \d+ minutes on two cores, most of it compiling")
        steps = [line for line in said[1:] if line.startswith("[")]
        self.assertEqual([f"[{i + 1}/{len(steps)}]" for i in range(len(steps))], [line.split()[0] for line in steps])
        self.assertEqual([steps[0], "installs", steps[1], "cmake --preset", steps[2], "cmake --build", steps[3], "plans"], said[1:])

    def test_what_the_first_steps_write_is_ignored_by_git(self):
        if not (ROOT / ".git").exists():
            self.skipTest("this is no clone")
        for path in ("examples/a.out", "out/plan.json", "build/gcc-release"):
            self.assertEqual(0, subprocess.run(["git", "-C", ROOT, "check-ignore", "-q", path]).returncode, path)

    def test_quickstart_prints_what_is_shown(self):
        if not os.environ.get("SLIMPACK_PLAN"):
            self.skipTest("there is no SLIMPACK_PLAN")
        script = (ROOT / "examples/quickstart.sh").read_text()
        arguments = shlex.split(re.search(r"slimpack-plan (\\\n.*?) --json", script, re.S)[1].replace("\\\n", ""))
        printed = subprocess.run([os.environ["SLIMPACK_PLAN"], *arguments], cwd=ROOT, capture_output=True, text=True,
                                 check=True).stdout
        row = re.compile(r"^(\w+ +[\d.]+ s .*GiB) ", re.M)  # without how long planning took
        self.assertGreater(len(row.findall(printed)), 1, printed)
        for readme in (NEWCOMERS, ROOT / "examples/README.md"):
            shown_rows = [rows for rows in (row.findall(block["text"]) for block in blocks(readme)) if rows]
            self.assertIn(row.findall(printed), shown_rows, readme)
        for sentence in re.findall(r"^(?:Simulated by|Without slicing) .*$", printed, re.M):
            self.assertIn(sentence, (ROOT / "examples/README.md").read_text())

    def test_layouts_that_are_chosen_are_shown(self):
        if not os.environ.get("SLIMPACK_PLAN"):
            self.skipTest("there is no SLIMPACK_PLAN")
        text = (ROOT / "examples/README.md").read_text()
        command, table = re.search(r"^slimpack-plan ([^`]* --auto [^`]*)```\n```\n([^`]*)", text, re.M).groups()
        printed = subprocess.run([os.environ["SLIMPACK_PLAN"], *shlex.split(command.replace("\\\n", ""))], cwd=ROOT, capture_output=True,
                                 text=True, check=True).stdout

        def plain(lines):  # without how long planning took, and what widths of columns follow from that
            return [re.sub(r"GiB [\d.]+ [mun]?s ", "GiB ", " ".join(line.removesuffix("...").split())) for line in lines.splitlines()]

        rows = list(filter(None, plain(table)))
        self.assertGreaterEqual(len(rows), 6)
        for row in rows:
            self.assertTrue(any(line.startswith(row) for line in plain(printed)), f"{row}\nis not in\n{printed}")

    def test_newcomers_read_little(self):
        self.assertLessEqual(NEWCOMERS.read_text().count("\n"), LONGEST)

    def test_recipes_name_few_files_and_show_code(self):
        recipes = re.findall(r"^### (A new [^\n]*)\n(.*?)(?=^##)", MAP.read_text(), re.M | re.S)
        self.assertLessEqual({"cost model", "slicer", "schedule", "solver", "simulator", "transport", "move"},
                             {name.removeprefix("A new ") for name, _ in recipes})
        for name, text in recipes:
            files = re.findall(r"^\d\. \[", text, re.M)
            self.assertTrue(1 <= len(files) <= MOST_FILES, name)
            self.assertRegex(text, r"<!-- examples/\w+\.cpp: .* -->\n```cpp\n", name)


def update():
    for readme in READMES:
        def anew(block):
            return f"<!-- {block['source']} -->\n```{block['language']}\n{shown(block['source'])}```" if block["source"] else block[0]
        readme.write_text(BLOCK.sub(anew, readme.read_text()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
