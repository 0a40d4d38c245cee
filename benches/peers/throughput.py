"""Images per second and core of networks in extraction and training: handful beside onnxruntime and PyTorch, in one run.

    pip install torch onnxruntime onnx onnxscript efficientnet_lite_pytorch
    cargo build --release -p handful-vision --example throughput
    python benches/peers/throughput.py [--rounds 3] [--repeat 3] [--network conv4]

One thread each, one after the other, `--repeat` times; the best of each. Time is the processor's, user and system, so that it
hardly depends on what else the machine does; it is the difference between a longer and a shorter run, so that neither reading
weights nor warming up counts. Weights are random: they do not change the time.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "crates/handful-vision/fixtures"))

# Name, size, batch, what is measured.
CASES = [
    ("efficientnet-lite0", 224, 8, "extraction"),
    ("resnet12", 84, 16, "extraction"),
    ("resnet12", 84, 16, "training"),
    ("conv4", 32, 64, "training"),
]
ALONE = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def network(name):
    """The same network in PyTorch."""
    from write_fixtures import Conv4, ResNet12

    if name == "efficientnet-lite0":
        from efficientnet_lite_pytorch import EfficientNet

        whole = EfficientNet.from_name("efficientnet-lite0")
        whole.forward = lambda x: whole.extract_features(x).mean((2, 3))
        return whole
    return ResNet12([64, 160, 320, 640]) if name == "resnet12" else Conv4(64)


def torch_rounds(name, size, batch, what, rounds):
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    model, images = network(name), torch.randn(batch, 3, size, size)
    if what == "extraction":
        model.eval()
        with torch.no_grad():
            for _ in range(rounds):
                model(images)
        return
    width = model(images[:2]).flatten(1).shape[1]
    classifier = torch.nn.Linear(width, 64)
    parameters = [*model.parameters(), *classifier.parameters()]
    optimiser = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4)
    for _ in range(rounds):
        optimiser.zero_grad()
        scores = classifier(model(images).flatten(1))
        torch.nn.functional.cross_entropy(scores, torch.zeros(batch, dtype=torch.long), label_smoothing=0.1).backward()
        optimiser.step()


def onnx_rounds(path, size, batch, rounds):
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    images = np.random.default_rng(1).standard_normal((batch, 3, size, size), dtype=np.float32)
    for _ in range(rounds):
        session.run(None, {session.get_inputs()[0].name: images})


def export(name, size, batch, path):
    import torch

    model = network(name).eval()
    torch.onnx.export(model, (torch.randn(batch, 3, size, size),), path, verbose=False)


def processor(command):
    """User and system seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **ALONE})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def rate(command, batch, rounds):
    """Images per second of processor time, and the system's share of it."""
    short, long = processor(command(1)), processor(command(1 + rounds))
    user, system = long[0] - short[0], max(long[1] - short[1], 0.0)
    return rounds * batch / (user + system), system / (user + system)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--network", help="this one alone")
    parser.add_argument("--only", help="internal: run one program")
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    if asked.only == "torch":
        name, size, batch, what, rounds = asked.words
        return torch_rounds(name, int(size), int(batch), what, int(rounds))
    if asked.only == "onnxruntime":
        path, size, batch, rounds = asked.words
        return onnx_rounds(path, int(size), int(batch), int(rounds))
    if asked.only == "export":
        name, size, batch, path = asked.words
        return export(name, int(size), int(batch), path)
    example = ROOT / "target/release/examples/throughput"
    again = [sys.executable, __file__, "--only"]
    print("images per second of one core's time (share of the system in it)")
    for name, size, batch, what in CASES:
        if asked.network not in (None, name):
            continue
        sizes = [str(size), str(batch)]
        programs = {
            "handful": lambda rounds: [example, name, *sizes, str(rounds), what],
            "PyTorch": lambda rounds: [*again, "torch", name, *sizes, what, str(rounds)],
        }
        with tempfile.TemporaryDirectory() as folder:
            if what == "extraction":
                path = f"{folder}/network.onnx"
                subprocess.run([*again, "export", name, *sizes, path], check=True, capture_output=True)
                programs["onnxruntime"] = lambda rounds: [*again, "onnxruntime", path, *sizes, str(rounds)]
            found = {program: (0.0, 0.0) for program in programs}
            for _ in range(asked.repeat):
                for program, command in programs.items():
                    found[program] = max(found[program], rate(command, batch, asked.rounds))
        ours = found["handful"][0]
        rates = ", ".join(f"{program} {value:.1f} ({share:.0%})" for program, (value, share) in found.items())
        ratios = ", ".join(f"{ours / value:.2f}x {program}" for program, (value, _) in found.items() if program != "handful")
        print(f"{name} at {size} px, batch {batch}, {what}: {rates}; {ratios}", flush=True)


if __name__ == "__main__":
    main()
