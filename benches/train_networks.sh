#!/bin/sh
# Trains Conv-4 on the base classes of CIFAR-FS, and from it each system together with the network; then measures on novel
# classes. What is there already is kept and a training that was stopped goes on, so the script can be run again.
#
#   benches/train_networks.sh CIFAR-100-ARCHIVE FOLDER [SYSTEM-SHOTS ...]
#
# HANDFUL names another program than the one on the path; EPOCHS, STEPS, RELATION_STEPS and MAML_STEPS are how long is trained, TASKS and
# MAML_TASKS on how many is measured. At Adam's usual rate of 1e-3 a network that is trained already got worse; RelationNet's layers and
# MAML, which begin from nothing, have it.
set -eu
handful=${HANDFUL:-handful}
archive=$1
folder=$2
shift 2
mkdir -p "$folder"

# What a training took stands in its log beside what it reached.
trained() {
    out=$folder/$1
    shift
    test -f "$out.finished" && return
    resume=
    test -f "$out/last.safetensors" && resume=--resume
    { time -p "$handful" train "$archive" --dataset cifar-fs --backbone conv4 --seed 1 "$@" $resume -o "$out"; } >> "$out.log" 2>&1
    touch "$out.finished"
}

trained conv4-begun --epochs 4
trained conv4 --epochs "${EPOCHS:-10}" --begin-with "$folder/conv4-begun/best.safetensors"
test -f "$folder/conv4.npz" || "$handful" embed "$archive" --dataset cifar-fs --part novel \
    --weights "$folder/conv4/best.safetensors" -o "$folder/conv4.npz"
test -f "$folder/conv4.md" || "$handful" bench "$folder/conv4.npz" --shots 1,5 --tasks "${TASKS:-1000}" --seed 1 \
    --format markdown --method protonet,dm-ida > "$folder/conv4.md"
test $# -gt 0 || set -- protonet-1 r2d2-1 relationnet-1 maml-1 protonet-5 r2d2-5 relationnet-5 maml-5 \
    matching-1 matching-5 metaoptnet-1 metaoptnet-5 dsn-5 feat-1 feat-5 epnet-1 epnet-5
for run in "$@"; do
    system=${run%-*} shots=${run#*-}
    case $system in
    # Every task of a measurement is a training of its own.
    maml) length="--steps ${MAML_STEPS:-60} --validate-every ${MAML_STEPS:-60} --validation-tasks 50 --evaluate-tasks ${MAML_TASKS:-1000}" ;;
    relationnet) steps=${RELATION_STEPS:-2500} rate=1e-3 ;;
    *) steps=${STEPS:-400} rate=2e-4 ;;
    esac
    test "$system" = maml ||
        length="--steps $steps --rate $rate --validate-every $((steps / 2)) --validation-tasks 300 --evaluate-tasks ${TASKS:-1000}"
    # shellcheck disable=SC2086
    trained "$run" --begin-with "$folder/conv4/best.safetensors" --system "$system" --shots "$shots" $length
done
