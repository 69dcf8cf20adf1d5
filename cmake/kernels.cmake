# fovea_add_kernels: a library of compiled kernels for C, and for whatever calls C.
#
#   fovea_add_kernels(
#       TARGET name [STATIC]              not on Windows
#       SPECS header.hpp...               what the expressions use; a comment above what one names is its description
#       KERNELS name=expression...        a specification, or takes<"names">(function that returns one)
#       [SPECS ... KERNELS ...]...        kernels are built again when a header of theirs changes
#       [GRADIENTS name...]               those of the kernels that also have gradients: not those over pages
#       [OUTPUTS name=output...]          what kernels also give beside their result: lse weights scores entropy
#                                         best_key column_sums; several of one kernel as "name=lse weights"
#       TYPES f32 f64 bf16 f16            of queries, keys, values and result; "query=f32 key=q8_0 value=q4_0 result=f32"
#                                         where they differ: what is not named has the type of the query
#       ARCHS sse2 avx2 avx512 avx512_bf16 avx512_amx neon portable    those of other processors are left out; portable
#                                         is of those that have none of the others
#       [ASSEMBLY])                       also name_assembly: the inner loops of each kernel as text
#
# Makes the library `name`, with name.h, and a page name.md beside it in the build folder. One unit is compiled for each
# kernel, type and architecture, another one for its outputs, and one for its gradients; each call runs the best architecture of the
# processor. Of avx512_bf16 and avx512_amx only kernels for 16 bits are built: others gain nothing. Keys and values may
# also be i8, fp8_e4m3 or fp8_e5m2, or lie in blocks of q8_0, q4_0 or q4_1; gradients are of one type of reals.
# The library exports the functions of C alone. None of its code runs what was compiled for a better architecture.
include_guard(GLOBAL)
set(fovea_bindings_dir ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")

# All architectures, from the least of a processor to its best.
set(fovea_bindings_archs sse2 avx2 avx512 avx512_bf16 avx512_amx neon portable CACHE INTERNAL "")

# The processors of which an architecture is one, as CMAKE_SYSTEM_PROCESSOR names them.
foreach(arch IN ITEMS sse2 avx2 avx512 avx512_bf16 avx512_amx)
    set(fovea_bindings_processors_${arch} "^(x86_64|AMD64|amd64)$" CACHE INTERNAL "")
endforeach()
set(fovea_bindings_processors_neon "^(aarch64|arm64|ARM64)$" CACHE INTERNAL "")
set(fovea_bindings_processors_portable "^(riscv64|ppc64le|s390x|loongarch64|armv7l|i[3-6]86)$" CACHE INTERNAL "")

set(fovea_bindings_elements_f32 float CACHE INTERNAL "")
set(fovea_bindings_elements_f64 double CACHE INTERNAL "")
set(fovea_bindings_elements_bf16 fovea::bfloat16 CACHE INTERNAL "")
set(fovea_bindings_elements_f16 fovea::float16 CACHE INTERNAL "")
set(fovea_bindings_elements_i8 std::int8_t CACHE INTERNAL "")
foreach(type IN ITEMS fp8_e4m3 fp8_e5m2 q8_0 q4_0 q4_1)
    set(fovea_bindings_elements_${type} fovea::${type} CACHE INTERNAL "")
endforeach()
set(fovea_bindings_reals f32 f64 bf16 f16 CACHE INTERNAL "")
set(fovea_bindings_cached i8 fp8_e4m3 fp8_e5m2 q8_0 q4_0 q4_1 CACHE INTERNAL "")
set(fovea_bindings_outputs lse weights scores entropy best_key column_sums CACHE INTERNAL "")

set(fovea_bindings_flags_sse2 -march=x86-64 -mtune=generic CACHE INTERNAL "")
set(fovea_bindings_flags_avx2 -march=x86-64-v3 -mtune=generic CACHE INTERNAL "")
set(fovea_bindings_flags_avx512 -march=x86-64-v4 -mtune=generic CACHE INTERNAL "")
set(fovea_bindings_flags_avx512_bf16 -march=x86-64-v4 -mavx512bf16 -mtune=generic CACHE INTERNAL "")
set(fovea_bindings_flags_avx512_amx -march=x86-64-v4 -mavx512bf16 -DFOVEA_MATRIX_UNIT=1 -mtune=generic CACHE INTERNAL "")
set(fovea_bindings_flags_neon -march=armv8-a -mtune=generic CACHE INTERNAL "")
set(fovea_bindings_flags_portable "" CACHE INTERNAL "")  # those of the project

# What is compiled of a kernel, and what its functions end in.
set(fovea_bindings_what_unit "" CACHE INTERNAL "")
set(fovea_bindings_what_output_unit "The outputs of " CACHE INTERNAL "")
set(fovea_bindings_what_gradient_unit "The gradients of " CACHE INTERNAL "")
set(fovea_bindings_suffix_unit "" CACHE INTERNAL "")
set(fovea_bindings_suffix_output_unit _outputs CACHE INTERNAL "")
set(fovea_bindings_suffix_gradient_unit _gradient CACHE INTERNAL "")

# The types of query, key, value and result whose kernels differ from those of the next lesser architecture.
foreach(arch IN ITEMS sse2 avx2 avx512 neon portable)
    set(fovea_bindings_types_${arch} "." CACHE INTERNAL "")
endforeach()
foreach(arch IN ITEMS avx512_bf16 avx512_amx)
    set(fovea_bindings_types_${arch} "^(bf16|f16|i8);(bf16|f16|i8);(bf16|f16|i8);" CACHE INTERNAL "")
endforeach()

# Where the templates and the part of the library without specifications lie: beside this file when installed, in src/
# before.
function(fovea_find_bindings_file result file)
    set(path ${fovea_bindings_dir}/${file})
    if(NOT EXISTS ${path})
        get_filename_component(path ${fovea_bindings_dir}/../src/${file} ABSOLUTE)
    endif()
    set(${result} ${path} PARENT_SCOPE)
endfunction()

# Reads one of TYPES: its name, types_<name> of query, key, value and result, and elements_<name> as C++ names them.
function(fovea_read_types text)
    set(mistake "fovea_add_kernels: TYPES '${text}'")
    set(query ${text})
    foreach(unknown IN ITEMS key value result types elements)
        set(${unknown} "")
    endforeach()
    if(text MATCHES "=")
        set(query "")
        separate_arguments(words UNIX_COMMAND "${text}")
        foreach(word IN LISTS words)
            if(NOT word MATCHES "^(query|key|value|result)=(.+)$")
                message(FATAL_ERROR "${mistake}: '${word}' is no query=, key=, value= or result= and a type")
            endif()
            set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
        endforeach()
        if(NOT query)
            message(FATAL_ERROR "${mistake} has no query: write \"query=f32 ${text}\", in quotation marks")
        endif()
    endif()
    foreach(role IN ITEMS query key value result)
        set(known ${fovea_bindings_reals})
        if(role MATCHES "key|value")
            list(APPEND known ${fovea_bindings_cached})
        endif()
        if(NOT ${role})
            set(${role} ${query})
        endif()
        if(NOT ${role} IN_LIST known)
            list(JOIN known ", " known)
            message(FATAL_ERROR "${mistake}: ${role} '${${role}}' is not one of ${known}")
        endif()
        list(APPEND types ${${role}})
        list(APPEND elements ${fovea_bindings_elements_${${role}}})
    endforeach()
    set(name ${query})
    set(mixed ${types})
    list(REMOVE_DUPLICATES mixed)
    if(mixed STREQUAL query)
        set(elements ${fovea_bindings_elements_${query}})
    else()
        set(name ${query}_${key}_${value})
        if(NOT result STREQUAL query)
            string(APPEND name _${result})
        endif()
        if(given_GRADIENTS)
            message(FATAL_ERROR "${mistake}: GRADIENTS are of one type: put these kernels into a library without them")
        endif()
    endif()
    list(JOIN elements ", " elements)
    set(name ${name} PARENT_SCOPE)
    set(types_${name} "${types}" PARENT_SCOPE)
    set(elements_${name} "${elements}" PARENT_SCOPE)
endfunction()

# Reads one of OUTPUTS: outputs_<kernel>, as an argument of C++ after others.
function(fovea_read_outputs text kernels)
    set(mistake "fovea_add_kernels: OUTPUTS '${text}'")
    if(NOT text MATCHES "^([A-Za-z_][A-Za-z_0-9]*)=(.+)$")
        message(FATAL_ERROR "${mistake} is no kernel and its outputs: write \"name=lse weights\"")
    endif()
    set(kernel ${CMAKE_MATCH_1})
    separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_2}")
    if(NOT kernel IN_LIST kernels)
        message(FATAL_ERROR "${mistake}: '${kernel}' is none of the KERNELS")
    endif()
    list(REMOVE_DUPLICATES words)
    foreach(word IN LISTS words)
        if(NOT word IN_LIST fovea_bindings_outputs)
            list(JOIN fovea_bindings_outputs ", " known)
            message(FATAL_ERROR "${mistake}: '${word}' is not one of ${known}")
        endif()
    endforeach()
    list(TRANSFORM words REPLACE "(.+)" "\"\\1\"")
    list(JOIN words ", " words)
    set(outputs_${kernel} ", fovea::bindings::outputs<${words}>{}" PARENT_SCOPE)
