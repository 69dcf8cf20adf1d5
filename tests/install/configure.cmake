# What projects are told while they are configured: about components, versions, and builds that are slower than need be.
#
#   cmake -DPREFIX=DIR -DFOVEA=DIR -DWORK=DIR -DCXX=c++ -P configure.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(checks 0)
set(mistakes 0)
unset(ENV{CXXFLAGS})

# Configures a project with these lines, in which the library is found, and with these options; sets `said` and `failed`.
macro(configure_project lines)
    file(WRITE ${WORK}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(asked LANGUAGES CXX)\n${lines}\n")
    execute_process(
        COMMAND ${CMAKE_COMMAND} -S ${WORK} -B ${WORK}/build -G Ninja "-DCMAKE_PREFIX_PATH=${PREFIX}"
                -DCMAKE_CXX_COMPILER=${CXX} -UFOVEA_QUIET -DCMAKE_CXX_FLAGS= -DCMAKE_BUILD_TYPE= ${ARGN}
        RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said
    )
    string(REGEX REPLACE "[ \n]+" " " said "${said}")
    math(EXPR checks "${checks} + 1")
endmacro()
macro(mistake text)
    message(NOTICE "${text}: ${said}")
    math(EXPR mistakes "${mistakes} + 1")
endmacro()

# configures(<lines> [option...]), is_refused(<lines> <sentence>)
macro(configures lines)
    configure_project("${lines}" ${ARGN})
    if(failed)
        mistake("'${lines}' fails")
    endif()
endmacro()
macro(is_refused lines sentence)
    configure_project("${lines}")
    string(FIND "${said}" "${sentence}" at)
    if(NOT failed OR at EQUAL -1)
        mistake("'${lines}' does not fail with '${sentence}'")
    endif()
endmacro()

set(require "\nif(NOT TARGET fovea::fovea OR NOT fovea_headers_FOUND)\nmessage(FATAL_ERROR headers)\nendif()")
set(compiled "TARGET fovea::compiled")
set(kernels "COMMAND fovea_add_kernels")

configures("find_package(fovea REQUIRED)${require}
if(NOT ${compiled} OR NOT ${kernels})\nmessage(FATAL_ERROR all)\nendif()")
configures("find_package(fovea REQUIRED COMPONENTS headers)${require}
if(${compiled} OR ${kernels})\nmessage(FATAL_ERROR more)\nendif()")
configures("find_package(fovea REQUIRED COMPONENTS compiled)${require}
if(NOT ${compiled} OR ${kernels} OR NOT fovea_compiled_FOUND)\nmessage(FATAL_ERROR compiled)\nendif()")
configures("find_package(fovea REQUIRED COMPONENTS kernels)${require}
if(${compiled} OR NOT ${kernels} OR NOT fovea_kernels_FOUND)\nmessage(FATAL_ERROR kernels)\nendif()")
configures("find_package(fovea REQUIRED COMPONENTS headers OPTIONAL_COMPONENTS hats)${require}
if(fovea_hats_FOUND)\nmessage(FATAL_ERROR hats)\nendif()")
# MPI is looked for where it is named, and its absence is no error where it is optional.
configures("find_package(fovea REQUIRED COMPONENTS headers OPTIONAL_COMPONENTS mpi)${require}
if(fovea_mpi_FOUND AND NOT TARGET fovea::mpi)\nmessage(FATAL_ERROR mpi)\nendif()")
configures("find_package(fovea REQUIRED)\nif(TARGET fovea::mpi)\nmessage(FATAL_ERROR more)\nendif()")
# One component after another, and the library once found and once as a folder.
configures("find_package(fovea REQUIRED COMPONENTS headers)\nfind_package(fovea REQUIRED COMPONENTS compiled kernels)
if(NOT ${compiled} OR NOT ${kernels})\nmessage(FATAL_ERROR later)\nendif()")
configures("add_subdirectory([[${FOVEA}]] fovea)\nfind_package(fovea REQUIRED)${require}")
set(fetched "include(FetchContent)\nFetchContent_Declare(fovea SOURCE_DIR [[${FOVEA}]]")
set(both "\nif(NOT TARGET fovea::fovea OR NOT ${compiled} OR NOT ${kernels})\nmessage(FATAL_ERROR fetched)\nendif()")
configures("${fetched})\nFetchContent_MakeAvailable(fovea)${both}")
configures("${fetched} OVERRIDE_FIND_PACKAGE)\nfind_package(fovea REQUIRED COMPONENTS headers compiled)${both}")
# Folders beside one another that do not see what the other has found.
foreach(folder IN ITEMS one two)
    file(WRITE ${WORK}/${folder}.cpp "int main() {}\n")
    file(WRITE ${WORK}/${folder}/CMakeLists.txt "find_package(fovea REQUIRED COMPONENTS compiled)
add_executable(${folder} ../${folder}.cpp)\ntarget_link_libraries(${folder} PRIVATE fovea::compiled)\n")
endforeach()
configures("add_subdirectory(one)\nadd_subdirectory(two)")

# A compiler for another machine does not search the host's headers, which are not those of its C library.
file(REMOVE_RECURSE ${WORK}/build)
configures("find_package(fovea REQUIRED COMPONENTS headers)
get_target_property(folders fovea::fovea INTERFACE_INCLUDE_DIRECTORIES)
if(NOT CMAKE_CROSSCOMPILING OR \"/usr/include\" IN_LIST folders)\nmessage(FATAL_ERROR host)\nendif()"
           -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=riscv64)
file(REMOVE_RECURSE ${WORK}/build)

is_refused("find_package(fovea REQUIRED COMPONENTS headers hats)"
           "fovea has no component 'hats': its components are headers, compiled, kernels and mpi")
is_refused("find_package(fovea 0.2 REQUIRED)" "compatible with requested version \"0.2\"")
is_refused("set(FOVEA_HANA_INCLUDE_DIR NOTFOUND)\nset(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\nfind_package(fovea REQUIRED)"
           "fovea includes <boost/hana.hpp>: install Boost.Hana, or set FOVEA_HANA_INCLUDE_DIR")

# notes(<count of pieces of advice> <lines> [option...]): and the note is said once, however often the library is found.
macro(notes optimisation processor lines)
    configures("${lines}" ${ARGN})
    string(REGEX MATCHALL "fovea: this build is slower" all "${said}")
    list(LENGTH all count)
    set(wanted 0)
    if("${optimisation}" OR "${processor}")
        set(wanted 1)
    endif()
    string(FIND "${said}" "-DCMAKE_BUILD_TYPE=Release" about_optimisation)
    string(FIND "${said}" "-DCMAKE_CXX_FLAGS=-march=native" about_processor)
    if(NOT count EQUAL wanted OR (about_optimisation EQUAL -1 AND "${optimisation}")
       OR (NOT about_optimisation EQUAL -1 AND NOT "${optimisation}") OR (about_processor EQUAL -1 AND "${processor}")
       OR (NOT about_processor EQUAL -1 AND NOT "${processor}"))
        mistake("'${lines}' with '${ARGN}' notes ${count} times, and not optimisation ${optimisation} and processor ${processor}")
    endif()
endmacro()

# Vectors of AArch64 need no flag.
set(x86 OFF)
cmake_host_system_information(RESULT processor QUERY OS_PLATFORM)
if(processor MATCHES "^(x86_64|AMD64)$")
    set(x86 ON)
endif()
set(find "find_package(fovea REQUIRED)")
foreach(way IN ITEMS "${find}" "${find}\n${find}" "add_subdirectory([[${FOVEA}]] fovea)" "add_subdirectory(one)\n${find}")
    notes(ON ${x86} "${way}")
    notes(ON ${x86} "${way}" -DCMAKE_BUILD_TYPE=Debug)
    notes(OFF ${x86} "${way}" -DCMAKE_BUILD_TYPE=Release)
    notes(ON OFF "${way}" -DCMAKE_CXX_FLAGS=-march=native)
    notes(OFF OFF "${way}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS=-mavx2)
    notes(OFF OFF "${way}" -DFOVEA_QUIET=ON)
endforeach()
# Flags of single targets, of folders and of libraries that only hand them on count, wherever they are said.
set(options "-O2 -march=x86-64-v3")
notes(OFF OFF "${find}\nadd_executable(one one.cpp)\ntarget_compile_options(one PRIVATE ${options})")
notes(OFF OFF "${find}\nadd_library(flags INTERFACE)\ntarget_compile_options(flags INTERFACE ${options})")
notes(OFF OFF "${find}\nadd_compile_options(${options})\nadd_subdirectory(one)")
notes(ON ${x86} "${find}\nadd_executable(one one.cpp)\ntarget_compile_options(one PRIVATE -Wall -Og)")

message(NOTICE "${checks} projects, ${mistakes} mistakes")
if(mistakes GREATER 0)
    message(FATAL_ERROR "${mistakes} mistakes")
endif()
