# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What readers search for in the site, each with the page that answers it: searches.py SITE"""

import json
import pathlib
import re
import sys

SEARCHES = {
    "fully masked": "docs/how_to/padded_batch.html",
    "masked row": "docs/how_to/padded_batch.html",
    "batch size": "docs/how_to/padded_batch.html",
    "key-value cache": "docs/how_to/key_value_cache.html",
    "own slopes": "docs/reference/score/alibi.html",
    "soft-capping": "index.html",
    "undefined reference": "docs/errors.html",
}


def main():
    index = json.loads((pathlib.Path(sys.argv[1]) / "search/search_index.json").read_text())
    missing = 0
    for phrase, page in SEARCHES.items():
        found = set()
        for entry in index["docs"]:
            words = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", f"{entry['title']} {entry['text']}")).lower()
            if phrase in words:
                found.add(entry["location"].partition("#")[0] or "index.html")
        if page not in found:
            print(f"a search for '{phrase}' finds {sorted(found)} and not {page}")
            missing += 1
    print(f"{len(SEARCHES)} searches: {missing} problems")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
