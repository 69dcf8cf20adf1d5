// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernel_check: every kernel of the set, in every type and on every level of this processor, against the definition.
//
//   kernel_check          all levels, each in a process of its own
//   kernel_check LEVEL    one level, as lines for a program; FOVEA_ARCHITECTURE must name it as well
#include "kernels/calls/libraries.hpp"
#include "kernels/calls/operands.hpp"
#include "kernels/check/definition.hpp"
#include "kernels/plain/loops.hpp"

#include <fovea/testing/tolerance.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {
namespace {

using calls::library;
using calls::operands;
using calls::real;

/// The elements of a result as numbers, in the order of a dense array.
template <class Element>
std::vector<real<Element>> numbers(operands<Element>& o) {
    auto const a = o.arrays()[3];
    std::vector<real<Element>> all;
    for (std::int64_t b = 0; b < a.extents[0]; ++b)
        for (std::int64_t h = 0; h < a.extents[1]; ++h)
            for (std::int64_t i = 0; i < a.extents[2]; ++i)
                for (std::int64_t c = 0; c < a.extents[3]; ++c)
                    all.push_back(static_cast<Element const*>(
                        a.data)[b * a.strides[0] + h * a.strides[1] + i * a.strides[2] + c]);
    return all;
}

/// The expected result of a call, and how far it may be from that: as far as the definition is that is computed, and
/// stored, in the types of the kernel, several times over (fovea/testing/tolerance.hpp).
template <class Element>
struct expectation {
    std::vector<exact<Element>> expected;
    fovea::testing::tolerance allowed;

    expectation(std::string_view kernel, operands<Element>& o)
        : expected(result_by_definition<exact<Element>>(kernel, o).elements) {
        auto plain = result_by_definition<real<Element>>(kernel, o).elements;
        for (auto& x : plain) x = static_cast<real<Element>>(static_cast<Element>(x));
        allowed = fovea::testing::tolerance_for<real<Element>, exact<Element>>(expected, plain);
    }

    void hold(char const* who, operands<Element>& o) const {
        fovea::testing::check_close<exact<Element>, real<Element>>(who, expected, numbers(o), allowed);
    }
};

template <class Element>
void run(fovea_kernel const& kernel, operands<Element>& o) {
    char message[300] = "";
    fovea_call const call{1, nullptr, message, sizeof message};
    if (kernel.run(&call, o.arrays().data(), o.values(kernel).data()) != FOVEA_OK) throw std::runtime_error(message);
}

/// All sizes of one kernel, and where it is wanted the plain loop that the kernel is timed beside.
template <class Element>
void compare(fovea_kernel const& kernel, bool plain_too) {
    for (auto const& n : calls::checked_sizes(kernel.name)) {
        operands<Element> o(kernel.name, n);
        expectation<Element> const wanted(kernel.name, o);
        run(kernel, o);
        wanted.hold("result", o);
        if (!plain_too) continue;
        std::fill(o.result.begin(), o.result.end(), Element{});
        plain::loop_of<Element>(kernel.name)(o);
        wanted.hold("result of the plain loop", o);
    }
}

int check_level(std::string const& level) {
    int failures = 0;
    for (auto const& of : calls::libraries())
        for (auto const& kernel : of.kernels) {
            std::string outcome = "skipped", remark = calls::why_skipped(of, kernel, level);
            if (remark.empty()) try {
                    outcome = "compared";
                    calls::for_element(kernel.type, [&]<class Element>() {
                        compare<Element>(kernel, level == of.levels.front());
                    });
                } catch (std::exception const& e) {
                    outcome = "failed";
                    remark = e.what();
                    ++failures;
                }
            std::printf("%s\t%s\t%s\t%s\n", outcome.c_str(), kernel.name, kernel.type, remark.c_str());
            std::fflush(stdout);
        }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/// Some words, in the order in which they came.
class words {
public:
    void insert(std::string const& word) {
        if (std::find(all_.begin(), all_.end(), word) == all_.end()) all_.push_back(word);
    }
    std::size_t size() const { return all_.size(); }
    std::string text() const {
        std::string joined;
        for (auto const& word : all_) joined += (joined.empty() ? "" : " ") + word;
        return joined;
    }

private:
    std::vector<std::string> all_;
};

/// Some kernels in some types.
struct group {
    std::size_t count = 0;
    words kernels, types;

    void add(std::vector<std::string> const& line) {
        ++count;
        kernels.insert(line.at(1));
        types.insert(line.at(2));
    }
};

/// The outcome of the kernels of all levels.
struct summary {
    std::size_t compared = 0, failed = 0;
    words kernels, types, levels;
    std::map<std::string, group> skipped;  // by reason

    /// One level; false where its process has not ended as it should.
    bool add_level(char const* self, std::string const& level) {
        std::map<std::string, std::size_t> outcomes;
        int const status = calls::run_limited(self, "kernel_check", level, [&](std::string const& text) {
            auto const line = calls::fields_of(text);
            ++outcomes[line.at(0)];
            if (line.at(0) == "skipped") skipped[line.at(3)].add(line);
            if (line.at(0) == "failed")
                std::printf("%s %s on %s: %s\n", line.at(1).c_str(), line.at(2).c_str(), level.c_str(),
                            line.at(3).c_str());
            if (line.at(0) != "compared") return;
            kernels.insert(line.at(1));
            types.insert(line.at(2));
            levels.insert(level);
        });
        compared += outcomes["compared"];
        failed += outcomes["failed"];
        std::printf("%-12s %3zu agree with the definition, %zu do not, %zu skipped\n", level.c_str(),
                    outcomes["compared"], outcomes["failed"], outcomes["skipped"]);
        std::fflush(stdout);
        return status == EXIT_SUCCESS;
    }

    void print() const {
        std::printf("\n%zu of kernel x type x architecture agree with the definition: %zu kernels, in %s, on %s\n",
                    compared, kernels.size(), types.text().c_str(), levels.text().c_str());
        std::printf("%zu calls of each%s\n", calls::checked_sizes("scaled").size(),
                    failed == 0 ? "; plain loops agree as well" : "");
        for (auto const& [reason, of] : skipped)
            std::printf("skipped %zu: %s (%s in %s)\n", of.count, reason.c_str(),
                        of.kernels.size() > 5 ? "all kernels" : of.kernels.text().c_str(), of.types.text().c_str());
        if (failed > 0) std::printf("%zu do not agree\n", failed);
    }
};

int check_all(char const* self) {
    summary all;
    bool sound = true;
    for (auto const& level : calls::levels()) sound = all.add_level(self, level) && sound;
    all.print();
    return sound && all.failed == 0 && all.compared > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace check

int main(int count, char** values) try {
    return count > 1 ? check::check_level(values[1]) : check::check_all(values[0]);
} catch (std::exception const& e) {
    std::fprintf(stderr, "kernel_check: %s\n", e.what());
    return EXIT_FAILURE;
}
