// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernel_speed_LEVEL LEVEL: the speed of each kernel on one level beside the plain loop, which like this whole program
// is compiled with the flags of the level. FOVEA_ARCHITECTURE must name the level as well. Prints lines for a program:
//
//   level    LEVEL  VECTORS  PEAK in f32  PEAK in f64      operations per second
//   timed    KERNEL  TYPE  OPERATIONS  SECONDS  SECONDS of the plain loop  PEAK  BYTES  BANDWIDTH
//   skipped  KERNEL  TYPE  REASON
#include "bench/yardstick/machine.hpp"
#include "bench/yardstick/stopwatch.hpp"
#include "kernels/calls/libraries.hpp"
#include "kernels/calls/operands.hpp"
#include "kernels/calls/work.hpp"
#include "kernels/plain/loops.hpp"
#include "kernels/speed/clock.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

namespace {

/// Scratch memory that all calls of a library use, so that they allocate nothing.
class scratch {
public:
    explicit scratch(calls::library const& of) : of_(of), workspace_(of.create_workspace()) {}
    ~scratch() { of_.destroy_workspace(workspace_); }
    scratch(scratch const&) = delete;
    scratch& operator=(scratch const&) = delete;
    fovea_workspace* get() const { return workspace_; }

private:
    calls::library const& of_;
    fovea_workspace* workspace_;
};

/// Times a kernel and its plain loop, one after the other; the peak is measured right before and right after.
template <class Element>
void time_kernel(fovea_kernel const& kernel, scratch const& memory) {
    calls::operands<Element> o(kernel.name, calls::timed_sizes(kernel.name));
    auto const arrays = o.arrays();
    auto const values = o.values(kernel);
    char message[300] = "";
    fovea_call const call{1, memory.get(), message, sizeof message};
    if (kernel.run(&call, arrays.data(), values.data()) != FOVEA_OK) throw std::runtime_error(message);

    auto const& n = o.extents;
    double const operations = calls::operations_of(kernel.name, n, o.arguments);
    double const bytes = calls::bytes_of(kernel.name, n, o.arguments, sizeof(Element));
    yardstick::around const bandwidth([&] { return bytes > 0 ? yardstick::read_bandwidth() : 0.0; });
    yardstick::around const peak([] { return speed::steady(yardstick::fma_peak<calls::real<Element>>); });
    double const fused = speed::seconds_of(0.15, [&] { kernel.run(&call, arrays.data(), values.data()); });
    double const mean_peak = peak.mean(), mean_bandwidth = bandwidth.mean();
    auto const loop = plain::loop_of<Element>(kernel.name);
    double const plain = speed::seconds_of(0.15, [&] { loop(o); });
    std::printf("timed\t%s\t%s", kernel.name, kernel.type);
    for (double const number : {operations, fused, plain, mean_peak, bytes, mean_bandwidth})
        std::printf("\t%.17g", number);
    std::printf("\n");
}

void time_level(std::string const& level) {
    std::printf("level\t%s\t%s\t%.17g\t%.17g\n", level.c_str(), yardstick::architecture().c_str(),
                speed::steady(yardstick::fma_peak<float>),
                speed::steady(yardstick::fma_peak<double>));
    for (auto const& of : calls::libraries()) {
        scratch const memory(of);
        for (auto const& kernel : of.kernels) {
            auto const reason = calls::why_skipped(of, kernel, level);
            if (reason.empty())
                calls::for_element(kernel.type, [&]<class Element>() { time_kernel<Element>(kernel, memory); });
            else std::printf("skipped\t%s\t%s\t%s\n", kernel.name, kernel.type, reason.c_str());
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int count, char** values) try {
    if (count != 2) throw std::invalid_argument("name the level: kernel_speed_LEVEL LEVEL");
    time_level(values[1]);
    return EXIT_SUCCESS;
} catch (std::exception const& e) {
    std::fprintf(stderr, "kernel_speed: %s\n", e.what());
    return EXIT_FAILURE;
}
