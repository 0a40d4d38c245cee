#!/usr/bin/env bash
# Every method on the novel classes with the preset files of tune.sh, one JSON document per setting.
# Usage: benches/comparison/run.sh NOVEL.npz PRESETS_DIR OUT_DIR [TASKS]   (UNLABELED=0: the transductive columns only)
set -euo pipefail
novel=$1
presets=$2
out=$3
tasks=${4:-1000}
handful=${HANDFUL:-target/release/handful}
mkdir -p "$out"
for unlabeled in ${UNLABELED:-0 50}; do
    for shots in 1 5; do
        # dsn needs two rows of a class; ici takes minutes per column and is left to those who ask (ICI=1).
        left_out=(-e dm-ida -e ici)
        [ "$shots" = 1 ] && left_out+=(-e dsn)
        # SKIP="ilpc ..." leaves out more.
        for name in ${SKIP:-}; do left_out+=(-e "$name"); done
        all=$("$handful" params | awk '{print $1}' | grep -v -x "${left_out[@]}" | paste -sd,)
        for classes in balanced dirichlet; do
            file=$out/$shots-shot-$classes-$unlabeled.json
            [ -s "$file" ] && continue
            imbalance=()
            [ "$classes" = dirichlet ] && imbalance=(--query-imbalance 2)
            [ "$classes" = dirichlet ] && [ "$unlabeled" != 0 ] && imbalance+=(--pool-imbalance 2)
            # In semi-supervised tasks every method that can looks at pool and query, as dm-ida does.
            both=()
            [ "$unlabeled" != 0 ] && both=(--set unlabelled=both)
            "$handful" bench "$novel" --method "dm-ida,dm-ida:default,dm-ida:balanced,dm-ida:unbalanced,$all${ICI:+,ici}" \
                --preset "$presets/$shots-shot-$classes.toml" --shots "$shots" --unlabeled "$unlabeled" \
                "${imbalance[@]}" "${both[@]}" --tasks "$tasks" --format json > "$file.part"
            mv "$file.part" "$file"
        done
    done
done
