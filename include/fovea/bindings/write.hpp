// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The header, the dispatcher and the page of a library of kernels, from the descriptions of its kernels.
#pragma once

#include <fovea/bindings/describe.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace fovea::FOVEA_SET::bindings {

/// A library of kernels: its name, the text of bindings/types.h, what it was built for.
struct library_description {
    std::string name, types;
    std::vector<std::string> architectures;  // of which each kernel has those that builds_for says
    std::vector<kernel_description> kernels;
};

inline std::string joined(std::vector<std::string> const& parts, std::string const& between) {
    std::string all;
    for (std::size_t i = 0; i < parts.size(); ++i) all += (i == 0 ? "" : between) + parts[i];
    return all;
}

/// Text as a literal of C.
inline std::string quoted(std::string const& text) {
    std::string literal = "\"";
    for (char const c : text) {
        if (c == '"' || c == '\\') literal += '\\';
        if (c == '\n') literal += "\\n";
        else literal += c;
    }
    return literal + "\"";
}

/// Text that may stand in a comment of C.
inline std::string commented(std::string text) {
    for (std::string const mark : {"*/", "/*"})
        for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.insert(at + 1, " ");
    return text;
}

/// An argument as the functions of C name it: whatever its name, no word of C or C++, no type and hardly a macro.
inline std::string parameter_of(argument_description const& a) { return "arg_" + a.name; }

/// Where its gradient goes.
inline std::string gradient_of(argument_description const& a) { return "d_" + a.name; }

/// The function that makes a fovea_value of it.
inline std::string value_function_of(argument_description const& a) {
    if (a.is_pointer()) return "pointer";
    return a.type == "double" ? "real" : "integer";
}

/// "demo_causal_f32"
inline std::string function_of(library_description const& all, kernel_description const& k) {
    return all.name + "_" + k.name + "_" + k.type;
}

/// A function of C, which calls a kernel, with outputs beside its result or without, or computes its gradients.
struct entry_point {
    struct array {
        std::string kind, type, name;
    };
    std::string name;
    std::vector<array> arrays;
    bool is_gradient = false;
};

inline std::vector<entry_point> entry_points_of(library_description const& all, kernel_description const& k) {
    auto const name = function_of(all, k);
    auto const& [query, key, value, result] = k.types;
    std::vector<entry_point::array> const read{
        {"input", query, "query"}, {"input", key, "key"}, {"input", value, "value"}};
    auto const beside = [&](std::vector<entry_point::array> arrays) {
        arrays.insert(arrays.begin(), read.begin(), read.end());
        return arrays;
    };
    std::vector<entry_point> functions{{name, beside({{"output", result, "result"}})}};
    if (!k.outputs.empty()) {
        functions.push_back({name + "_outputs", functions.front().arrays});
        for (auto const& each : k.outputs) functions.back().arrays.push_back({"output", each.type, each.name});
    }
    if (k.has_gradients) {
        functions.push_back({name + "_gradient",
                             beside({{"input", result, "d_result"},
                                     {"output", query, "d_query"},
                                     {"output", key, "d_key"},
                                     {"output", value, "d_value"}}),
                             true});
        for (auto const& each : k.outputs)
            if (each.has_gradient) functions.back().arrays.push_back({"input", each.type, "gradient_of_" + each.name});
        if (k.takes_forward)
            for (char const* const of_forward : {"result", "lse"})
                functions.back().arrays.push_back({"input", result, of_forward});
    }
    return functions;
}

inline std::string declaration_of(kernel_description const& k, entry_point const& f) {
    std::string text = "fovea_status " + f.name + "(fovea_call const* call";
    for (auto const& each : f.arrays) text += ", fovea_" + each.kind + "_" + each.type + " " + each.name;
    for (auto const& a : k.arguments) {
        text += ", " + a.type + (a.is_pointer() ? " const* " : " ") + parameter_of(a);
        if (a.is_table()) text += " /* " + a.shape + " */";
    }
    for (auto const& a : k.arguments)
        if (f.is_gradient && a.has_gradient) text += ", " + a.type + "* " + gradient_of(a) + " /* " + a.shape + " */";
    return text + ")";
}

