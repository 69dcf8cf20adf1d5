# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The words of the language, and specifications that are joined of them by `|`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

from ._capture import capturing_if_nothing_does, is_array, param, rebound
from ._errors import ArgumentError, ShapeError, counted
from ._expression import Expression, Formula, Value, as_expression, select, sum_of
from ._functions import FUNCTIONS
from ._graph import Graph
from ._table import Names, Table
from ._typing import Operand
from ._word_tables import alibi_slopes, t5_buckets, tree_ancestors

if TYPE_CHECKING:
    from ._picture import MaskPicture

PLACEHOLDERS: dict[str, Expression] = {
    **{name: Formula("real", name) for name in ("q", "k", "score", "weight", "out")},
    **{name: Formula("integer", name) for name in ("q_idx", "kv_idx", "head", "batch", "edge")},
    **{name: Formula("integer", name) for name in ("q_len", "kv_len", "dim")},
}
# The same by the names that parameters of functions often have.
_ALSO = {"i": "q_idx", "j": "kv_idx", "h": "head", "b": "batch", "s": "score"}
PARAMETERS = {**PLACEHOLDERS, **{short: PLACEHOLDERS[name] for short, name in _ALSO.items()}}

# What FlexAttention passes to its functions, by place.
_SCORE_MOD = ("score", "batch", "head", "q_idx", "kv_idx")
_MASK_MOD = ("batch", "head", "q_idx", "kv_idx")

WORDS: dict[str, str] = {
    name: role
    for role, names in {
        "projection": "project",
        "score": "additive compare concat cosine dot feature_map gat_score gatv2_score gaussian general key_only "
        "l1_distance location scaled_by scaled_dot",
        "rescoring": "rescore alibi bias decay gumbel relative_bias relative_keys softcap t5_bias temperature",
        "mask": "block_list causal causal_at_end causal_from chunked dilated_window document everything global_tokens "
        "key_lengths mask_tensor neighborhood neighbors prefix_lm shared_prefix sliding_tiles sliding_window tree "
        "where",
        "selection": "keep",
        "normalizer": "averaged entmax entmax15 hardmax l1_weights normalized proportional softmax softmax_plus_one "
        "softmax_with_sink sparsemax straight_through top_k_softmax uniform unnormalized weigh",
        "reweighting": "reweight",
        "aggregator": "max_pool relative_values running_state weighted_sum",
        "finish": "batch_invariant concat_heads delta gated map mean_heads output precision residual",
        "part": "as_is bf16x2 bf16x3 l2_normalized layer_normalized linear min_p packed_bits q8 rms_normalized rotary "
        "threshold top_k top_p transposed",
    }.items()
    for name in names.split()
}
# What an expression of these says is one number for each pair, or for each query.
_NUMBERS = "averaged compare normalized rescore reweight softcap temperature weigh where".split()
_WEIGHTS = ("normalizer", "reweighting")
_FIRST_OF_FUNCTION = {"where": _MASK_MOD}
_ONE_ARGUMENT = {"reweight": "weight", "map": "out"}


def traced(function: Callable[..., Any], by_place: tuple[str, ...], first: str) -> Any:
    """What a function returns for placeholders: by the names of its parameters, by place if there are as many as
    FlexAttention passes; of a single one, which is free, the first. Those with defaults keep them."""
    every = inspect.signature(function).parameters.items()
    parameters = [name for name, parameter in every if parameter.default is inspect.Parameter.empty]
    if len(parameters) == 1 and parameters[0] not in PARAMETERS:
        parameters = [first]
    elif len(parameters) == len(by_place):
        parameters = list(by_place)
    unknown = [name for name in parameters if name not in PARAMETERS]
    if unknown:
        raise ArgumentError(
            f"a function of placeholders has the parameter {unknown[0]}, it must be one of {', '.join(PARAMETERS)}"
        )
    with capturing_if_nothing_does():
        return rebound(function)(*(PARAMETERS[name] for name in parameters))


Joined = Union["Specification", Expression, Operand]  # what `|` joins
Condition = Union["Stage", Value, Callable[..., object]]  # what a mask is made of


