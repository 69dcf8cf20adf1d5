// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A check that cannot fail is worthless: wrong results, wrong files and empty runs are reported as failures.

#include "compare.hpp"
#include "families/load.hpp"
#include "outcome.hpp"
#include "runner.hpp"

#include <catch.hpp>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using namespace conformance;
namespace fs = std::filesystem;

namespace {

constexpr auto inf = std::numeric_limits<double>::infinity();
constexpr auto not_a_number = std::numeric_limits<double>::quiet_NaN();

std::string npy(std::string const& descr, std::string const& shape_text, std::string const& data) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape_text + ", }";
    header += std::string(117 - header.size(), ' ') + '\n';
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

template <class T>
std::string raw(std::vector<T> const& values) {
    static_assert(std::endian::native == std::endian::little);
    std::string data(values.size() * sizeof(T), '\0');
    std::memcpy(data.data(), values.data(), data.size());
    return data;
}

void write(fs::path const& file, std::string const& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
}

// A folder with one case, `toy/one`: output `out` of shape (2, 2), one gradient.
struct toy {
    fs::path root = fs::temp_directory_path() / ("fovea_conformance_selftest_" + std::to_string(next++));
    fs::path directory = root / "toy" / "one";
    inline static int next = 0;

    toy() {
        fs::remove_all(root);
        write(directory / "case.json", json("f32", "[2, 2]"));
        write(directory / "out.npy", npy("<f4", "(2, 2)", raw<float>({1, -2, 0, -static_cast<float>(inf)})));
        write(directory / "d_x.npy", npy("<f4", "(1,)", raw<float>({1.f})));
    }
    toy(toy const&) = delete;
    toy& operator=(toy const&) = delete;
    ~toy() { fs::remove_all(root); }

    static std::string json(std::string const& type, std::string const& sizes) {
        return R"({"format": 1, "name": "toy/one", "family": "toy", "operator": "toy", "description": "",
            "features": ["a"], "attributes": {"scale": 0.5, "causal": "none", "count": 3},
            "tensors": [
            {"role": "output", "name": "out", "file": "out.npy", "dtype": ")"
             + type + R"(", "shape": )" + sizes + R"(,
             "max_abs": 2.0, "err_ref": 1e-7},
            {"role": "gradient", "name": "d_x", "file": "d_x.npy", "dtype": "f32", "shape": [1],
             "max_abs": 1, "err_ref": 0}]})";
    }

    test_case load() const { return test_case::load(directory); }
};

template <class T = double>
comparison against(tensor const& expected, std::vector<T> const& got, arithmetic computed = arithmetic::f32) {
    return compare(expected, std::span<T const>(got), expected.shape, computed);
}

std::string why(fs::path const& directory) {
    try {
        test_case::load(directory);
    } catch (malformed const& error) {
        return error.what();
    }
    return "";
}

