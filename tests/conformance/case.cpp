// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "case.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>

namespace conformance {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct dtype_facts {
    std::string_view name;   // in case.json
    std::string_view descr;  // in the header of the file
    dtype type;
    std::size_t size;
};

constexpr std::array dtypes{
    dtype_facts{"f32", "<f4", dtype::f32, 4}, dtype_facts{"f64", "<f8", dtype::f64, 8},
    dtype_facts{"f16", "<f2", dtype::f16, 2}, dtype_facts{"bf16", "<u2", dtype::bf16, 2},
    dtype_facts{"i64", "<i8", dtype::i64, 8}, dtype_facts{"bool", "|b1", dtype::boolean, 1},
};

constexpr std::array roles{
    std::pair<std::string_view, role>{"input", role::input},
    std::pair<std::string_view, role>{"param", role::param},
    std::pair<std::string_view, role>{"aux", role::aux},
    std::pair<std::string_view, role>{"output", role::output},
    std::pair<std::string_view, role>{"grad_output", role::grad_output},
    std::pair<std::string_view, role>{"gradient", role::gradient},
};

dtype_facts const& coordinates(dtype type) {
    return *std::find_if(dtypes.begin(), dtypes.end(), [=](auto const& each) { return each.type == type; });
}

[[noreturn]] void reject(fs::path const& file, std::string const& what) {
    throw malformed(file.string() + ": " + what);
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

std::ifstream opened(fs::path const& file) {
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) reject(file, "is a folder");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) reject(file, "cannot be opened");
    return stream;
}

std::vector<std::byte> read_bytes(fs::path const& file) {
    auto stream = opened(file);
    std::vector<char> const chars{std::istreambuf_iterator<char>(stream), {}};
    std::vector<std::byte> bytes(chars.size());
    std::transform(chars.begin(), chars.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
    return bytes;
}

template <std::unsigned_integral Bits>
Bits little_endian(std::byte const* bytes) {
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof(Bits); ++i)
        bits = static_cast<Bits>(bits | static_cast<Bits>(std::to_integer<Bits>(bytes[i]) << (8 * i)));
    return bits;
}

// The text after `'key':` in the header of a file, blanks skipped.
std::string_view header_value(fs::path const& file, std::string_view header, std::string_view key) {
    auto const found = header.find(in_quotes(key));
    if (found == header.npos) reject(file, "the header has no " + in_quotes(key));
    auto const value = header.find_first_not_of(": ", found + key.size() + 2);
    if (value == header.npos) reject(file, "the header has no value for " + in_quotes(key));
    return header.substr(value);
}

shape header_shape(fs::path const& file, std::string_view text) {
    shape sizes;
    auto const close = text.find(')');
    if (text.front() != '(' || close == text.npos) reject(file, "the shape in the header is not a tuple");
    for (char const *at = text.data() + 1, *end = text.data() + close; at != end;) {
        if (*at == ' ' || *at == ',') {
            ++at;
            continue;
        }
        std::ptrdiff_t size = 0;
        auto const [next, error] = std::from_chars(at, end, size);
        if (error != std::errc{}) reject(file, "the shape in the header is not a tuple of numbers");
        sizes.push_back(size);
        at = next;
    }
    return sizes;
}

// Data of another size than the shape says is never read.
void require_bytes(tensor const& t, std::size_t have) {
    if (have != t.size() * coordinates(t.dtype).size)
        reject(t.file, "has " + std::to_string(have) + " bytes of data, its shape " + to_string(t.shape) + " needs "
                           + std::to_string(t.size() * coordinates(t.dtype).size));
}

// Checks the header against what case.json says and leaves only the data in `t.bytes`.
void read_npy(tensor& t) {
    auto& bytes = t.bytes;
    bytes = read_bytes(t.file);

    constexpr std::array<unsigned char, 8> magic{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    auto const same = [](unsigned char want, std::byte have) { return want == std::to_integer<unsigned char>(have); };
    if (bytes.size() < 10 || !std::equal(magic.begin(), magic.end(), bytes.begin(), same))
        reject(t.file, "is not a NumPy file of version 1.0");
    std::size_t const start = 10u + little_endian<std::uint16_t>(bytes.data() + 8);
    if (bytes.size() < start) reject(t.file, "ends within its header");

    std::string header;
    std::transform(bytes.begin() + 10, bytes.begin() + static_cast<std::ptrdiff_t>(start), std::back_inserter(header),
                   [](std::byte b) { return static_cast<char>(b); });

    auto const& want = coordinates(t.dtype);
    auto const descr = header_value(t.file, header, "descr").substr(0, want.descr.size() + 2);
    if (descr.substr(0, 2) == "'>") reject(t.file, "is big-endian (" + std::string(descr) + ")");
    if (descr != in_quotes(want.descr))
        reject(t.file, "holds elements " + std::string(descr) + ", case.json says " + std::string(want.name) + " ("
                           + in_quotes(want.descr) + ")");
    if (!header_value(t.file, header, "fortran_order").starts_with("False")) reject(t.file, "is not in C order");
    if (auto const have = header_shape(t.file, header_value(t.file, header, "shape")); have != t.shape)
        reject(t.file, "has shape " + to_string(have) + ", case.json says " + to_string(t.shape));

    require_bytes(t, bytes.size() - start);
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(start));
}

