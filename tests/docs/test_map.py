# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the map takes from headers, and where it puts it."""

import collections
import unittest

import map as engine_map

LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"


class Headers(unittest.TestCase):
    def test_the_first_comment_is_what_a_header_is_for(self):
        text = f"{LICENCE}// Vectors of numbers,\n// and masks. Two sentences.\n#pragma once\n// not this\n"
        self.assertEqual(engine_map.purpose_of(text), "Vectors of numbers, and masks. Two sentences.")

    def test_a_header_that_does_not_say_it(self):
        for comment in ("", "// no end\n", "\n// After an empty line.\n"):
            with self.subTest(comment), self.assertRaisesRegex(engine_map.MapError, "no sentence between"):
                engine_map.purpose_of(f"{LICENCE}{comment}#pragma once\n")
        with self.assertRaisesRegex(engine_map.MapError, "no sentence between"):
            engine_map.purpose_of("// Without a licence.\n#pragma once\n")

    def test_names_are_code(self):
        for text, marked in {
            "See kernel/pack.hpp.": "See `kernel/pack.hpp`.",
            "kernel/arch/ has others": "`kernel/arch/` has others",
            "or src/compiled.cpp": "or `src/compiled.cpp`",
            "<thread> and <mutex>": "`<thread>` and `<mutex>`",
            "a | b, call_plan, explain(), std::vector": r"a \| b, `call_plan`, `explain()`, `std::vector`",
            "P V, Q K^T, 32-bit, and/or `as_is`": "P V, Q K^T, 32-bit, and/or `as_is`",
        }.items():
            with self.subTest(text):
                self.assertEqual(engine_map.marked(text), marked)


class Pages(unittest.TestCase):
    def test_tables_by_folder_between_the_marks(self):
        rows = {
            "driver/call.hpp": ("Calls.", ["driver/call"]),
            "driver/dense/loop.hpp": ("A loop.", ["a", "b", "c", "d", "e"]),
            "driver/task.hpp": ("Tasks.", []),
        }
        page = f"# Map\n\n{engine_map.BEGIN}\nold\n{engine_map.END}\n\nmore\n"
        expected = (
            f"# Map\n\n{engine_map.BEGIN}\n\n"
            "### driver\n\n| header | what it is for | tests |\n|---|---|---|\n"
            "| `driver/call.hpp` | Calls. | `driver/call` |\n| `driver/task.hpp` | Tasks. |  |\n\n"
            "### driver/dense\n\n| header | what it is for | tests |\n|---|---|---|\n"
            "| `driver/dense/loop.hpp` | A loop. | `a`, `b`, `c` and 2 more |\n\n"
            f"{engine_map.END}\n\nmore\n"
        )
        self.assertEqual(engine_map.with_tables(page, rows), expected)
        self.assertEqual(engine_map.with_tables(expected, rows), expected)

    def test_the_nearest_tests_of_a_header(self):
        tests = collections.defaultdict(set, {"driver/attend.hpp": {"driver/attend", "driver/dense/loop", "a"}})
        includers = collections.defaultdict(
            set, {"driver/dense/loop.hpp": {"driver/run_call.hpp"}, "driver/run_call.hpp": {"driver/attend.hpp"}}
        )
        found = engine_map.nearest_tests("driver/dense/loop.hpp", tests, includers)
        self.assertEqual(found, (["driver/dense/loop", "a", "driver/attend"], 2))
        self.assertEqual(engine_map.nearest_tests("driver/attend.hpp", tests, includers)[1], 0)
        self.assertEqual(engine_map.nearest_tests("nobody.hpp", tests, includers)[0], [])

    def test_a_page_without_marks(self):
        for page in ("# Map\n", f"{engine_map.BEGIN}\n", f"{engine_map.END}\n{engine_map.BEGIN}\n"):
            with self.subTest(page), self.assertRaisesRegex(engine_map.MapError, "does not say where the tables belong"):
                engine_map.with_tables(page, {})


if __name__ == "__main__":
    unittest.main()
