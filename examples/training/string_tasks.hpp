// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Short strings, to be reversed or sorted: the first symbol of a source says which.
#pragma once

#include "layers.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace training {

/// Symbols are numbers: 26 letters, the two tasks, and the end of a string, which also fills it up.
namespace symbol {
inline constexpr int letters = 26, reverse = 26, sort = 27, end = 28, count = 29;
}

/// One string in eight is held out: it is never learned from. All that counts is the sum of its letters.
enum class strings { learned, held_out };

/// Strings of 4 to 8 letters. Sources have a task before their letters, targets an end after theirs; a decoder is given
/// an end, then the target but for its last symbol. All are (sequence, position).
struct string_batch {
    static constexpr int longest = 8, positions = longest + 1;

    int sequences;
    std::vector<int> source, shifted, target;
    std::vector<fovea::index_t> lengths;  // of sources

    string_batch(dice& random, int how_many, strings which)
        : sequences(how_many),
          source(static_cast<std::size_t>(how_many * positions), symbol::end),
          shifted(source),
          target(source.size(), no_target),
          lengths(static_cast<std::size_t>(how_many)) {
        for (int s = 0; s < how_many; ++s)
            fill(s, random.chance(0.5) ? symbol::reverse : symbol::sort, drawn(random, which));
    }

    /// The symbols of a row of source or target up to its end.
    static std::string text(std::vector<int> const& rows, int sequence) {
        std::string symbols;
        for (int i = 0; i < positions; ++i) {
            int const at = rows[static_cast<std::size_t>(sequence * positions + i)];
            if (at == symbol::end || at == no_target) break;
            symbols += at == symbol::reverse ? '<' : at == symbol::sort ? '^' : static_cast<char>('a' + at);
        }
        return symbols;
    }

private:
    static std::vector<int> drawn(dice& random, strings which) {
        while (true) {
            std::vector<int> letters(static_cast<std::size_t>(random.between(4, longest)));
            for (int& letter : letters) letter = static_cast<int>(random.between(0, symbol::letters - 1));
            bool const held_out = std::accumulate(letters.begin(), letters.end(), 0) % 8 == 0;
            if (held_out == (which == strings::held_out)) return letters;
        }
    }
    void fill(int s, int task, std::vector<int> letters) {
        auto const first = static_cast<std::ptrdiff_t>(s) * positions;
        auto const length = static_cast<std::ptrdiff_t>(letters.size());
        source[static_cast<std::size_t>(first)] = task;
        std::copy(letters.begin(), letters.end(), source.begin() + first + 1);
        lengths[static_cast<std::size_t>(s)] = length + 1;
        if (task == symbol::reverse) std::reverse(letters.begin(), letters.end());
        else std::sort(letters.begin(), letters.end());
        std::copy(letters.begin(), letters.end(), target.begin() + first);
        std::copy(letters.begin(), letters.end(), shifted.begin() + first + 1);
        target[static_cast<std::size_t>(first + length)] = symbol::end;
    }
};

/// The highest number of a row.
inline int best_symbol(matrix const& rows, Index row) {
    Index best = 0;
    rows.row(row).maxCoeff(&best);
    return static_cast<int>(best);
}

/// The share of strings of which the network writes every letter and the end as they should be.
template <class Network>
double exact_share(Network& network, string_batch const& batch) {
    auto const written = network.write(batch);
    int exact = 0;
    for (int s = 0; s < batch.sequences; ++s)
        exact += string_batch::text(written, s) == string_batch::text(batch.target, s);
    return exact / static_cast<double>(batch.sequences);
}

}  // namespace training
