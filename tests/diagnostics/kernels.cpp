// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/bindings/unit.hpp>
#include <fovea/fovea.hpp>

#include <vector>

using namespace fovea;

// case: kernel_without_specification
// sentence: fovea: a kernel is a specification, or takes<names>(function that returns one)
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = 42;
#else
    auto const kernel = scaled_dot | softmax | weighted_sum;
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}

// case: pages_of_sequences
// sentence: fovea: a kernel takes paged or ragged operands, not both
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"slopes(heads)">([](view<float const, 1> slopes) {
                            return scaled_dot | alibi(slopes) | softmax | weighted_sum;
                        })
                            .over_pages()
                            .of_sequences();
#else
    auto const kernel = takes<"slopes(heads)">([](view<float const, 1> slopes) {
                            return scaled_dot | alibi(slopes) | softmax | weighted_sum;
                        }).over_pages();
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}

// case: takes_a_container
// sentence: fovea: the function of takes<...> takes views of const elements, numbers and graph_view
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"slopes(heads)">(
        [](std::vector<float> const& slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#else
    auto const kernel = takes<"slopes(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}

// case: takes_a_name_of_calls
// sentence: fovea: takes<...> names an argument or axis as calls name something else: call, query, key, value,
// result, page_table, pages, query_offsets, key_offsets, sequences, kernel, out, threads, library, dtype, wanted,
// outputs, d_outputs or forward
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"out(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#else
    auto const kernel = takes<"slopes(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}

// case: takes_a_name_twice
// sentence: fovea: takes<...> lists names with their axes, each name once, as in slopes(heads)
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"a(heads), a(heads)">([](view<float const, 1> a, view<float const, 1> b) {
        return scaled_dot | alibi(a) | alibi(b) | softmax | weighted_sum;
    });
#else
    auto const kernel = takes<"a(heads), b(heads)">([](view<float const, 1> a, view<float const, 1> b) {
        return scaled_dot | alibi(a) | alibi(b) | softmax | weighted_sum;
    });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}

// case: takes_a_real_extent
// sentence: fovea: a number that takes<...> names as the extent of a table is an integer
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"slopes(n), n">(
        [](view<float const, 1> slopes, float) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#else
    auto const kernel = takes<"slopes(n), n">(
        [](view<float const, 1> slopes, index_t) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}

// case: takes_and_returns_a_part
// sentence: fovea: the function of takes<...> returns a specification
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"slopes(heads)">([](view<float const, 1> slopes) { return alibi(slopes); });
#else
    auto const kernel = takes<"slopes(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}

// case: takes_too_few_names
// sentence: fovea: takes<...> has as many names as its function has arguments
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"a(heads)">([](view<float const, 1> a, view<float const, 1> b) {
        return scaled_dot | alibi(a) | alibi(b) | softmax | weighted_sum;
    });
#else
    auto const kernel = takes<"a(heads), b(heads)">([](view<float const, 1> a, view<float const, 1> b) {
        return scaled_dot | alibi(a) | alibi(b) | softmax | weighted_sum;
    });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}

// case: takes_without_axes
// sentence: fovea: takes<...> names each axis of a view, as in slopes(heads)
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"slopes">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#else
    auto const kernel = takes<"slopes(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}
