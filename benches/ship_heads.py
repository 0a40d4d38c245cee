"""Turns trained heads into those that come with the program: 16-bit numbers, and commands without folders.

    python benches/ship_heads.py FOLDER crates/handful-data/assets/heads SYSTEM-SHOTS...

FOLDER is what `benches/train_systems.sh` wrote. Needs numpy and safetensors.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file


def main() -> None:
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for head in sys.argv[3:]:
        with safe_open(folder / head / "best.safetensors", "np") as file:
            facts = json.loads(file.metadata()["handful"])
            tensors = {name: file.get_tensor(name).astype(np.float16) for name in file.keys()}
        facts["command"] = " ".join(Path(word).name if "/" in word else word for word in facts["command"].split())
        save_file(tensors, target / f"{head}.safetensors", metadata={"handful": json.dumps(facts)})


if __name__ == "__main__":
    main()
