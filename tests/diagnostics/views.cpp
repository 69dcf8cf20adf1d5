// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <array>
#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

// case: array_of_unknown_rank
// sentence: fovea: the type of this array does not say how many axes it has: write as_view<Rank>(array)
/// As xt::xarray: its shape is a vector.
struct array {
    using temporary_type = array;
    std::vector<float> elements;
    std::vector<std::size_t> extents, steps;
    float const* data() const { return elements.data(); }
    std::size_t data_offset() const { return 0; }
    std::vector<std::size_t> const& shape() const { return extents; }
    std::vector<std::size_t> const& strides() const { return steps; }
};

#ifdef FOVEA_BROKEN
auto score_of(array const& table) { return bias(table); }
#else
auto score_of(array const& table) { return bias(as_view<2>(table)); }
#endif

// case: features_of_raw_bits
// sentence: fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer:
// reinterpret_cast<bfloat16 const*>(data), or float16
void call(view<float, 2> x, view<float, 2> result, view<std::uint16_t const, 1> bits) {
#ifdef FOVEA_BROKEN
    reference::attend(additive(bits) | softmax | weighted_sum, x, result);
#else
    reference::attend(additive(view(reinterpret_cast<bfloat16 const*>(bits.data), {8})) | softmax | weighted_sum, x,
                      result);
#endif
}

// case: frequencies_by_a_pointer
// sentence: fovea: a pointer does not say how many elements there are: write view(pointer, extents)
std::vector<float> const frequencies(8, 1.f);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const turned = rotary.frequencies(&frequencies[0]);
#else
[[maybe_unused]] auto const turned = rotary.frequencies(frequencies);
#endif

// case: gain_without_a_view
// sentence: fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a
// row-major matrix or what container_traits knows
std::vector<float> const gain(8, 1.f);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const normalized_by_gain = rms_normalized(param(gain));
#else
[[maybe_unused]] auto const normalized_by_gain = rms_normalized(gain);
#endif

