// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// One conformance case: what `case.json` says, and the tensors beside it (see cases/SOURCES.md for the format).
namespace conformance {

/// A case that cannot be read; the message names the file and what is wrong with it.
struct malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class dtype { f32, f64, f16, bf16, i64, boolean };
enum class role { input, param, aux, output, grad_output, gradient };

using shape = std::vector<std::ptrdiff_t>;

/// "(2, 3)"; "()" for a scalar.
std::string to_string(shape const&);
std::string_view to_string(dtype);

/// The value of an IEEE binary16, of a bfloat16; every one of them is a float.
float from_f16(std::uint16_t bits);
float from_bf16(std::uint16_t bits);

/// A tensor of a case: C order, little-endian bytes as stored, converted when asked for.
struct tensor {
    std::string name;
    conformance::role role{};
    conformance::dtype dtype{};
    conformance::shape shape;
    std::string axes;               // may be empty
    std::optional<double> max_abs;  // outputs and gradients: the largest finite absolute value
    std::optional<double> err_ref;  // outputs and gradients: difference to the source's other precision
    std::filesystem::path file;
    std::vector<std::byte> bytes;

    std::size_t size() const;

    /// The elements as float, double (floating types that lose nothing), std::int64_t (i64) or std::uint8_t (bool).
    template <class T>
    std::vector<T> as() const;

    /// The stored 16 bits of f16 and bf16.
    std::vector<std::uint16_t> bits() const;
};

class test_case {
public:
    /// Reads `directory/case.json` and every tensor it lists; throws `malformed`.
    static test_case load(std::filesystem::path const& directory);

    std::string const& name() const { return name_; }
    std::string const& family() const { return family_; }
    std::string const& operation() const { return operation_; }
    std::string const& description() const { return description_; }
    std::vector<tensor> const& tensors() const { return tensors_; }

    bool has_feature(std::string_view feature) const;

    bool has(std::string_view tensor_name) const;
    tensor const& operator[](std::string_view tensor_name) const;

    /// The inputs and parameters that nobody has asked for: a result that does not depend on one of them cannot be
    /// right.
    std::vector<std::string> unread() const;
    /// An attribute says that this one, where it is there, has no part in the result.
    void leave_out(std::string_view tensor_name) const { read_.emplace(tensor_name); }

    /// The value at a JSON pointer such as "/mask_mod/params/window".
    /// T: bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>.
    template <class T>
    T at(std::string const& pointer) const;
    bool contains(std::string const& pointer) const;

    template <class T>
    T attribute(std::string const& key) const {
        return at<T>("/attributes/" + key);
    }

    template <class T>
    T attribute(std::string const& key, T otherwise) const {
        return contains("/attributes/" + key) ? attribute<T>(key) : otherwise;
    }

private:
    struct document;  // keeps the JSON library out of the families' translation units

    std::string name_, family_, operation_, description_;
    std::vector<std::string> features_;
    std::vector<tensor> tensors_;
    std::shared_ptr<document const> document_;
    mutable std::set<std::string, std::less<>> read_;
};

}  // namespace conformance
