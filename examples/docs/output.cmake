# What a page says that a program prints is what it prints:
#
#   <!-- output of examples/docs/program.cpp -->      a line before a block of text
#
# PROGRAM, built of SOURCE, is run, by EMULATOR where there is one; it must succeed, and print what each such block of
# the pages in ROOT/docs holds, of which there is one or more. KNOWN are the sources of all programs that are run so: a
# page names no other.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../printed.cmake)

printed_by_program(printed)
string(REGEX REPLACE "\n+$" "\n" printed "${printed}")

set(blocks 0)
set(mark "<!-- output of ${SOURCE} -->\n```text\n")
string(LENGTH "${mark}" length)
file(GLOB_RECURSE pages ${ROOT}/docs/*.md)
foreach(page IN LISTS pages)
    file(READ ${page} text)
    string(REGEX MATCHALL "<!-- output of [^ ]+ -->" named "${text}")
    foreach(name IN LISTS named)
        string(REGEX REPLACE "<!-- output of ([^ ]+) -->" "\\1" name "${name}")
        if(NOT name IN_LIST KNOWN)
            message(FATAL_ERROR "${page}: nobody compares with what ${name} prints")
        endif()
    endforeach()
    string(FIND "${text}" "${mark}" place)
    while(NOT place EQUAL -1)
        math(EXPR blocks "${blocks} + 1")
        math(EXPR place "${place} + ${length}")
        string(SUBSTRING "${text}" ${place} -1 text)
        string(FIND "${text}" "```" end)
        string(SUBSTRING "${text}" 0 ${end} block)
        require_printed("${printed}" ${page} "${block}")
        string(FIND "${text}" "${mark}" place)
    endwhile()
endforeach()
if(blocks EQUAL 0)
    message(FATAL_ERROR "no page has a block behind '<!-- output of ${SOURCE} -->'")
endif()
message(NOTICE "${blocks} blocks are what ${SOURCE} prints")
