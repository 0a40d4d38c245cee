#!/bin/sh
# Runs every target for ten minutes, one after another, starting from the committed files.
# Usage: fuzz/run.sh [seconds] [target…]
set -eu
cd "$(dirname "$0")"
seconds=${1:-600}
[ $# -gt 0 ] && shift
fixtures=../crates/handful-data/tests/fixtures
for target in ${*:-$(cargo +nightly fuzz list)}; do
    mkdir -p "corpus/$target"
    # New inputs are written to the first folder; the others are only read.
    cargo +nightly fuzz run "$target" "corpus/$target" "$fixtures/regressions" "$fixtures/numpy" "$fixtures/pickle" \
        "$fixtures/torch" "$fixtures/parquet" "$fixtures/arrow" "$fixtures/safetensors" "$fixtures/text" \
        "$fixtures/malicious" "$fixtures/hdf5" "$fixtures/bad" -- \
        -max_total_time="$seconds" -max_len=65536 -len_control=50 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
done
