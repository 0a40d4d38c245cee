#!/usr/bin/env bash
# Tunes every method on the validation classes, one preset file per setting. One budget for all: one key at a time, at most 16
# settings (a method with fewer parameters has fewer), 100 tasks each; how many were tried is in the preset files. Centring and
# smoothing are offered to every method that looks at unlabelled rows, and steps by length to every one that takes our steps.
# A run that was cut off goes on where it was.
# Usage: benches/comparison/tune.sh VAL.npz OUT_DIR   (the binary: $HANDFUL, else target/release/handful; SKIP="a b" leaves out methods)
set -euo pipefail
val=$1
out=$2
handful=${HANDFUL:-target/release/handful}
tasks=${TASKS:-100}
budget=${BUDGET:-16}
mkdir -p "$out"
# Labelled rows only; with unlabelled rows; the same, the method's own first.
plain=transform=l2,power+l2,power+l2+centre-parts+l2,power+l2+centre-all+l2
all=power+l2,power+l2+centre-parts+l2,power+l2+centre-all+l2,power+l2+smooth:10:40+l2,power+l2+centre-parts+l2+smooth:10:60+l2,power+l2+centre-all+l2+smooth:10:60+l2
features=transform=l2,$all

# method and its grid, the starting point first
grids=$(cat <<GRIDS
protonet           $plain
simpleshot         $plain
matching           $plain scale=10,100
baseline           $plain learning_rate=0.001,0.01,0.1 step_scale=coordinate,length T=0.1333,0.3,0.5
baseline-pp        $plain scale=2,10,5 learning_rate=0.01,0.1,0.03
logistic           $plain c=10,1,3,30,100
ridge              $plain penalty=1,0.1,0.3,3,10
svm                $plain c=0.1,1,0.3,3
dsn                $plain
entropy-min        $features learning_rate=0.00005,0.001,0.1 step_scale=coordinate,length steps=25,100 T=0.1333,0.3,0.5
tim-gd             $features T=0.5,0.3,0.2 marginal_weight=1,0.3,0.05 conditional_weight=0.1,0.3 step_scale=coordinate,length learning_rate=0.02,0.1
tim-adm            $features inverse_temperature=15,7.5,4 marginal_weight=1,0.3,0.1,0.05 cross_entropy_weight=0.1,1 steps=150,50
alpha-tim          $features A=2,3,5 learning_rate=0.001,0.01 cross_entropy_weight=1,0.3 marginal_weight=1,0.5 conditional_weight=1,0.5
bd-cspn            $features scale=10,20,5,40 metric=euclidean,cosine
laplacianshot      $features lambda=0.7,0.3,1.5 neighbours=2,5,10 scale=10,20 classified=shifted,as-given
epnet              $features label_alpha=0.2,0.5,0.8,0.9 embedding_alpha=0.5,0.2,0.8,0.1
pt-map             $features lambda=10,5,20 rate=0.2,0.4 epochs=20,50 C=equal,unknown
ilpc               $features alpha=0.8,0.5 neighbours=20,10 per_class=3,5 power=3,1 C=equal,unknown
ease               transform=$all dimensions=40,20,10 spread_weight=100,10 lambda=10,5,20 C=equal,unknown
protolp            transform=$all lambda=10,5,20 propagated_share=0.6,0.3 dimensions=40,20 rate=0.2,0.4 C=equal,unknown
tafssl             transform=none,l2,$all labeller=msp,bkm dimensions=10,5,20 projection=ica,pca
paddle             $features lambda_share=0.5,0.2,1 temperature=0.05,0.1,0.2 steps=20,50
unem               $features S=12,8,18,25
oslo               transform=l2+centre-parts+l2,$all class_temperature=0.1,0.05,0.2 steps=2,5 inlier_temperature=0.05,0.1,0.2
bavardage          $features inverse_temperature=30,20,60 prior_rows=2,5,1 prior_precision=10,1 steps=5,10
bms                $features lambda=8.5,5,15,25 steps=20,10
bpa                $features regularisation=0.2,0.1,0.4 lambda=10,5,20 rate=0.2,0.4 C=equal,unknown
nohub              $features perplexity=40,20 similarity_weight=0.3,0.2 lambda=10,5,20 kappa=0.5,1
am                 $features marginal_weight=10,3,1 conditional_weight=1,0.3 learning_rate=0.001,0.003 inverse_temperature=15,8
stata              $features inverse_temperature=10,20,5 density_scale=50,25 neighbours=3,10 anchor=1,3
poisson            $features neighbours=10,5,20,40
laplace            $features neighbours=10,5,20,40
label-spreading    $features alpha=0.2,0.5,0.8,0.9 gamma=20,5,50 graph=rbf,knn
ici                $features dimensions=5,10 c=1,10
soft-kmeans        $features temperature=0.1333,0.05,0.3 steps=1,3,10
self-training      $features temperature=0.1333,0.3 learning_rate=0.001,0.01 per_class=5,2 max_rounds=10,2
dm                 objective=dependence,fisher-dependence $features T=0.3,0.2,0.5 dependence_weight=2,5,20 fisher_weight=1,3 step_scale=length,coordinate
dm-ida             class_shares=adaptive,equal X=power+l2+centre-parts+l2+smooth:10:60+l2,l2,power+l2,power+l2+centre-all+l2,power+l2+smooth:10:40+l2,power+l2+centre-all+l2+smooth:10:60+l2 objective=hybrid,fisher-hybrid T=0.4,0.3,0.5 marginal_weight=1,0.3,0.05 dependence_weight=2,0.5,5 learning_rate=0.1,0.2
GRIDS
)

for shots in ${SHOTS:-1 5}; do
    # Some parameters of dm-ida, tim-gd and alpha-tim have a value of their own at five shots.
    if [ "$shots" = 1 ]; then five=; else five=_five_shot; fi
    for classes in balanced dirichlet; do
        file=$out/$shots-shot-$classes.toml
        imbalance=()
        [ "$classes" = dirichlet ] && imbalance=(--query-imbalance 2)
        touch "$file"
        while read -r method axes; do
            # A subspace needs two rows of a class.
            [ "$method$shots" = dsn1 ] && continue
            [[ " ${SKIP:-} " = *" $method "* ]] && continue
            # What an interrupted run found stays.
            grep -q -x -F "[$method]" "$file" && continue
            grid=()
            for axis in $axes; do
                case $axis in
                    T=*) axis=temperature$five=${axis#T=} ;;
                    A=*) axis=alpha$five=${axis#A=} ;;
                    S=*) axis=scale$five=${axis#S=} ;;
                    # Not to be told wrong class sizes is a choice where they differ.
                    C=*) [ "$classes" = dirichlet ] || continue; axis=class_sizes=${axis#C=} ;;
                    X=*) axis=transform$five=${axis#X=} ;;
                esac
                grid+=(--grid "$axis")
            done
            "$handful" bench tune "$val" --part val --method "$method" --shots "$shots" "${imbalance[@]}" --tasks "$tasks" \
                --seed 11 --search coordinate --budget "$budget" --threads "${THREADS:-0}" "${grid[@]}" > "$file.part"
            { cat "$file.part"; echo; } >> "$file"
            rm "$file.part"
        done <<< "$grids"
    done
done
