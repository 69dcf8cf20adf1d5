// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/bindings/elements.hpp>
#include <fovea/core/index.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace bench {

using fovea::index_t;

/// shape: the sizes of one benchmark row; a size left at zero is not part of its name.
struct shape {
    index_t heads = 1;
    index_t kv_heads = 0;  // 0: as many as heads
    index_t length = 0;    // queries
    index_t keys = 0;      // 0: as many as queries
    index_t size = 0;      // features of a query, a key and a value
    int threads = 1;

    index_t key_heads() const { return kv_heads ? kv_heads : heads; }
    index_t key_length() const { return keys ? keys : length; }
};

/// The type that arithmetic is done in.
template <class T>
using computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// "f32/h:8/n:2048/d:64", in the order of the members.
template <class T>
std::string to_text(shape const& s) {
    std::string text(fovea::bindings::type_name<T>);
    auto const add = [&text](char const* label, index_t value, bool shown) {
        if (shown) text += std::string("/") + label + ":" + std::to_string(value);
    };
    add("h", s.heads, true);
    add("kv", s.kv_heads, s.kv_heads > 0);
    add("n", s.length, true);
    add("k", s.keys, s.keys > 0);
    add("d", s.size, true);
    add("threads", s.threads, s.threads > 1);
    return text;
}

}  // namespace bench