endfunction()

# Reads the arguments into given_<keyword>; for each kernel there are expression_<name>, headers_<name> and
# outputs_<name>.
macro(fovea_read_kernels)
    set(keyword)
    foreach(word IN ITEMS TARGET SPECS TYPES ARCHS KERNELS GRADIENTS OUTPUTS)
        set(given_${word})
    endforeach()
    set(given_STATIC OFF)
    set(given_ASSEMBLY OFF)
    foreach(word IN LISTS ARGN)
        if(word MATCHES "^(STATIC|ASSEMBLY)$")
            set(given_${word} ON)
        elseif(word MATCHES "^(TARGET|SPECS|KERNELS|GRADIENTS|OUTPUTS|TYPES|ARCHS)$")
            set(keyword ${word})
            if("${word}" STREQUAL "SPECS")
                set(given_SPECS)
            endif()
        elseif("${keyword}" STREQUAL "KERNELS")
            if(NOT word MATCHES "^([A-Za-z_][A-Za-z_0-9]*)=(.+)$")
                message(FATAL_ERROR "fovea_add_kernels: '${word}' is no kernel: write name=expression")
            endif()
            set(name ${CMAKE_MATCH_1})
            if(name IN_LIST given_KERNELS)
                message(FATAL_ERROR "fovea_add_kernels: there are two kernels named '${name}'")
            endif()
            list(APPEND given_KERNELS ${name})
            set(expression_${name} "${CMAKE_MATCH_2}")
            set(outputs_${name} "")
            set(headers_${name} ${given_SPECS})
        elseif(keyword)
            list(APPEND given_${keyword} ${word})
        else()
            message(FATAL_ERROR "fovea_add_kernels: '${word}' stands before TARGET, SPECS, KERNELS, TYPES and ARCHS")
        endif()
    endforeach()
    foreach(word IN ITEMS TARGET KERNELS TYPES ARCHS)
        if(NOT given_${word})
            message(FATAL_ERROR "fovea_add_kernels: ${word} is missing")
        endif()
    endforeach()
    if(NOT given_TARGET MATCHES "^[A-Za-z_][A-Za-z_0-9]*$")
        message(FATAL_ERROR "fovea_add_kernels: TARGET '${given_TARGET}' must be a name of C: functions begin with it")
    endif()
    foreach(name IN LISTS given_GRADIENTS)
        if(NOT name IN_LIST given_KERNELS)
            message(FATAL_ERROR "fovea_add_kernels: GRADIENTS '${name}' is none of the KERNELS")
        endif()
    endforeach()
    foreach(text IN LISTS given_OUTPUTS)
        fovea_read_outputs("${text}" "${given_KERNELS}")
    endforeach()
    set(others ${given_TYPES})
    set(given_TYPES)
    foreach(text IN LISTS others)
        fovea_read_types("${text}")
        list(APPEND given_TYPES ${name})
    endforeach()
    list(REMOVE_DUPLICATES given_TYPES)
    set(others ${given_ARCHS})
    set(given_ARCHS)
    foreach(arch IN LISTS others)
        if(NOT arch IN_LIST fovea_bindings_archs)
            list(JOIN fovea_bindings_archs ", " known)
            message(FATAL_ERROR "fovea_add_kernels: ARCHS '${arch}' is not one of ${known}")
        endif()
    endforeach()
    foreach(arch IN LISTS fovea_bindings_archs)
        if(arch IN_LIST others AND CMAKE_SYSTEM_PROCESSOR MATCHES "${fovea_bindings_processors_${arch}}")
            list(APPEND given_ARCHS ${arch})
        endif()
    endforeach()
    if(NOT given_ARCHS)
        message(
            FATAL_ERROR "fovea_add_kernels: none of ARCHS '${others}' is of this processor, ${CMAKE_SYSTEM_PROCESSOR}"
        )
    endif()
    if(given_STATIC AND WIN32)
        message(
            FATAL_ERROR
                "fovea_add_kernels: STATIC is not for Windows, whose linker joins no objects: take it away, for a DLL"
        )
    endif()
