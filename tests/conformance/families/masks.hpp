// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The masks of the flex families by their names, as conditions over the indices and over tables of positions.
#pragma once

#include "common_masks.hpp"

namespace conformance {

namespace detail {
using namespace fovea::placeholders;

auto clamp(auto const& x, fovea::index_t low, fovea::index_t high) { return fovea::min(fovea::max(x, low), high); }

/// A key is in the window of `kernel` places around a query's place, which keeps away from the border.
auto near(auto const& of_query, auto const& of_key, fovea::index_t kernel, fovea::index_t canvas) {
    auto const half = kernel / 2;
    return fovea::abs(clamp(of_query, half, canvas - 1 - half) - of_key) <= half;
}

template <class Use>
void with_document_mask(std::string_view name, mask_parameters const& parameters, Use const& use) {
    packed_documents const documents(parameters, "lengths");
    auto const document = fovea::param(documents.number), start = fovea::param(documents.start);
    if (name == "document_full") {
        use(fovea::document(documents.number));
    } else if (name == "packed_causal_document") {
        use(fovea::where(kv_idx >= start[q_idx] && kv_idx <= q_idx));
    } else {  // shared_prefix
        auto const of_document = parameters.list("prefix_document");
        auto const prefix = fovea::param(of_document);
        use(fovea::where(
            (kv_idx >= start[q_idx] && kv_idx <= q_idx)
            || (prefix[document[q_idx]] != document[q_idx] && document[kv_idx] == prefix[document[q_idx]])));
    }
}

template <class Use>
void with_canvas_mask(std::string_view name, mask_parameters const& parameters, Use const& use) {
    auto const width = parameters.number("canvas_w"), height = parameters.number("canvas_h");
    auto const kernel_w = parameters.number("kernel_w"), kernel_h = parameters.number("kernel_h");
    auto const use_with = [&](auto const& x, auto const& y) {
        use(fovea::where(near(x(q_idx), x(kv_idx), kernel_w, width) && near(y(q_idx), y(kv_idx), kernel_h, height)));
    };
    if (name == "natten") {
        use_with([&](auto i) { return i / width; }, [&](auto i) { return i % width; });
    } else if (name == "tiled_natten") {
        auto const tile_w = parameters.number("tile_w"), tile_h = parameters.number("tile_h");
        auto const size = tile_w * tile_h, across = width / tile_w;
        use_with([=](auto i) { return i / size % across * tile_w + i % size % tile_w; },
                 [=](auto i) { return i / size / across * tile_h + i % size / tile_w; });
    } else {  // morton_natten: x in the even bits of the position, y in the odd ones
        auto const even_bits = [](fovea::index_t code) {
            fovea::index_t bits = 0;
            for (int i = 0; i < 31; ++i) bits |= (code >> 2 * i & 1) << i;
            return bits;
        };
        auto const xs = parameters.per_position(even_bits);
        auto const ys = parameters.per_position([&](fovea::index_t code) { return even_bits(code >> 1); });
        auto const x = fovea::param(xs), y = fovea::param(ys);
        use_with([&](auto i) { return x[i]; }, [&](auto i) { return y[i]; });
    }
}

/// Sliding tiles over a canvas; text behind the canvas sees and is seen by all. `axes` are the names of two or three.
template <std::size_t Axes, class Use>
void with_tile_mask(std::string const& axes, mask_parameters const& parameters, Use const& use) {
    auto const canvas_list = parameters.list("canvas_" + axes), kernel_list = parameters.list("kernel_" + axes);
    auto const tile_list = parameters.list("tile_" + axes);
    fovea::index_t window[Axes], tile[Axes], canvas[Axes], all = 1;
    for (std::size_t axis = 0; axis < Axes; ++axis) {
        canvas[axis] = canvas_list.at(axis), tile[axis] = tile_list.at(axis);
        window[axis] = kernel_list.at(axis) / tile[axis];
        all *= canvas[axis];
    }
    auto const end = all + parameters.number("text_len");
    auto const within = fovea::where(q_idx < all && kv_idx < all) && fovea::sliding_tiles(window, tile, canvas);
    use(within || fovea::where((q_idx >= all || kv_idx >= all) && kv_idx < end));
}

template <class Use>
void with_video_mask(std::string_view name, mask_parameters const& parameters, Use const& use) {
    auto const prompt = parameters.number("prompt"), tokens = parameters.number("tokens_per_frame");
    auto const width = parameters.number("width");
    if (name == "svg_spatial") {
        auto const step = parameters.number("round_width");
        auto const reach = width * tokens / step * step;
        auto const seen_by_all = prompt + (parameters.flag("attn_sink") ? tokens : 0);
        use(fovea::where(q_idx < prompt || kv_idx < seen_by_all || fovea::abs(q_idx - kv_idx) < reach));
    } else {  // svg_temporal
        auto const reach = width * tokens / parameters.number("num_frames");
        auto const place = [&](auto i) { return (i - prompt) % tokens; };
        use(fovea::where(q_idx < prompt || kv_idx < prompt || fovea::abs(place(q_idx) - place(kv_idx)) < reach));
    }
}

/// Queries that continue a prefix, as drafts or as the nodes of a tree.
template <class Use>
void with_draft_mask(std::string_view name, mask_parameters const& parameters, Use const& use) {
    auto const prefix = parameters.number("prefix");
    auto const node = kv_idx - prefix;
    if (name == "multi_block_draft") {
        auto const size = parameters.number("block_size");
        use(fovea::where(kv_idx < prefix || (q_idx / size == node / size && node % size <= q_idx % size)));
    } else {  // tree_causal
        auto const ancestors = fovea::tree_ancestors(parameters.list("parents"));
        use(fovea::tree(prefix, ancestors));
    }
}

template <class Use>
void with_block_mask(std::string_view name, mask_parameters const& parameters, Use const& use) {
    if (name == "batchified_causal") {
        auto const size = parameters.number("size");
        use(fovea::where(q_idx / size == kv_idx / size && q_idx % size >= kv_idx % size));
    } else if (name == "block_diffusion") {
        auto const length = parameters.number("seq_len"), size = parameters.number("block_size");
        auto const block = [&](auto i) { return i % length / size; };
        auto const noisy = [&](auto i) { return i < length; };
        auto const of_query = block(q_idx);
        auto const of_key = block(kv_idx);
        use(fovea::where((of_query == of_key && (noisy(q_idx) && noisy(kv_idx)))
                         || (of_query == of_key && (!noisy(q_idx) && !noisy(kv_idx)))
                         || (of_query > of_key && (noisy(q_idx) && !noisy(kv_idx)))
                         || (of_query >= of_key && (!noisy(q_idx) && !noisy(kv_idx)))));
    } else if (name == "transfusion") {
        auto const blocks = parameters.intervals("blocks");
        auto const numbers = parameters.per_position([&](fovea::index_t i) {
            auto const found =
                std::find_if(blocks.begin(), blocks.end(), [&](auto const& b) { return b[0] <= i && i < b[1]; });
            return found == blocks.end() ? fovea::index_t{-1} : found - blocks.begin();
        });
        auto const block = fovea::param(numbers);
        use(fovea::where(kv_idx <= q_idx || (block[q_idx] >= 0 && block[q_idx] == block[kv_idx])));
    } else {  // vision_cross_attention
        index_table begins, ends;
        for (auto const& each : parameters.intervals("intervals")) begins.push_back(each[0]), ends.push_back(each[1]);
        auto const image = kv_idx / parameters.number("image_token_length");
        use(fovea::where(fovea::param(begins)[image] <= q_idx && q_idx < fovea::param(ends)[image]));
    }
}

template <class Use>
void with_global_mask(mask_parameters const& parameters, Use const& use) {
    auto const tokens = parameters.list("global_tokens");
    auto const marks = parameters.per_position(
        [&](fovea::index_t i) { return std::find(tokens.begin(), tokens.end(), i) != tokens.end() ? 1 : 0; });
    auto const global = fovea::param(marks);
    use(fovea::where(fovea::abs(q_idx - kv_idx) <= parameters.number("window") || global[q_idx] == 1
                     || global[kv_idx] == 1));
}

template <class Use>
void with_band_mask(std::string_view name, mask_parameters const& parameters, Use const& use) {
    if (name == "causal_offset") {
        use(fovea::causal_from(parameters.number("offset")));
    } else if (name == "window_per_head") {
        auto const windows = parameters.list("windows");
        use(fovea::causal && fovea::where(q_idx - kv_idx <= fovea::param(windows)[head]));
    } else if (name == "dilated_sliding_window") {
        use(fovea::dilated_window(parameters.number("window"), parameters.number("dilation")));
    } else {
        with_global_mask(parameters, use);
    }
}

inline bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// The mask of a name that is not made of two.
template <class Use>
void with_named_mask(std::string_view name, mask_parameters const& parameters, Use const& use) {
    using enum composed;
    if (with_common_mask<composed::causal, sliding_window, prefix_lm, document_causal>(name, parameters, use)) return;
    if (is_one_of(name, {"causal_offset", "window_per_head", "dilated_sliding_window", "global_sliding_window"}))
        with_band_mask(name, parameters, use);
    else if (is_one_of(name, {"document_full", "packed_causal_document", "shared_prefix"}))
        with_document_mask(name, parameters, use);
    else if (is_one_of(name, {"natten", "tiled_natten", "morton_natten"})) with_canvas_mask(name, parameters, use);
    else if (name == "sliding_tile_2d") with_tile_mask<2>("hw", parameters, use);
    else if (name == "sliding_tile_3d") with_tile_mask<3>("thw", parameters, use);
    else if (is_one_of(name, {"svg_spatial", "svg_temporal"})) with_video_mask(name, parameters, use);
    else if (is_one_of(name, {"multi_block_draft", "tree_causal"})) with_draft_mask(name, parameters, use);
    else if (is_one_of(name, {"batchified_causal", "block_diffusion", "transfusion", "vision_cross_attention"}))
        with_block_mask(name, parameters, use);
    else throw malformed("there is no mask named " + std::string(name));
}
}  // namespace detail

/// The mask that case.json names, if any: use(mask).
template <class Use>
void with_mask(test_case const& subject, fovea::extents_t<4> const& pairs, Use const& use) {
    using namespace fovea::placeholders;
    if (!subject.contains("/mask_mod/name")) return use(no_mask{});
    std::string_view const lengths = "_with_kv_lengths", causal = "_and_causal";
    auto const whole = subject.at<std::string>("/mask_mod/name");
    std::string_view name = whole;
    mask_parameters const parameters(subject, "/mask_mod", pairs);
    if (name.ends_with(lengths)) {
        name.remove_suffix(lengths.size());
        auto const of_batch = parameters.list("kv_lengths");
        auto const shorter = fovea::key_lengths(of_batch);
        if (name == "all") return use(shorter);
        if (name == "causal") return use(fovea::causal && shorter);
        if (name == "sliding_window") {
            return use(fovea::sliding_window(parameters.number("window"), 0) && shorter);
        }
        detail::with_named_mask(name, parameters, [&](auto const& mask) {
            verdicts const answers(mask, pairs);
            use(answers.mask() && shorter);
        });
    } else if (name.ends_with(causal)) {
        name.remove_suffix(causal.size());
        if (name == "global_sliding_window")
            return detail::with_global_mask(parameters, [&](auto const& mask) { use(mask && fovea::causal); });
        detail::with_named_mask(name, parameters, [&](auto const& mask) {
            verdicts const answers(mask, pairs);
            use(answers.mask() && fovea::causal);
        });
    } else {
        detail::with_named_mask(name, parameters, use);
    }
}

}  // namespace conformance
