// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "calls/calls.hpp"

#include <algorithm>

void fuzz::judge_operands(memory& all, extents_t<4> const& q, extents_t<4> const& k, extents_t<4> const& v,
                          extents_t<4> const& result) {
    all.must_refuse(k[0] != q[0] || v[0] != q[0], "batches do not agree");
    all.must_refuse(v[1] != k[1] || k[1] <= 0 || q[1] % k[1] != 0, "heads do not agree");
    all.must_refuse(v[2] != k[2], "key and value do not agree");
    all.must_refuse(q[3] != k[3], "query and key do not agree");
    all.must_refuse(result != extents_t<4>{q[0], q[1], q[2], v[3]}, "result does not fit");
}

bool fuzz::is_long(extents_t<4> const& q, extents_t<4> const& k, extents_t<4> const& v) {
    double const rows = static_cast<double>(q[0]) * static_cast<double>(q[1]) * static_cast<double>(q[2]);
    double const features = static_cast<double>(q[3]) + static_cast<double>(v[3]) + 8;
    double const of_keys = static_cast<double>(k[2]) * features;
    double const of_rows = rows * (of_keys + features);
    // Keys may be prepared where no query looks at them, but not for heads that do not exist.
    return of_rows > 4e6 || (rows > 0 && of_keys > 4e6);
}
