"""Formulas of header comments, such as `w_j = exp(s_j) / sum_k exp(s_k)`, in TeX.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A formula is a list of terms: names, numbers, products written side by side, + - / ^, calls f(x), groups () [] ||, and
the relations of RELATIONS. One or two letters after `_` are an index (q_ic), more belong to the name (q_idx). The words
of TEXT are text, as in `with sum_j w_j = 1`. Three blanks, and a comma before them, part one formula from the next.
"""

import re

RELATIONS = {"=": "=", "+=": "\\mathrel{+}=", "->": "\\to", "in": "\\in"}
GREEK = {"alpha": "\\alpha", "gamma": "\\gamma", "tau": "\\tau", "eps": "\\varepsilon"}
OF_ONE = {"log", "cos", "sin", "tanh", "exp"}  # functions whose argument may stand without parentheses
OVER_ALL = {"sum", "max"}  # with an index: they apply to the whole product that follows
TEXT = set("for the first with else keys largest scores uniform between and".split())
TOKEN = re.compile(
    r"\s*(?P<number>\d+e-?\d+|\d+\.\d+|\d+)|\s*(?P<name>[A-Za-z]+(?:_[a-z]{3,})*'?)"
    r"|\s*(?P<operator>\.\.\.|\+=|->|[-+/^_=()\[\]|,;])"
)


class FormulaError(Exception):
    """A formula that is not understood; the sentence shows it."""


def is_formula(line):
    """Whether a line of a header comment is a formula: it says what something is; others are conditions and calls."""
    return re.search(r" (=|\+=|->) ", line) is not None


def to_tex(line):
    """The TeX of one line."""
    parts = re.split(r"(,?) {3,}", line.strip())
    tex = _Parser(parts[0]).formula()
    for comma, part in zip(parts[1::2], parts[2::2]):
        tex += f"{comma} \\quad " + _Parser(part).formula()
    return tex


class _Parser:
    def __init__(self, text):
        self.text = text
        self.tokens = []  # (kind, text, whether blanks stand before it)
        self.at = 0
        position = 0
        while text[position:].strip():
            match = TOKEN.match(text, position)
            if not match:
                raise FormulaError(f"'{text[position:].strip()}' of the formula '{text}' is not understood")
            kind = match.lastgroup
            self.tokens.append((kind, match[kind], match[0][0] == " "))
            position = match.end()
        self.in_script = False

    def formula(self):
        return self.list_until(None)

    def peek(self):
        return self.tokens[self.at][1] if self.at < len(self.tokens) else None

    def take(self, expected=None):
        token = self.peek()
        if expected and token != expected:
            raise FormulaError(f"the formula '{self.text}' lacks '{expected}'")
        self.at += 1
        return token

    def list_until(self, end):
        """Expressions, relations between them, text and commas."""
        tex = []
        while self.peek() not in (end, None):
            token = self.peek()
            if token in RELATIONS:
                tex.append(RELATIONS[self.take()])
            elif token in (",", ";"):
                tex.append(self.take())
            elif token == "...":
                self.take()
                tex.append("\\ldots")
            elif token in TEXT:
                words = []
                while self.peek() in TEXT:
                    words.append(self.take())
                tex.append("\\text{ " + " ".join(words) + " }")
            else:
                tex.append(self.sum())
        return re.sub(r"( })? ([,;])", lambda match: "}"[: match[1] is not None] + match[2], " ".join(tex))

    def sum(self):
        tex = ""
        if self.peek() == "-":
            tex = self.take()
        tex += self.quotient()
        while self.peek() in ("+", "-"):
            tex += f" {self.take()} " + self.quotient()
        return tex

    def quotient(self):
        above, inner = self.product()
        while self.peek() == "/":
            self.take()
            below, inner_below = self.factor()
            if self.in_script:
                above = f"{above} / {below}"
            else:
                above = f"\\frac{{{inner or above}}}{{{inner_below or below}}}"
            inner = None
        return above

    def product(self):
        """Factors side by side; the second result is what a pair of parentheses around all of it contains."""
        factors = [self.factor()]
        while self.begins_factor():
            factors.append(self.factor())
        tex = factors[0][0]
        for after, _ in factors[1:]:
            upright = re.match(r"\\math", after) or (re.search(r"\\math\w+{\S*$", tex) and after[0] != "\\")
            tex += (" \\, " if upright else " ") + after
        return tex, factors[0][1] if len(factors) == 1 else None

    def begins_factor(self):
        if self.at == len(self.tokens):
            return False
        kind, token, blank = self.tokens[self.at]
        if kind == "operator":
            return token in ("(", "[") or (token == "|" and blank)
        return token not in TEXT and token not in RELATIONS

    def factor(self):
        kind, token, _ = self.tokens[self.at] if self.at < len(self.tokens) else (None, None, None)
        inner = None
        if token == "(":
            inner, tex = self.group("(", ")")
        elif token == "[":
            _, tex = self.group("[", "]")
        elif token == "|":
            self.take()
            tex = "\\left| " + self.sum() + " \\right|"
            self.take("|")
        elif kind == "number":
            tex = re.sub(r"^1e(-?\d+)$", r"10^{\1}", self.take())
        elif kind == "name":
            return self.named()
        else:
            raise FormulaError(f"the formula '{self.text}' lacks a term before {repr(token) if token else 'its end'}")
        scripts = self.scripts()
        return tex + scripts, None if scripts else inner

    def named(self):
        token = self.take()
        if token == "sqrt" and self.peek() == "(":
            return f"\\sqrt{{{self.group('(', ')')[0]}}}", None
        tex = self.name(token) + self.scripts()
        if token in OVER_ALL and "_" in tex:
            return f"{tex} {self.product()[0]}", None
        if token in OF_ONE and self.begins_factor() and self.peek() != "(":
            return f"{tex} {self.factor()[0]}", None
        while self.peek() in ("(", "[") and not self.tokens[self.at][2]:  # a call, or an element of a table
            tex += self.group(self.peek(), ")" if self.peek() == "(" else "]")[1] + self.scripts()
        return tex, None

    @staticmethod
    def name(token):
        prime = "'" if token.endswith("'") else ""
        token = token.rstrip("'")
        if token in GREEK:
            tex = GREEK[token]
        elif token in OF_ONE or token in OVER_ALL:
            tex = "\\" + token
        elif "_" in token:
            tex = "\\mathtt{" + token.replace("_", "\\_") + "}"
        elif len(token) > 1:
            tex = "\\mathrm{" + token + "}"
        else:
            tex = token
        return tex + prime

    def group(self, opening, closing):
        self.take(opening)
        inner = self.list_until(closing)
        self.take(closing)
        if self.in_script:
            return inner, f"{opening}{inner}{closing}"
        if re.search(r"\\(frac|sum|max|left)", inner):
            return inner, f"\\left{opening} {inner} \\right{closing}"
        return inner, f"{opening}{inner}{closing}"

    def scripts(self):
        tex = ""
        while self.peek() in ("_", "^"):
            tex += self.take()
            outside, self.in_script = self.in_script, True
            if self.peek() == "(":
                tex += "{" + self.group("(", ")")[0] + "}"
            elif self.at == len(self.tokens):
                raise FormulaError(f"the formula '{self.text}' lacks an index or an exponent at its end")
            else:
                token = self.take()
                tex += "{" + (token if len(token) < 3 else self.name(token)) + "}"
            self.in_script = outside
        return tex
