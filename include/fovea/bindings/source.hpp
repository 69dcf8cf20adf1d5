// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel as its header has it: the comment above its definition, and its specification as it was written.
#pragma once

#include <fovea/bindings/takes.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::FOVEA_SET::bindings {

namespace detail {
inline bool is_of_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The words of an expression that may name something, without those in quotation marks.
inline std::vector<std::string> names_in(std::string_view expression) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < expression.size(); ++i) {
        if (expression[i] == '"') {
            for (++i; i < expression.size() && expression[i] != '"'; ++i) i += expression[i] == '\\' ? 1 : 0;
        } else if (is_of_a_word(expression[i])) {
            auto const first = i;
            while (i + 1 < expression.size() && is_of_a_word(expression[i + 1])) ++i;
            names.emplace_back(expression.substr(first, i + 1 - first));
        }
    }
    return names;
}

/// Whether a line of C++ defines a name: a type before it, and then = or { or (.
inline bool defines(std::string_view line, std::string_view name) {
    for (auto at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
        auto const before = line.substr(0, at);
        auto const words = names_in(before);
        if (words.empty() || words[0] == "return" || words[0] == "using" || words[0] == "namespace") continue;
        auto const after = trimmed(line.substr(at + name.size()));
        bool const whole = !is_of_a_word(before.back()) && (after.empty() || !is_of_a_word(line[at + name.size()]));
        bool const declared = before.find_first_of("=|(;#/.") == std::string_view::npos && !before.ends_with("::")
                           && !before.starts_with('*');
        if (whole && declared && !after.empty() && (after[0] == '=' || after[0] == '{' || after[0] == '(')) return true;
    }
    return false;
}

/// A line of a comment without what marks it as one. Notes to tools say nothing of the kernel.
inline void append_comment_line(std::vector<std::string>& to, std::string_view line) {
    for (std::string_view const mark : {"///<", "///", "//!", "//", "/**", "/*!", "/*", "*/", "*"})
        if (line.starts_with(mark)) {
            line.remove_prefix(mark.size());
            break;
        }
    if (line.ends_with("*/")) line.remove_suffix(2);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.remove_suffix(1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line.starts_with("NOLINT") || line.starts_with("clang-format ")) return;
    to.emplace_back(line);
}

/// The lines of the comment that ends where line `end` begins.
inline std::vector<std::string> comment_before(std::vector<std::string_view> const& lines, std::size_t end) {
    while (end > 0 && (lines[end - 1].starts_with("template") || lines[end - 1].starts_with("[["))) --end;
    auto first = end;
    if (end > 0 && lines[end - 1].ends_with("*/")) {
        while (first > 0 && lines[first - 1].find("/*") == std::string_view::npos) --first;
        if (first == 0) return {};
        --first;
        if (!lines[first].starts_with("/*")) return {};
    } else {
        while (first > 0 && lines[first - 1].starts_with("//")) --first;
    }
    std::vector<std::string> comment;
    for (auto i = first; i < end; ++i) append_comment_line(comment, lines[i]);
    while (!comment.empty() && comment.back().empty()) comment.pop_back();
    while (!comment.empty() && comment.front().empty()) comment.erase(comment.begin());
    return comment;
}
}  // namespace detail

namespace detail {
inline std::vector<std::string_view> lines_of(std::string const& text) {
    std::vector<std::string_view> lines;
    for (std::size_t first = 0; first < text.size();) {
        auto const end = std::min(text.find('\n', first), text.size());
        lines.push_back(trimmed(std::string_view(text).substr(first, end - first)));
        first = end + 1;
    }
    return lines;
}

inline std::string text_of_file(std::string const& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}
}  // namespace detail

/// The comment directly above the definition of a name in the text of a header, by lines; none where there is none.
inline std::vector<std::string> comment_above(std::string const& header, std::string_view name) {
    auto const lines = detail::lines_of(header);
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (detail::defines(lines[i], name)) return detail::comment_before(lines, i);
    return {};
}

/// The comment above the first definition that an expression names in some headers and that has one.
inline std::vector<std::string> comment_of(std::string_view expression, std::vector<std::string> const& headers) {
    for (auto const& name : detail::names_in(expression))
        for (auto const& path : headers) {
            if (auto comment = comment_above(detail::text_of_file(path), name); !comment.empty()) return comment;
        }
    return {};
}

/// The specification in the definition of a name: what its function returns, if that is all it does, or what it is
/// initialized with; nothing where the text of a header does not show it.
inline std::string specification_in(std::string const& header, std::string_view name) {
    std::string text;
    for (auto const& line : detail::lines_of(header)) {
        if (text.empty() && !detail::defines(line, name)) continue;
        text += (text.empty() ? "" : " ") + std::string(line);
        if (line.find(';') != std::string_view::npos) break;
    }
    auto const end = text.find(';'), returns = text.find("return "), set = text.find('=');
    if (end == std::string::npos || text.find("//") < end || text.find("/*") < end) return {};
    if (returns < end) {
        bool const first = detail::trimmed(std::string_view(text).substr(0, returns)).ends_with('{');
        return first ? text.substr(returns + 7, end - returns - 7) : "";
    }
    auto const words =
        set < end ? std::string(detail::trimmed(std::string_view(text).substr(set + 1, end - set - 1))) : std::string();
    return words.find(" | ") != std::string::npos && words.find('{') == std::string::npos ? words : "";
}

/// The specification that an expression names in some headers, over pages or of sequences too; nothing where it does
/// more than name one.
inline std::string specification_of(std::string_view expression, std::vector<std::string> const& headers) {
    for (std::string_view const added : {".over_pages()", ".of_sequences()"})
        if (expression.ends_with(added)) expression.remove_suffix(added.size());
    bool const named =
        std::all_of(expression.begin(), expression.end(), [](char c) { return detail::is_of_a_word(c) || c == ':'; });
    auto const names = detail::names_in(expression);
    for (auto const& path : headers)
        if (named && !names.empty())
            if (auto words = specification_in(detail::text_of_file(path), names.back()); !words.empty()) return words;
    return {};
}

}  // namespace fovea::FOVEA_SET::bindings
