"""Pack the built site into one file for reading offline."""

import zipfile
from pathlib import Path

LEFT_OUT = ("the-attention-book.zip", ".buildinfo")
STAND_IN = (
    "lite/lab/index.html"  # the page that says why JupyterLite, which needs a server, is not here
)


def pack(site, path):
    """Write the files of `site` under one folder, the same bytes for the same files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(site.rglob("*")):
            name = file.relative_to(site).as_posix()
            left_out = name in LEFT_OUT or (name.startswith("lite/") and name != STAND_IN)
            if file.is_file() and not left_out:
                entry = zipfile.ZipInfo(f"the-attention-book/{name}", (2020, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def main(folder: str, file: str) -> None:
    """Pack a folder into a file."""
    path = Path(file)
    pack(Path(folder), path)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
