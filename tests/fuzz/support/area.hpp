// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/bytes.hpp"

#include <cstddef>
#include <string>
#include <typeinfo>
#include <vector>

namespace fuzz {

/// A table is read by expressions: an axis of stride 0 may be as long as it likes.
enum class access { read, table, write };

/// A view of any rank and type, before it is one.
struct layout {
    std::string name;
    access how;
    std::size_t element, alignment;  // bytes
    std::type_info const* type;      // of an element
    std::byte* data;
    std::vector<index_t> extents, strides;
    std::string unsound;  // why no call may accept it
};

/// A placed view: the addresses of its elements, each once where axes repeat them.
struct area {
    std::string name;
    access how;
    std::size_t element = 0;           // bytes
    std::vector<std::byte*> elements;  // ascending
    bool repeats = false;              // some element stands at more than one index
    layout described;
};

/// The number of elements from the first to the last in memory, before and behind the one at all indices 0; false where
/// no memory can be so large. Extents are 1 or more.
bool reach(layout const& l, index_t& below, index_t& above);

/// The elements of a sound layout, each once.
area placed(layout const& l);

}  // namespace fuzz
