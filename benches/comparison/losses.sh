#!/usr/bin/env bash
# The paper's Table 5 with each loss tuned by itself: dm-ida with one objective after another, each searched on the validation classes
# with the same budget (16 settings of 100 5-way tasks), then run on the novel ones, with IDA (one round) and without, at 5 ways and at
# 20. A run that was cut off goes on where it was.
# Usage: benches/comparison/losses.sh VAL.npz NOVEL.npz OUT_DIR [TASKS]   (WAYS="5 20", SHOTS="1 5", ROUNDS="1 0": which of them; TUNING=100: tasks of a search)
# then   python3 benches/comparison/table.py OUT_DIR/results --reference mutual-information
set -euo pipefail
val=$1
novel=$2
out=$3
tasks=${4:-300}
handful=${HANDFUL:-target/release/handful}
threads=(--threads "${THREADS:-0}")

# An objective and the grid of its weights; the values first are those of preset equal-sizes.
objectives=$(cat <<'GRIDS'
cross-entropy
conditional-entropy  conditional_weight=0.1,0.03,0.3,1
mutual-information   class_shares=equal,adaptive marginal_weight=1,0.3,0.05 conditional_weight=0.1,0.3
dependence           dependence_weight=2,5,20,50
fisher-dependence    fisher_weight=1,0.3,3 fisher_directions=10,20,5
hybrid               class_shares=equal,adaptive marginal_weight=1,0.3,0.05 dependence_weight=2,0.5,5,20
fisher-hybrid        class_shares=equal,adaptive marginal_weight=1,0.3,0.05 fisher_weight=0.3,0.1,1
GRIDS
)
# Offered to all, after the weights.
features=power+l2+smooth:10:40+l2,power+l2,power+l2+centre-parts+l2+smooth:10:60+l2
common="T=0.3,0.4,0.2 X=$features learning_rate=0.2,0.05 pseudo_label_weight=0.05,0.2"

column() { echo "$1-way-$2-shot-$3"; }

for ways in ${WAYS:-5 20}; do
    for shots in ${SHOTS:-1 5}; do
        if [ "$shots" = 1 ]; then five=; else five=_five_shot; fi
        for classes in balanced dirichlet; do
            imbalance=()
            [ "$classes" = dirichlet ] && imbalance=(--query-imbalance 2)
            results=$out/results/$(column "$ways" "$shots" "$classes")
            # What was found at 5 ways serves at more.
            presets=$out/presets/$(column 5 "$shots" "$classes")
            mkdir -p "$presets" "$results"
            while read -r objective axes; do
                grid=()
                for axis in $axes $common; do
                    case $axis in
                        T=*) axis=temperature$five=${axis#T=} ;;
                        X=*) axis=transform$five=${axis#X=} ;;
                    esac
                    grid+=(--grid "$axis")
                done
                # Mutual information beside the normalised dependence; the plain one is the row `hybrid`.
                fixed=(--set "objective=$objective")
                [ "$objective" = fisher-hybrid ] && fixed+=(--set dependence_weight=0)
                preset=$presets/$objective.toml
                [ -s "$preset" ] || "$handful" bench tune "$val" --part val --method dm-ida:equal-sizes "${fixed[@]}" \
                    --shots "$shots" "${imbalance[@]}" --tasks "${TUNING:-100}" --seed 11 --search coordinate --budget 16 "${threads[@]}" \
                    "${grid[@]}" -o "$preset"
                for rounds in ${ROUNDS:-1 0}; do
                    name=$objective
                    [ "$rounds" = 0 ] && name=${objective}_no-ida
                    file=$results/$name.json
                    [ -s "$file" ] && continue
                    "$handful" bench "$novel" --method dm-ida --preset "$preset" --set "max_rounds=$rounds" --ways "$ways" \
                        --shots "$shots" "${imbalance[@]}" --tasks "$tasks" "${threads[@]}" --per-task --format json > "$file.part"
                    mv "$file.part" "$file"
                done
            done <<< "$objectives"
        done
    done
done
