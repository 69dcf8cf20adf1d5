# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of `fovea/bindings/types.h`, for ctypes."""

from __future__ import annotations

import ctypes
import struct

VERSION = 6  # FOVEA_BINDINGS_TYPES


class ArgumentEntry(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("shape", ctypes.c_char_p),
        ("has_gradient", ctypes.c_int),
    ]


class OutputEntry(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("shape", ctypes.c_char_p),
        ("has_gradient", ctypes.c_int),
    ]


class Call(ctypes.Structure):
    _fields_ = [
        ("threads", ctypes.c_int),
        ("workspace", ctypes.c_void_p),
        ("message", ctypes.c_void_p),
        ("message_size", ctypes.c_size_t),
    ]


class GraphEntry(ctypes.Structure):
    _fields_ = [
        ("queries", ctypes.c_int64),
        ("edges", ctypes.c_int64),
        ("offsets", ctypes.c_void_p),
        ("keys", ctypes.c_void_p),
        ("numbers", ctypes.c_void_p),
    ]


class InputF32(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4)]


class CacheSizes(ctypes.Structure):
    _fields_ = [
        ("layers", ctypes.c_int64),
        ("heads", ctypes.c_int64),
        ("key_features", ctypes.c_int64),
        ("value_features", ctypes.c_int64),
        ("pages", ctypes.c_int64),
        ("page_size", ctypes.c_int64),
        ("key_type", ctypes.c_char_p),
        ("value_type", ctypes.c_char_p),
    ]


class CacheMemory(ctypes.Structure):
    _fields_ = [
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("key_bytes", ctypes.c_int64),
        ("value_bytes", ctypes.c_int64),
    ]


class RotaryEntry(ctypes.Structure):
    _fields_ = [
        ("features", ctypes.c_int64),
        ("interleaved", ctypes.c_int),
        ("base", ctypes.c_double),
        ("interpolated", ctypes.c_double),
        ("ntk_scaled", ctypes.c_double),
        ("frequencies", ctypes.c_void_p),
        ("positions", ctypes.c_void_p),
    ]


class CacheBatchEntry(ctypes.Structure):
    _fields_ = [
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("page_table", ctypes.c_void_p),
        ("lengths", ctypes.c_void_p),
        ("positions", ctypes.c_void_p),
        ("pages", ctypes.c_int64),
    ]


# Operands and values are packed into bytes: that takes a fraction of the time that structures of ctypes take to fill.
Run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call), ctypes.c_char_p, ctypes.c_char_p)


class KernelEntry(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("types", ctypes.c_char_p * 4),
        ("specification", ctypes.c_char_p),
        ("comment", ctypes.c_char_p),
        ("formula", ctypes.c_char_p),
        ("architecture", ctypes.c_char_p),
        ("arguments", ctypes.POINTER(ArgumentEntry)),
        ("argument_count", ctypes.c_size_t),
        ("keeps_shape", ctypes.c_int),
        ("run", Run),
        ("gradient", Run),
        ("outputs", ctypes.POINTER(OutputEntry)),
        ("output_count", ctypes.c_size_t),
        ("run_outputs", Run),
        ("takes_forward", ctypes.c_int),
    ]


# Query, key, value and result: the address, four extents and four strides, in numbers. Outputs beside the result follow.
# Of gradients the result's takes its place, and where those of query, key and value go follow, those of outputs, and the
# result and the log-sum-exp of the forward call.
operands_format = struct.Struct("P8q" * 4)
gradient_operands_format = struct.Struct("P8q" * 7)
more_operands_format = struct.Struct("P8q")
nowhere = (0,) * 9  # where what is not wanted goes

# One value of the union fovea_value by the kind of its argument.
value_codes = {"table": "P", "bits": "P", "graph": "P", "integer": "q", "derived": "q", "real": "d"}
