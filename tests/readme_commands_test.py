#!/usr/bin/env python3
"""Every command of every README runs as written.

    readme_commands_test.py                  in a fresh clone of this tree: what takes less than a minute each. Programs are
                                             those of SLIMPACK_PLAN and SLIMPACK_TRAIN; with SLIMPACK_FULL=1 the clone builds
                                             its own, and all other commands run, too
    readme_commands_test.py --chroot DIR     all of them in a bare Debian 12 that debootstrap makes in DIR, first as a user
                                             without root, then as root, each in a system of its own. Needs root
    readme_commands_test.py --list           prints the commands and when each runs

Commands are the lines of blocks marked bash, and code within sentences that begins with a program's name and goes on. They
run in the order of the text, those of a README in one shell, and files stay for the READMEs that follow. The one thing
that is replaced is ADDRESS, by a local copy. COMMANDS says of each when it runs; one that it does not know fails.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from readme_test import BLOCK, MAP, NEWCOMERS, READMES, ROOT

READ = [NEWCOMERS, *(r for r in READMES if r not in (NEWCOMERS, MAP)), MAP]  # the first one clones and builds
PROGRAM = r"(?:apt-get|bash|cmake|export|g\+\+|git|mkdir|mpirun|python3|sh|source|sudo|torchrun|slimpack-[\w-]+|build/\S+)"

QUICK = "quick"  # less than a minute
LONG = "long"  # with SLIMPACK_FULL=1, and in the chroot
BARE = "bare"  # in the chroot alone: installs packages, or is what runs this test
GPU = "gpu"  # the program's --help runs instead
CLUSTER = "cluster"  # is built where CUDA, NCCL and MPI are; a test starts that program there (examples/CMakeLists.txt)
PART = "part"  # names what another README runs, or options, and leaves out what the sentence is not about

COMMANDS = {
    "README.md": {
        "apt-get update && apt-get install -y --no-install-recommends git": BARE,
        "git clone ADDRESS slimpack && cd slimpack": QUICK,
        "bash examples/quickstart.sh": LONG,
        "(cd examples && g++ -std=c++20 -I../include plan_batch.cpp && ./a.out)": QUICK,
        'export PATH="$PWD/build/gcc-release/examples:$PATH"': QUICK,
        "slimpack-plan --lengths examples/data/lengths/linux_source.txt --batch 512 --seed 1 --model llama-3.1-8b --gpu h100 --dp 16 --pp 4 --tp 2 "
        "--compare megatron,chunked,zeppelin": LONG,
        "slimpack-plan --lengths examples/data/lengths/azure_code_2023.txt --batch 512 --model llama-3.1-8b --gpu h100 --dp 4 --pp 2 --tp 2 "
        "--compare megatron,karmarkar_karp,slimpipe": LONG,
        "bash tests/run.sh": BARE,
        "apt-get install -y --no-install-recommends g++ cmake ninja-build libeigen3-dev libboost-dev librange-v3-dev": BARE,
        'cmake -G Ninja -B build/library -D BUILD_TESTING=OFF && cmake --install build/library --prefix "$HOME/.local"': QUICK,
        'cmake -G Ninja -S tests/consumer -B build/consumer -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH="$HOME/.local" '
        "&& cmake --build build/consumer": LONG,
        "(cd examples && g++ -std=c++20 -O2 -I../include -I/usr/include/eigen3 adopt_autograd.cpp && ./a.out)": LONG,
    },
    "examples/README.md": {
        "bash examples/quickstart.sh": LONG,
        "export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=8589934592:glibc.malloc.arena_max=1": QUICK,
        'export PATH="$PWD/build/gcc-release/examples:$PATH"': QUICK,
        "slimpack-plan --help": QUICK,
        "slimpack-plan --lengths examples/data/lengths/mooncake_conversation.txt --model llama-3.1-70b --gpu h100 --pp 8 --tp 8 --dp 4 "
        "--batch 512 --memory 70GiB --compare megatron,chunked --json out/large.json --timeline out/large.html": QUICK,
        "source <(slimpack-plan --completion bash)": QUICK,
        "slimpack-plan --lengths examples/data/lengths/mooncake_conversation.txt --batch 64 --model llama-3.1-8b --gpu h100 --pp 2 --tp 2 --cp 4 "
        "--pad-to 8 --effort fast": QUICK,
        "slimpack-plan --lengths examples/data/trees/tau_airline_turns.tsv --format tree --model llama-3.1-8b --gpu h100 --pp 4 --tp 2 "
        "--effort fast": QUICK,
        "slimpack-plan --lengths examples/data/lengths/linux_source.txt --model llama-3.1-8b --gpu h100 --tp 2 --pp 4 --batch 64 "
        "--planner slimpipe --slices 16 --lending level --explain": QUICK,
        "slimpack-plan --format tree": PART,
        """awk 'BEGIN { for (p = 0; p < 4; ++p) { print "-1\\t512\\t0\\t0"; for (a = 0; a < 8; ++a) """
        """{ n = 100 + 8 * a; print 9 * p "\\t" n "\\t" n "\\t1" } } }' > out/answers.tsv""": QUICK,
        "mpirun --allow-run-as-root --oversubscribe -np 2 build/gcc-release/examples/slimpack-train --pp 2 --tree out/answers.tsv "
        "--compare flat --steps 20 --quantum 64 --measure-for 6": LONG,
        "slimpack-plan compare out/plan.json out/large.json --timeline out/both.html": QUICK,
        "slimpack-plan --lengths examples/data/lengths/mooncake_conversation.txt --batch 64 --model gpt-oss-120b --gpu h200 --dp 4 --pp 4 --tp 2 "
        "--ep 8": QUICK,
        "slimpack-plan --lengths examples/data/lengths/linux_source.txt --model llama-3.1-8b --gpu h100 --auto --gpus 32 --batch 512 "
        "--cost transformer --effort fast --compare megatron": QUICK,
        "echo 131072 > out/long.txt": QUICK,
        'slimpack-plan --lengths out/long.txt --model llama-3.1-8b --gpu h100 --pp 4 --tp 2 || echo "exit status $?"': QUICK,
        "bash cmake/install-packages.sh libopenmpi-dev openmpi-bin": BARE,
        "cmake --preset gcc-release && cmake --build --preset gcc-release --target slimpack-train && mkdir -p out": LONG,
        "build/gcc-release/examples/slimpack-train --pp 2 --steps 20 --compare megatron,karmarkar_karp --timeline out/train.html": LONG,
        "mpirun --allow-run-as-root --oversubscribe -np 4 build/gcc-release/examples/slimpack-train --pp 2 --dp 2 --steps 20 "
        "--batch 4 --max-context 256 --precision double": QUICK,
        "mpirun --allow-run-as-root --oversubscribe -np 2 build/gcc-release/examples/slimpack-train --pp 2 --steps 20 --max-context 4096 "
        "--batch 6 --compare megatron,karmarkar_karp": LONG,
        "export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1": QUICK,
        "mpirun --allow-run-as-root --oversubscribe -np 2 build/gcc-release/examples/example-adopt_torch times": BARE,
        "mpirun -np 16 -x NCCL_LAUNCH_ORDER_IMPLICIT=1 build/gcc-release/examples/slimpack-check-device --out tables/links.csv": CLUSTER,
        "slimpack-plan --auto": PART,
        "slimpack-plan --cost profiled:tables": PART,
        "slimpack-plan --timeline page.html": PART,
        "slimpack-train --layers": PART,
    },
    "examples/data/README.md": {
        "bash cmake/install-packages.sh && cmake --preset gcc-release && cmake --build --preset gcc-release --target "
        "slimpack-bench-fidelity": LONG,
        "build/gcc-release/benchmarks/slimpack-bench-fidelity --only F15 --price-errors examples/data/price_errors.csv "
        "--speed-up-errors examples/data/speed_up_errors.csv": LONG,
    },
    "examples/profile/README.md": {
        "build/gcc-release/examples/slimpack-plan --lengths examples/data/lengths/azure_code_2023.txt --model llama-3.1-8b --gpu h100 "
        "--tp 2 --pp 4 --batch 512 --cost profiled:examples/data/profiles": QUICK,
        "apt-get install -y --no-install-recommends python3": BARE,
        "python3 examples/profile/profile_gpu.py --model examples/data/models/llama-3.1-8b.json --out tables": GPU,
        "torchrun --nproc-per-node 8 examples/profile/profile_collectives.py --out tables": GPU,
        "slimpack-plan ... --gpu my_gpu.json --cost profiled:tables": PART,
        "build/gcc-release/examples/slimpack-plan --lengths examples/data/lengths/azure_code_2023.txt --model llama-3.1-8b --gpu h100 "
        "--pp 4 --batch 256 --json out/packs.json": QUICK,
        "python3 examples/profile/measure_packs.py --plan out/packs.json --model examples/data/models/llama-3.1-8b.json --out out/packs.csv": GPU,
        "python3 examples/profile/measure_vocabulary.py --model examples/data/models/llama-3.1-8b.json --out out/vocabulary.csv": GPU,
    },
    "tests/README.md": {
        "bash tests/run.sh": PART,
        "bash cmake/install-packages.sh clang libclang-rt-14-dev": BARE,
        "bash tests/fuzz/run.sh 60 lengths jsonl": BARE,
    },
    "benchmarks/README.md": {
        "bash cmake/install-packages.sh && cmake --preset gcc-release && cmake --build --preset gcc-release --target "
        "slimpack-bench-plan_batch": LONG,
        "build/gcc-release/benchmarks/slimpack-bench-plan_batch": LONG,
        "slimpack-bench-plan_quality [--only PARTS] [--models NAMES] [--quick]": PART,
        "slimpack-plan --layers auto": PART,
        "slimpack-bench-fidelity [FOLDER]": PART,
        "slimpack-plan --model llama-3.1-8b --gpu h100 --compare flat,tree_micro_batches": PART,
        "python3 benchmarks/compile_time/compile_time.py": LONG,
    },
    "include/slimpack/README.md": {},
}

