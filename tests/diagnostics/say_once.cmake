# One mistake, one sentence: SOURCE with FOVEA_BROKEN must not compile, must say its sentence within the first lines of
# what the COMPILER writes, and must have no second error; without FOVEA_BROKEN it must compile without a warning, which
# is looked at where CORRECTED is true. Of a mistake that no sentence answers, the first words of the compiler's FAMILY
# are asked for, whatever else it says.
cmake_policy(VERSION 3.25)
set(lines_read 40)

file(READ ${SOURCE} text)
set(answered TRUE)
if(text MATCHES "\n// ${FAMILY}: ([^\n]+)\n")
    set(answered FALSE)
    set(lines_read 2)
elseif(NOT text MATCHES "\n// sentence: ([^\n]+(\n// [^\n]+)*)\n")
    message(FATAL_ERROR "${SOURCE}: a line '// sentence: ...' is missing")
endif()
string(REPLACE "\n// " " " sentence "${CMAKE_MATCH_1}")
set(ENV{LC_ALL} C)  # the quotation marks of compilers differ by language

string(REPLACE ":" ";" options "${FLAGS}")
list(APPEND options -fsyntax-only)

execute_process(
    COMMAND ${COMPILER} ${options} -DFOVEA_BROKEN ${SOURCE}
    RESULT_VARIABLE broken OUTPUT_VARIABLE output ERROR_VARIABLE output
)
string(FIND "${output}" "${sentence}" place)
string(SUBSTRING "${output}" 0 ${place} before)
string(REGEX REPLACE "[^\n]" "" newlines "${before}")
string(LENGTH "x${newlines}" line)
string(REGEX MATCHALL ": (fatal )?error: " errors "${output}")
list(LENGTH errors errors)
if(broken EQUAL 0)
    message(FATAL_ERROR "the mistake compiles: ${sentence}")
elseif(place EQUAL -1)
    message(FATAL_ERROR "the sentence is not said: ${sentence}\n${output}")
elseif(line GREATER lines_read)
    message(FATAL_ERROR "the sentence is said on line ${line}, after ${lines_read} others: ${sentence}\n${output}")
elseif(answered AND NOT errors EQUAL 1)
    message(FATAL_ERROR "${errors} errors where one sentence is enough: ${sentence}\n${output}")
endif()
message(NOTICE "line ${line}, ${errors} error(s): ${sentence}")
if(NOT CORRECTED)
    return()
endif()

execute_process(
    COMMAND ${COMPILER} ${options} ${SOURCE} RESULT_VARIABLE correct OUTPUT_VARIABLE output ERROR_VARIABLE output
)
if(NOT correct EQUAL 0)
    message(FATAL_ERROR "the corrected program does not compile:\n${output}")
elseif(output)
    message(FATAL_ERROR "the corrected program compiles with warnings:\n${output}")
endif()
message(NOTICE "corrected: compiles")