class Specification:
    """Words of the language, joined by `|` in the order in which data flows.

    Without an aggregator, the sum of weighted values stands at the end of what `fovea.kernel` makes of it.

    Example
    -------
        spec = fovea.scaled_dot | fovea.causal | fovea.softmax
        assert repr(spec | fovea.weighted_sum) == "scaled_dot | causal | softmax | weighted_sum"
    """

    __fovea_stages__ = True
    __array_ufunc__ = None  # arrays leave `array | word` to the word

    def __init__(self, stages: tuple[Stage, ...]) -> None:
        self.stages = stages

    def __or__(self, other: Joined) -> Specification:
        """These words and then others."""
        return Specification((*self.stages, *_stages_of(other)))

    def __ror__(self, other: Joined) -> Specification:
        return Specification((*_stages_of(other), *self.stages))

    def rescore(self, score: Value | Callable[..., object]) -> Specification:
        """Replaces the score by an expression of it, or by what a function makes of it."""
        return self | word("rescore", score)

    def has(self, role: str) -> bool:
        """Whether some word has a role."""
        return any(stage.role == role for stage in self.stages)

    def completed(self) -> Specification:
        """With the sum of weighted values behind the weights, where nothing says what becomes of them."""
        of_weights = [place for place, stage in enumerate(self.stages, 1) if stage.role in _WEIGHTS]
        if not of_weights or self.has("aggregator"):
            return self
        last = of_weights[-1]
        return Specification((*self.stages[:last], word("weighted_sum"), *self.stages[last:]))

    def text(self, names: Names) -> str:
        """The specification in C++."""
        return " | ".join(stage.words(names) for stage in self.stages)

    def picture(
        self,
        *,
        queries: int | None = None,
        keys: int | None = None,
        heads: int | None = None,
        batch: int | None = None,
        block: int | tuple[int, int] | None = None,
    ) -> MaskPicture:
        """Draws which blocks of queries and keys the masks leave: empty ones, full ones and mixed ones.

        Parameters
        ----------
        queries, keys, heads, batch : how many there are. Tables that the mask reads say it if it is not given; without
            them there are 512 queries and keys, or more where a number in the mask is large, 4 heads, and a batch of 1.
        block : how many positions a block has, or how many queries and how many keys: the least power of two that makes
            at most 16 blocks to a side if it is not given.

        Returns
        -------
        The picture. A mask of integers, conditions and comparisons is evaluated by NumPy; one that computes with reals,
        or is random, by a kernel, which is compiled.
        """
        from ._picture import picture_of_specification

        drawn = picture_of_specification(self, queries, keys, heads, batch, block)
        assert drawn is not None
        return drawn

    def _repr_svg_(self) -> str | None:
        from ._picture import picture_of_specification, shown_in_notebook

        return shown_in_notebook(lambda: picture_of_specification(self, is_asked=False))

    def __deepcopy__(self, _: Any) -> Specification:
        names = Names()
        self.text(names)
        if names.arguments:
            raise ArgumentError("words with arrays are not copied: make the kernel of a function that reads the arrays")
        return self

    def __bool__(self) -> bool:
        raise ArgumentError("a specification is neither true nor false: join words by |, conditions of a mask by &")

    def __repr__(self) -> str:
        return self.text(Names())


class Stage(Specification):
    """One word, with its arguments where it has some.

    Masks are joined by `&`, `|` and `fovea.any_of`, and turned by `~`.

    Example
    -------
        window: fovea.Stage = fovea.sliding_window(15, 0)
        mask = fovea.any_of(window, fovea.global_tokens(4)) & fovea.causal
        assert repr(mask) == "((sliding_window(15, 0) || global_tokens(4)) && causal)"
    """

    def __init__(self, name: str, arguments: tuple[Any, ...] | None = None, role: str | None = None) -> None:
        super().__init__((self,))
        self.name = name
        self.arguments = arguments
        self.role = WORDS.get(name, "part") if role is None else role

    def __and__(self, other: Condition) -> Stage:
        """A mask that holds where both do."""
        return Stage("{0} && {1}", (self, _mask(other)), "mask")

    def __rand__(self, other: Condition) -> Stage:
        return Stage("{0} && {1}", (_mask(other), self), "mask")

    def __invert__(self) -> Stage:
        """A mask that holds where this one does not."""
        return Stage("!{0}", (self,), "mask")

    def words(self, names: Names) -> str:
        """The word in C++."""
        if self.arguments is None:
            return self.name
        inside = [_text_of(x, names) for x in self.arguments]
        if "{0}" in self.name:
            text = self.name.format(*inside)
            return f"({text})" if " {1}" in self.name else text  # masks joined, which bind less than the pipe
        return f"{self.name}({', '.join(inside)})"


class Word(Stage):
    """A word without arguments: what `_words.pyi` says of its name, and of what it takes."""

    def __call__(self, *arguments: Any) -> Any:
        if self.name == "where" and len(arguments) == 3:
            return select(*arguments)
        if self.name == "concat" and len(arguments) == 2:
            vector, activation = arguments
            hidden = rebound(activation)(PLACEHOLDERS["q"] + PLACEHOLDERS["k"])
            return word("compare", sum_of((param(vector) if is_array(vector) else vector) * hidden))
        return Stage(self.name, tuple(_argument(self.name, x) for x in arguments), self.role)


