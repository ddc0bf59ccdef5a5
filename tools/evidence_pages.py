"""A hook of MkDocs: adds the pages of evidence/ to the site, and leads links between both folders.

In the repository docs/ and evidence/ are neighbours; on the site evidence/ is a folder of docs/.
"""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FOLDER = Path(__file__).parent.parent / "evidence"
SHOWN = (".md", ".svg")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what a page of evidence shows."""
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in SHOWN:
            source = f"{FOLDER.name}/{path.name}"
            files.append(File.generated(config, source, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_given: object) -> str:
    """Return a page's text with links that fit the site; search skips pages of measured tables."""
    if page.file.src_uri.startswith(f"{FOLDER.name}/"):
        if not page.is_index:
            page.meta["search"] = {"exclude": True}
        return markdown.replace("](../docs/", "](../")
    return markdown.replace(f"](../{FOLDER.name}/", f"]({FOLDER.name}/")
