"""Label Studio 1.23 for real: import, predictions, webhook, better predictions.

    cargo build -p handful-cli && python3 benches/peers/label_studio.py [--photos FOLDER] [--venv FOLDER]

Installs Label Studio from PyPI into an environment of its own, starts it on an empty database, and checks, with the
program that was built and Debian's chromium:

1. tasks of `handful label --image-root` and `--embed-images` are imported and their images show in the browser,
2. their predictions can be sorted by score,
3. `handful serve --label-studio` is taken as a model, an annotation reaches it by webhook, and the next predictions change,
4. Label Studio's JSON and CSV exports are labels to `handful label --labels`.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HANDFUL = os.environ.get("HANDFUL_BINARY", str(ROOT / "target/debug/handful"))
PORT, BACKEND = 8095, 9095
USER, PASSWORD = "someone@example.org", "a-password-of-1"
TOKEN = "a-token-of-our-own-choice"


def environment(folder: pathlib.Path) -> str:
    python = folder / "bin/python"
    if not (folder / "bin/label-studio").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "label-studio==1.23.*"], check=True)
    return str(python)


def handful(*args: object) -> None:
    subprocess.run([HANDFUL, *map(str, args)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class LabelStudio:
    """A session of somebody who is logged in."""

    def __init__(self) -> None:
        import requests

        self.http = requests.Session()
        self.url = f"http://localhost:{PORT}"
        for _ in range(240):
            try:
                self.http.get(self.url + "/health", timeout=2).raise_for_status()
                break
            except requests.RequestException:
                time.sleep(0.5)
        form = {"email": USER, "password": PASSWORD, "csrfmiddlewaretoken": self.csrf()}
        self.http.post(self.url + "/user/login/", data=form, headers={"Referer": self.url}).raise_for_status()

    def csrf(self) -> str:
        page = self.http.get(self.url + "/user/login/")
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        return found.group(1) if found else self.http.cookies.get("csrftoken", "")

    def ask(self, method: str, path: str, **kwargs):
        headers = {"Referer": self.url, "X-CSRFToken": self.http.cookies.get("csrftoken", "")}
        answer = self.http.request(method, self.url + path, headers=headers, timeout=120, **kwargs)
        if not answer.ok:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text[:600]}")
        return answer.json() if "json" in answer.headers.get("content-type", "") else answer


def classes_of(photos: pathlib.Path) -> list[str]:
    return sorted(folder.name for folder in photos.iterdir() if folder.is_dir())


def config(classes: list[str]) -> str:
    choices = "".join(f'<Choice value="{name}"/>' for name in classes)
    return f'<View><Image name="image" value="$image"/><Choices name="label" toName="image">{choices}</Choices></View>'


def shows(task: str, name: str, work: pathlib.Path) -> None:
    script = ROOT / "web/scripts/label-studio.mjs"
    subprocess.run(["node", script, task, USER, PASSWORD, work / f"{name}.png"], check=True)


def run(photos: pathlib.Path, work: pathlib.Path) -> None:
    studio = LabelStudio()
    classes = classes_of(photos)
    files = sorted(path for path in photos.rglob("*") if path.is_file())
    ids = [path.relative_to(photos).as_posix() for path in files]
    few = [name for kind in classes for name in [one for one in ids if one.startswith(kind + "/")][:2]]
    labels = work / "labels.csv"
    labels.write_text("id,label\n" + "".join(f"{name},{name.split('/')[0]}\n" for name in few))

    def project(title: str) -> int:
        made = studio.ask("POST", "/api/projects", json={"title": title, "label_config": config(classes)})
        return made["id"]

    # 1 and 2: import, images, order.
    for name, options in [("local files", ["--image-root", photos.parent]), ("embedded", ["--embed-images"])]:
        tasks = work / "tasks.json"
        handful("label", photos, "--labels", labels, "-o", tasks, *options)
        number = project(name)
        if options[0] == "--image-root":
            storage = {"project": number, "path": str(photos), "use_blob_urls": True, "title": "photos"}
            # Label Studio serves what is below its root and in a store, and no store may be the root itself.
            studio.ask("POST", "/api/storages/localfiles", json=storage)
        written = json.loads(tasks.read_text())
        studio.ask("POST", f"/api/projects/{number}/import", json=written)
        listed = studio.ask("GET", f"/api/tasks?project={number}&page_size=1000&fields=all")["tasks"]
        assert len(listed) == len(ids), (len(listed), len(ids))
        print(f"{name}: {len(listed)} tasks imported, {sum(t['total_annotations'] > 0 for t in listed)} annotated, "
              f"{sum(t['total_predictions'] > 0 for t in listed)} predicted")
        view = {"project": number, "data": {"ordering": ["tasks:predictions_score"]}}
        tab = studio.ask("POST", "/api/dm/views/", json=view)["id"]
        ordered = studio.ask("GET", f"/api/tasks?project={number}&view={tab}&page_size=1000&fields=all")["tasks"]
        scores = [task["predictions_score"] for task in ordered if task["predictions_score"] is not None]
        assert len(scores) > 10 and scores == sorted(scores), scores[:9]
        print(f"{name}: predictions sort by score, from {scores[0]:.2f} to {scores[-1]:.2f}")
        shows(f"{studio.url}/projects/{number}/data?task={ordered[-1]['id']}", name.replace(" ", "-"), work)
        print(f"{name}: the image shows in the browser")

    # 3: the backend learns while somebody annotates.
    number = project("backend")
    log = open(work / "serve.log", "w")
    backend = subprocess.Popen(
        [HANDFUL, "serve", "--label-studio", photos, "--port", str(BACKEND), "--token", TOKEN,
         "--session", work / "session.jsonl"],
        stdout=subprocess.PIPE, stderr=log, text=True,
    )
    try:
        address = backend.stdout.readline().strip()
        studio.ask("POST", f"/api/projects/{number}/import", json=[{"image": f"/data/local-files/?d={photos.name}/{one}"} for one in ids])
        model = {"project": number, "url": address, "title": "handful", "auth_method": "BASIC_AUTH",
                 "basic_auth_user": "handful", "basic_auth_pass": TOKEN}
        made = studio.ask("POST", "/api/ml", json=model)
        state = studio.ask("GET", f"/api/ml/{made['id']}")["state"]
        assert state == "CO", f"the model is not connected: {state}"
        hook = {"project": number, "url": address + "/webhook", "send_payload": True, "send_for_all_actions": True,
                "headers": {"Authorization": f"Bearer {TOKEN}"}}
        studio.ask("POST", "/api/webhooks/", json=hook)
        listed = studio.ask("GET", f"/api/tasks?project={number}&page_size=1000&fields=all")["tasks"]
        task_of = {task["data"]["image"].split(f"?d={photos.name}/")[1]: task["id"] for task in listed}

        def predicted() -> dict[str, str]:
            request = {"project": number, "filters": {"conjunction": "and", "items": []}, "ordering": [],
                       "selectedItems": {"all": True, "excluded": []}}
            studio.ask("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={number}", json=request)
            answers = studio.ask("GET", f"/api/predictions?project={number}")
            newest: dict[int, dict] = {}
            for one in answers:
                if one["task"] not in newest or one["id"] > newest[one["task"]]["id"]:
                    newest[one["task"]] = one
            back = {task: name for name, task in task_of.items()}
            return {back[task]: one["result"][0]["value"]["choices"][0] for task, one in newest.items() if one["result"]}

        def annotate(name: str) -> None:
            choice = {"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": [name.split("/")[0]]}}
            studio.ask("POST", f"/api/tasks/{task_of[name]}/annotations/", json={"result": [choice]})

        def right(said: dict[str, str]) -> float:
            return sum(label == name.split("/")[0] for name, label in said.items()) / len(ids)

        assert predicted() == {}, "nothing is known before the first annotation"
        for name in few:
            annotate(name)
        taken = [json.loads(line) for line in (work / "session.jsonl").read_text().splitlines()[1:]]
        print(f"backend: connected; {len(few)} annotations there are {len(taken)} events here")
        first = predicted()
        more = [name for kind in classes for name in [one for one in ids if one.startswith(kind + "/")][2:6]]
        for name in more:
            annotate(name)
        second = predicted()
        moved = sum(first.get(name) != label for name, label in second.items())
        assert len(second) == len(ids) and moved > 0
        print(f"backend: {100 * right(first):.1f}% right after {len(few)} annotations, {100 * right(second):.1f}% after "
              f"{len(few) + len(more)}; {moved} of {len(ids)} predictions changed")
    finally:
        backend.terminate()

    # 4: exports are labels.
    for kind in ("JSON", "JSON_MIN", "CSV"):
        export = studio.ask("GET", f"/api/projects/{number}/export?exportType={kind}&download_all_tasks=true")
        path = work / f"export-{kind}.{'csv' if kind == 'CSV' else 'json'}"
        path.write_bytes(export.content if hasattr(export, "content") else json.dumps(export).encode())
        out = work / "again.csv"
        handful("label", photos, "--labels", path, "-o", out)
        given = sum(",given," in line for line in out.read_text().splitlines())
        assert given == len(few) + len(more), (kind, given)
        print(f"export {kind}: {given} labels read back")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=pathlib.Path, default=ROOT.parent / "shared/data/photos/trash")
    parser.add_argument("--venv", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "handful-label-studio")
    args = parser.parse_args()
    python = environment(args.venv)
    if pathlib.Path(sys.prefix).resolve() != args.venv.resolve():
        os.execv(python, [python, __file__, "--photos", str(args.photos.resolve()), "--venv", str(args.venv)])
    work = pathlib.Path(tempfile.mkdtemp(prefix="handful-label-studio-"))
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(work / "data"),
        "LOCAL_FILES_SERVING_ENABLED": "true",
        "LOCAL_FILES_DOCUMENT_ROOT": str(args.photos.resolve().parent),
        "ML_BLOCK_LOCAL_IP": "false",
        "SSRF_PROTECTION_ENABLED": "false",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
    }
    command = [args.venv / "bin/label-studio", "start", "--no-browser", "--port", str(PORT),
               "--username", USER, "--password", PASSWORD]
    log = open(work / "label-studio.log", "w")
    server = subprocess.Popen(command, env={**os.environ, **settings}, stdout=log, stderr=log, start_new_session=True)
    try:
        run(args.photos.resolve(), work)
    finally:
        os.killpg(server.pid, 15)
        print(f"logs and screenshots: {work}")


if __name__ == "__main__":
    main()