FULL = bool(os.environ.get("SLIMPACK_FULL"))


def uncommented(line):
    """A command as COMMANDS names it; a shell is given the whole line."""
    return re.sub(r"\s+", " ", re.sub(r"\s+#.*", "", line)).strip()


def name(readme):
    return readme.relative_to(ROOT).as_posix()


def commands(readme):
    """The commands of a README in the order of its text, as written."""
    text, found, end = readme.read_text(), [], 0
    for block in [*BLOCK.finditer(text), None]:
        sentences = text[end:block.start() if block else len(text)]
        found += [c.replace("\n", " ") for c in re.findall("`([^`]*)`", sentences) if re.match(rf"{PROGRAM}\s", c)]
        if not block:
            return found
        end = block.end()
        if block["language"] == "bash":
            found += block["text"].replace("\\\n", " ").splitlines()


def script_of(readme, runs, address, packages_by="root"):
    """A shell's script that runs the commands for which `runs` says so, those that are repeated once, and marks the begin
    and the status of each. What needs root is asked of the shell's function `packages_by` unless that is root."""
    lines, seen = ["export LC_ALL=C.UTF-8"], set()
    for number, command in enumerate(commands(readme)):
        kind = COMMANDS[name(readme)][uncommented(command)]
        if uncommented(command) in seen or not runs(kind, command):
            continue
        seen.add(uncommented(command))
        if kind == GPU:
            command = "python3 " + re.search(r"\S+\.py", command)[0] + " --help"
        if command.startswith("apt-get") and packages_by != "root":
            command = f"{packages_by} {shlex.quote(command)}"
        once = f"{{ {command.replace('ADDRESS', address)}\n}} < /dev/null > \"$said\" 2>&1; status=$?; cat \"$said\""
        lines += [f"echo '@begin {number}'", once]
        if packages_by != "root":
            lines += ["wanted=$(sed -n 's/.*As root, run: //p' \"$said\")", f'if [ -n "$wanted" ]; then {packages_by} "$wanted"; {once}; fi']
        lines += ['echo; echo "@end $status $SECONDS"']
    return "\n".join(["said=$(mktemp)", *lines]) + "\n"


