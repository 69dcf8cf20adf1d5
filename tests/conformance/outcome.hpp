// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "case.hpp"
#include "compare.hpp"

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace conformance {

struct passed {
    double worst = 0;                           // the largest error in relation to its allowance
    std::string where;                          // engine and tensor it occurred in
    std::size_t gradients = 0;                  // gradient tensors compared
    std::vector<std::string> gradients_left{};  // the others of the case
};
struct failed {
    std::string message;
};
struct skipped {
    std::string reason;
};
using outcome = std::variant<passed, failed, skipped>;

/// Collects the comparisons of one case. A case passes when every engine that compared anything compared every output
/// and nothing differed; forgetting an output, or ignoring an input, is a failure, not a pass.
class checks {
public:
    explicit checks(test_case const& subject) : subject_(subject) {}

    /// `engine` names who computed, "float32 engine" for instance.
    template <class T>
    void compare(std::string const& engine, arithmetic computed, std::string_view tensor_name,
                 std::vector<T> const& got, shape const& got_shape) {
        auto const& expected = subject_[tensor_name];
        auto const result = conformance::compare(expected, std::span<T const>(got), got_shape, computed);
        auto& seen = compared_[engine];
        seen.insert(expected.name);
        if (expected.role == role::gradient) gradients_.insert(expected.name);
        if (!result.pass) fail(engine, result.message);
        if (result.worst >= worst_.worst) worst_ = {result.worst, engine + ", " + expected.name, 0, {}};
    }

    /// The same for anything with `elements` in C order and `extents`.
    template <class Tensor>
        requires requires(Tensor const& t) {
            t.elements;
            t.extents;
        }
    void compare(std::string const& engine, arithmetic computed, std::string_view tensor_name, Tensor const& got) {
        compare(engine, computed, tensor_name, got.elements, shape(got.extents.begin(), got.extents.end()));
    }

    void fail(std::string const& engine, std::string const& message) {
        failures_ += (failures_.empty() ? "" : "; ") + engine + ": " + message;
    }

    outcome finish() const {
        auto failures = failures_;
        auto const add = [&](std::string const& text) { failures += (failures.empty() ? "" : "; ") + text; };
        if (compared_.empty()) add("nothing was compared");
        for (auto const& [engine, seen] : compared_)
            for (auto const& each : subject_.tensors())
                if (each.role == role::output && !seen.contains(each.name))
                    add(engine + ": output " + each.name + " was not compared");
        for (auto const& each : subject_.unread()) add("input " + each + " was not used");
        if (!failures.empty()) return failed{failures};
        std::vector<std::string> left;
        for (auto const& each : subject_.tensors())
            if (each.role == role::gradient && !gradients_.contains(each.name)) left.push_back(each.name);
        return passed{worst_.worst, worst_.where, gradients_.size(), left};
    }

private:
    test_case const& subject_;
    std::map<std::string, std::set<std::string>> compared_;
    std::set<std::string> gradients_;
    std::string failures_;
    passed worst_;
};

}  // namespace conformance