class Rotary(Word):
    """The word `rotary`, with its options: a table or a number that each takes, and no more than one."""

    def _with(self, option: str, *given: Any) -> Rotary:
        return Rotary("{0}." + option, (self, *(_argument("rotary", x) for x in given)), "part")

    def features(self, count: Any) -> Rotary:
        """Rotates the first features of a head alone."""
        return self._with("features({1})", count)

    def interleaved(self) -> Rotary:
        """Rotates pairs (2 i, 2 i + 1), not (i, i + r / 2)."""
        return self._with("interleaved()")

    def from_(self, position: Any) -> Rotary:
        """Counts positions from a number, or from those of a table (batch): `from` of C++."""
        return self._with("from({1})", position)

    def positions(self, table: Any) -> Rotary:
        """Adds to each position an element of a table, (position) or (batch, position)."""
        return self._with("positions({1})", table)

    def base(self, number: Any) -> Rotary:
        """Replaces 10000."""
        return self._with("base({1})", number)

    def interpolated(self, factor: Any) -> Rotary:
        """Divides positions by a number."""
        return self._with("interpolated({1})", factor)

    def ntk_scaled(self, factor: Any) -> Rotary:
        """Multiplies the base by factor ** (r / (r - 2))."""
        return self._with("ntk_scaled({1})", factor)

    def frequencies(self, table: Any) -> Rotary:
        """Takes angles at position 1 from a table (r / 2)."""
        return self._with("frequencies({1})", table)


class GraphArgument:
    """A graph that a kernel visits."""

    def __init__(self, graph: Any, hint: str = "edges", read: Callable[[], Any] | None = None) -> None:
        self.array, self.hint = graph, hint
        self.read = read if read is not None else lambda: graph
        self.parameter: str | None = None


def word(name: str, *arguments: Any) -> Stage:
    """A word by its name in C++."""
    stage = (Rotary if name == "rotary" else Word)(name)
    made: Stage = stage(*arguments) if arguments else stage
    return made


def any_of(*masks: Condition) -> Stage:
    """A mask that holds where one of some masks does; `|` joins masks of which all have to hold."""
    first, *others = map(_mask, masks)
    for other in others:
        first = Stage("{0} || {1}", (first, other), "mask")
    return first


def heads(of_queries: int, of_keys: int | None = None) -> Stage:
    """How many heads a projection has."""
    both = f"{int(of_queries)}" if of_keys is None else f"{int(of_queries)}, {int(of_keys)}"
    return Stage(f"heads<{both}>")


def _mask(x: Any) -> Stage:
    return x if isinstance(x, Stage) else word("where", x)


def _stages_of(x: Any) -> tuple[Stage, ...]:
    """Words, or the score that an expression says."""
    if isinstance(x, Specification):
        return x.stages
    if isinstance(x, Table) or is_array(x):
        return (Stage("{0}", (param(x),), "part"),)
    if isinstance(x, Expression):
        if x.kind == "condition":
            raise ArgumentError(f"a mask is a word: write fovea.where({x!r})")
        if _reads(x, PLACEHOLDERS["score"]):
            bare = x is PLACEHOLDERS["score"]
            return (Stage("scaled_dot"),) if bare else (Stage("scaled_dot"), word("rescore", x))
        return (word("compare", x),)
    raise ArgumentError(f"a specification is joined of words, {x!r} is of type {type(x).__name__}")


def _reads(e: Expression, placeholder: Expression) -> bool:
    return e is placeholder or any(_reads(child, placeholder) for child, _ in e.children)


def _argument(name: str, x: Any) -> Any:
    if is_array(x):
        x = param(x)
    if isinstance(x, Expression) and x.free > 0 and name in _NUMBERS:
        left = counted(x.free, "axis")
        raise ShapeError(f"{x!r} has {left} without an index: index it, such as table[head], or add it up by fovea.sum")
    if isinstance(x, (Expression, Specification, GraphArgument, str)):
        return x
    if isinstance(x, (tuple, list)):
        return tuple(x)
    if isinstance(x, Graph) or hasattr(x, "indptr"):
        return GraphArgument(x)
    if callable(x):
        first = _ONE_ARGUMENT.get(name, "q" if name == "feature_map" else "score")
        return traced(x, _FIRST_OF_FUNCTION.get(name, _SCORE_MOD), first)
    return as_expression(x)


def _text_of(x: Any, names: Names) -> str:
    if isinstance(x, (Table, GraphArgument)) and getattr(x, "rank", 1) > 0:
        return names.of(x)
    if isinstance(x, Expression):
        return x.text(names)
    if isinstance(x, Specification):
        return x.text(names)
    if isinstance(x, tuple):
        return "{" + ", ".join(as_expression(each).text(names) for each in x) + "}"
    return str(x)


def vocabulary() -> dict[str, Any]:
    """Everything of the language by its name in C++."""
    words = {name: word(name) for name in WORDS}
    names: dict[str, Any] = {**FUNCTIONS, **PLACEHOLDERS, **words}
    tables = {"alibi_slopes": alibi_slopes, "t5_buckets": t5_buckets, "tree_ancestors": tree_ancestors}
    return {**names, **tables, "heads": heads, "any_of": any_of, "param": param}
