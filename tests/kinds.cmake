# Kinds of test programs: their flags, and what programs of one kind share.

# What tests compile by a command of their own has the standard of the rest, and the flags of CMAKE_CXX_FLAGS.
separate_arguments(fovea_command_flags NATIVE_COMMAND "${CMAKE_CXX_FLAGS}")
if(CMAKE_CXX_STANDARD)
    list(APPEND fovea_command_flags -std=c++${CMAKE_CXX_STANDARD})
else()
    list(APPEND fovea_command_flags -std=c++20)
endif()

# Whatever the build type optimises for: tests compile much and run little.
set(fovea_test_level $<$<CONFIG:Release>:-Og>)
set(fovea_plain_inline ${CMAKE_CURRENT_LIST_DIR}/support/plain_inline.hpp)
set(fovea_test_flags ${fovea_test_level} "SHELL:-include '${fovea_plain_inline}'")

# GCC collects garbage whenever its memory has grown by a third: never below 1 GB, compiling takes a tenth less time. The
# largest units collect from 450 MB on, and stay below 1.2 GB.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-expand=400;--param=ggc-min-heapsize=1000000>")
set(fovea_large_units "$<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=100;--param=ggc-min-heapsize=450000>")

# The main function, and with it Catch2, is compiled a single time.
add_library(fovea_catch_main OBJECT main.cpp)
target_compile_features(fovea_catch_main PRIVATE cxx_std_20)
target_compile_options(fovea_catch_main PRIVATE ${fovea_test_level})
target_link_libraries(fovea_catch_main PUBLIC Catch2::Catch2)
target_include_directories(fovea_catch_main PUBLIC ${CMAKE_CURRENT_LIST_DIR})

# fovea_add_test_kind(<name> <architecture> <level> [compiled] [widths] [header...]): the flags of one kind of tests, with
# what they share: what nearly every test includes, parsed once, and where it is `compiled`, the part of the engine that
# knows no specification, also for `widths` of vectors that the machine may not have.
function(fovea_add_test_kind name architecture level)
    cmake_parse_arguments(PARSE_ARGV 3 kind "compiled;widths" "" "")
    add_library(${name} OBJECT EXCLUDE_FROM_ALL common.cpp)
    target_link_libraries(${name} PUBLIC fovea::fovea fovea_warnings Catch2::Catch2)
    target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
    target_compile_options(${name} PUBLIC ${level} ${fovea_flags_${architecture}})
    target_compile_definitions(${name} PUBLIC FOVEA_TEST_LEVEL=${fovea_level})
    if(FOVEA_TEST_MATRIX_UNIT)
        target_compile_definitions(${name} PUBLIC FOVEA_TEST_MATRIX_UNIT=1)
    endif()
    set(instances)
    if(kind_widths)
        target_compile_definitions(${name} PUBLIC FOVEA_TEST_EMULATED=1)
        list(APPEND instances portable emulated_64)
        if(FOVEA_TEST_NIGHT)
            list(APPEND instances emulated_32)
        endif()
    endif()
    if(kind_compiled)
        target_compile_definitions(${name} PUBLIC FOVEA_COMPILED=1)
        list(TRANSFORM instances REPLACE "(.+)" "compiled/\\1.cpp")
        target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/compiled.cpp ${instances})
    endif()
    target_precompile_headers(${name} PRIVATE ${kind_UNPARSED_ARGUMENTS} support/common.hpp)
endfunction()

function(fovea_set_test_kind program architecture kind)
    set(name fovea_${kind}_tests_${architecture})
    target_link_libraries(${program} PRIVATE ${name})
    target_precompile_headers(${program} REUSE_FROM ${name})
endfunction()