// Does the JSON value hold a T, without a silent change of kind?
template <class T>
bool holds(json const& value) {
    if constexpr (std::is_same_v<T, bool>) return value.is_boolean();
    else if constexpr (std::is_same_v<T, std::int64_t>) return value.is_number_integer();
    else if constexpr (std::is_same_v<T, double>) return value.is_number();
    else if constexpr (std::is_same_v<T, std::string>) return value.is_string();
    else
        return value.is_array()
            && std::all_of(value.begin(), value.end(), [](json const& v) { return holds<typename T::value_type>(v); });
}

template <class T>
T get(fs::path const& file, json const& object, char const* key) {
    auto const found = object.find(key);
    if (found == object.end()) reject(file, "has no " + in_quotes(key));
    if (!holds<T>(*found)) reject(file, in_quotes(key) + " is " + found->dump() + ", of the wrong kind");
    return found->get<T>();
}

tensor read_tensor(fs::path const& file, json const& described) {
    if (!described.is_object()) reject(file, "a tensor is not an object");
    tensor t;
    t.name = get<std::string>(file, described, "name");
    t.file = file.parent_path() / get<std::string>(file, described, "file");
    t.shape = get<shape>(file, described, "shape");
    if (std::any_of(t.shape.begin(), t.shape.end(), [](auto size) { return size < 0; }))
        reject(file, "tensor " + in_quotes(t.name) + " has a negative size");
    if (described.contains("axes")) t.axes = get<std::string>(file, described, "axes");
    if (described.contains("max_abs")) t.max_abs = get<double>(file, described, "max_abs");
    if (described.contains("err_ref")) t.err_ref = get<double>(file, described, "err_ref");

    auto const type = get<std::string>(file, described, "dtype");
    auto const known = std::find_if(dtypes.begin(), dtypes.end(), [&](auto const& each) { return each.name == type; });
    if (known == dtypes.end()) reject(file, "tensor " + in_quotes(t.name) + " has unknown dtype " + in_quotes(type));
    t.dtype = known->type;
    std::ptrdiff_t bytes = static_cast<std::ptrdiff_t>(known->size);
    bool too_large = false;
    for (auto const size : t.shape) too_large |= size > 0 && __builtin_mul_overflow(bytes, size, &bytes);
    if (too_large)
        reject(file, "tensor " + in_quotes(t.name) + " has shape " + to_string(t.shape) + ", too large for any file");

    auto const part = get<std::string>(file, described, "role");
    auto const named = std::find_if(roles.begin(), roles.end(), [&](auto const& each) { return each.first == part; });
    if (named == roles.end()) reject(file, "tensor " + in_quotes(t.name) + " has unknown role " + in_quotes(part));
    t.role = named->second;

    read_npy(t);
    return t;
}

// Calls f with each element's bytes in turn.
template <std::unsigned_integral Bits, class T, class F>
std::vector<T> convert(tensor const& t, F f) {
    require_bytes(t, t.bytes.size());
    std::vector<T> values(t.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<T>(f(little_endian<Bits>(t.bytes.data() + i * sizeof(Bits))));
    return values;
}

[[noreturn]] void refuse(tensor const& t, std::string_view wanted) {
    reject(t.file, "is " + std::string(to_string(t.dtype)) + " and cannot be read as " + std::string(wanted));
}

}  // namespace

std::string to_string(shape const& sizes) {
    std::string text = "(";
    for (auto const size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    return text + ")";
}

std::string_view to_string(dtype type) { return coordinates(type).name; }

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

float from_f16(std::uint16_t bits) {
    std::uint32_t const sign = (bits & 0x8000u) << 16;
    std::uint32_t const exponent = (bits >> 10) & 0x1fu;
    std::uint32_t const fraction = bits & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));  // infinity, NaN
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    float const small = static_cast<float>(fraction) * 0x1p-24f;  // zero, subnormal: exact
    return sign != 0 ? -small : small;
}

std::size_t tensor::size() const {
    std::size_t elements = 1;
    for (auto const each : shape) elements *= static_cast<std::size_t>(each);
    return elements;
}

