#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens the page as a file in headless Chromium, moves its controls, and holds each weight that it then shows to the
definition, which a native program computes.

    test_page.py PAGE REFERENCE CHROMIUM
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PAGE, REFERENCE, CHROMIUM = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
MOST_BYTES = 300_000
TOLERANCE = 1e-5  # of weights in float whose scores are divided by 0.05
MEMBERS, HEADS, POSITIONS = 34, 8, 24
SEEN = {0: None, 1: "left", 2: "slope"}

# Sets controls by their ids, as a reader does, and says what is shown then.
MOVE = """(async controls => {
    await drawn;
    for (const [id, value] of Object.entries(controls)) {
        const control = id === "seen" ? document.querySelector(`[name=seen][value="${value}"]`) : find(id);
        if (id === "seen") control.checked = true;
        else control.value = value;
        control.dispatchEvent(new Event("input", { bubbles: true }));
    }
    const weights = place => Array.from(document.querySelectorAll(`${place} [data-weight]`),
        ({ dataset }) => [dataset.from, dataset.to, dataset.weight].map(Number));
    return { club: weights("#club"), friends: weights("#friends"), past: weights("#past"),
             refused: [find("club-refused").textContent, find("past-refused").textContent],
             code: Array.from(document.querySelectorAll("pre code:not([hidden])"), code => code.textContent),
             width: document.documentElement.scrollWidth };
})"""


class Chromium:
    """A browser with one page, told what to do over a pair of pipes; `said` has its errors and warnings."""

    def __init__(self, width):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()
        pipes = f"exec \"$@\" 3<&{to_browser} 4>&{from_browser}"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            ["bash", "-c", pipes, "bash", CHROMIUM, *options, f"--user-data-dir={self.profile.name}"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.left, self.said, self.session = 0, b"", [], {}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)  # at which the browser ends
        self.process.wait(timeout=30)
        os.close(self.back)
        self.profile.cleanup()

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **self.session}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def next_message(self):
        while b"\0" not in self.left:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise RuntimeError("Chromium has ended")
            self.left += more
        message, _, self.left = self.left.partition(b"\0")
        return json.loads(message)

    def note(self, event):
        """What a reader of the console would see, and what the page loads."""
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.said.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.said.append(" ".join(str(argument.get("value")) for argument in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.said.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith("data:"):
            self.said.append(f"loads {parameters['request']['url']}")

    def open(self, page):
        self.ask("Page.navigate", url=page.as_uri())
        while self.evaluate("document.readyState + location.protocol") != "completefile:":
            pass
        opened = f"loads {page.as_uri()}"
        if opened in self.said:
            self.said.remove(opened)

    def evaluate(self, script):
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "a script failed"))
        return answer["result"].get("value")

    def move(self, **controls):
        return self.evaluate(f"{MOVE}({json.dumps(controls)})")


def defined(*call):
    printed = subprocess.run([REFERENCE, *map(str, call)], check=True, capture_output=True, text=True).stdout
    return [float(line) for line in printed.split()]


def friends_defined(temperature, head):
    """The weights of a head, or their mean, by pair."""
    all_heads, pairs = defined("friends", temperature), MEMBERS * MEMBERS
    assert len(all_heads) == HEADS * pairs
    heads = range(HEADS) if head < 0 else [head]
    return {
        divmod(pair, MEMBERS): sum(all_heads[h * pairs + pair] for h in heads) / len(heads) for pair in range(pairs)
    }


def past_defined(seen, period, limit):
    weights = defined("past", seen, period, limit)
    assert len(weights) == POSITIONS * POSITIONS
    return {divmod(pair, POSITIONS): weight for pair, weight in enumerate(weights)}


def differences(shown, expected):
    """The pairs that differ, and by how much."""
    return {
        (f, t): (weight, expected[f, t]) for f, t, weight in shown if not abs(weight - expected[f, t]) <= TOLERANCE
    }


class WithPage(unittest.TestCase):
    width = 1200

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Chromium(cls.width))
        cls.browser.open(PAGE)

    def tearDown(self):
        self.assertEqual(self.browser.said, [])