# fovea_add_test_kinds(<architectures>): most tests are `plain`, which computes the same with less work for the compiler;
# kernels have the inlining that users have; what is `shipped` is compiled as users compile.
function(fovea_add_test_kinds architectures)
    # Other widths than the target's are the same code everywhere: an emulator would only take longer.
    set(widths widths)
    if(CMAKE_CROSSCOMPILING OR FOVEA_TEST_SELECTION)
        set(widths)
    endif()
    fovea_add_test_kind(
        fovea_plain_tests_native native "${fovea_test_level}" compiled ${widths} ${fovea_plain_inline}
    )
    foreach(architecture IN LISTS architectures ITEMS native)
        if(TARGET fovea_kernel_tests_${architecture})
            continue()
        endif()
        if(NOT architecture STREQUAL native)
            fovea_add_test_kind(
                fovea_plain_tests_${architecture} ${architecture} "${fovea_test_level}" compiled ${fovea_plain_inline}
            )
        endif()
        set(level $<$<CONFIG:Release>:-O1>)
        if(architecture STREQUAL native)
            set(level $<$<CONFIG:Release>:-O2>)
        endif()
        fovea_add_test_kind(fovea_kernel_tests_${architecture} ${architecture} ${level} ${widths})
        set(widths)
    endforeach()
    fovea_add_test_kind(fovea_shipped_tests_native native "" compiled)
    foreach(architecture IN LISTS architectures ITEMS native)
        fovea_add_catalogue(${architecture})
    endforeach()
endfunction()

