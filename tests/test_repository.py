"""What a repository's host reads: workflows, dependency updates, hooks and templates."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import marketplace

ROOT = Path(__file__).parents[1]


def read_yaml(path):
    return yaml.safe_load((ROOT / path).read_text())


def tracked(*patterns):
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [Path(line) for line in listed.stdout.splitlines()]


def test_the_workflow_calls_make_alone():
    [job] = read_yaml(".github/workflows/test.yml")["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands == ["make ${{ matrix.target }}"]
    assert job["strategy"]["matrix"]["target"] == ["test", "test-all"]


def test_the_workflow_has_each_python_of_the_package():
    [job] = read_yaml(".github/workflows/test.yml")["jobs"].values()
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    named = re.findall(r"Python :: (3\.[0-9]+)", "\n".join(classifiers))
    assert job["strategy"]["matrix"]["python"] == named


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


def test_the_version_is_later_than_the_last_release():
    """pip installs nothing where a wheel has the number of the version that is there."""
    released = re.findall(r"^## \[([0-9.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert Version(marketplace.__version__) > Version(released[0])


def run_make(*arguments):
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
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


def test_the_hook_runs_the_linters():
    [repo] = read_yaml(".pre-commit-config.yaml")["repos"]
    assert [hook["entry"] for hook in repo["hooks"]] == ["make lint"]


@pytest.mark.parametrize("path", ["ISSUE_TEMPLATE/fault.md", "pull_request_template.md"])
def test_a_template_asks_for_the_request_and_the_version(path):
    text = (ROOT / ".github" / path).read_text()
    assert "X-Request-ID" in text and "version" in text.lower()
