# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A specification of Python as C++: the words, the function that makes them of arguments, and the unit around both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from . import _abi
from ._capture import Captured
from ._errors import ShapeError, counted
from ._expression import Expression
from ._specification import WORDS, GraphArgument, Specification, Stage, vocabulary
from ._table import Element, Names, Number, Table
from ._types import types_named

NAME = "fovea_jit"  # what the functions of a library that is compiled here begin with
KERNEL = "kernel"  # the only one that it has

# Elements of C++ by their names in C.
_OF_TYPES = {"f32": "float", "f64": "double", "bf16": "fovea::bfloat16", "f16": "fovea::float16", "i8": "std::int8_t"}

_OF_CPP = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval "
    "constexpr constinit continue co_await co_return co_yield decltype default delete do double else enum explicit "
    "export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr "
    "operator or or_eq private protected public register requires return short signed sizeof static struct switch "
    "template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile "
    "wchar_t while xor xor_eq std fovea T view index_t graph_view linux unix INFINITY NAN NULL EOF "
    "assert errno stdin stdout stderr major minor"
).split()
_OF_CALLS = (
    "call query key value result page_table pages query_offsets key_offsets sequences kernel out threads library dtype "
    "wanted batch heads queries features key_heads keys value_features"
).split()
_TAKEN = frozenset((*_OF_CPP, *_OF_CALLS, *vocabulary(), *WORDS))
_DIFFERENTIABLE = ("projection", "score", "rescoring", "normalizer", "reweighting", "aggregator", "finish", "part")


class _Batch(NamedTuple):
    """What a call passes for its batch: how C++ and C know it."""

    made: str
    c_type: str
    shape: str
    counts: tuple[str, ...] = ()


# In the order of arguments of C.
_BATCHES = {
    "page_table": _Batch(".over_pages()", "int32_t", "(batch, pages)", ("pages",)),
    "query_offsets": _Batch(".of_sequences()", "int64_t", "(sequences + 1)"),
    "key_offsets": _Batch("", "int64_t", "(sequences + 1)", ("sequences",)),
}
OF_BATCH = tuple(_BATCHES)


@dataclass(frozen=True)
class Source:
    """What a traced kernel is in C++.

    Attributes
    ----------
    words : the specification, in which each table has the name of its variable.
    text : what KERNELS of fovea_add_kernels takes: the specification, as a function of what a call passes.
    arguments : tables, graphs and numbers by their names.
    with_gradient : the names of the tables of which there is a gradient.
    captured : what was read of variables.
    batch : the names of what a call passes for keys in pages, or for sequences of different lengths.
    libraries : what it has been compiled into, by element type, purpose and outputs.
    others : the same for other batches.
    specification : what it was written of; none where that is a text.
    """

    words: str
    text: str
    arguments: dict[str, Any]
    with_gradient: tuple[str, ...]
    captured: Captured
    batch: tuple[str, ...] = ()
    libraries: dict[tuple[str, str, tuple[str, ...]], Any] = field(default_factory=dict)
    others: dict[tuple[str, ...], Source] = field(default_factory=dict)
    specification: Specification | None = None

    def of_batch(self, batch: tuple[str, ...]) -> Source:
        """The same kernel where a call passes these for its batch."""
        if batch not in self.others:
            text = self.text if self.arguments else f'takes<"">([] {{ return {self.words}; }})'
            made = "".join(_BATCHES[name].made for name in batch)
            self.others[batch] = replace(self, text=text + made, batch=batch, libraries={}, others={})
        return self.others[batch]

    def is_like(self, other: Source) -> bool:
        """Whether both are compiled into the same units."""
        return self.text == other.text and self.with_gradient == other.with_gradient

    def unit(self, type_name: str, purpose: str = "kernel", outputs: tuple[str, ...] = ()) -> str:
        """All that is compiled for elements of a type: the kernel, its gradients or what explains it, what gives outputs
        beside the result, and how a library lists it.

        The name of the function in Python is not in it: under another name it is the same kernel.
        """
        elements, number = _elements(type_name)
        rows = _listed_arguments(self, number)
        listed = "".join(f"    {{{', '.join(row)}}},\n" for row in rows)
        header, run, gradient = _PURPOSES[purpose]
        types = ", ".join(map(_quoted, types_named(type_name)))
        functions = "run, differentiate" if purpose == "gradient" else "run, nullptr"
        of_outputs, more = _code_of_outputs(elements, number, purpose, outputs) if outputs else ("", "")
        return _UNIT.format(
            what=purpose,
            type=type_name,
            header=header,
            text=self.text,
            run=run.format(elements=elements),
            gradient=gradient.format(elements=elements, more=", asked" if outputs else ""),
            outputs=of_outputs,
            number=number,
            arguments=f"constexpr fovea_argument arguments[] = {{\n{listed}}};\n" if rows else "",
            prefix=NAME,
            version=_abi.VERSION,
            entry=f'"{KERNEL}", "{type_name}", {{{types}}}, {_quoted(self.words)}, "", "", "native", '
            f"{'arguments' if rows else 'nullptr'}, {len(rows)}, keeps_shape, {functions}{more}",
        )