// case: heads_not_a_multiple
// sentence: fovea: the query heads cannot share the key/value heads: their number is not a multiple
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(project(as_is, as_is, as_is, heads<32, 7>) | scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(project(as_is, as_is, as_is, heads<32, 8>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: heads_that_are_no_constant
// sentence: fovea: the number of heads is part of the type of a projection: write heads<8>
constexpr int heads_of_the_model = 8;

void call(view<float, 2> x, view<float, 2> result, view<float, 2> w) {
#ifdef FOVEA_BROKEN
    attend(project(w, w, w, heads_of_the_model) | scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(project(w, w, w, heads<heads_of_the_model>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: matrix_without_a_view
// sentence: fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a
// row-major matrix or what container_traits knows
void call([[maybe_unused]] view<float const, 2> matrix) {
#ifdef FOVEA_BROKEN
    static_cast<void>(linear(17));
#else
    static_cast<void>(linear(matrix));
#endif
}

// case: mdspan_that_computes
// sentence: fovea: the accessor of this mdspan computes its elements, so there are none to view: copy them
template <class Reference>
struct accessor {
    using reference = Reference;
};

/// As std::mdspan with an accessor.
template <class Reference>
struct span_of_rows {
    using element_type = float;
    using accessor_type = accessor<Reference>;
    static constexpr std::size_t rank() { return 2; }
    float* data_handle() const { return nullptr; }
    int extent(std::size_t) const { return 0; }
    int stride(std::size_t) const { return 1; }
};

#ifdef FOVEA_BROKEN
auto score_of(span_of_rows<float> const& table) { return bias(table); }
#else
auto score_of(span_of_rows<float&> const& table) { return bias(table); }
#endif

// case: no_heads
// sentence: fovea: an attention has at least one head
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(project(as_is, as_is, as_is, heads<0>) | scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(project(as_is, as_is, as_is, heads<1>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: operand_by_a_pointer
// sentence: fovea: a pointer does not say how many elements there are: write view(pointer, extents)
void call(float const* x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, view(x, {4, 8}), result);
#endif
}

// case: operand_not_computed
// sentence: fovea: this expression of matrices or arrays is not computed yet, so there are no elements to view: store
// its value by rows first
/// As an expression of Eigen: rows and columns, and no elements before it is computed.
struct matrix_t {
    using PlainObject = matrix_t;
    static constexpr bool IsRowMajor = true;
    float elements[32];
    float const* data() const { return elements; }
    index_t rows() const { return 4; }
    index_t cols() const { return 8; }
    index_t outerStride() const { return 8; }
    index_t innerStride() const { return 1; }
};
struct twice_t {
    using Scalar = float;
    matrix_t const& of;
    index_t rows() const { return 4; }
    index_t cols() const { return 8; }
    matrix_t eval() const { return of; }
};

void call(matrix_t const& x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, twice_t{x}, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, twice_t{x}.eval(), result);
#endif
}

// case: operand_of_another_kind
// sentence: fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a
// row-major matrix or what container_traits knows
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    struct rows {
        float numbers[32];
    } const y{};
    reference::attend(scaled_dot | softmax | weighted_sum, y, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: operand_of_raw_bits
// sentence: fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer:
// reinterpret_cast<bfloat16 const*>(data), or float16
void call(std::uint16_t const* bits, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, view(bits, {4, 8}), result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, view(reinterpret_cast<bfloat16 const*>(bits), {4, 8}),
                      result);
#endif
}

// case: positions_with_three_axes
// sentence: fovea: this table has more axes than the word reads
constexpr int places[8] = {};

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const turned = rotary.positions(view<int const, 3>(places, {1, 2, 4}));
#else
[[maybe_unused]] auto const turned = rotary.positions(view<int const, 2>(places, {2, 4}));
#endif

// case: positions_without_a_view
// sentence: fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a
// row-major matrix or what container_traits knows
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const turned = rotary.positions(17);
#else
[[maybe_unused]] auto const turned = rotary.from(17);
#endif

// case: table_of_bits
// sentence: fovea: std::vector<bool> has bits and no elements that a view could show: use std::vector<std::uint8_t>
// or tensor<bool, 1>
auto mask_of(std::vector<bool> const& bits, std::vector<std::uint8_t> const& bytes) {
#ifdef FOVEA_BROKEN
    static_cast<void>(bytes);
    return mask_tensor(bits);
#else
    static_cast<void>(bits);
    return mask_tensor(bytes);
#endif
}

// case: table_of_containers
// sentence: fovea: a container of containers is not contiguous: copy it into one container and write view(elements,
// {rows, columns})
#ifdef FOVEA_BROKEN
auto score_of(std::vector<std::vector<float>> const& table) { return bias(table); }
#else
auto score_of(std::vector<float> const& table) { return bias(view(table, {4, table.size() / 4})); }
#endif

// case: table_that_is_a_number
// sentence: fovea: this word reads a table by its indices: pass a view, a tensor or a container
constexpr std::array<float, 8> slopes{};

#ifdef FOVEA_BROKEN
auto made = alibi(0.5f);
#else
auto made = alibi(slopes);
#endif

// case: table_with_other_axes
// sentence: fovea: this table has another number of axes than the word reads
tensor<float, 2> const table({8, 9});
tensor<float, 1> const one_head({9});

#ifdef FOVEA_BROKEN
auto made = relative_bias(one_head);
#else
auto made = relative_bias(table);
#endif

// case: view_of_a_const_container
// sentence: fovea: these elements are const and cannot be written: view<T const, Rank> reads them
auto rows_of(std::vector<float> const& elements) {
#ifdef FOVEA_BROKEN
    return view<float, 2>(elements, {4, 8});
#else
    return view(elements, {4, 8});
#endif
}

// case: view_of_another_rank
// sentence: fovea: the rank and the number of extents differ: give one extent for each axis
void call(float const* numbers, view<float, 3> result) {
#ifdef FOVEA_BROKEN
    view<float const, 3> const x(numbers, {6, 8});
#else
    view<float const, 3> const x(numbers, {1, 6, 8});
#endif
    attend(scaled_dot | softmax | weighted_sum, x, result);
}

// case: view_of_columns
// sentence: fovea: a view needs row-major storage: store it by rows, or pass m.transpose() where the transpose of a
// matrix is meant
/// As a matrix of Eigen.
template <bool RowMajor>
struct matrix {
    static constexpr bool IsRowMajor = RowMajor;
    float* data() const { return nullptr; }
    index_t rows() const { return 0; }
    index_t cols() const { return 0; }
    index_t innerStride() const { return 1; }
    index_t outerStride() const { return 0; }
};

#ifdef FOVEA_BROKEN
inline auto rows_of(matrix<false> const& m) { return as_view(m); }
#else
inline auto rows_of(matrix<true> const& m) { return as_view(m); }
#endif

// case: view_of_const_elements
// sentence: fovea: these elements are const and cannot be written: view<T const, Rank> reads them
auto rows_of(std::vector<float> const& elements) {
#ifdef FOVEA_BROKEN
    return view<float, 2>(elements.data(), {4, 8});
#else
    return view<float const, 2>(elements.data(), {4, 8});
#endif
}

// case: view_without_axes
// sentence: fovea: a view has at least one axis
#ifdef FOVEA_BROKEN
inline index_t number_of_elements(view<float, 0> const& v) { return v.size(); }
#else
inline index_t number_of_elements(view<float, 1> const& v) { return v.size(); }
#endif

// case: view_without_extents
// sentence: fovea: a container of numbers does not say how many features a row has: write view(elements, {rows,
// features})
void call(std::vector<float> const& x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, view<float const, 2>(x), result);
#else
    attend(scaled_dot | softmax | weighted_sum, view(x, {4, 8}), result);
#endif
}