endmacro()

# What a unit of a kernel includes.
function(fovea_kernel_includes result)
    set(lines "#include <fovea/fovea.hpp>")
    foreach(header IN LISTS ARGN)
        get_filename_component(path ${header} ABSOLUTE)
        if(NOT EXISTS ${path})
            message(FATAL_ERROR "fovea_add_kernels: SPECS '${header}' is not there: ${path}")
        endif()
        string(APPEND lines "\n#include \"${path}\"")
    endforeach()
    set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# What all of the code is compiled with, whatever the project adds.
function(fovea_set_kernel_options target)
    target_link_libraries(${target} PRIVATE fovea::fovea)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(
        ${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                             INTERPROCEDURAL_OPTIMIZATION OFF
    )
    target_compile_options(${target} PRIVATE ${ARGN})
    if(MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -Wa,-muse-unaligned-vector-move)  # the stack has 16 bytes of alignment
    endif()
endfunction()

# The objects of one architecture, which define the functions of C and, for the linker to merge, functions of templates.
function(fovea_add_kernel_units result target arch types kernels)
    set(optimised $<$<CONFIG:>:-O3> $<$<CONFIG:>:-DNDEBUG>)
    fovea_find_bindings_file(unit bindings/unit.cpp.in)
    fovea_find_bindings_file(engine compiled.cpp)
    set(TARGET ${target})
    set(ARCH ${arch})
    set(sources)
    set(symbols)
    foreach(KERNEL IN LISTS kernels)
        fovea_kernel_includes(INCLUDES ${headers_${KERNEL}})
        set(EXPRESSION "${expression_${KERNEL}}")
        foreach(TYPE IN LISTS types)
            if(NOT "${types_${TYPE}}" MATCHES "${fovea_bindings_types_${arch}}")
                continue()
            endif()
            set(ELEMENTS "${elements_${TYPE}}")
            set(purposes unit)
            if(outputs_${KERNEL})
                list(APPEND purposes output_unit)
            endif()
            if(KERNEL IN_LIST given_GRADIENTS)
                list(APPEND purposes gradient_unit)
            endif()
            foreach(UNIT IN LISTS purposes)
                set(WHAT "${fovea_bindings_what_${UNIT}}${KERNEL}")
                set(name ${KERNEL}_${TYPE}${fovea_bindings_suffix_${UNIT}})
                set(FUNCTION ${target}_${name}_${arch})
                set(ARGUMENTS "")
                if(NOT "${UNIT}" STREQUAL "unit")
                    set(ARGUMENTS "${outputs_${KERNEL}}")
                endif()
                set(source ${directory}/${arch}/${name}.cpp)
                configure_file(${unit} ${source} @ONLY)
                list(APPEND sources ${source})
                list(APPEND symbols ${FUNCTION})
            endforeach()
        endforeach()
    endforeach()
    set(${result} PARENT_SCOPE)
    if(NOT sources)
        return()
    endif()
    set(units ${target}_${arch})
    add_library(${units} OBJECT ${sources})
    fovea_set_kernel_options(
        ${units} ${fovea_bindings_flags_${arch}} ${optimised} $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>
    )
    # What knows no specification is compiled once where that is less work than in each unit.
    list(LENGTH sources count)
    if(count GREATER 3)
        target_sources(${units} PRIVATE ${engine})
        target_compile_definitions(${units} PRIVATE FOVEA_COMPILED=1)
        target_precompile_headers(${units} PRIVATE <fovea/fovea.hpp> <fovea/bindings/unit.hpp>)
        set_source_files_properties(${engine} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
    set(objects "$<FILTER:$<TARGET_OBJECTS:${units}>,EXCLUDE,[.][gp]ch$>")
    if(given_STATIC OR (APPLE AND NOT "${given_ARCHS}" STREQUAL arch))
        fovea_join_objects(objects ${units} "${objects}" "${symbols}")
    endif()
    set(${result} ${objects} PARENT_SCOPE)
endfunction()

# Objects as a single one in which everything but the named functions is local. A static library needs it: what it merges
# with is in the program, where other code may come to call what was compiled for a better architecture. So does the
# linker of macOS, which does not keep the first of several functions of one name, but the one with the largest alignment.
function(fovea_join_objects result units objects symbols)
    set(object ${directory}/${units}.o)
    set(functions ${directory}/${units}.functions.txt)
    if(APPLE)
        list(TRANSFORM symbols PREPEND _)
        set(join ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,-exported_symbols_list,${functions} -o ${object} "${objects}")
    else()
        set(join ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,--force-group-allocation -o ${object}.all "${objects}"
                 COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${functions} ${object}.all ${object})
    endif()
    list(JOIN symbols "\n" symbols)
    file(CONFIGURE OUTPUT ${functions} CONTENT "${symbols}\n")
    add_custom_command(
        OUTPUT ${object} COMMAND ${join} DEPENDS ${units} $<TARGET_OBJECTS:${units}> ${functions}
        COMMENT "Joining ${units}" VERBATIM COMMAND_EXPAND_LISTS
    )
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    set(${result} ${object} PARENT_SCOPE)
endfunction()

# What a shared library exports: the functions of C, and nothing that the linker could merge with code of others.
function(fovea_export_kernels target)
    if(WIN32)
        target_sources(${target} PRIVATE ${directory}/${target}.def)
        set_source_files_properties(${directory}/${target}.def PROPERTIES GENERATED ON)
        if(MINGW)
            target_link_options(${target} PRIVATE -static)  # whoever loads it has no libraries of the compiler
        endif()
        return()
    endif()
    set(list ${directory}/exported.txt)
    if(APPLE)
        file(CONFIGURE OUTPUT ${list} CONTENT "_${target}_*\n")
        target_link_options(${target} PRIVATE LINKER:-exported_symbols_list,${list})
    else()
        file(CONFIGURE OUTPUT ${list} CONTENT "{ global: ${target}_*; local: *; };\n")
        target_link_options(${target} PRIVATE LINKER:--version-script=${list})
    endif()
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${list})
endfunction()

# name_assembly: the inner loops of each unit, with the lines they come from. All of a unit is compiled in one piece.
function(fovea_add_kernel_assembly target archs)
    fovea_find_bindings_file(loops bindings/inner_loops.awk)
    set(listings)
    foreach(arch IN LISTS archs)
        if(NOT TARGET ${target}_${arch})
            continue()
        endif()
        get_target_property(sources ${target}_${arch} SOURCES)
        list(FILTER sources INCLUDE REGEX "/${arch}/[^/]*[.]cpp$")
        foreach(source IN LISTS sources)
            get_filename_component(unit ${source} NAME_WE)
            set(object ${target}_${arch}_${unit}_assembly)
            add_library(${object} OBJECT EXCLUDE_FROM_ALL ${source})
            fovea_set_kernel_options(${object} ${fovea_bindings_flags_${arch}} -g1 $<$<CONFIG:>:-O3>)
            set(listing ${directory}/${arch}/${unit}.loops.txt)
            add_custom_command(
                OUTPUT ${listing}
                COMMAND ${CMAKE_OBJDUMP} --disassemble --demangle --line-numbers --no-show-raw-insn
                        $<TARGET_OBJECTS:${object}> > ${listing}.all
                COMMAND awk -f ${loops} ${listing}.all > ${listing}
                DEPENDS ${object} $<TARGET_OBJECTS:${object}> ${loops}
                COMMENT "Listing the inner loops of ${unit} for ${arch}" VERBATIM
            )
            list(APPEND listings ${listing})
        endforeach()
    endforeach()
    add_custom_target(${target}_assembly DEPENDS ${listings})
endfunction()

# The program that writes the header, the dispatcher and the page, and the command that runs it.
function(fovea_add_kernel_description target baseline types kernels)
    fovea_find_bindings_file(describe bindings/describe.cpp.in)
    fovea_find_bindings_file(write bindings/write.cpp.in)
    set(TARGET ${target})
    set(DECLARE "")
    set(CALL "")
    set(sources)
    foreach(KERNEL IN LISTS kernels)
        fovea_kernel_includes(INCLUDES ${headers_${KERNEL}})
        set(EXPRESSION "${expression_${KERNEL}}")
        set(HEADERS "")
        foreach(header IN LISTS headers_${KERNEL})
            get_filename_component(path ${header} ABSOLUTE)
            string(APPEND HEADERS "R\"fovea(${path})fovea\", ")
        endforeach()
        set(DESCRIBE "")
        set(gradients false)
        if(KERNEL IN_LIST given_GRADIENTS)
            set(gradients true)
        endif()
        foreach(type IN LISTS types)
            string(APPEND DESCRIBE "    to.push_back(fovea::bindings::describe_kernel<${elements_${type}}>("
                                   "\"${KERNEL}\", expression, fovea_generated_kernel(), comment, ${gradients}, written${outputs_${KERNEL}}));\n")
        endforeach()
        configure_file(${describe} ${directory}/describe/${KERNEL}.cpp @ONLY)
        list(APPEND sources ${directory}/describe/${KERNEL}.cpp)
        string(APPEND DECLARE "void describe_${KERNEL}(std::vector<fovea::bindings::kernel_description>& to);\n")
        string(APPEND CALL "        describe_${KERNEL}(library.kernels);\n")
    endforeach()
    list(TRANSFORM given_ARCHS REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE ARCHITECTURES)
    list(JOIN ARCHITECTURES ", " ARCHITECTURES)
    configure_file(${write} ${directory}/describe/write_${target}.cpp @ONLY)

    set(program ${target}_describe)
    add_executable(${program} ${sources} ${directory}/describe/write_${target}.cpp)
    fovea_set_kernel_options(${program} ${fovea_bindings_flags_${baseline}} -O0)
    list(LENGTH sources count)
    if(count GREATER 3)
        target_precompile_headers(${program} PRIVATE <fovea/fovea.hpp> <fovea/bindings/describe.hpp>)
    endif()
    add_custom_command(
        OUTPUT ${directory}/written
        BYPRODUCTS ${directory}/${target}.h ${directory}/${target}.cpp ${directory}/${target}.def
                   ${directory}/${target}.md
        COMMAND ${program} ${fovea_bindings_types} ${directory}
        COMMAND ${CMAKE_COMMAND} -E touch ${directory}/written
        DEPENDS ${program} ${fovea_bindings_types}
        COMMENT "Writing ${target}.h" VERBATIM
    )
    add_custom_target(${target}_written DEPENDS ${directory}/written)
endfunction()

function(fovea_add_kernels)
    fovea_read_kernels(${ARGN})
    set(target ${given_TARGET})
    set(directory ${CMAKE_CURRENT_BINARY_DIR}/${target})
    file(MAKE_DIRECTORY ${directory})
    foreach(arch IN ITEMS sse2 neon portable)
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "${fovea_bindings_processors_${arch}}")
            set(baseline ${arch})
        endif()
    endforeach()
    find_file(
        fovea_bindings_types fovea/bindings/types.h
        HINTS ${fovea_bindings_dir}/../include ${fovea_bindings_dir}/../../include ${fovea_bindings_dir}/../../../include
        NO_CMAKE_FIND_ROOT_PATH NO_DEFAULT_PATH REQUIRED
    )
    mark_as_advanced(fovea_bindings_types)

    # In a shared library the linker keeps the first of several functions of one name. Whatever calls such a function has
    # one of its own, and the least architecture comes first: no code comes to call what was compiled for a better one.
    set(objects $<TARGET_OBJECTS:${target}_dispatch>)
    foreach(arch IN LISTS given_ARCHS)
        fovea_add_kernel_units(units ${target} ${arch} "${given_TYPES}" "${given_KERNELS}")
        list(APPEND objects ${units})
    endforeach()
    if(given_ASSEMBLY)
        fovea_add_kernel_assembly(${target} "${given_ARCHS}")
    endif()
    fovea_add_kernel_description(${target} ${baseline} "${given_TYPES}" "${given_KERNELS}")

    set(kind SHARED)
    if(given_STATIC)
        set(kind STATIC)
    endif()
    add_library(${target}_dispatch OBJECT ${directory}/${target}.cpp)
    add_dependencies(${target}_dispatch ${target}_written)
    fovea_set_kernel_options(${target}_dispatch ${fovea_bindings_flags_${baseline}} $<$<CONFIG:>:-O2>)
    add_library(${target} ${kind} ${objects})
    add_dependencies(${target} ${target}_written)
    if(NOT given_STATIC)
        fovea_export_kernels(${target})
    endif()
    set_source_files_properties(${directory}/${target}.cpp PROPERTIES GENERATED ON)
    target_link_libraries(${target} PRIVATE fovea::fovea)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX INTERPROCEDURAL_OPTIMIZATION OFF)
    target_include_directories(${target} INTERFACE ${directory})
    set_target_properties(
        ${target} PROPERTIES FOVEA_KERNELS "${given_KERNELS}" FOVEA_TYPES "${given_TYPES}" FOVEA_ARCHS "${given_ARCHS}"
    )
endfunction()