_EXPLAIN = """\
    using namespace fovea::bindings;
    std::string text;
    auto const status = run_with(call, [&](auto const&, auto&) {{
        with_operands<element_types<{elements}>>(operands, values, fovea_generated_kernel(),
                                                 [&](auto const&... each) {{ text = fovea::explain(each...); }});
    }});
    if (status == FOVEA_OK) std::snprintf(call->message, call->message_size, "%s", text.c_str());
    return status;"""
_RUN = (
    "    return fovea::bindings::run_{unit}<{{elements}}>(call, operands, values, fovea_generated_kernel(){more});"
)
# What is compiled of a specification: the header that does it, and the bodies of functions for a call. Gradients contain
# the kernel: beside them it costs the compiler nothing.
_PURPOSES = {
    "kernel": ("unit", _RUN.format(unit="unit", more=""), "    return FOVEA_UNSUPPORTED;"),
    "gradient": ("gradient_unit", _RUN.format(unit="unit", more=""), _RUN.format(unit="gradient_unit", more="{more}")),
    "explain": ("unit", _EXPLAIN, "    return FOVEA_UNSUPPORTED;"),
}
# The outputs of a call, and how the library lists them; which of them gradients take, the types of the kernel say.
_OUTPUTS = """
}}  // namespace
#include <fovea/bindings/output_unit.hpp>
namespace {{
constexpr auto asked = fovea::bindings::outputs<{names}>{{}};
fovea_status run_outputs(fovea_call const* call, fovea_array const* operands, fovea_value const* values) {{
    return fovea::bindings::run_output_unit<{elements}>(call, operands, values, fovea_generated_kernel(), asked);
}}
std::string const shapes[] = {{{shapes}}};
fovea_kernel_output const listed_outputs[] = {{{rows}}};
"""
_UNIT = """\
// A {what} for elements of {type}, made by fovea.kernel.
#include <fovea/fovea.hpp>
#include <fovea/bindings/outputs.hpp>
#include <fovea/bindings/{header}.hpp>

#include <cstdio>
#include <new>

namespace {{
auto fovea_generated_kernel() {{
    using namespace fovea;
    using namespace fovea::placeholders;
    return (
        {text}
    );
}}

using listed_kernel = decltype(fovea_generated_kernel());
using specification = decltype(fovea::bindings::specification_type<listed_kernel, {number}>())::type;
constexpr bool keeps_shape = fovea::bindings::keeps_shape_of<specification>;

fovea_status run(fovea_call const* call, fovea_array const* operands, fovea_value const* values) {{
{run}
}}
{outputs}
[[maybe_unused]] fovea_status differentiate([[maybe_unused]] fovea_call const* call,
                                            [[maybe_unused]] fovea_array const* operands,
                                            [[maybe_unused]] fovea_value const* values) {{
{gradient}
}}

{arguments}constexpr fovea_kernel kernels[] = {{{{{entry}}}}};
}}  // namespace

static_assert(FOVEA_BINDINGS_TYPES == {version}, "fovea: the headers are of another version than the package");

#pragma GCC visibility push(default)
extern "C" {{
int {prefix}_bindings_version() {{ return FOVEA_BINDINGS_TYPES; }}
void* {prefix}_workspace_create() {{ return new (std::nothrow) fovea::workspace(); }}
void {prefix}_workspace_destroy(void* scratch) {{ delete static_cast<fovea::workspace*>(scratch); }}
fovea_status {prefix}_quantize(fovea_call const*, char const*, float const*, int64_t, void*) {{
    return FOVEA_UNSUPPORTED;
}}
fovea_kernel const* {prefix}_kernels(size_t* count) {{
    *count = 1;
    return kernels;
}}
}}
#pragma GCC visibility pop
"""


OUTPUTS = ("lse", "weights", "scores", "entropy", "best_key", "column_sums")


def _elements(type_name: str) -> tuple[str, str]:
    """Types of C++: of query, key, value and result, one where they are the same, and of what is computed."""
    types = types_named(type_name)
    of_cpp = [_OF_TYPES.get(name, f"fovea::{name}") for name in types]
    return of_cpp[0] if len(set(types)) == 1 else ", ".join(of_cpp), "double" if "f64" in types else "float"


