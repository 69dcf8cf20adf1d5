// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader of conformance cases: whatever the files hold, it gives a case whose parts fit each other, or says what is
// wrong. An input is case.json up to the first byte 0xff, and a.npy behind it.
#include "case.hpp"

#include "support/fuzz.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

namespace {

namespace fs = std::filesystem;

/// A folder of this process's own, gone at its end; in memory where the system has such a place.
struct folder {
    fs::path path = (fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path())
                  / ("fovea_fuzz_cases_" + std::to_string(getpid()));
    folder() { fs::create_directories(path); }
    ~folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

void write(fs::path const& file, std::span<std::uint8_t const> bytes) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// Reads a tensor as a type: it has as many elements as its shape says, or the type is refused.
template <class Read>
void read(conformance::tensor const& t, Read const& as) {
    try {
        if (as().size() != t.size()) fuzz::finding("a tensor has other elements than its shape");
    } catch (conformance::malformed const&) {}
}

void check(conformance::test_case const& one) {
    for (auto const& t : one.tensors()) {
        double elements = 1;
        for (auto const n : t.shape) {
            if (n < 0) fuzz::finding("a tensor has a negative extent");
            elements *= static_cast<double>(n);
        }
        if (elements > static_cast<double>(t.bytes.size()))
            fuzz::finding("a tensor of " + conformance::to_string(t.shape) + " has " + std::to_string(t.bytes.size())
                          + " bytes");
        if (!one.has(t.name) || &one[t.name] != &t) fuzz::finding("a tensor is not found by its name");
        read(t, [&] { return t.as<float>(); });
        read(t, [&] { return t.as<double>(); });
        read(t, [&] { return t.as<std::int64_t>(); });
        read(t, [&] { return t.as<std::uint8_t>(); });
        read(t, [&] { return t.bits(); });
    }
    auto const ask = [&]<class T>(T otherwise) {
        try {
            static_cast<void>(one.attribute<T>("scale", otherwise));
        } catch (conformance::malformed const&) {}
    };
    ask(false), ask(std::int64_t{0}), ask(0.0), ask(std::string()), ask(std::vector<std::int64_t>());
    static_cast<void>(one.has_feature("a"));
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static folder const here;
    std::span const all(data, size);
    auto const text = static_cast<std::size_t>(std::find(all.begin(), all.end(), std::uint8_t{0xff}) - all.begin());
    write(here.path / "case.json", all.first(text));
    write(here.path / "a.npy", all.subspan(std::min(text + 1, size)));
    try {
        check(conformance::test_case::load(here.path));
        fuzz::count("cases read");
    } catch (conformance::malformed const& error) {
        if (error.what()[0] == '\0') fuzz::finding("a case was refused without a word");
        fuzz::count("cases refused");
    } catch (fuzz::found const&) {
        throw;
    } catch (std::exception const& error) {
        fuzz::finding(std::string("the reader ended with another exception than its own: ") + error.what());
    }
    return 0;
}