template <>
std::vector<float> tensor::as<float>() const {
    switch (dtype) {
        case dtype::f32:
            return convert<std::uint32_t, float>(*this, [](auto b) { return std::bit_cast<float>(b); });
        case dtype::f16:
            return convert<std::uint16_t, float>(*this, from_f16);
        case dtype::bf16:
            return convert<std::uint16_t, float>(*this, from_bf16);
        default:
            refuse(*this, "float");
    }
}

template <>
std::vector<double> tensor::as<double>() const {
    if (dtype == dtype::f64)
        return convert<std::uint64_t, double>(*this, [](auto b) { return std::bit_cast<double>(b); });
    if (dtype == dtype::i64 || dtype == dtype::boolean) refuse(*this, "double");
    auto const values = as<float>();
    return {values.begin(), values.end()};
}

template <>
std::vector<std::int64_t> tensor::as<std::int64_t>() const {
    if (dtype != dtype::i64) refuse(*this, "integers");
    return convert<std::uint64_t, std::int64_t>(*this, [](auto b) { return std::bit_cast<std::int64_t>(b); });
}

template <>
std::vector<std::uint8_t> tensor::as<std::uint8_t>() const {
    if (dtype != dtype::boolean) refuse(*this, "booleans");
    return convert<std::uint8_t, std::uint8_t>(*this, [this](auto b) {
        if (b > 1) reject(file, "holds a boolean that is neither 0 nor 1");
        return b;
    });
}

std::vector<std::uint16_t> tensor::bits() const {
    if (dtype != dtype::f16 && dtype != dtype::bf16) refuse(*this, "16 bits");
    return convert<std::uint16_t, std::uint16_t>(*this, [](auto b) { return b; });
}

struct test_case::document {
    fs::path file;
    json root;
};

test_case test_case::load(fs::path const& directory) {
    auto const file = directory / "case.json";
    auto stream = opened(file);
    json root;
    try {
        root = json::parse(stream);
    } catch (json::exception const& error) {
        reject(file, error.what());
    }
    if (!root.is_object()) reject(file, "is not an object");
    if (auto const format = get<std::int64_t>(file, root, "format"); format != 1)
        reject(file, "has format " + std::to_string(format) + ", this program reads format 1");

    test_case loaded;
    loaded.name_ = get<std::string>(file, root, "name");
    loaded.family_ = get<std::string>(file, root, "family");
    loaded.operation_ = get<std::string>(file, root, "operator");
    loaded.description_ = get<std::string>(file, root, "description");
    loaded.features_ = get<std::vector<std::string>>(file, root, "features");
    auto const tensors = root.find("tensors");
    if (tensors == root.end() || !tensors->is_array()) reject(file, "has no list 'tensors'");
    for (auto const& described : *tensors) {
        auto next = read_tensor(file, described);
        if (loaded.has(next.name)) reject(file, "has two tensors named " + in_quotes(next.name));
        loaded.tensors_.push_back(std::move(next));
    }
    loaded.document_ = std::make_shared<document const>(document{file, std::move(root)});
    return loaded;
}

bool test_case::has_feature(std::string_view feature) const {
    return std::find(features_.begin(), features_.end(), feature) != features_.end();
}

bool test_case::has(std::string_view tensor_name) const {
    return std::any_of(tensors_.begin(), tensors_.end(), [&](auto const& t) { return t.name == tensor_name; });
}

tensor const& test_case::operator[](std::string_view tensor_name) const {
    for (auto const& each : tensors_)
        if (each.name == tensor_name) {
            read_.insert(each.name);
            return each;
        }
    reject(document_->file, "has no tensor " + in_quotes(tensor_name));
}

std::vector<std::string> test_case::unread() const {
    std::vector<std::string> names;
    for (auto const& each : tensors_)
        if ((each.role == role::input || each.role == role::param) && !read_.contains(each.name))
            names.push_back(each.name);
    return names;
}

bool test_case::contains(std::string const& pointer) const {
    return document_->root.contains(json::json_pointer(pointer));
}

template <class T>
T test_case::at(std::string const& pointer) const {
    if (!contains(pointer)) reject(document_->file, "has no " + in_quotes(pointer));
    auto const& value = document_->root.at(json::json_pointer(pointer));
    if (!holds<T>(value)) reject(document_->file, in_quotes(pointer) + " is " + value.dump() + ", of the wrong kind");
    return value.get<T>();
}

template bool test_case::at<bool>(std::string const&) const;
template std::int64_t test_case::at<std::int64_t>(std::string const&) const;
template double test_case::at<double>(std::string const&) const;
template std::string test_case::at<std::string>(std::string const&) const;
template std::vector<std::int64_t> test_case::at<std::vector<std::int64_t>>(std::string const&) const;
template std::vector<double> test_case::at<std::vector<double>>(std::string const&) const;

}  // namespace conformance
