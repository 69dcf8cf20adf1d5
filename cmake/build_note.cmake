# For projects that use fovea: a note, once, where the whole build asks for no optimisation, or on x86-64 for no processor.
# FOVEA_QUIET=ON leaves it out.
include_guard(GLOBAL)

# fovea_add_flags(<variable> <folder>): adds to the text what the targets of this folder and those below are compiled
# with. Packages that a folder below has found for itself are out of sight.
function(fovea_add_flags variable folder)
    set(text "${${variable}}")
    get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    get_property(imported DIRECTORY "${folder}" PROPERTY IMPORTED_TARGETS)
    foreach(target IN LISTS targets imported)
        if(TARGET ${target})
            get_property(own TARGET ${target} PROPERTY COMPILE_OPTIONS)
            get_property(handed_on TARGET ${target} PROPERTY INTERFACE_COMPILE_OPTIONS)
            string(APPEND text " ${own} ${handed_on}")
        endif()
    endforeach()
    get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
    foreach(below IN LISTS folders)
        fovea_add_flags(text "${below}")
    endforeach()
    set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# Called where the outermost folder ends, when every target is known.
function(fovea_note_build)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    set(flags "${CMAKE_CXX_COMPILER_ARG1} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
    fovea_add_flags(flags "${CMAKE_SOURCE_DIR}")
    set(advice)
    if(NOT CMAKE_CONFIGURATION_TYPES AND NOT flags MATCHES "(^|[ ;:])-O([123s]|fast)?($|[ ;>])")
        string(APPEND advice "\n  No optimisation: write -DCMAKE_BUILD_TYPE=Release.")
    endif()
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND NOT flags MATCHES "-m(arch=|cpu=|avx|sse4|fma)")
        string(APPEND advice "\n  No processor, so that the code is for any x86-64, with SSE2: write "
                             "-DCMAKE_CXX_FLAGS=-march=native where it runs on this one.")
    endif()
    if(advice)
        message(NOTICE "fovea: this build is slower than it need be. FOVEA_QUIET=ON leaves this note out.${advice}")
    endif()
endfunction()

if(NOT FOVEA_QUIET)
    cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL fovea_note_build)
endif()
