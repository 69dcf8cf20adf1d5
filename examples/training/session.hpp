// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of a training loop: the program's arguments, progress, the learning curve and the stated results.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace training {

/// The losses of one training, with a name for its curve.
struct learning_curve {
    std::string name;
    std::vector<double> steps, losses;
};

/// Draws curves over steps, with the loss on a logarithmic scale.
void save_curves(std::string const& path, std::string const& title, std::string const& caption,
                 std::vector<learning_curve> const& curves);

/// session: one run of a program of this folder, `program [FOLDER] [short] [SEED] [TEXT]`.
///
/// Pictures are written to FOLDER, build/training where none is given. A short run takes seconds and only has to show
/// that the loss falls. The seed is 1 where none is given; a run with the same seed has the same losses. TEXT is a
/// file.
class session {
public:
    session(int count, char** arguments) {
        for (int i = 1; i < count; ++i)
            if (std::strcmp(arguments[i], "short") == 0) is_short_ = true;
            else if (unsigned const number = static_cast<unsigned>(std::atoi(arguments[i])); number > 0) seed_ = number;
            else if (std::filesystem::is_regular_file(arguments[i])) text_ = arguments[i];
            else pictures_ = arguments[i];
        std::filesystem::create_directories(pictures_);
    }

    bool is_short() const { return is_short_; }
    unsigned seed() const { return seed_; }
    std::filesystem::path const& text() const { return text_; }
    std::string picture(std::string const& name) const { return (pictures_ / (name + ".svg")).string(); }

    /// Keeps the loss of a step for the curve, and prints it now and then.
    void note(learning_curve& curve, int step, double loss) {
        curve.steps.push_back(step);
        curve.losses.push_back(loss);
        auto const now = clock::now();
        if (step > 0 && now - printed_ < std::chrono::seconds(2)) return;
        printed_ = now;
        std::printf("  %-14s step %5d   loss %8.4f   %4.0f s\n", curve.name.c_str(), step, loss,
                    std::chrono::duration<double>(now - start_).count());
        std::fflush(stdout);
    }

    /// A result that the program states: printed, and the run fails where it is missed.
    void expect(bool reached, std::string const& result) {
        std::printf("%s %s\n", reached ? "reached:" : "MISSED: ", result.c_str());
        missed_ = missed_ || !reached;
    }
    int exit_status() const { return missed_ ? EXIT_FAILURE : EXIT_SUCCESS; }

private:
    using clock = std::chrono::steady_clock;

    std::filesystem::path pictures_ = "build/training", text_;
    unsigned seed_ = 1;
    bool is_short_ = false, missed_ = false;
    clock::time_point start_ = clock::now(), printed_ = start_;
};

/// A number as in "0.0123".
inline std::string number(double value, int digits = 4) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

}  // namespace training