class Weights(WithPage):
    def test_the_club_is_that_of_the_definition(self):
        for temperature, head, member in ((1, -1, -1), (0.05, -1, 8), (0.3, 0, -1), (2.5, 7, 33)):
            with self.subTest(temperature=temperature, head=head, member=member):
                shown = self.browser.move(temperature=temperature, head=head, member=member)
                expected = friends_defined(temperature, head)
                self.assertEqual(len(shown["club"]), sum(weight > 0 for weight in expected.values()))
                self.assertEqual(differences(shown["club"], expected), {})
                self.assertGreater(len(shown["friends"]), 4)
                self.assertEqual(differences(shown["friends"], expected), {})
                self.assertEqual(shown["refused"], ["", ""])

    def test_the_map_is_that_of_the_definition(self):
        for seen, period, limit in ((0, 8, 0), (0, 2, 0), (1, 17.5, 0), (1, 8, 5), (2, 8, 0.25), (2, 24, 2)):
            with self.subTest(seen=seen, period=period, limit=limit):
                controls = {"seen": seen, "period": period} | ({SEEN[seen]: limit} if SEEN[seen] else {})
                shown = self.browser.move(**controls)["past"]
                self.assertEqual(len(shown), POSITIONS * POSITIONS)
                self.assertEqual(differences(shown, past_defined(seen, period, limit)), {})

    def test_what_differs_is_found(self):
        shown = self.browser.move(temperature=1, head=-1, member=-1, seen=0, period=8)
        self.assertGreater(len(differences(shown["club"], friends_defined(1.001, -1))), 100)
        self.assertGreater(len(differences(shown["past"], past_defined(0, 8.01, 0))), 200)

    def test_what_is_refused_is_said_and_the_next_call_is_answered(self):
        for _ in range(20):
            refused = self.browser.move(temperature=0)["refused"]
            self.assertEqual(refused, ["temperature: t is 0, it must be a number other than 0", ""])
        shown = self.browser.move(temperature=1, head=3)
        self.assertEqual(shown["refused"], ["", ""])
        self.assertEqual(differences(shown["club"], friends_defined(1, 3)), {})


class Page(WithPage):
    width = 390

    def test_it_fits_a_phone(self):
        self.assertEqual(self.browser.move()["width"], self.width)

    def test_its_lines_are_those_that_are_compiled(self):
        sources = {name: (pathlib.Path(__file__).parent / name).read_text() for name in ("calls.hpp", "module.cpp")}
        in_one = {name: re.sub(r"\s+", " ", text) for name, text in sources.items()}
        for seen, word in ((0, "causal |"), (1, "sliding_window("), (2, "alibi(")):
            graph, past, exported = self.browser.move(seen=seen)["code"]
            self.assertIn("gatv2_score(a) | temperature(t) | neighbors(friends)", graph)
            self.assertIn(word, past)
            self.assertIn(re.sub(r"\s+", " ", graph), in_one["calls.hpp"])
            self.assertIn(re.sub(r"\s+", " ", past), in_one["calls.hpp"])
            self.assertIn(re.sub(r"\s+", " ", exported), in_one["module.cpp"])

    def test_every_control_has_a_label(self):
        unnamed = self.browser.evaluate(
            "Array.from(document.querySelectorAll('input, select, svg[role], pre[tabindex]'))"
            ".filter(e => !(e.labels?.length || e.ariaLabel || document.getElementById(e.getAttribute('aria-labelledby'))))"
            ".map(e => e.id)"
        )
        self.assertEqual(unnamed, [])

    def test_it_is_small(self):
        self.assertLess(PAGE.stat().st_size, MOST_BYTES)


class WrongPages(unittest.TestCase):
    def opened(self, browser, old, new):
        """The page with something else in the place of a text, which is there once."""
        text = PAGE.read_text()
        self.assertEqual(text.count(old), 1)
        page = pathlib.Path(browser.profile.name) / "wrong.html"
        page.write_text(text.replace(old, new))
        browser.open(page)

    def said_of(self, old, new):
        with Chromium(1200) as browser:
            self.opened(browser, old, new)
            browser.move()
            return " ".join(browser.said)

    def test_an_error_on_the_console_is_heard(self):
        self.assertIn("a mistake", self.said_of('"use strict";', 'console.error("a mistake");'))

    def test_what_is_loaded_is_heard(self):
        self.assertIn("nowhere.js", self.said_of("<main>", '<main><script src="nowhere.js"></script>'))

    def test_a_module_that_does_not_start_is_said_to_the_reader(self):
        with Chromium(1200) as browser:
            self.opened(browser, 'const packedModule = "H4sI', 'const packedModule = "H4sJ')
            with self.assertRaises(RuntimeError):
                browser.move()
            self.assertIn("The module did not start", browser.evaluate("find('problem').innerText"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
