# <fovea/fovea.hpp> is the one header a program includes: it brings every word and every public door.
include(${CMAKE_CURRENT_LIST_DIR}/report.cmake)

set(doors driver/attend.hpp driver/explain.hpp reference/attend.hpp)

headers_in(needed ${words})
list(APPEND needed ${doors})
file(STRINGS ${ROOT}/include/fovea/fovea.hpp included REGEX "^#include <fovea/")
foreach(header IN LISTS needed)
    if(NOT "#include <fovea/${header}>" IN_LIST included)
        problem("fovea.hpp: lacks #include <fovea/${header}>")
    endif()
endforeach()
list(LENGTH needed count)
finish(${count} "headers the umbrella must include")
