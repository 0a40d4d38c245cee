#!/bin/sh
# Trains the heads that come with the program on the CIFAR-FS features of the network that does. What is there already is kept
# and a training that was stopped goes on, so the script can be run again. `benches/ship_heads.py` makes assets of them.
#
#   benches/train_systems.sh CIFAR-100-ARCHIVE FOLDER [SYSTEM-SHOTS ...]
#
# HANDFUL names another program than the one on the path; its RAYON_NUM_THREADS decides how many cores are used.
set -eu
handful=${HANDFUL:-handful}
archive=$1
folder=$2
shift 2
mkdir -p "$folder"
for part in base validation; do
    test -f "$folder/$part.npz" ||
        "$handful" embed "$archive" --dataset cifar-fs --part $part --mirror -o "$folder/$part.npz"
done

# Shorter than the recipe: LEO for time, MetaOptNet since a thousand steps never beat its start.
options() {
    case $1 in
    metaoptnet-5) echo --steps 200 --validate-every 25 --validation-tasks 300 ;;
    leo-1) echo --steps 1000 --validate-every 50 ;;
    leo-5) echo --steps 300 --validate-every 50 ;;
    esac
}

test $# -gt 0 || set -- sib-1 metaoptnet-1 relationnet-1 sib-5 metaoptnet-5 dsn-5 relationnet-5 leo-1 leo-5 feat-1 r2d2-1 r2d2-5
for head in "$@"; do
    system=${head%-*} shots=${head#*-} out=$folder/$head
    test -f "$out/finished" && continue
    resume=
    test -f "$out/last.safetensors" && resume=--resume
    # shellcheck disable=SC2046
    "$handful" train "$folder/base.npz" --system "$system" --validation "$folder/validation.npz" --shots "$shots" \
        --seed 1 $(options "$head") $resume -o "$out"
    touch "$out/finished"
done