# The specifications that tests loop over, compiled once for each instruction set, and what judges their calls, which
# knows none of them and is optimised.
function(fovea_add_catalogue architecture)
    if(TARGET fovea_catalogue_${architecture})
        return()
    endif()
    file(GLOB entries CONFIGURE_DEPENDS catalogue/entries/*.cpp)
    set(chosen ${selection})  # a selection of tests may have some entries alone
    list(FILTER chosen INCLUDE REGEX "^catalogue/entries/")
    if(chosen)
        list(TRANSFORM chosen REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1.cpp" OUTPUT_VARIABLE entries)
    endif()
    # At night some of the compositions of all parts (catalogue/compositions.hpp), by their numbers, are entries as well.
    set(numbers 11 224 82 295 153 34 247 105 318 176 389 57 270 128 341 199 412 366)
    if(NOT FOVEA_TEST_NIGHT OR NOT architecture STREQUAL native)
        set(numbers)
    endif()
    foreach(number IN LISTS numbers)
        set(source ${CMAKE_CURRENT_BINARY_DIR}/compositions/composition_${number}.cpp)
        set(end ";")
        set(compiled "catalogue::compile<compositions::composed<${number}>>()")
        file(CONFIGURE OUTPUT ${source}
             CONTENT "#include \"catalogue/compositions.hpp\"\n\n[[maybe_unused]] static bool const listed = ${compiled}@end@\n"
             @ONLY
        )
        list(APPEND entries ${source})
    endforeach()
    add_library(fovea_catalogue_${architecture} OBJECT EXCLUDE_FROM_ALL ${entries})
    fovea_set_test_kind(fovea_catalogue_${architecture} ${architecture} plain)
    if(chosen)
        target_compile_definitions(fovea_catalogue_${architecture} INTERFACE FOVEA_TEST_SOME_ENTRIES=1)
        list(JOIN chosen ", " chosen)
        message(STATUS "of the catalogue all but these is left out: ${chosen}")
    endif()
    target_compile_options(fovea_catalogue_${architecture} PRIVATE ${fovea_large_units})
    file(GLOB judges CONFIGURE_DEPENDS catalogue/*.cpp)
    set(judge fovea_catalogue_judge_${architecture})
    add_library(${judge} OBJECT EXCLUDE_FROM_ALL ${judges})
    target_link_libraries(${judge} PRIVATE fovea::fovea fovea_warnings Catch2::Catch2)
    target_include_directories(${judge} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
    target_compile_definitions(${judge} PRIVATE FOVEA_TEST_LEVEL=${fovea_level})
    target_compile_options(${judge} PRIVATE $<$<CONFIG:Release>:-O1> ${fovea_flags_${architecture}})
endfunction()

# fovea_read_tags(<result> <source>): the words behind `// test: ` in a source.
function(fovea_read_tags result source)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} line REGEX "^// test: " LIMIT_COUNT 1)
    string(REGEX REPLACE "^// test: " "" line "${line}")
    separate_arguments(line)
    set(${result} ${line} PARENT_SCOPE)
endfunction()

# fovea_add_cases(<program> <architecture> <kind> [EXCLUDE_FROM_ALL] <source>...): a program of test cases.
function(fovea_add_cases program architecture kind)
    add_executable(${program} ${ARGN})
    target_link_libraries(${program} PRIVATE fovea_catch_main)
    fovea_set_test_kind(${program} ${architecture} ${kind})
    foreach(source IN LISTS ARGN)
        if(EXISTS ${source})
            fovea_read_tags(tags ${source})
            if("catalogue" IN_LIST tags)
                target_link_libraries(
                    ${program} PRIVATE fovea_catalogue_${architecture} fovea_catalogue_judge_${architecture}
                )
                break()
            endif()
        endif()
    endforeach()
endfunction()

# The cases of a program, as ctest names them; without the scripts of Catch2, the program as a whole.
find_package(Catch2 QUIET)
if(Catch2_DIR)
    list(APPEND CMAKE_MODULE_PATH ${Catch2_DIR})
    include(Catch OPTIONAL)
endif()
# A name that no test has is an error; to Catch2 3 it is one anyway.
set(fovea_catch_arguments)
if(Catch2_VERSION VERSION_LESS 3)
    set(fovea_catch_arguments EXTRA_ARGS --warn NoTests)
endif()
function(fovea_list_cases program name)
    set(properties ${fovea_properties_of_cases} ${ARGN})
    if(COMMAND catch_discover_tests)
        catch_discover_tests(${program} TEST_PREFIX ${name}/ ${fovea_catch_arguments} PROPERTIES ${properties})
    else()
        add_test(NAME ${name} COMMAND ${program})
        # Wine may end with 0 where a thread of the program did not end well: what it says counts.
        if(WIN32)
            list(APPEND properties PASS_REGULAR_EXPRESSION "All tests passed" FAIL_REGULAR_EXPRESSION "wine: Unhandled")
        endif()
        if(properties)
            set_tests_properties(${name} PROPERTIES ${properties})
        endif()
    endif()
endfunction()

# fovea_compile_together(<program> <folder>): its sources are compiled several at a time, which takes half the time or
# less, each in a namespace of its own, so that none knows of the others: what they include comes before. Units have
# about as much memory: calls are large, words small, and what sanitizers add is larger than both. GCC's assembler for
# Windows, too, has no room for as much: the names of its sections end at ten megabytes.
function(fovea_compile_together program folder)
    set(together 4)
    if(folder MATCHES "^(driver|kernel|simd)$")
        set(together 3)
        target_compile_options(${program} PRIVATE ${fovea_large_units})
    endif()
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR (MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
        math(EXPR together "${together} / 2")
    endif()
    set(includes)
    get_target_property(sources ${program} SOURCES)
    foreach(source IN LISTS sources)
        fovea_read_tags(tags ${source})
        if("alone" IN_LIST tags)
            set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
            continue()
        endif()
        get_filename_component(folder ${source} DIRECTORY)
        file(STRINGS ${source} lines REGEX "^#include ")
        foreach(line IN LISTS lines)
            string(REGEX MATCH "\"(.+)\"" quoted "${line}")
            if(quoted AND EXISTS ${folder}/${CMAKE_MATCH_1})
                set(line "#include \"${folder}/${CMAKE_MATCH_1}\"")
            endif()
            list(APPEND includes "${line}")
        endforeach()
    endforeach()
    list(REMOVE_DUPLICATES includes)
    list(JOIN includes "\n" includes)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${program}.hpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "#pragma once\n${includes}\n" @ONLY)
    set_target_properties(
        ${program} PROPERTIES
        UNITY_BUILD ON
        UNITY_BUILD_BATCH_SIZE ${together}
        UNITY_BUILD_UNIQUE_ID FOVEA_TEST_FILE
        UNITY_BUILD_CODE_BEFORE_INCLUDE "#include \"${file}\"\nnamespace FOVEA_TEST_FILE {"
        UNITY_BUILD_CODE_AFTER_INCLUDE "}"
    )
endfunction()
