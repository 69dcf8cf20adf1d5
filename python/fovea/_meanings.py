# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The words of masks as conditions of the language, as their headers in C++ say them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._expression import Expression, Formula
from ._functions import FUNCTIONS
from ._specification import PLACEHOLDERS, GraphArgument, Stage
from ._table import Number, Table

if TYPE_CHECKING:
    from ._masks import Mask

ALWAYS: Expression = Formula("condition", "true", constant=True)
_I, _J, _HEAD, _BATCH = (PLACEHOLDERS[name] for name in ("q_idx", "kv_idx", "head", "batch"))
_Q_LEN, _KV_LEN = PLACEHOLDERS["q_len"], PLACEHOLDERS["kv_len"]
_min, _max = FUNCTIONS["min"], FUNCTIONS["max"]



class Undecided(Exception):
    """A mask computes with reals, or with what NumPy does not have."""


class Listed(Formula):
    """Whether a graph lists the pair of a query and a key."""

    __slots__ = ("graph",)

    def __init__(self, graph: GraphArgument) -> None:
        super().__init__("condition", "")
        self.graph = graph


def _causal(_: Mask) -> Any:
    return _J <= _I


def _causal_at_end(_: Mask) -> Any:
    return _J <= _I + (_KV_LEN - _Q_LEN)


def _of_batch(x: Any) -> Any:
    """A number, or a table with one for each element of the batch."""
    return x[_BATCH] if isinstance(x, Table) and x.rank > 0 else x


def _causal_from(_: Mask, offset: Any) -> Any:
    return _J <= _I + _of_batch(offset)


def _chunked(_: Mask, size: Any) -> Any:
    return _I // size == _J // size


def _dilated_window(_: Mask, reach: Any, step: Any) -> Any:
    return (_I - _J <= reach) & (_J - _I <= reach) & ((_I - _J) % step == 0)


def _document(_: Mask, query_ids: Any, key_ids: Any = None) -> Any:
    key_ids = query_ids if key_ids is None else key_ids
    of_query, of_key = ((x[at] if x.rank == 1 else x[_BATCH, at]) for x, at in ((query_ids, _I), (key_ids, _J)))
    return of_query == of_key


def _everything(_: Mask) -> Any:
    return ALWAYS


def _global_tokens(_: Mask, count: Any) -> Any:
    return (_I < count) | (_J < count)


def _key_lengths(_: Mask, length: Any) -> Any:
    return _J < _of_batch(length)


def _prefix_lm(_: Mask, prefix: Any) -> Any:
    return (_J < _of_batch(prefix)) | (_J <= _I)


def _sliding_window(_: Mask, left: Any, right: Any) -> Any:
    return (_I - _J <= left) & (_J - _I <= right)


def _shared_prefix(mask: Mask, prefix: Any, ids: Any) -> Any:
    own = _J - prefix
    count = len(mask.table(ids))
    if prefix.template.isdigit():
        mask.hint(count, int(prefix.template) + count)
    inside = _max(_min(own, count - 1), 0)
    return (own < 0) | ((ids[_I] == ids[inside]) & (own <= _I))


def _holds(element: Any) -> Any:
    return element if element.kind == "condition" else element != 0


def _tree(mask: Mask, prefix: Any, ancestors: Any) -> Any:
    node = _J - prefix
    queries, count = mask.table(ancestors).shape
    if prefix.template.isdigit():
        mask.hint(queries, int(prefix.template) + count)
    return (_J < prefix) | ((node < count) & _holds(ancestors[_I, _max(_min(node, count - 1), 0)]))


def _is_near(of_query: Any, of_key: Any, size: int, extent: int) -> Any:
    left, right = size // 2, (size - 1) // 2
    center = _max(_min(of_query, extent - 1 - right), left)
    return (of_key >= center - left) & (of_key <= center + right)


def _near_in(size: Sequence[int], extent: Sequence[int], query: Any, key: Any) -> Any:
    """Near along each axis, of places that are counted along the last one first."""
    near, before = None, 1
    for n, m in reversed(list(zip(size, extent))):
        along = _is_near(query // before % m, key // before % m, n, m)
        near, before = along if near is None else near & along, before * m
    return near


def _neighborhood(mask: Mask, size: Any, extent: Any) -> Any:
    count = int(np.prod(extent))
    mask.hint(count, count)
    if len(size) == 1:
        return _is_near(_I, _J, size[0], extent[0])
    return _near_in(size, extent, _I, _J)


def _sliding_tiles(mask: Mask, window: Any, tile: Any, extent: Any) -> Any:
    count, size = int(np.prod(extent)), int(np.prod(tile))
    mask.hint(count, count)
    return _near_in(window, [n // m for n, m in zip(extent, tile)], _I // size, _J // size)


def _block_list(_: Mask, seen: Any, query_block: Any, key_block: Any) -> Any:
    row, column = _I // query_block, _J // key_block
    return _holds(seen[row, column] if seen.rank == 2 else seen[_HEAD, row, column])


def _mask_tensor(mask: Mask, visible: Any) -> Any:
    if isinstance(visible, Stage):
        visible = _bits_of(mask, visible)
    return _holds(of_pair(mask, visible))


def of_pair(mask: Mask, table: Table) -> Any:
    """The element of a pair: axes are the last ones of these, and one of extent 1 stands for all positions."""
    shape = mask.table(table).shape
    places = (_BATCH, _HEAD, _I, _J)[4 - len(shape) :]
    return table[tuple(0 if n == 1 else place for n, place in zip(shape, places))]


def _bits_of(mask: Mask, packed: Stage) -> Table:
    """The table of conditions that lie in bytes, each row in bytes of its own."""
    if packed.name != "packed_bits" or len(packed.arguments or ()) != 2:
        raise Undecided
    table, keys = packed.arguments or ()
    if isinstance(keys, Number):
        count = int(mask.number(keys))
    elif isinstance(keys, Expression) and keys.template.isdigit():
        count = int(keys.template)
    else:
        raise Undecided
    packed_bytes = mask.table(table).astype(np.uint8)
    bits = np.unpackbits(packed_bytes, axis=-1, count=count, bitorder="little").astype(np.bool_)
    made = Table(bits, table.hint)
    mask.note(made, bits)
    return made


def _neighbors(_: Mask, graph: Any) -> Any:
    return Listed(graph)


MEANINGS: dict[str, Callable[..., Any]] = {
    "block_list": _block_list,
    "causal": _causal,
    "causal_at_end": _causal_at_end,
    "causal_from": _causal_from,
    "chunked": _chunked,
    "dilated_window": _dilated_window,
    "document": _document,
    "everything": _everything,
    "global_tokens": _global_tokens,
    "key_lengths": _key_lengths,
    "mask_tensor": _mask_tensor,
    "neighborhood": _neighborhood,
    "neighbors": _neighbors,
    "prefix_lm": _prefix_lm,
    "shared_prefix": _shared_prefix,
    "sliding_tiles": _sliding_tiles,
    "sliding_window": _sliding_window,
    "tree": _tree,
}