def failures(readme, printed):
    """What of a script's output is about commands that failed. Prints how long each took."""
    wrong, before, written = [], 0, commands(readme)
    for number, output, status, seconds in re.findall(r"^@begin (\d+)\n(.*?)^@end (\d+) (\d+)$", printed, re.M | re.S):
        print(f"{int(seconds) - before:5} s  {'ok    ' if status == '0' else 'failed'}  {name(readme)}: {uncommented(written[int(number)])}", flush=True)
        before = int(seconds)
        if status != "0":
            wrong.append(f"{name(readme)}: {written[int(number)]}\nexit status {status}:\n{output[-3000:]}")
    if printed.count("@begin ") != printed.count("@end "):
        wrong.append(f"{name(readme)}: ended within a command:\n{printed[-3000:]}")
    return wrong


class ReadmeCommands(unittest.TestCase):
    def test_every_command_is_known(self):
        self.assertEqual(set(map(name, READMES)), set(COMMANDS))
        for readme in READMES:
            self.assertEqual(sorted(COMMANDS[name(readme)]), sorted(set(map(uncommented, commands(readme)))), readme)

    def test_blocks_of_commands_are_marked(self):
        for readme in READMES:
            for block in BLOCK.finditer(readme.read_text()):
                if block["language"] == "":
                    self.assertNotRegex(block["text"], rf"(?m)^(?:\$ )?{PROGRAM} [^\n]*-", f"{readme}: mark this block bash")

    def test_commands_run_in_a_clone(self):
        if not (shutil.which("git") and (ROOT / ".git").exists() and os.environ.get("SLIMPACK_TRAIN")):
            self.skipTest("there is no git here, or no programs")
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            source, clone = home / "source", home / "slimpack"
            copy_of_the_tree(source)
            environment = {**os.environ, "HOME": folder}
            environment.pop("SLIMPACK_FULL", None)
            wrong = []

            def runs(kind, command):
                is_there = shutil.which("mpirun") or not command.startswith("mpirun")
                return is_there and (kind in (QUICK, GPU) or (FULL and kind == LONG))

            for readme in READ:
                script = script_of(readme, runs, str(source))
                run = subprocess.run(["bash"], input=script, cwd=home if readme == NEWCOMERS else clone, env=environment, stdout=subprocess.PIPE, text=True)
                wrong += failures(readme, run.stdout)
                if readme == NEWCOMERS and not FULL:  # what the commands that are left out would have made
                    (clone / "build/gcc-release").mkdir(parents=True)
                    (clone / "build/gcc-release/examples").symlink_to(pathlib.Path(os.environ["SLIMPACK_TRAIN"]).parent)
                    plans = re.search(r"^mkdir -p out\n.*", (ROOT / "examples/quickstart.sh").read_text(), re.M | re.S)[0]
                    subprocess.run(["bash", "-ec", plans], cwd=clone, stdout=subprocess.DEVNULL, check=True)
            self.assertEqual([], wrong, "\n".join(["", *wrong]))


