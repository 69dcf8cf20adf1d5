# Counts the templates that Clang instantiates for SOURCE and compares with the line "NAME count" of LIMITS, which holds
# for the standard library named in its first line. With STORE in the environment the line is written instead.
cmake_policy(VERSION 3.25)
set(tolerance 2)  # percent; the header alone is nine tenths of every count

if(NOT CLANG)
    message(NOTICE "skipped: clang++-19 is not installed")
    return()
endif()
string(REPLACE ":" ";" flags "${FLAGS}")

execute_process(
    COMMAND ${CLANG} ${flags} -E -dM -x c++ -include version /dev/null OUTPUT_VARIABLE macros ERROR_QUIET
)
string(REGEX MATCH "define _GLIBCXX_RELEASE ([0-9]+)" found "${macros}")
set(library "libstdc++ ${CMAKE_MATCH_1}")
file(STRINGS ${LIMITS} lines)
if(NOT "# Clang 19, ${library}" IN_LIST lines AND NOT DEFINED ENV{STORE})
    message(NOTICE "skipped: no counts are stored for ${library}")
    return()
endif()

execute_process(
    COMMAND ${CLANG} ${flags} -fsyntax-only -Xclang -print-stats ${SOURCE}
    RESULT_VARIABLE result ERROR_VARIABLE output OUTPUT_VARIABLE output
)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${SOURCE} does not compile:\n${output}")
endif()
set(count 0)
foreach(kind IN ITEMS ClassTemplateSpecialization VarTemplateSpecialization ImplicitConceptSpecialization)
    if(NOT output MATCHES "([0-9]+) ${kind} decls")
        message(FATAL_ERROR "Clang no longer says how many ${kind} declarations there are")
    endif()
    math(EXPR count "${count} + ${CMAKE_MATCH_1}")
endforeach()

foreach(line IN LISTS lines)
    if(line MATCHES "^${NAME} ([0-9]+)$")
        set(limit ${CMAKE_MATCH_1})
        set(stored "${line}")
    endif()
endforeach()
if(DEFINED ENV{STORE})
    list(FILTER lines EXCLUDE REGEX "^(#|${NAME} )")
    list(APPEND lines "${NAME} ${count}")
    list(SORT lines)
    list(JOIN lines "\n" text)
    file(WRITE ${LIMITS} "# Clang 19, ${library}\n${text}\n")
    message(NOTICE "stored: ${NAME} ${count}")
    return()
endif()
if(NOT DEFINED limit)
    message(FATAL_ERROR "no count is stored for ${NAME}: cmake --build build/release --target store_instantiations")
endif()
message(NOTICE "${NAME} instantiates ${count} classes, variables and concepts; stored are ${limit} (Clang 19, ${library})")
math(EXPR allowed "${limit} * (100 + ${tolerance}) / 100")
if(count GREATER allowed)
    message(FATAL_ERROR "more than ${tolerance} % above what is stored")
endif()
