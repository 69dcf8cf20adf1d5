# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The navigation of the site has every page, and the check of a site that was built rejects one where it does not."""

import contextlib
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest

import links

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Python has a module named site itself.
LOADED = importlib.util.spec_from_file_location("site_of_pages", ROOT / "docs/tools/site.py")
site_of_pages = importlib.util.module_from_spec(LOADED)
LOADED.loader.exec_module(site_of_pages)


def pages_below(entries):
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from pages_below([below] if isinstance(below, str) else below)


class Navigation(unittest.TestCase):
    def navigation_of(self, pages):
        site = site_of_pages.Site(pathlib.Path("nowhere"))
        site.pages = list(pages)
        return site.navigation()

    def test_every_page_of_the_repository_is_there_once(self):
        pages = [page for page in links.pages_in(ROOT) if not page.startswith("tests/")] + ["docs/tour.md"]
        self.assertGreater(len(pages), 100)
        self.assertEqual(sorted(pages_below(self.navigation_of(pages))), sorted(pages))

    def test_a_section_of_named_pages_keeps_all_of_them(self):
        named = ["docs/support.md", "packaging/README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
        self.assertEqual(self.navigation_of(named), [{"Project": named}])
        self.assertEqual(self.navigation_of(["docs/errors.md"]), [{"Errors": "docs/errors.md"}])


class LivePage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.site = site_of_pages.Site(self.folder / "pages")
        self.site.add_page("docs/browser.md")
        self.page = self.folder / "pages/docs/browser.md"

    def test_it_stands_beside_the_page_about_it_which_begins_with_a_link(self):
        live = self.folder / "made.html"
        live.write_text("<!doctype html>")
        self.site.add_live(live)
        self.assertEqual((self.folder / "pages/docs/live.html").read_text(), "<!doctype html>")
        self.assertEqual(self.page.read_text().split("\n\n")[1], "**[Open the page](live.html)**")

    def test_where_it_is_not_built_nothing_leads_to_it(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.site.add_live(self.folder / "nowhere.html")
        self.assertIn("left out", said.getvalue())
        self.assertNotIn("](live.html)", self.page.read_text())


class BuiltNavigation(unittest.TestCase):
    def problems(self, sidebar):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder)
            (site / "search").mkdir()
            found = [{"location": location} for location in ("", "a.html", "a.html#part", "docs/b.html")]
            (site / "search/search_index.json").write_text(json.dumps({"docs": found}))
            text = f'<nav class="md-nav md-nav--primary"><nav>{sidebar}</nav></nav><a href="docs/b.html">text</a>'
            (site / "index.html").write_text(text)
            return links.check_navigation(site)

    def test_a_page_that_only_text_leads_to_is_missing(self):
        self.assertEqual(
            self.problems('<a href="index.html">home</a><a href="a.html">a</a>'),
            (["docs/b.html: no entry of the navigation leads there"], 3),
        )

    def test_all_pages_are_there(self):
        sidebar = '<a href="index.html"></a><a href="a.html#part"></a><a href="docs/b.html"></a>'
        self.assertEqual(self.problems(sidebar), ([], 3))


if __name__ == "__main__":
    unittest.main()
