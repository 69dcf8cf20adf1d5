# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The declarations of a header that a user names."""

import re


class PageError(Exception):
    """A header, a test or a module that no page can be made of."""


def signature_of(text, name):
    """The functions and objects of a header that a user names, and the enumerations they take."""
    declarations = []
    for item in items_of(text):
        comment, code = re.fullmatch(r"((?:\s*//[^\n]*\n)*)\s*(.*)", item, re.DOTALL).groups()
        comment = "\n".join(line for line in comment.strip().splitlines() if line.startswith("///"))
        if comment.startswith(f"/// {name}: "):
            comment = ""
        if re.match(r"enum class", code):
            declaration = code
        elif re.match(r"inline constexpr", code):
            declaration = code
        elif function_name(code) and has_named_parameter(code):
            declaration = declaration_of(code)
        else:
            continue
        declarations.append(f"{comment}\n{declaration}".strip())
    if not declarations:
        raise PageError("there is nothing that a user could name")
    return "\n\n".join(declarations)


def items_of(text):
    """What stands in namespace fovea, without what stands in namespaces in it; comments belong to what follows."""
    items, item, depth, parentheses, at = [], "", 0, 0, 0
    for inside in re.findall(
        r"^namespace fovea::FOVEA_SET {\n(.*?)^}  // namespace fovea::FOVEA_SET$", text, re.M | re.S
    ):
        inside = re.sub(r"^namespace (\w+) {\n.*?^}  // namespace \1$", "", inside, flags=re.M | re.S)
        for token in re.finditer(r'//[^\n]*\n|"(?:[^"\\]|\\.)*"|.', inside, re.DOTALL):
            token = token[0]
            item += token
            depth += (token == "{") - (token == "}")
            parentheses += (token == "(") - (token == ")")
            if depth == 0 and parentheses == 0 and (token == ";" or (token == "}" and is_function(item))):
                items.append(item)
                item = ""
    return items


def is_function(item):
    return function_name(re.sub(r"^\s*//[^\n]*\n", "", item, flags=re.MULTILINE).strip()) is not None


def head_of(code):
    """A declaration without what stands before its type: template <...> and requires(...)."""
    while True:
        match = re.match(r"template <|requires\(", code)
        if not match:
            return code
        depth = 1
        at = match.end()
        opening, closing = ("<", ">") if match[0].endswith("<") else ("(", ")")
        while depth:
            depth += (code[at] == opening) - (code[at] == closing)
            at += 1
        code = code[at:].lstrip()


def function_name(code):
    head = head_of(code)
    if re.match(r"(struct|class|enum|concept|using)\b", head):
        return None
    match = re.match(r"[^={};]*?(operator\S+?|\w+)\(", head)
    return match[1] if match else None


def parameters_of(code):
    head = head_of(code)
    at = start = re.match(r"[^={};]*?(operator\S+?|\w+)\(", head).end()
    depth = 1
    while depth:
        depth += (head[at] in "([{<") - (head[at] in ")]}>")
        at += 1
    return head[start : at - 1]


def has_named_parameter(code):
    """An overload whose parameters have no names only says what is wrong with a call."""
    return any(
        re.search(r"[\w>&*]\s+[&(]*\w+\)?(\[\w+\])?(\s*=.*)?$", parameter.strip()) or re.search(r"&& \w+$", parameter)
        for parameter in re.split(r",(?![^<({]*[>)}])", parameters_of(code))
    )


def declaration_of(code):
    """A function without its body."""
    at = parentheses = 0
    while code[at] != "{" or parentheses:
        parentheses += (code[at] == "(") - (code[at] == ")")
        at += 1
    return code[:at].rstrip() + ";"
