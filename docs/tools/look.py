#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks at the site in headless Chromium: pictures of some pages at the width of a desk and of a phone, in the light
and in the dark; and for all pages whether one is wider than a phone, has a formula that is not understood, or at a desk
has code of at most 120 columns behind a scroll bar.

    look.py SITE DIR      the site, and the folder for the pictures
"""

import argparse
import functools
import http.server
import json
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

PAGES = {
    "home": "index.html",
    "word": "docs/reference/normalize/softmax.html",
    "reference": "docs/reference/index.html",
    "start": "docs/tutorial.html",
    "errors": "docs/errors.html",
    "performance": "docs/inside/performance.html",
    "map": "docs/map.html",
    "tour": "docs/tour.html",
    "live": "docs/live.html",
    "search": "index.html?q=softmax",
}
WIDTHS = {"desk": 1280, "phone": 390}
HEIGHT = 1400
SECONDS = 300
SCHEMES = {"dark": 0, "light": 1}  # as Chromium numbers them

# A frame is as narrow as it is told to be; a window is not. The picture is taken when the page is loaded: what takes
# time in the frame, formulas and searches, is waited for by a script that the server keeps back.
FRAME = """<!doctype html><body style="margin: 0"><iframe src="/{page}"
style="border: 0; width: {width}px; height: {height}px"></iframe><script src="/late"></script>"""

# Opens one page after the other in a frame and says what is wrong.
MEASURE = """<!doctype html><body><iframe style="height: {height}px"></iframe><script>
const pages = {pages}, desk = {desk}, phone = {phone}, found = [], frame = document.querySelector("iframe");
const wait = time => new Promise(done => setTimeout(done, time));
(async () => {{
    for (const page of pages) {{
        await new Promise(done => {{ frame.onload = done; frame.src = "/" + page; }});
        const inside = frame.contentDocument, formulas = inside.querySelectorAll(".arithmatex");
        for (let left = 100; left && inside.querySelectorAll(".MJXc-display").length < formulas.length; --left)
            await wait(50);
        frame.style.width = desk + "px";
        for (const code of inside.querySelectorAll("pre > code"))
            if (code.scrollWidth > code.clientWidth && !/.{{121}}/.test(code.textContent))
                found.push(page + ": code is behind a scroll bar: " + code.textContent.split("\\n")[0]);
        frame.style.width = phone + "px";
        const width = inside.documentElement.scrollWidth;
        if (width > phone) found.push(page + " is " + width + " pixels wide");
        if (inside.querySelectorAll(".MJXc-display").length < formulas.length) found.push(page + ": no formulas");
        for (const error of inside.querySelectorAll(".merror, .mjx-merror"))
            found.push(page + ": " + error.textContent);
    }}
    await fetch("/found", {{ method: "POST", body: JSON.stringify(found) }});
}})();
</script>"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("site", type=pathlib.Path)
    arguments.add_argument("pictures", type=pathlib.Path)
    options = arguments.parse_args()
    options.pictures.mkdir(parents=True, exist_ok=True)
    address = serve(options.site)
    for name, page in PAGES.items():
        if not (options.site / page.partition("?")[0]).exists():
            print(f"{page} is left out: there is no such page")
            continue
        for size, width in WIDTHS.items():
            for scheme, number in SCHEMES.items():
                picture = options.pictures / f"{name}_{size}_{scheme}.png"
                query = urllib.parse.urlencode({"page": page, "width": width})
                chromium(
                    f"{address}/look?{query}",
                    f"--screenshot={picture}",
                    f"--window-size={width},{HEIGHT}",
                    f"--blink-settings=preferredColorScheme={number}",
                )
    print(f"pictures are in {options.pictures}")
    found = measured(f"{address}/measure")
    for problem in found:
        print(problem)
    print(f"{len(pages_of(options.site))} pages at the widths of a desk and a phone: {len(found)} problems")
    sys.exit(1 if found else 0)


def pages_of(site):
    """The pages of the site, but for those of source files."""
    pages = (path for path in sorted(site.rglob("*.html")) if not re.search(r"\.\w+\.html$", path.name))
    return [str(path.relative_to(site)) for path in pages]


FOUND = queue.Queue()  # what the page that measures has found


def serve(site):
    """Serves the site, and the two pages that look at it, on a port of this machine."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            if url.path == "/look":
                query = dict(urllib.parse.parse_qsl(url.query))
                self.answer(FRAME.format(page=query["page"], width=query["width"], height=HEIGHT))
            elif url.path == "/late":
                time.sleep(3)
                self.answer("")
            elif url.path == "/measure":
                self.answer(MEASURE.format(pages=json.dumps(pages_of(site)), height=HEIGHT, **WIDTHS))
            else:
                super().do_GET()

        def do_POST(self):
            FOUND.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer("")

        def answer(self, text):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            if not isinstance(sys.exc_info()[1], ConnectionError):  # a page that is left does not wait for its pictures
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]


def chromium(address, *options):
    subprocess.run([*CHROMIUM, *options, address], check=True, capture_output=True)


def measured(address):
    with tempfile.TemporaryDirectory() as profile:
        command = [*CHROMIUM, f"--user-data-dir={profile}", "--remote-debugging-port=0", address]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return FOUND.get(timeout=SECONDS)
        except queue.Empty:
            sys.exit(f"look.py: the pages were not measured within {SECONDS} s")
        finally:
            browser.terminate()
            browser.wait()


if __name__ == "__main__":
    main()