/// A function of the caches that each library has: its parameters but `call`, and what the header says of it.
struct cache_function {
    char const *name, *parameters, *comment;
};
inline constexpr cache_function cache_functions[] = {
    {"bytes", "fovea_cache_sizes const* sizes, int64_t* key_bytes, int64_t* value_bytes",
     "The bytes that the pages of a layer take, for memory of the caller's."},
    {"create", "fovea_cache_sizes const* sizes, fovea_cache_memory const* memory, fovea_cache** cache",
     "A cache in memory of the caller's, one for each layer; in its own where that is null."},
    {"add", "fovea_cache* cache, int64_t* sequence", "A new sequence without positions."},
    {"fork", "fovea_cache* cache, int64_t sequence, int64_t* forked",
     "A new sequence with the positions of another, in the same pages."},
    {"append",
     "fovea_cache* cache, int64_t layer, int64_t sequence, fovea_input_f32 keys, fovea_input_f32 values, "
     "fovea_rotary const* rotary",
     "New positions at the end of a sequence: (1, heads, positions, features), the keys rotated unless rotary is null, "
     "then rounded to the types of the cache."},
    {"evict", "fovea_cache* cache, int64_t sequence, int64_t first, int64_t last",
     "Takes positions first to last - 1 out; the others keep their numbers."},
    {"truncate", "fovea_cache* cache, int64_t sequence, int64_t positions", "Keeps the first positions."},
    {"remove", "fovea_cache* cache, int64_t sequence", "Gives the pages and the number of a sequence back."},
    {"length", "fovea_cache* cache, int64_t layer, int64_t sequence, int64_t* length", ""},
    {"free_pages", "fovea_cache* cache, int64_t layer, int64_t* pages", ""},
    {"batch", "fovea_cache* cache, int64_t layer, int64_t const* sequences, int64_t count, fovea_cache_batch* batch",
     ""}};

/// The names of parameters, as a call has them.
inline std::string arguments_of(cache_function const& f) {
    std::vector<std::string> names;
    detail::for_each_piece(f.parameters, [&](std::string_view parameter) {
        names.emplace_back(parameter.substr(parameter.rfind(' ') + 1));
    });
    return joined(names, ", ");
}

inline std::string declaration_of(library_description const& all, cache_function const& f) {
    return "fovea_status " + all.name + "_cache_" + f.name + "(fovea_call const* call, " + f.parameters + ")";
}

inline void write_cache_declarations(std::ostream& to, library_description const& all) {
    to << "/* Caches: each function is for all layers, or for the one that it names. */\n";
    for (auto const& f : cache_functions) {
        if (*f.comment != '\0') to << "/* " << f.comment << " */\n";
        to << declaration_of(all, f) << ";\n";
    }
    to << "void " << all.name << "_cache_destroy(fovea_cache* cache);\n\n";
}
inline void write_cache_functions(std::ostream& to, library_description const& all) {
    for (auto const& f : cache_functions)
        to << declaration_of(all, f) << " {\n    return cache_" << f.name << "(call, " << arguments_of(f) << ");\n}\n";
    to << "void " << all.name << "_cache_destroy(fovea_cache* cache) { cache_destroy(cache); }\n";
}

