// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The judge of a call of a specification of the catalogue, forward or backward.
#pragma once

#include "catalogue/catalogue.hpp"

#include <functional>

namespace catalogue {

/// Which pairs of one sequence take part.
struct visibility {
    index_t queries, keys;
    std::vector<char> pairs;  // (head, query, key)

    bool operator()(index_t h, index_t i, index_t j) const {
        return pairs[static_cast<std::size_t>((h * queries + i) * keys + j)];
    }
};
std::vector<visibility> visible_pairs(definition const& by, drawn_call const& call);

/// Keys that no query sees may hold anything, and their pages need not be there.
void poison_unseen(drawn_call const& call, std::vector<visibility> const& visible, fovea::testing::dice& from);

/// Where the results of a call of attend go.
struct attend_results {
    drawn_rows result;
    std::unique_ptr<drawn_rows> lse, weights;

    attend_results(fovea::testing::dice& from, attend_engine const& e, drawn_call const& call)
        : result(from, e.types.result, call.extents.result, drawn_rows::use::written) {
        index_t const batches = result.extent(0);
        auto const kind = e.in_double ? stored::float64 : stored::float32;
        auto const rows = [&](index_t n, index_t width) {
            return std::make_unique<drawn_rows>(from, kind, fovea::extents_t<4>{batches, call.n.heads(), n, width},
                                                drawn_rows::use::written);
        };
        if (e.lse) lse = rows(1, call.n.queries);
        if (e.weights) weights = rows(call.n.queries, call.n.keys);
    }
    template <class F>
    void each(F const& f) const {
        f("result", result);
        if (lse) f("lse", *lse);
        if (weights) f("weights", *weights);
    }
};

/// Scratch memory full of NaN.
void make_dirty(fovea::workspace& scratch, int workers);

/// How many times a sequence stands in its numbers: once, or, where the number of the sequence is read, as the last of
/// so many.
inline index_t copies_of(definition const& by, drawn_sequence const& s) { return by.reads_batch ? s.batch + 1 : 1; }
/// One sequence as numbers.
numbers sequence_numbers(drawn_call const& call, drawn_sequence const& s, index_t copies);

/// Results against what is expected, where their row is not `open`. `room` is what each element may be moved by beside
/// the tolerance, if anything. Errors: law_broken, with the first element that is too far off.
struct comparison {
    double loss = 0;  // what the arithmetic of the call loses
    bool in_double = false;
    std::vector<char> const* open = nullptr;
    std::vector<double> const* room = nullptr;
    index_t width = 0;  // elements that share a flag: those of a row, where it is 0

    void operator()(std::string const& name, drawn_rows const& got, std::vector<double> const& expected) const;
};

/// Draws calls of every remainder by 32 of the numbers of features and of values, until two of them have failed:
/// `broken_law` gives the law that a call breaks, as a sentence.
void for_trials(std::string const& name, call_shape const& shape, call_types const& types, unsigned trials,
                std::function<std::string(drawn_call&, fovea::testing::dice&)> const& broken_law);

}  // namespace catalogue
