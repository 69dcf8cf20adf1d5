#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What packaging/bundle.py promises, on the headers of the library and on small ones that break its rules."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging"))

import bundle  # noqa: E402


class Library(unittest.TestCase):
    def setUp(self):
        self.text, self.count = bundle.bundle(ROOT / "include", ["fovea/fovea.hpp"])

    def test_every_header_stands_there_once_after_those_it_includes(self):
        order = re.findall(r"^// <(fovea/.*)>$", self.text, re.MULTILINE)
        self.assertEqual(len(order), len(set(order)))
        self.assertEqual(len(order), self.count)
        umbrella = (ROOT / "include/fovea/fovea.hpp").read_text()
        self.assertLessEqual(set(re.findall(r"#include <(fovea/.*)>", umbrella)), set(order))

    def test_no_line_of_code_is_lost(self):
        skipped = re.compile(r"#include|#pragma once|// SPDX")
        wanted = []
        for header in re.findall(r"^// <(fovea/.*)>$", self.text, re.MULTILINE):
            wanted += (ROOT / "include" / header).read_text().splitlines()
        there = set(self.text.splitlines())
        for line in wanted:
            self.assertTrue(line in there or skipped.match(line), line)

    def test_no_header_of_the_library_is_included(self):
        self.assertNotRegex(self.text, r"(?m)^\s*#\s*include\s*[<\"]fovea/")
        self.assertEqual(self.text.count("#pragma once"), 1)
        self.assertEqual(self.text.count("// SPDX-License-Identifier"), 1)

    def test_macros_of_others_are_set_aside_around_everything(self):
        order = re.findall(r"^// <(fovea/.*)>$", self.text, re.MULTILINE)
        self.assertEqual((order[0], order[-1]), (bundle.PROLOGUE, bundle.EPILOGUE))
        saved, restored = (re.findall(rf"^#pragma {word}_macro", self.text, re.MULTILINE) for word in ("push", "pop"))
        self.assertEqual(len(saved), len(restored))

    def test_no_macro_is_defined_twice(self):
        macros = re.findall(r"^\s*#\s*define (\w+)", self.text, re.MULTILINE)
        # in both branches of an #if
        allowed = {"FOVEA_ONCE", "FOVEA_ONCE_DEFINED", "FOVEA_INLINE", "FOVEA_LAMBDA", "FOVEA_NO_UNIQUE_ADDRESS",
                   "FOVEA_CONTROL", "FOVEA_QUERY_LANES_ENGINE"}
        self.assertEqual({m for m in macros if macros.count(m) > 1} - allowed, set())


class Rules(unittest.TestCase):
    def bundled(self, **headers):
        with tempfile.TemporaryDirectory() as folder:
            core = Path(folder) / "fovea/core"
            core.mkdir(parents=True)
            (core / "version.hpp").write_text("#define FOVEA_VERSION_MAJOR 1\n#define FOVEA_VERSION_MINOR 2\n")
            for name, lines in {"prologue": "", "epilogue": "", **headers}.items():
                (core / f"{name}.hpp").write_text(f"{bundle.LICENCE}\n#pragma once\n{lines}\n")
            return bundle.bundle(Path(folder), ["fovea/core/top.hpp"])[0]

    def test_headers_that_include_one_another_stand_there_once(self):
        text = self.bundled(top="#include <fovea/core/a.hpp>\nint top;", a="#include <fovea/core/top.hpp>\nint a;")
        self.assertEqual(text.count("int a;"), 1)
        self.assertLess(text.index("int a;"), text.index("int top;"))

    def test_a_condition_may_bring_a_header_for_itself(self):
        text = self.bundled(
            top="#ifndef X\n#include <fovea/core/a.hpp>\n#include <immintrin.h>\n#endif\n#include <immintrin.h>", a="int a;"
        )
        self.assertRegex(text, r"#ifndef X\n+// <fovea/core/a.hpp>\nint a;\n#include <immintrin.h>\n#endif")
        self.assertEqual(text.count("#include <immintrin.h>"), 2)

    def test_a_condition_may_not_bring_what_others_need(self):
        with self.assertRaisesRegex(ValueError, "stands under the condition in fovea/core/top.hpp:4"):
            self.bundled(top="#ifndef X\n#include <fovea/core/a.hpp>\n#endif\n#include <fovea/core/a.hpp>", a="int a;")
        with self.assertRaisesRegex(ValueError, "a.hpp:3: includes <vector>, which no header before the condition"):
            self.bundled(top="#ifndef X\n#include <fovea/core/a.hpp>\n#endif", a="#include <vector>")

    def test_what_is_no_header_of_the_library_is_refused(self):
        with self.assertRaisesRegex(ValueError, "included as <fovea/...>"):
            self.bundled(top='#include "a.hpp"')
        with self.assertRaisesRegex(ValueError, "names no file"):
            self.bundled(top="#include FOVEA_FILE")
        with self.assertRaises(OSError):
            self.bundled(top="#include <fovea/core/missing.hpp>")


if __name__ == "__main__":
    unittest.main()