inline void write_header(std::ostream& to, library_description const& all) {
    to << "/* Kernels of attention, compiled by fovea: what each computes stands before its functions. */\n#ifndef "
       << all.name << "_KERNELS_H\n#define " << all.name << "_KERNELS_H\n\n#include <stdbool.h>\n\n"
       << all.types << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
       << "fovea_workspace* " << all.name << "_workspace_create(void); /* null where there is no memory */\n"
       << "void " << all.name << "_workspace_destroy(fovea_workspace* scratch);\n\n"
       << "/* FOVEA_BINDINGS_TYPES of the library: the types above are those of this number. */\nint " << all.name
       << "_bindings_version(void);\n\n/* All kernels of this library. */\n"
       << "fovea_kernel const* " << all.name << "_kernels(size_t* count);\n\n"
       << "/* Rounds numbers to elements of a type, one after another: \"bf16\", \"f16\", \"fp8_e4m3\", \"fp8_e5m2\", "
          "\"q8_0\", \"q4_0\", \"q4_1\". */\nfovea_status "
       << all.name
       << "_quantize(fovea_call const* call, char const* type, float const* from, int64_t count, void* to);\n\n";
    write_cache_declarations(to, all);
    to << "/* Arguments have the names that the kernels give them, behind arg_: no word or macro can hide them. */\n\n"
          "/* The functions that end in _gradient compute gradients of what a kernel reads, from that of its result, "
          "d_result:\n   d_query has the extents of query, and so on. What has a null pointer is not computed. Some "
          "take the "
          "result and the\n   log-sum-exp of the forward call, both or null, which are then not computed again. */\n\n"
          "/* The functions that end in _outputs give more than the result: each array has the extents that stand "
          "before "
          "the\n   function, and one feature where these are three. What has a null pointer is not computed. */\n";
    std::string before;
    for (auto const& k : all.kernels) {
        if (k.name != before) {
            to << "\n/* " << k.name << ": " << commented(k.specification) << "\n";
            for (auto const& line : k.comment) to << (line.empty() ? "" : "   ") << commented(line) << "\n";
            for (auto const& line : k.formula) to << "     " << commented(line) << "\n";
            if (k.paged) to << "   Keys and values lie in pages: (page, head, slot, feature).\n";
            if (k.ragged) to << "   Sequences lie one after another, as offsets say.\n";
            for (auto const& each : k.outputs) to << "   Beside the result: " << each.name << " " << each.shape << "\n";
            to << "*/\n";
        }
        before = k.name;
        for (auto const& f : entry_points_of(all, k)) to << declaration_of(k, f) << ";\n";
    }
    to << "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

/// Whether an architecture has code of its own for the element types of a kernel.
inline bool builds_for(kernel_description const& k, std::string const& architecture) {
    bool const multiplies_16_bits = architecture == "avx512_bf16" || architecture == "avx512_amx";
    return !multiplies_16_bits || std::all_of(k.types.begin(), k.types.begin() + 3, [](std::string const& type) {
        return type == "bf16" || type == "f16" || type == "i8";
    });
}

/// The choice among the code of one function for several architectures, and its call.
inline void write_choice(std::ostream& to, library_description const& all, kernel_description const& k,
                         entry_point const& f) {
    std::size_t count = 0;
    std::string units;
    for (auto const& a : all.architectures) {
        if (!builds_for(k, a)) continue;
        units += (count++ == 0 ? "" : ", ") + std::string("unit{\"") + a + "\", " + f.name + "_" + a + "}";
    }
    to << "unit const* best_" << f.name << "() {\n    static constexpr std::array<unit, " << count << "> units{"
       << units << "};\n    static unit const* const best = best_of(units);\n    return best;\n}\n"
       << "fovea_status run_" << f.name
       << "(fovea_call const* call, fovea_array const* operands, fovea_value const* values) {\n    return "
          "run_best(best_"
       << f.name << "(), call, operands, values);\n}\n";
}

/// The function of C: its arguments as the list of kernels takes them.
inline void write_function(std::ostream& to, kernel_description const& k, entry_point const& f) {
    std::vector<std::string> operands, values;
    for (auto const& each : f.arrays) operands.push_back("operand_of(" + each.name + ")");
    for (auto const& a : k.arguments) values.push_back(value_function_of(a) + "(" + parameter_of(a) + ")");
    if (f.is_gradient)
        for (auto const& a : k.arguments)
            values.push_back("pointer(" + (a.has_gradient ? gradient_of(a) : "nullptr") + ")");
    to << declaration_of(k, f) << " {\n    fovea_array const operands[] = {" << joined(operands, ", ") << "};\n";
    if (!values.empty()) to << "    fovea_value const values[] = {" << joined(values, ", ") << "};\n";
    to << "    return run_" << f.name << "(call, operands, " << (values.empty() ? "nullptr" : "values") << ");\n}\n";
}

inline void write_dispatcher(std::ostream& to, library_description const& all) {
    to << "// Chooses the code of an architecture for each call.\n#pragma GCC visibility push(default)\n#include \""
       << all.name
       << ".h\"\n#pragma GCC visibility pop\n\n#include <fovea/bindings/dispatch.hpp>\n#include "
          "<fovea/bindings/cache.hpp>\n\nusing namespace "
          "fovea::bindings;\n\nextern \"C\" {\n";
    for (auto const& k : all.kernels)
        for (auto const& f : entry_points_of(all, k))
            for (auto const& a : all.architectures)
                if (builds_for(k, a))
                    to << "fovea_status " << f.name << "_" << a
                       << "(fovea_call const*, fovea_array const*, fovea_value const*);\n";
    to << "}\n\nnamespace {\n";
    for (auto const& k : all.kernels) {
        for (auto const& f : entry_points_of(all, k)) write_choice(to, all, k, f);
        if (!k.outputs.empty()) {
            to << "constexpr fovea_kernel_output outputs_" << function_of(all, k) << "[] = {";
            for (auto const& each : k.outputs)
                to << "{" << quoted(each.name) << ", " << quoted(each.type) << ", " << quoted(each.shape) << ", "
                   << each.has_gradient << "}, ";
            to << "};\n";
        }
        if (k.arguments.empty()) continue;
        to << "constexpr fovea_argument arguments_" << function_of(all, k) << "[] = {";
        for (auto const& a : k.arguments)
            to << "{" << quoted(a.name) << ", " << quoted(a.type) << ", " << quoted(a.shape) << ", "
               << (a.has_gradient ? 1 : 0) << "}, ";
        to << "};\n";
    }
    to << "}  // namespace\n\nextern \"C\" {\n";
    to << "int " << all.name << "_bindings_version(void) { return FOVEA_BINDINGS_TYPES; }\nfovea_workspace* "
       << all.name << "_workspace_create(void) { return create_workspace(); }\nvoid " << all.name
       << "_workspace_destroy(fovea_workspace* scratch) { destroy_workspace(scratch); }\nfovea_status " << all.name
       << "_quantize(fovea_call const* call, char const* type, float const* from, int64_t count, void* to) {\n    "
          "return "
          "quantize(call, type, from, count, to);\n}\n";
    write_cache_functions(to, all);
    for (auto const& k : all.kernels)
        for (auto const& f : entry_points_of(all, k)) write_function(to, k, f);
    to << "fovea_kernel const* " << all.name
       << "_kernels(size_t* count) {\n    static fovea_kernel const kernels[] = {\n";
    for (auto const& k : all.kernels) {
        auto const f = function_of(all, k);
        to << "        {" << quoted(k.name) << ", " << quoted(k.type) << ", {" << quoted(k.types[0]) << ", "
           << quoted(k.types[1]) << ", " << quoted(k.types[2]) << ", " << quoted(k.types[3]) << "}, "
           << quoted(k.specification) << ", " << quoted(joined(k.comment, "\n")) << ", "
           << quoted(joined(k.formula, "\n")) << ", name_of(best_" << f << "()), "
           << (k.arguments.empty() ? "nullptr" : "arguments_" + f) << ", " << k.arguments.size() << ", "
           << k.keeps_shape << ", run_" << f << ", " << (k.has_gradients ? "run_" + f + "_gradient" : "nullptr") << ", "
           << (k.outputs.empty() ? "nullptr" : "outputs_" + f) << ", " << k.outputs.size() << ", "
           << (k.outputs.empty() ? "nullptr" : "run_" + f + "_outputs") << ", " << k.takes_forward << "},\n";
    }
    to << "    };\n    if (count != nullptr) *count = " << all.kernels.size() << ";\n    return kernels;\n}\n}\n";
}

/// The functions of the header, as a linker for Windows reads what a library exports.
inline void write_exports(std::ostream& to, library_description const& all) {
    to << "EXPORTS\n";
    for (char const* const name : {"workspace_create", "workspace_destroy", "bindings_version", "kernels", "quantize"})
        to << "    " << all.name << "_" << name << "\n";
    for (auto const& f : cache_functions) to << "    " << all.name << "_cache_" << f.name << "\n";
    to << "    " << all.name << "_cache_destroy\n";
    for (auto const& k : all.kernels)
        for (auto const& f : entry_points_of(all, k)) to << "    " << f.name << "\n";
}

/// The types of the arrays of a kernel, where they differ.
inline std::string elements_of(kernel_description const& k) {
    auto const& [query, key, value, result] = k.types;
    if (k.type == query) return "";
    return ": query " + query + ", key " + key + ", value " + value + ", result " + result;
}

/// The page of a library: each kernel with what it computes, its functions, and what can be wrong with a call.
inline void write_page(std::ostream& to, library_description const& all) {
    to << "# " << all.name << "\n\nKernels of attention for " << joined(all.architectures, ", ")
       << "; each call runs the best that the processor has. Declared in `" << all.name << ".h`.\n\n"
       << "Arrays are (batch, head, position, feature), with extents and strides in numbers. A call returns "
          "`FOVEA_OK`, "
          "or a status, with one sentence in `call->message` that says which argument does not fit, what it has and "
          "what was needed; nothing has then been written.\n";
    std::string before;
    for (auto const& k : all.kernels) {
        if (k.name != before) {
            to << "\n## " << k.name << "\n\n";
            for (auto const& line : k.comment) to << line << "\n";
            to << (k.comment.empty() ? "" : "\n") << "    " << k.specification << "\n\n";
            if (!k.formula.empty()) to << "```text\n" << joined(k.formula, "\n") << "\n```\n\n";
            to << "| argument | type | shape |\n|---|---|---|\n";
            std::string const rows = k.paged ? "(page, head, slot, feature)" : "";
            to << "| query | elements | (batch, heads, queries, features) |\n| key | elements | "
               << (rows.empty() ? "(batch, key_heads, keys, features)" : rows) << " |\n| value | elements | "
               << (rows.empty() ? "(batch, key_heads, keys, value_features)" : rows)
               << " |\n| result | elements, written | (batch, heads, queries, value_features) |\n";
            for (auto const& a : k.arguments) to << "| " << a.name << " | " << a.type << " | " << a.shape << " |\n";
            for (auto const& each : k.outputs)
                to << "| " << each.name << " | " << each.type << ", written where it is asked for | " << each.shape
                   << " |\n";
            to << "\n";
        }
        before = k.name;
        for (auto const& f : entry_points_of(all, k)) to << "`" << f.name << "`" << elements_of(k) << "\n";
    }
    to << "\n## Statuses\n\n| status | when |\n|---|---|\n| `FOVEA_OK` | the result has been written |\n"
          "| `FOVEA_SHAPE_ERROR` | an array, table or length does not fit |\n"
          "| `FOVEA_GRAPH_ERROR` | a graph is no valid list of neighbours |\n"
          "| `FOVEA_NO_MEMORY` | there is no memory for what the call keeps or computes in between |\n"
          "| `FOVEA_UNSUPPORTED` | none of the architectures runs on this processor, or `FOVEA_ARCHITECTURE` names "
          "none |\n| `FOVEA_FAILED` | anything else |\n";
}

/// Writes a file, where its text is another than before: what includes it is then built again.
template <class Write>
void write_if_changed(std::string const& path, Write const& write) {
    std::ostringstream text;
    write(text);
    std::ostringstream old;
    if (std::ifstream before(path); before) old << before.rdbuf();
    if (old.str() == text.str()) return;
    std::ofstream file(path);
    file << text.str();
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace fovea::FOVEA_SET::bindings
