// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gradients by their names, and those of rows that are multiplied by a matrix beside an attention.

#include "gradients.hpp"

#include <fovea/fovea.hpp>

#include <cstddef>
#include <utility>

namespace conformance {

using namespace fovea::placeholders;
using fovea::index_t;

void named_gradients::add(std::string const& name, std::vector<double> const& amounts) {
    auto& sum = sums_[name];
    sum.resize(amounts.size());
    for (std::size_t i = 0; i < amounts.size(); ++i) sum[i] += amounts[i];
}

std::vector<double> named_gradients::take(std::string const& name) {
    auto const found = sums_.extract(name);
    return found.empty() ? std::vector<double>{} : found.mapped();
}

void named_gradients::take_columns(std::string const& name, index_t width, index_t first, std::string const& of_first,
                                   std::string const& of_others) {
    auto const all = take(name);
    std::vector<double> left, right;
    for (std::size_t i = 0; i < all.size(); ++i)
        (static_cast<index_t>(i) % width < first ? left : right).push_back(all[i]);
    add(of_first, left);
    add(of_others, right);
}

void named_gradients::add_beside(std::string const& name, std::vector<double> const& left,
                                 std::vector<double> const& right, index_t row_count) {
    std::vector<double> both;
    for (index_t row = 0; row < row_count; ++row)
        for (auto const* part : {&left, &right}) {
            auto const width = static_cast<index_t>(part->size()) / row_count;
            both.insert(both.end(), part->begin() + row * width, part->begin() + (row + 1) * width);
        }
    add(name, both);
}

void named_gradients::compare(test_case const& subject, checks& all) const {
    for (auto const& [name, sum] : sums_)
        if (subject.has(name))
            all.compare(float64_engine::name, float64_engine::computes, name, sum, subject[name].shape);
}

namespace {
/// use(attention, bias) for the attention that multiplies; no bias is one of zeros.
void with_attention(linear_rows const& of, auto const& use) {
    auto bias = of.bias;
    bias.resize(static_cast<std::size_t>(of.matrix.extent(0)));
    fovea::view<double const, 1> const terms(bias.data(), {of.matrix.extent(0)});
    use(fovea::project(fovea::as_is, fovea::as_is, fovea::linear(fovea::transposed(of.matrix), terms)) | fovea::dot
            | fovea::where(q_idx == kv_idx) | fovea::softmax | fovea::weighted_sum,
        terms);
}
}  // namespace

fovea::tensor<double, 2> linear_rows::result() const {
    fovea::tensor<double, 2> through({rows.extent(0), matrix.extent(0)});
    with_attention(
        *this, [&](auto const& attention, auto const&) { fovea::reference::attend(attention, rows, through.view()); });
    return through;
}

void linear_rows::add_gradients(named_gradients& sums, std::vector<double> const& d_result, std::string const& of_rows,
                                std::string const& of_matrix, std::string const& of_bias) const {
    fovea::view<double const, 2> const d(d_result.data(), {rows.extent(0), matrix.extent(0)});
    with_attention(*this, [&](auto const& attention, auto const& terms) {
        conformance::add_gradients<float64_engine>(sums, attention, rows, rows, rows, d, of_case{of_rows, rows},
                                                   of_case{of_matrix, matrix}, of_case{of_bias, terms});
    });
}

}  // namespace conformance
