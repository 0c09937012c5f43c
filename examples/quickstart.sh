#!/bin/bash
# Builds the planner's command line on Debian 12 and plans a batch of real sequence lengths for a real model: how much
# faster is slimpack than the ways of packing that trainers use today? Works from any working directory, and installs
# the packages that are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

echo "The first run takes about 4 minutes on two cores, most of it compiling, and besides as long as packages take to download."
echo "[1/4] installing the packages that are missing"
bash cmake/install-packages.sh libboost-iostreams-dev
echo "[2/4] configuring"
cmake --preset gcc-release
echo "[3/4] compiling slimpack-plan: few but large files, a minute or two each"
cmake --build --preset gcc-release --target slimpack-plan

mkdir -p out
echo "[4/4] planning 512 sequences by slimpack and by four other planners"
build/gcc-release/examples/slimpack-plan \
  --lengths examples/data/lengths/mooncake_conversation.txt \
  --model examples/data/models/llama-3.1-8b.json \
  --gpu h100 --pp 4 --tp 2 --dp 2 \
  --recompute light --batch 512 --max-context 131072 --over-long truncate \
  --compare megatron,dp_balanced,karmarkar_karp,chunked,slimpipe \
  --json out/plan.json --trace out/trace.json --timeline out/timeline.html
