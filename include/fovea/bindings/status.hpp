// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The status and the sentence that a function of C gives back.
#pragma once

#include <fovea/bindings/types.h>
#include <fovea/core/errors.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#ifndef __cpp_exceptions
#error "fovea: kernels for C make statuses of exceptions: compile without -fno-exceptions"
#endif

namespace fovea::FOVEA_SET::bindings {

/// Leaves a message where the caller wants one, and gives the status back.
inline fovea_status say(fovea_call const* call, fovea_status status, std::string_view message) {
    if (call == nullptr || call->message == nullptr || call->message_size == 0) return status;
    auto const length = std::min(message.size(), call->message_size - 1);
    std::memcpy(call->message, message.data(), length);
    call->message[length] = '\0';
    return status;
}

/// Does something, and makes a status and a message of what it throws.
template <class Work>
fovea_status status_of(fovea_call const* call, Work const& work) noexcept {
    try {
        work();
        return say(call, FOVEA_OK, "");
    } catch (shape_error const& e) {
        return say(call, FOVEA_SHAPE_ERROR, e.what());
    } catch (graph_error const& e) {
        return say(call, FOVEA_GRAPH_ERROR, e.what());
    } catch (std::bad_alloc const&) {
        return say(call, FOVEA_NO_MEMORY, "there is no memory for what the call keeps or computes in between");
    } catch (std::exception const& e) {
        return say(call, FOVEA_FAILED, e.what());
    } catch (...) {
        return say(call, FOVEA_FAILED, "an unknown exception was thrown");
    }
}

}  // namespace fovea::FOVEA_SET::bindings