bool mentions(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("a right result passes, a wrong one fails and is named") {
    toy const files;
    auto const subject = files.load();
    auto const& out = subject["out"];

    CHECK(against(out, {1, -2, 0, -inf}).pass);
    CHECK(against(out, {1, -2, 0, -inf}).worst == 0);

    auto const wrong = against(out, {1, -2.5, 0, -inf});
    CHECK_FALSE(wrong.pass);
    CHECK(mentions(wrong.message, "out[0, 1]: got -2.5, expected -2"));

    for (auto const bad : {not_a_number, inf, -inf}) CHECK_FALSE(against(out, {1, bad, 0, -inf}).pass);
    for (auto const bad : {not_a_number, inf, 0.0, -1e30}) {
        auto const result = against(out, {1, -2, 0, bad});
        CHECK_FALSE(result.pass);
        CHECK(result.worst == inf);
        CHECK(mentions(result.message, "out[1, 1]"));
    }
}

TEST_CASE("a wrong shape fails, though the number of elements is right") {
    toy const files;
    auto const subject = files.load();
    std::vector<float> const got{1, -2, 0, 0};
    auto const result = compare(subject["out"], std::span<float const>(got), {4}, arithmetic::f32);
    CHECK_FALSE(result.pass);
    CHECK(mentions(result.message, "has shape (4), expected (2, 2)"));
    CHECK_FALSE(compare(subject["out"], std::span<float const>(got).first(3), {2, 2}, arithmetic::f32).pass);
}

TEST_CASE("the allowance is the documented one, on both sides of its edge") {
    toy const files;
    auto const subject = files.load();
    auto out = subject["out"];
    auto const off_by = [&](double difference, arithmetic computed) {
        return against(out, {1, -2 + difference, 0, -inf}, computed).pass;
    };
    // err_ref 1e-7, max_abs 2: 2e-6 + 1e-5 * 2, and 3e-7 * 2 + 2e-7 * 2
    CHECK(off_by(2.19e-5, arithmetic::f32));
    CHECK_FALSE(off_by(2.21e-5, arithmetic::f32));
    CHECK_FALSE(off_by(-2.21e-5, arithmetic::f32));
    CHECK(off_by(0.99e-6, arithmetic::f64));
    CHECK_FALSE(off_by(1.01e-6, arithmetic::f64));
    // a badly conditioned case: 8e-5 + 2e-5
    out.err_ref = 1e-5;
    CHECK(off_by(9.9e-5, arithmetic::f32));
    CHECK_FALSE(off_by(1.01e-4, arithmetic::f32));
    CHECK_FALSE(off_by(1.01e-6, arithmetic::f64));

    tensor half = out;
    half.dtype = dtype::f16;
    half.err_ref = 1e-3;
    CHECK(allowance(half, arithmetic::f32)(2) == Approx(4e-3 + 2e-3));
    CHECK(allowance(half, arithmetic::f64)(2) == Approx(4e-3 + 2e-3));
    tensor wide = out;
    wide.dtype = dtype::f64;
    CHECK(allowance(wide, arithmetic::f64)(2) == Approx(4e-13));
    CHECK(allowance(wide, arithmetic::f32)(2) == Approx(8e-5 + 2e-5));
    tensor whole = out;
    whole.dtype = dtype::i64;
    CHECK(allowance(whole, arithmetic::f32)(2) == 0);

    tensor unknown = out;
    unknown.err_ref.reset();
    CHECK_THROWS_AS(allowance(unknown, arithmetic::f32), malformed);
}

TEST_CASE("integers compare exactly") {
    toy const files;
    write(files.directory / "case.json", toy::json("i64", "[3]"));
    write(files.directory / "out.npy", npy("<i8", "(3,)", raw<std::int64_t>({0, 7, -3})));
    auto const subject = files.load();
    CHECK(against<std::int64_t>(subject["out"], {0, 7, -3}).pass);
    CHECK_FALSE(against<std::int64_t>(subject["out"], {0, 8, -3}).pass);
}

TEST_CASE("16-bit elements become the floats they are") {
    CHECK(from_f16(0x0000) == 0.f);
    CHECK(std::signbit(from_f16(0x8000)));
    CHECK(from_f16(0x3c00) == 1.f);
    CHECK(from_f16(0xc100) == -2.5f);
    CHECK(from_f16(0x7bff) == 65504.f);
    CHECK(from_f16(0x0400) == 0x1p-14f);
    CHECK(from_f16(0x0001) == 0x1p-24f);
    CHECK(from_f16(0x83ff) == -1023 * 0x1p-24f);
    CHECK(from_f16(0xfc00) == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(from_f16(0x7e00)));
    CHECK(from_bf16(0x3f80) == 1.f);
    CHECK(from_bf16(0xc020) == -2.5f);

    toy const files;
    write(files.directory / "case.json", toy::json("f16", "[2]"));
    write(files.directory / "out.npy", npy("<f2", "(2,)", raw<std::uint16_t>({0x3c00, 0xc100})));
    auto const half = files.load();
    CHECK(half["out"].as<float>() == std::vector<float>{1.f, -2.5f});
    CHECK(half["out"].as<double>() == std::vector<double>{1, -2.5});
    CHECK(half["out"].bits() == std::vector<std::uint16_t>{0x3c00, 0xc100});
    CHECK_THROWS_AS(half["out"].as<std::int64_t>(), malformed);

    write(files.directory / "case.json", toy::json("bool", "[2]"));
    write(files.directory / "out.npy", npy("|b1", "(2,)", std::string("\1\0", 2)));
    CHECK(files.load()["out"].as<std::uint8_t>() == std::vector<std::uint8_t>{1, 0});
    write(files.directory / "out.npy", npy("|b1", "(2,)", std::string("\1\2", 2)));
    CHECK_THROWS_AS(files.load()["out"].as<std::uint8_t>(), malformed);
}

TEST_CASE("a damaged file is refused by name") {
    toy const files;
    auto const data = raw<float>({1, 2, 3, 4});
    auto const with = [&](std::string const& bytes) {
        write(files.directory / "out.npy", bytes);
        return why(files.directory);
    };
    CHECK(with(npy("<f4", "(2, 2)", data)).empty());
    CHECK(mentions(with("not numpy at all"), "out.npy: is not a NumPy file"));
    CHECK(mentions(with(""), "is not a NumPy file"));
    CHECK(mentions(with(npy(">f4", "(2, 2)", data)), "big-endian"));
    CHECK(mentions(with(npy("<f8", "(2, 2)", data + data)), "holds elements '<f8', case.json says f32"));
    CHECK(mentions(with(npy("<f4", "(4,)", data)), "has shape (4), case.json says (2, 2)"));
    CHECK(mentions(with(npy("<f4", "(2, 2)", data.substr(4))), "has 12 bytes of data"));
    CHECK(mentions(with(npy("<f4", "(2, 2)", data + "x")), "has 17 bytes of data"));
    fs::remove(files.directory / "out.npy");
    CHECK(mentions(why(files.directory), "out.npy: cannot be opened"));
    fs::create_directory(files.directory / "out.npy");
    CHECK(mentions(why(files.directory), "out.npy: is a folder"));
    write(files.directory / "case.json", "{");
    CHECK(mentions(why(files.directory), "case.json"));
    write(files.directory / "case.json", toy::json("f33", "[2, 2]"));
    CHECK(mentions(why(files.directory), "unknown dtype 'f33'"));
}

TEST_CASE("attributes are read without a silent change of kind") {
    toy const files;
    auto const subject = files.load();
    CHECK(subject.attribute<double>("scale") == 0.5);
    CHECK(subject.attribute<double>("count") == 3);
    CHECK(subject.attribute<std::int64_t>("count") == 3);
    CHECK(subject.attribute<std::string>("causal") == "none");
    CHECK(subject.attribute<bool>("residual", false) == false);
    CHECK(subject.has_feature("a"));
    CHECK_FALSE(subject.has_feature("b"));
    CHECK_THROWS_AS(subject.attribute<std::int64_t>("scale"), malformed);
    CHECK_THROWS_AS(subject.attribute<double>("causal"), malformed);
    CHECK_THROWS_AS(subject.attribute<double>("absent"), malformed);
    CHECK_THROWS_AS(subject["absent"], malformed);
}

namespace {

outcome right(test_case const& subject) {
    checks all(subject);
    all.compare<double>("toy", arithmetic::f32, "out", {1, -2, 0, -inf}, {2, 2});
    return all.finish();
}
outcome wrong_value(test_case const& subject) {
    checks all(subject);
    all.compare<double>("toy", arithmetic::f32, "out", {1, -2, 3, -inf}, {2, 2});
    return all.finish();
}
outcome wrong_gradient(test_case const& subject) {
    checks all(subject);
    all.compare<double>("toy", arithmetic::f32, "out", {1, -2, 0, -inf}, {2, 2});
    all.compare<double>("toy", arithmetic::f32, "d_x", {not_a_number}, {1});
    return all.finish();
}
outcome with_gradient(test_case const& subject) {
    checks all(subject);
    all.compare<double>("toy", arithmetic::f32, "out", {1, -2, 0, -inf}, {2, 2});
    all.compare<double>("toy", arithmetic::f32, "d_x", {1}, {1});
    return all.finish();
}
outcome reads_its_input(test_case const& subject) {
    CHECK(subject["x"].as<float>() == std::vector<float>{3});
    return right(subject);
}
outcome forgets(test_case const& subject) {
    checks all(subject);
    all.compare<double>("toy", arithmetic::f32, "d_x", {1}, {1});
    return all.finish();
}
outcome nothing(test_case const& subject) { return checks(subject).finish(); }
outcome throws(test_case const&) { throw std::runtime_error("no such thing"); }
outcome skips(test_case const&) { return skipped{"not today"}; }

struct run {
    summary counts;
    std::string text;

    run(fs::path const& root, outcome (*runner)(test_case const&), selection const& chosen = {}) {
        std::ostringstream report;
        std::vector<family> known;
        if (runner) known.push_back({"toy", runner});
        counts = run_cases(find_cases(root), known, chosen, report);
        text = report.str();
    }
    bool ends_with(std::string const& line) const { return text.ends_with("\n" + line + "\n"); }
};

}  // namespace

TEST_CASE("the program's status and last line follow the outcomes") {
    toy const files;
    SECTION("passed") {
        run const result(files.root, right);
        CHECK(result.counts.exit_status() == 0);
        CHECK(result.ends_with("1 passed, 0 failed, 0 skipped"));
        CHECK(mentions(result.text, "1 gradient tensors were not compared"));
    }
    SECTION("gradients that are compared are counted") {
        auto const text = run(files.root, with_gradient).text;
        CHECK(mentions(text, "\n1 gradient tensors compared, 0 gradient tensors were not"));
    }
    SECTION("failed, in any way") {
        for (auto const runner : {wrong_value, wrong_gradient, forgets, nothing, throws}) {
            run const result(files.root, runner);
            CHECK(result.counts.exit_status() == 1);
            CHECK(result.ends_with("0 passed, 1 failed, 0 skipped"));
            CHECK(mentions(result.text, "  failed   toy/one: "));
        }
        CHECK(mentions(run(files.root, wrong_value).text, "toy: out[1, 0]: got 3, expected 0"));
        CHECK(mentions(run(files.root, forgets).text, "output out was not compared"));
        CHECK(mentions(run(files.root, throws).text, "no such thing"));
    }
    SECTION("skipped") {
        run const result(files.root, skips);
        CHECK(result.counts.exit_status() == 0);
        CHECK(result.ends_with("0 passed, 0 failed, 1 skipped"));
        CHECK(mentions(result.text, "  skipped  not today: one"));
        CHECK(mentions(run(files.root, nullptr).text, "family not expressed yet: one"));
    }
    SECTION("a case that cannot be read is a failure, also where its family would be skipped") {
        fs::remove(files.directory / "d_x.npy");
        for (auto const runner : {&right, static_cast<outcome (*)(test_case const&)>(nullptr)})
            CHECK(run(files.root, runner).ends_with("0 passed, 1 failed, 0 skipped"));
    }
    SECTION("no case at all") {
        run const result(files.root, right, {"another", "", false});
        CHECK(result.counts.exit_status() == 1);
        CHECK(result.ends_with("0 passed, 0 failed, 0 skipped"));
        CHECK(run(files.root, right, {"", "two", false}).counts.exit_status() == 1);
        CHECK_THROWS_AS(find_cases(files.root / "absent"), malformed);
    }
}

TEST_CASE("an input that nobody reads is a failure") {
    toy const files;
    auto json = toy::json("f32", "[2, 2]");
    json.insert(json.rfind("]}"), R"(, {"role": "input", "name": "x", "file": "x.npy", "dtype": "f32", "shape": [1]})");
    write(files.directory / "case.json", json);
    write(files.directory / "x.npy", npy("<f4", "(1,)", raw<float>({3.f})));
    CHECK(run(files.root, reads_its_input).counts.passed == 1);
    run const ignoring(files.root, right);
    CHECK(ignoring.counts.failed == 1);
    CHECK(mentions(ignoring.text, "input x was not used"));
}

TEST_CASE("a table that is said to have other axes than it has is refused") {
    tensor mask{"mask", role::input, dtype::boolean, {3}, "", {}, {}, "mask.npy", {3, std::byte{1}}};
    CHECK(broadcast<bool, 2>(mask, {2, 3}).view()(1, 2));
    mask.shape = {3, 1, 1, 3};
    CHECK_THROWS_AS((broadcast<bool, 4>(mask, {3, 2, 2, 3})), malformed);
    CHECK_THROWS_WITH(mask.as<std::uint8_t>(), "mask.npy: has 3 bytes of data, its shape (3, 1, 1, 3) needs 9");
}

TEST_CASE("cases are found from the index, a family, a case, with or without a slash") {
    toy const files;
    auto const& root = files.root;
    for (auto const& each : {root, root / "toy", files.directory, files.directory / "", root / "." / "toy" / ""})
        CHECK(find_cases(each) == std::vector{files.directory});
    CHECK(run(files.directory / "", right, {"toy", "toy/one", true}).counts.passed == 1);

    // Cases that the index names are expected to be there.
    write(files.root / "index.txt", "toy/one\r\ntoy/two\n\n");
    CHECK(find_cases(files.root).size() == 2);
    CHECK(run(files.root, right).ends_with("1 passed, 1 failed, 0 skipped"));
}
