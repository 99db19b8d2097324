"""An export is opened in LibreOffice: strangers' names are text, whichever separator its user has."""

import io
import shutil
import subprocess

import pytest

from marketplace.cli import export
from tests.formulas import FORMULAS, HIDDEN, PLAIN

OFFICE = shutil.which("soffice")


def open_in_spreadsheet(folder, content, separator):
    """The sheet, as XML."""
    (folder / "names.csv").write_text(content, newline="")
    read = (
        f"CSV:{ord(separator)},34,76,1,,0,false,true"  # UTF-8; numbers and formulas are recognized
    )
    command = [OFFICE, f"-env:UserInstallation=file://{folder}/profile", "--headless"]
    command += [f"--infilter={read}", "--convert-to", "fods", "names.csv"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    return (folder / "names.fods").read_text()


@pytest.mark.skipif(not OFFICE, reason="needs LibreOffice's spreadsheet")
@pytest.mark.parametrize("separator", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
def test_it_calculates_no_name(tmp_path, separator):
    file = io.StringIO(newline="")
    rows = [{"name": name, "number": 5} for name in FORMULAS + HIDDEN + PLAIN]
    export.write_csv(file, ["name", "number"], rows)
    sheet = open_in_spreadsheet(tmp_path, export.BOM + file.getvalue() + "=40+2\r\n", separator)
    assert sheet.count("table:formula=") == sheet.count('table:formula="of:=40+2"') == 1
    assert "Käthe" in sheet