def _code_of_outputs(elements: str, number: str, purpose: str, outputs: tuple[str, ...]) -> tuple[str, str]:
    """What gives outputs beside the result, and the end of the entry that lists a kernel."""
    gradient, forward = "0", "0"
    if purpose == "gradient":
        gradient = "fovea::bindings::takes_gradient_of<specification, {name}>"
        listed = ", ".join(map(_quoted, outputs))
        forward = f"fovea::bindings::takes_forward<specification, {elements}, {listed}>"
    shapes, rows = [], []
    for place, name in enumerate(map(_quoted, outputs)):
        shapes.append(f"fovea::bindings::shape_of_output<{name}, listed_kernel, {number}>()")
        element_of = f"fovea::bindings::type_name<fovea::bindings::output_element<{name}, {number}>>.data()"
        rows.append(f"{{{name}, {element_of}, shapes[{place}].c_str(), {gradient.format(name=name)}}}")
    code = _OUTPUTS.format(
        names=", ".join(map(_quoted, outputs)),
        elements=elements,
        shapes=", ".join(shapes),
        rows=", ".join(rows),
    )
    return code, f", listed_outputs, {len(outputs)}, run_outputs, {forward}"


def source_of(specification: Specification, captured: Captured) -> Source:
    """A complete specification in C++."""
    spec = specification.completed()
    names = Names(_TAKEN)
    words = spec.text(names)
    arguments = {names.of(argument): argument for argument in names.arguments}
    for name, argument in arguments.items():
        if isinstance(argument, Table) and argument.rank > 4:
            raise ShapeError(f"{name} has {counted(argument.rank, 'axis')}: a table of a kernel has up to 4")
    return Source(
        words,
        text_with_arguments(words, arguments),
        arguments,
        tuple(name for name, a in arguments.items() if isinstance(a, Table) and _has_gradient(spec, a)),
        captured,
        specification=spec,
    )


def text_with_arguments(words: str, arguments: dict[str, Any]) -> str:
    """A specification as a function of what a call passes."""
    if not arguments:
        return words
    taken = ", ".join(_with_axes(name, argument) for name, argument in arguments.items())
    parameters = ", ".join(f"{parameter_of(argument)} {name}" for name, argument in arguments.items())
    generic = "<class T>" if "<T const" in parameters else ""
    return f'takes<"{taken}">([]{generic}({parameters}) {{ return {words}; }})'


def axes_of(name: str, argument: Any) -> list[str]:
    """The axes of a table, which have names of their own: the engine says what a kernel reads outside of it."""
    if not isinstance(argument, Table):
        return []
    return [f"{name}_axis_{axis}" for axis in range(argument.rank)] or ["1"]


def _with_axes(name: str, argument: Any) -> str:
    axes = axes_of(name, argument)
    return f"{name}({', '.join(axes)})" if axes else name


def parameter_of(argument: Any) -> str:
    """The type in C++ of a table, a number or a graph."""
    if isinstance(argument, GraphArgument):
        return "graph_view"
    if isinstance(argument, Number):
        return argument.c_type
    return f"view<{_element(argument, 'T')} const, {max(argument.rank, 1)}>"


def _element(table: Table, real: str) -> str:
    if table.kind == "real":
        return real
    return "bool" if table.kind == "condition" else f"std::{table.dtype.name}_t"


def _listed_arguments(source: Source, number: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    extents = []
    for name, argument in source.arguments.items():
        shape = f"({', '.join(axes_of(name, argument))})" if isinstance(argument, Table) else ""
        if isinstance(argument, Table):
            c_type = _element(argument, number).removeprefix("std::")
        elif isinstance(argument, Number):
            c_type = "double" if argument.kind == "real" else "int64_t"
        else:
            c_type = "fovea_graph"
        rows.append((f'"{name}"', f'"{c_type}"', f'"{shape}"', str(int(name in source.with_gradient))))
        extents += [axis for axis in axes_of(name, argument) if axis != "1"]
    rows += [(f'"{axis}"', '"int64_t"', '""', "0") for axis in extents]
    for name in source.batch:
        of = _BATCHES[name]
        rows.append((f'"{name}"', f'"{of.c_type}"', f'"{of.shape}"', "0"))
        rows += [(f'"{axis}"', '"int64_t"', '""', "0") for axis in of.counts]
    return rows


def _has_gradient(spec: Specification, table: Table) -> bool:
    return table.kind == "real" and any(
        _reads_real(argument, table)
        for stage in spec.stages
        if stage.role in _DIFFERENTIABLE
        for argument in stage.arguments or ()
    )


def _reads_real(x: Any, table: Table) -> bool:
    """Whether a table is read other than by conditions and indices, which are steps."""
    if isinstance(x, Stage):
        return any(_reads_real(argument, table) for argument in x.arguments or ())
    if isinstance(x, Element):
        return x.table is table
    if isinstance(x, Expression):
        return x is table or (x.kind == "real" and any(_reads_real(child, table) for child, _ in x.children))
    return False


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
