# Of a function that two units define with the same name the linker keeps one, whichever comes first. If it uses
# instructions that only one unit may use, the program breaks on the smaller machine, and no compiler or linker says so.
# Therefore: no function that both objects define, the library's or one that it made of a template of the standard
# library, may hold an AVX instruction; vzeroupper, which ends a function that used wide registers, is one.
cmake_policy(VERSION 3.25)

# The functions that an object defines for sharing: weak symbols.
function(shareable_functions result object)
    execute_process(COMMAND ${NM} --defined-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL " W _Z[A-Za-z0-9_]*" functions "${symbols}")
    list(TRANSFORM functions REPLACE " W " "")
    set(${result} ${functions} PARENT_SCOPE)
endfunction()

shareable_functions(narrow ${NARROW})
shareable_functions(wide ${WIDE})
list(LENGTH narrow narrow_count)
list(LENGTH wide wide_count)
if(wide_count EQUAL 0)
    message(FATAL_ERROR "${WIDE} shares no function at all: is this still the right place to look?")
endif()

set(shared 0)
set(mixed 0)
foreach(function IN LISTS wide)
    if(NOT function IN_LIST narrow)
        continue()
    endif()
    math(EXPR shared "${shared} + 1")
    # A complete constructor or destructor is another name for the one of the base, and its code lies under that; what
    # is rarely run lies by itself.
    string(REGEX REPLACE "([CD])1E" "\\12E" base ${function})
    set(sections)
    foreach(name IN ITEMS ${function} ${base})
        list(APPEND sections --section=.text.${name} --section=.text.unlikely.${name} --section=.text.startup.${name})
    endforeach()
    execute_process(
        COMMAND ${OBJDUMP} -d --no-show-raw-insn ${sections} ${WIDE}
        OUTPUT_VARIABLE code ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY
    )
    if(code MATCHES "\t(v[a-z0-9]+)[ \t\n]")
        message(NOTICE "in both units, with instructions of one (${CMAKE_MATCH_1}): ${function}")
        math(EXPR mixed "${mixed} + 1")
    endif()
endforeach()
message(NOTICE "checked ${shared} functions that both units define, of ${narrow_count} and ${wide_count}")
if(mixed GREATER 0)
    message(FATAL_ERROR "${mixed} functions depend on the instruction set and are not named after it")
endif()
