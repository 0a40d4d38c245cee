#!/bin/sh
# Trains every system on the CIFAR-FS features of the network that comes with the program, and measures them on novel classes.
#
#   benches/train_systems.sh CIFAR-100-ARCHIVE FOLDER
set -eu
archive=$1
folder=$2
mkdir -p "$folder"
for part in base validation novel; do
    test -f "$folder/$part.npz" ||
        handful embed "$archive" --dataset cifar-fs --part $part --mirror -o "$folder/$part.npz"
done
for shots in 1 5; do
    heads=protonet,dm-ida
    for system in feat relationnet r2d2 metaoptnet dsn leo sib; do
        # A class subspace needs two rows.
        test $system = dsn && test $shots = 1 && continue
        handful train "$folder/base.npz" --system $system --validation "$folder/validation.npz" \
            --shots $shots --seed 1 -o "$folder/$system-$shots"
        heads=$heads,$system:$folder/$system-$shots/best.safetensors
    done
    handful bench "$folder/novel.npz" --shots $shots --tasks 1000 --seed 1 --method "$heads"
done
