"""What a repository's host reads: workflows, dependency updates, hooks and templates."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import hiero_sandbox
import marketplace
from harness.postgresql import PROGRAMS

ROOT = Path(__file__).parents[1]


def read_yaml(path):
    return yaml.safe_load((ROOT / path).read_text())


def tracked(*patterns):
    if not (ROOT / ".git").exists():
        pytest.skip("a release's archive has no git")
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [Path(line) for line in listed.stdout.splitlines()]


WORKFLOWS = {name: f".github/workflows/{name}.yml" for name in ("test", "release")}


def steps(workflow, job):
    return read_yaml(WORKFLOWS[workflow])["jobs"][job]["steps"]


def test_one_job_for_each_python_runs_the_fast_tests():
    job = read_yaml(WORKFLOWS["test"])["jobs"]["python"]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    named = re.findall(r"Python :: (3\.[0-9]+)", "\n".join(classifiers))
    assert job["strategy"]["matrix"]["python"] == named
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make test"]


def test_one_job_runs_the_gate():
    assert steps("test", "everything")[-1] == {"run": ".ci/run"}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_actions_are_pinned_by_hash(workflow):
    text = (ROOT / WORKFLOWS[workflow]).read_text()
    used = re.findall("uses: (.*)", text)
    assert used
    for each in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v[0-9.]+", each), each
    assert read_yaml(WORKFLOWS[workflow])["concurrency"]


def test_a_release_calls_programs_that_exist():
    called = {
        program
        for job in read_yaml(WORKFLOWS["release"])["jobs"].values()
        for step in job["steps"]
        for program in re.findall(r"^\.ci/\S+", step.get("run", ""))
    }
    assert called == {".ci/release", ".ci/serve", ".ci/images"}
    for path in called:
        assert os.access(ROOT / path, os.X_OK), path


def test_a_release_has_the_repositorys_address(tmp_path):
    url = "https://github.com/example/nft-marketplace"
    for project in (".", "sandbox"):
        (tmp_path / project).mkdir(exist_ok=True)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / project / name, tmp_path / project)
    subprocess.run([ROOT / ".ci/release", "address", tmp_path, url], check=True)
    for project in (".", "sandbox"):
        metadata = tomllib.loads((tmp_path / project / "pyproject.toml").read_text())
        assert metadata["project"]["urls"]["Issues"] == f"{url}/issues"
        links = re.findall(r"\]\(([^)]*)\)", (tmp_path / project / "README.md").read_text())
        for link in links:
            path = re.sub(f"{url}/(blob|raw)/HEAD/", "", link).partition("#")[0]
            assert link.startswith(("https://", "#")) and ".." not in link, link
            assert path.startswith("https://") or (ROOT / path).exists(), link


def test_containers_have_the_postgresql_of_the_tests():
    major = PROGRAMS.removeprefix("pginstall")
    server = read_yaml("compose.yml")["services"]["postgresql"]
    assert server["image"] == f"docker.io/library/postgres:{major}"
    assert server["environment"]["PGDATA"] == f"/var/lib/postgresql/{major}/docker"


@pytest.mark.parametrize(
    ("ecosystem", "file"), [("pip", "*requirements.txt"), ("npm", "*package.json")]
)
def test_every_list_of_packages_is_kept_current(ecosystem, file):
    [update] = [
        each
        for each in read_yaml(".github/dependabot.yml")["updates"]
        if each["package-ecosystem"] == ecosystem
    ]
    folders = {f"/{path.parent}".rstrip(".") for path in tracked(file)}
    folders -= {"/examples/sdk/java"}  # a jar inside a package, pinned by its hash
    assert set(update["directories"]) == folders


def releases(path):
    """The text of each release in a changelog, by its version."""
    _, *parts = re.split(r"^## \[", (ROOT / path).read_text(), flags=re.MULTILINE)
    return {part.partition("]")[0]: part.partition("]")[2] for part in parts}


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("CHANGELOG.md", marketplace.__version__),
        ("sandbox/CHANGELOG.md", hiero_sandbox.__version__),
    ],
)
def test_the_version_is_that_of_the_last_release_or_later(path, version):
    unreleased, last, *_ = released = releases(path)
    assert unreleased == "Unreleased"
    assert Version(version) >= Version(last)
    assert re.match(r" - 20[0-9]{2}-[0-9]{2}-[0-9]{2}\n", released[last])


@pytest.mark.parametrize("path", ["CHANGELOG.md", "sandbox/CHANGELOG.md"])
def test_a_release_is_described_in_400_words(path):
    for version, text in releases(path).items():
        assert len(text.split()) <= 400, version


def run_make(*arguments):
    # As in a shell of one's own, though make test runs this.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    ).stdout


def test_make_alone_lists_what_newcomers_need():
    first, *lines, last = run_make().splitlines()
    assert first == "make TARGET:"
    named = [line.split()[0] for line in lines]
    assert named == ["run", "test", "test-all", "tools", "format", "clean"]
    assert last == "The Makefile describes the other targets."


def test_every_target_can_be_made():
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    [targets] = re.findall("^[.]PHONY: (.*)$", text, re.MULTILINE)
    assert set(targets.split()) == set(re.findall("^([a-z-]+):(?! [A-Z]+ )", text, re.MULTILINE))
    for target in targets.split():
        run_make("--dry-run", target)


def test_the_gate_runs_targets_that_exist():
    text = (ROOT / ".ci/run").read_text()
    named = re.findall(r"(?:\bmake|^ *tested \S+(?: make)?\S*) ([a-z][a-z-]+)", text, re.MULTILINE)
    assert {"tools", "test", "test-stdlib", "test-system", "bench-check", "container"} <= {*named}
    for target in named:
        assert re.search(f"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target


def test_hooks_check_what_changed_with_the_linters_of_make():
    [repo] = read_yaml(".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"].removeprefix(".venv/bin/") for hook in repo["hooks"]]
    assert [entry.split()[:2] for entry in entries] == [
        ["ruff", "check"],
        ["ruff", "format"],
        ["mypy"],
        ["make", "--silent"],
    ]


@pytest.mark.parametrize("path", ["ISSUE_TEMPLATE/fault.md", "pull_request_template.md"])
def test_a_template_asks_for_the_request_and_the_version(path):
    text = (ROOT / ".github" / path).read_text()
    assert "X-Request-ID" in text and "version" in text.lower()
