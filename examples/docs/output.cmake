# What a page says that a program prints is what it prints:
#
#   <!-- output of examples/docs/program.cpp -->      a line before a block
#
# PROGRAM is run; it must succeed, and print what each such block of a page in ROOT/docs holds, of which there is one or
# more.
cmake_policy(VERSION 3.25)

execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${SOURCE} ends with ${status}")
endif()
string(REGEX REPLACE "\n+$" "\n" printed "${printed}")

set(blocks 0)
file(GLOB_RECURSE pages ${ROOT}/docs/*.md)
foreach(page IN LISTS pages)
    file(READ ${page} text)
    set(mark "<!-- output of ${SOURCE} -->\n```text\n")
    string(FIND "${text}" "${mark}" place)
    if(place EQUAL -1)
        continue()
    endif()
    math(EXPR blocks "${blocks} + 1")
    string(LENGTH "${mark}" length)
    math(EXPR place "${place} + ${length}")
    string(SUBSTRING "${text}" ${place} -1 text)
    string(FIND "${text}" "```" end)
    string(SUBSTRING "${text}" 0 ${end} block)
    if(NOT block STREQUAL printed)
        message(FATAL_ERROR "${page} says that ${SOURCE} prints\n${block}\nand it prints\n${printed}")
    endif()
endforeach()
if(blocks EQUAL 0)
    message(FATAL_ERROR "no page has a block behind '<!-- output of ${SOURCE} -->'")
endif()
message(NOTICE "${blocks} blocks are what ${SOURCE} prints")
