// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs of docs/executors.md; each states what must hold of its result. What is not here is left out, and said.
#include "require.hpp"

#include <fovea/fovea.hpp>

#include <cstdio>
#include <thread>
#include <vector>

#ifdef FOVEA_DOCS_OPENMP
#include <omp.h>
#endif
#ifdef FOVEA_DOCS_TBB
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

using namespace fovea;

//! [own]
/// Starts threads for each call: the shortest executor, and the slowest.
struct new_threads {
    int count;
    index_t workers() const { return count; }
    void bulk(index_t n, auto const& f) const {
        std::vector<std::jthread> all;
        for (index_t i = 0; i < n; ++i) all.emplace_back([&f, i] { f(i); });
    }  // all have ended here
};
//! [own]

#ifdef FOVEA_DOCS_OPENMP
//! [openmp]
struct openmp {
    int count = omp_get_max_threads();
    index_t workers() const { return count; }
    void bulk(index_t n, auto const& f) const {
#pragma omp parallel for num_threads(count)
        for (index_t i = 0; i < n; ++i) f(i);
    }
};
//! [openmp]
#endif

namespace {

constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;

struct operands {
    tensor<float, 4> q{{2, 4, 60, 16}}, result{{2, 4, 60, 16}}, expected{{2, 4, 60, 16}};
    operands() {
        for (std::size_t i = 0; i < q.elements.size(); ++i) q.elements[i] = static_cast<float>(i * 7 % 11) / 11;
        attend(spec, q, q, q, expected);
    }
    void check(char const* what) {
        require(result.elements == expected.elements, what);
        for (auto& x : result) x = 0;
    }
};

}  // namespace

int main() {
    operands x;
    auto const& [q, ignored, also_ignored] = x;
    auto& result = x.result;
    //! [pool]
    attend(threads(4), spec, q, q, q, result);
    //! [pool]
    x.check("threads of the pool");
    //! [own_call]
    attend(new_threads{4}, spec, q, q, q, result);
    //! [own_call]
    x.check("an executor of one's own");
#ifdef FOVEA_DOCS_OPENMP
    //! [openmp_call]
    attend(openmp{}, spec, q, q, q, result);
    //! [openmp_call]
    x.check("threads of OpenMP");
#else
    std::puts("left out: OpenMP is not here");
#endif
#ifdef FOVEA_DOCS_TBB
    //! [tbb]
    auto const on_tbb = bulk_executor(tbb::this_task_arena::max_concurrency(), [](index_t n, auto const& f) {
        tbb::parallel_for(index_t{0}, n, f);
    });
    attend(on_tbb, spec, q, q, q, result);
    //! [tbb]
    x.check("threads of oneTBB");
    //! [tbb_isolated]
    auto const isolated = bulk_executor(tbb::this_task_arena::max_concurrency(), [](index_t n, auto const& f) {
        tbb::this_task_arena::isolate([&] { tbb::parallel_for(index_t{0}, n, f); });
    });
    tbb::parallel_for(0, 8, [&](int) {
        thread_local workspace scratch;  // safe: a thread that waits in a call begins no other task
        tensor<float, 4> own(q.extents);
        attend(isolated, scratch, spec, q, q, q, own);
        require(own.elements == x.expected.elements, "a workspace for each thread");
    });
    //! [tbb_isolated]
#else
    std::puts("left out: oneTBB is not here");
#endif
}
