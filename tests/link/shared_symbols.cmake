# Of a function that two units define with the same name the linker keeps one, whichever comes first. If it uses
# instructions that only one unit may use, the program breaks on the smaller machine, and no compiler or linker says so.
# Therefore: no function of fovea's that both objects define may hold an AVX instruction.
cmake_policy(VERSION 3.25)

# The functions of the library that an object defines for sharing: weak symbols in namespace fovea.
function(shareable_functions result object)
    execute_process(COMMAND ${NM} --defined-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL " W _ZNK?5fovea[A-Za-z0-9_]*" functions "${symbols}")
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
    # A complete destructor is another name for the one of the base, and its code lies under that.
    string(REGEX REPLACE "D1Ev$" "D2Ev" section ${function})
    execute_process(
        COMMAND ${OBJDUMP} -d --no-show-raw-insn --section=.text.${section} ${WIDE}
        OUTPUT_VARIABLE code COMMAND_ERROR_IS_FATAL ANY
    )
    if(code MATCHES "\t(v[a-z0-9]+)[ \t]")
        message(NOTICE "in both units, with instructions of one (${CMAKE_MATCH_1}): ${function}")
        math(EXPR mixed "${mixed} + 1")
    endif()
endforeach()
message(NOTICE "checked ${shared} functions that both units define, of ${narrow_count} and ${wide_count}")
if(mixed GREATER 0)
    message(FATAL_ERROR "${mixed} functions depend on the instruction set and are not named after it")
endif()
