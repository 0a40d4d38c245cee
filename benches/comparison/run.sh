#!/usr/bin/env bash
# Every method on one feature table with the preset files of tune.sh: one JSON document for each column and method, OUT/COLUMN/METHOD.json.
# What is there already is not computed again, so a run that was cut off goes on where it was.
# Usage: benches/comparison/run.sh FEATURES.npz PRESETS_DIR OUT_DIR [TASKS]
# UNLABELED=0: the transductive columns only. QUERIES=8: that many per class (on average), for classes with few rows. SKIP="ici ilpc"
# leaves methods out; SEMI_SKIP those that are slow with a pool. METHODS="dm-ida tim-gd" runs only these.
set -euo pipefail
features=$1
presets=$2
out=$3
tasks=${4:-1000}
handful=${HANDFUL:-target/release/handful}
settings=(--tasks "$tasks" --threads "${THREADS:-0}" --queries "${QUERIES:-15}" --per-task --format json)
methods=${METHODS:-dm-ida dm-ida:default dm-ida:equal-sizes dm-ida:balanced dm-ida:unbalanced $("$handful" params | awk 'NF == 0 { exit } $1 != "dm-ida" { print $1 }')}
for unlabeled in ${UNLABELED:-0 50}; do
    for shots in ${SHOTS:-1 5}; do
        for classes in balanced dirichlet; do
            column=$out/$shots-shot-$classes-$unlabeled
            mkdir -p "$column"
            setting=(--shots "$shots" --unlabeled "$unlabeled")
            [ "$classes" = dirichlet ] && setting+=(--query-imbalance 2)
            [ "$classes" = dirichlet ] && [ "$unlabeled" != 0 ] && setting+=(--pool-imbalance 2)
            for method in $methods; do
                # A subspace needs two rows of a class, and deepemd the maps that no such table has.
                [ "$method$shots" = dsn1 ] && continue
                [ "$method" = deepemd ] && continue
                [[ " ${SKIP:-} " = *" $method "* ]] && continue
                [ "$unlabeled" != 0 ] && [[ " ${SEMI_SKIP:-} " = *" $method "* ]] && continue
                file=$column/${method/:/_}.json
                [ -s "$file" ] && continue
                # A preset of its own, or one that was not searched, goes without the file.
                searched=()
                file_of_presets=$presets/$shots-shot-$classes.toml
                grep -q -x -F "[$method]" "$file_of_presets" && searched=(--preset "$file_of_presets")
                # In semi-supervised tasks every method that can looks at pool and query, as dm-ida does.
                [ "$unlabeled" != 0 ] && "$handful" params "${method%%:*}" | grep '^unlabelled ' > /dev/null && searched+=(--set unlabelled=both)
                "$handful" bench "$features" --method "$method" "${searched[@]}" "${setting[@]}" \
                    "${settings[@]}" > "$file.part"
                mv "$file.part" "$file"
            done
        done
    done
done
