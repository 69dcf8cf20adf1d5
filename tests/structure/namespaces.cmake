# Everything lies in the namespace that is named after the instruction set (core/config.hpp says why), so that no
# function can forget it; but for the types that units of different sets hand to each other.
include(${CMAKE_CURRENT_LIST_DIR}/report.cmake)

set(shared_types core/bfloat16.hpp core/errors.hpp core/float16.hpp core/graph.hpp core/tensor.hpp core/view.hpp
    driver/arena.hpp driver/executor.hpp driver/workspace.hpp)

set(opened 0)
headers_in(headers *)
foreach(header IN LISTS headers)
    file(STRINGS ${ROOT}/include/fovea/${header} namespaces REGEX "^(inline )?namespace fovea")
    foreach(namespace IN LISTS namespaces)
        math(EXPR opened "${opened} + 1")
        if(header IN_LIST shared_types AND namespace MATCHES "^namespace fovea {$")
            continue()
        endif()
        if(NOT namespace MATCHES "^namespace fovea::FOVEA_SET(::[a-z_]+)* {$")
            problem("${header}: '${namespace}' is not below fovea::FOVEA_SET")
        endif()
    endforeach()
endforeach()
finish(${opened} "namespaces")
