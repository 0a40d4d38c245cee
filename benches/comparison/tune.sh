#!/usr/bin/env bash
# Tunes every method on the validation classes, one preset file per setting, with the same kind of search for all:
# one key at a time over a small grid, 300 tasks. ici, which takes minutes, is left to those who ask (ICI=1).
# Usage: benches/comparison/tune.sh VAL.npz OUT_DIR   (the binary: $HANDFUL, else target/release/handful)
set -euo pipefail
val=$1
out=$2
handful=${HANDFUL:-target/release/handful}
mkdir -p "$out"
features=transform=l2,power+l2,power+l2+centre-parts+l2

# method and its grid, the starting point first
grids=$(cat <<GRIDS
protonet           $features
simpleshot         $features
matching           $features scale=10,100
baseline           $features learning_rate=0.001,0.01
baseline-pp        $features scale=2,10 learning_rate=0.01,0.1
logistic           $features c=10,1,100
ridge              $features penalty=1,0.1,10
svm                $features c=0.1,1
dsn                $features
entropy-min        $features learning_rate=0.00005,0.001 steps=25,100
tim-gd             transform=power+l2,l2,power+l2+centre-parts+l2 T=0.5,0.2,0.3,0.1333 marginal_weight=1,0.3,0.1,0.03 conditional_weight=0.1,0.3,1 cross_entropy_weight=0.1,0.3,1
tim-adm            $features inverse_temperature=15,7.5 marginal_weight=1,0.3,0.1,0.03 cross_entropy_weight=0.1,1
alpha-tim          $features A=2,3,5 learning_rate=0.001,0.01 cross_entropy_weight=1,0.3
bd-cspn            $features scale=10,20
laplacianshot      $features lambda=0.7,0.3,1.5 neighbours=2,5,10
epnet              $features label_alpha=0.2,0.5,0.8 embedding_alpha=0.5,0.2,0.8
pt-map             lambda=10,5,20 rate=0.2,0.4
ilpc               alpha=0.8,0.5 neighbours=20,10
ease               dimensions=40,20 spread_weight=100,10
protolp            lambda=10,5 propagated_share=0.6,0.3
tafssl             transform=none,l2,power+l2 labeller=msp,bkm dimensions=10,5
paddle             $features lambda_share=0.5,0.2,1 temperature=0.05,0.1,0.2
oslo               transform=l2+centre-parts+l2,power+l2,power+l2+centre-parts+l2 class_temperature=0.1,0.05,0.2 steps=2,5
label-spreading    $features alpha=0.2,0.5,0.8 gamma=20,5
ici                $features dimensions=5,10
soft-kmeans        $features temperature=0.1333,0.05,0.3 steps=1,3,10
self-training      $features temperature=0.1333,0.3 learning_rate=0.001,0.01
dm                 T=0.3,0.2,0.5 dependence_weight=2,5,20,50
dm-ida             X=power+l2+centre-parts+l2+smooth:10:60+l2,power+l2+smooth:10:60+l2,power+l2+smooth:10:40+l2,power+l2+smooth:10:20+l2 T=0.3,0.2,0.1333 dependence_weight=2,1,5 marginal_weight=1,0.3,0.1,0.03 conditional_weight=0.1,0.3,1 cross_entropy_weight=0.3,0.1,1
GRIDS
)

for shots in 1 5; do
    # Some parameters of dm-ida, tim-gd and alpha-tim have a value of their own at five shots.
    if [ "$shots" = 1 ]; then five=; else five=_five_shot; fi
    for classes in balanced dirichlet; do
        file=$out/$shots-shot-$classes.toml
        [ -s "$file" ] && continue
        imbalance=()
        [ "$classes" = dirichlet ] && imbalance=(--query-imbalance 2)
        : > "$file.part"
        while read -r method axes; do
            # A subspace needs two rows of a class.
            [ "$method$shots" = dsn1 ] && continue
            [ "$method" = ici ] && [ -z "${ICI:-}" ] && continue
            grid=()
            for axis in $axes; do
                case $axis in
                    T=*) axis=temperature$five=${axis#T=} ;;
                    A=*) axis=alpha$five=${axis#A=} ;;
                    X=*) axis=transform$five=${axis#X=} ;;
                esac
                grid+=(--grid "$axis")
            done
            "$handful" bench tune "$val" --part val --method "$method" --shots "$shots" "${imbalance[@]}" --tasks 300 \
                --seed 11 --search coordinate "${grid[@]}" >> "$file.part"
            echo >> "$file.part"
        done <<< "$grids"
        mv "$file.part" "$file"
    done
done
