# An example is short, needs nothing but the headers, and prints the lines of comments at its end, after `// prints`.
#
#   cmake -DSOURCE=example.cpp -DPROGRAM=example [-DEMULATOR=qemu] -P prints.cmake

include(${CMAKE_CURRENT_LIST_DIR}/printed.cmake)

file(READ ${SOURCE} text)
string(REGEX REPLACE "[^\n]" "" newlines "${text}")
string(LENGTH "${newlines}" lines)
if(lines GREATER 40)
    message(FATAL_ERROR "${SOURCE} has ${lines} lines, and 40 are allowed")
endif()
string(REGEX MATCHALL "#include [^\n]*" includes "${text}")
foreach(include IN LISTS includes)
    if(NOT include MATCHES "^#include <(fovea/fovea\\.hpp|[a-z_]+)>$")
        message(FATAL_ERROR "${SOURCE}: ${include}: an example includes fovea/fovea.hpp and the standard library")
    endif()
endforeach()

string(FIND "${text}" "\n// prints\n" place)
if(place EQUAL -1)
    message(FATAL_ERROR "${SOURCE} does not end with '// prints' and what it prints")
endif()
string(SUBSTRING "${text}" ${place} -1 expected)
string(REGEX REPLACE "^\n// prints\n" "" expected "${expected}")
string(REGEX REPLACE "// ?([^\n]*\n)" "\\1" expected "${expected}")
printed_by_program(printed)
require_printed("${printed}" ${SOURCE} "${expected}")