def copy_of_the_tree(folder):
    """A repository with what this tree has, changes that are not committed included."""
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    changes = subprocess.run(["git", "-C", ROOT, "diff", "--binary", "HEAD"], capture_output=True, check=True).stdout
    if changes:
        subprocess.run(["git", "-C", folder, "apply"], input=changes, check=True)
        subprocess.run(["git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-qam", "changes"], check=True)


def mirror():
    """Where this machine's apt gets Debian 12 from."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"], capture_output=True,
                             text=True, check=True).stdout
    found = re.search(r"^bookworm (\S+)$", targets, re.M)
    if not found:
        sys.exit("apt here has no source of Debian 12 (bookworm), so there is nothing to make a bare one from")
    return found[1]


def serve_root(system):
    """Runs as root, within the system, what the other user's shell asks for."""
    while True:
        with open(system / "tmp/asks") as asks:
            command = asks.read()
        done = subprocess.run(["chroot", system, "env", "-i", PATH, "DEBIAN_FRONTEND=noninteractive", "sh", "-c", command], capture_output=True, text=True)
        if done.returncode:
            print(f"root: {command}\n{done.stdout}{done.stderr}", flush=True)
        with open(system / "tmp/answers", "w") as answers:
            answers.write(f"{done.returncode}\n")


PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ASKS_ROOT = """
root_runs() { printf '%s\\n' "$1" > /tmp/asks; local answer; read -r answer < /tmp/answers; return "$answer"; }
"""


def run_as(user, base, system, leave_out):
    """The commands that fail for a user of a fresh copy of the bare system."""
    subprocess.run(["cp", "-a", base, system], check=True)
    shutil.copy("/etc/resolv.conf", system / "etc/resolv.conf")
    subprocess.run(["mount", "-t", "proc", "proc", system / "proc"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", system / "dev/shm"], check=True)
    try:
        copy_of_the_tree(system / "srv/slimpack")
        home, preamble, asks = pathlib.PurePath("/root"), "", "root"
        if user != "root":
            subprocess.run(["chroot", system, "useradd", "--create-home", user], check=True)
            subprocess.run(["chroot", system, "chown", "-R", user, "/srv/slimpack"], check=True)
            for pipe in ("asks", "answers"):
                os.mkfifo(system / "tmp" / pipe)
                os.chmod(system / "tmp" / pipe, 0o666)
            threading.Thread(target=serve_root, args=[system], daemon=True).start()
            home, preamble, asks = pathlib.PurePath("/home") / user, ASKS_ROOT, "root_runs"
        wrong = []

        def runs(kind, command):
            return kind not in (PART, CLUSTER) and not any(text in command for text in leave_out)

        for readme in READ:
            folder = home if readme == NEWCOMERS else home / "slimpack"
            script = f"cd {folder}\n{preamble}" + script_of(readme, runs, "/srv/slimpack", asks)
            run = subprocess.run(["chroot", f"--userspec={user}:{user}", system, "env", "-i", PATH, f"HOME={home}", f"USER={user}", "bash"],
                                 input=script, stdout=subprocess.PIPE, text=True)
            wrong += [f"as {user}: {text}" for text in failures(readme, run.stdout)]
        return wrong
    finally:
        for folder in ("dev/shm", "proc"):  # lazily: what mpirun started may end later than mpirun
            subprocess.run(["umount", "--lazy", system / folder], check=True)


def run_in_chroot(folder, users, leave_out):
    base = folder / "base"
    if not base.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", base, mirror()], check=True, stdout=subprocess.DEVNULL)
    wrong = []
    for user in users:
        print(f"== as {user} ==", flush=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=user) as parent:
            wrong += run_as(user, base, pathlib.Path(parent) / "system", leave_out)
    print("\n".join(wrong))
    return bool(wrong)


def main():
    arguments = argparse.ArgumentParser(description="Every command of every README runs as written.")
    arguments.add_argument("--chroot", type=pathlib.Path, metavar="DIR", help="run all, in a bare Debian 12 that is made in this folder; needs root")
    arguments.add_argument("--users", metavar="NAME", nargs="+", default=["reader", "root"], help="in the chroot, as whom to run (%(default)s)")
    arguments.add_argument("--leave-out", metavar="TEXT", nargs="+", default=[], help="in the chroot, commands that have one of these in them")
    arguments.add_argument("--list", action="store_true", help="print when each command runs")
    given, rest = arguments.parse_known_args()
    if given.list:
        for readme, known in COMMANDS.items():
            for command, kind in known.items():
                print(f"{kind:5}  {readme}: {command}")
    elif given.chroot:
        sys.exit(run_in_chroot(given.chroot.resolve(), given.users, given.leave_out))
    else:
        unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
