# Builds kernels whose arguments have every name that could break the files generated for them, and calls them from C,
# C++ and Python: the words of both languages, what the generated files of another library say, and the macros there.
#
#   cmake -DCLIENT=DIR -DGENERATED=DIR -DPREFIX=DIR -DWORK=DIR -DCC=cc -DCXX=c++ [-DPYTHON=python3 -DPACKAGE=DIR]
#         -P run.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(identifier "[A-Za-z_][A-Za-z_0-9]*")

# Words of C23 and C++20, and of the compilers.
set(words
    alignas alignof auto bool break case char const constexpr continue default do double else enum extern false float
    for goto if inline int long nullptr register restrict return short signed sizeof static static_assert struct switch
    thread_local true typedef typeof typeof_unqual union unsigned void volatile while _Alignas _Alignof _Atomic _BitInt
    _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary _Noreturn _Static_assert _Thread_local
    and and_eq asm bitand bitor catch char8_t char16_t char32_t class compl concept consteval constinit const_cast
    co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not
    not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template this throw try
    typeid typename using virtual wchar_t xor xor_eq final override import module
    _ __ _x __x _X x_ x__ __attribute__ __restrict __restrict__ __asm__ __func__ __int128 __builtin_cpu_supports
    names_kernels names_numbers_0_f32 run_names_numbers_0_f32 best_names_numbers_0_f32 numbers_0 tables describe_tables
    self arguments cls lambda None True is in def args kwargs
)

# What stands in generated files, and what their preprocessor knows.
file(GLOB_RECURSE files ${GENERATED}/*.h ${GENERATED}/*.cpp)
set(spoken)
foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "/[*]([^*]|[*]+[^*/])*[*]+/" "" text "${text}")
    string(REGEX MATCHALL "${identifier}" found "${text}")
    list(APPEND spoken ${found})
endforeach()
list(REMOVE_DUPLICATES spoken)
file(GLOB headers ${GENERATED}/*.h)
set(macros)
foreach(compiler IN ITEMS "${CC};-xc;-std=gnu11" "${CXX};-xc++;-std=gnu++20")
    execute_process(
        COMMAND ${compiler} -dM -E -include ${headers} /dev/null OUTPUT_VARIABLE defined COMMAND_ERROR_IS_FATAL ANY
    )
    string(REGEX MATCHALL "#define ${identifier}" found "${defined}")
    list(TRANSFORM found REPLACE "#define " "")
    list(APPEND macros ${found})
endforeach()
list(REMOVE_DUPLICATES macros)
list(FILTER macros EXCLUDE REGEX "^_|_(MIN|WIDTH|C)$|FAST|LEAST") # hundreds of a few forms
list(FILTER spoken EXCLUDE REGEX "^(best_|run_|arguments_|describe_)?bound_.*") # as those of this one, named below
foreach(list IN ITEMS spoken macros)
    list(LENGTH ${list} count)
    if(count LESS 20)
        message(FATAL_ERROR "only ${count} names are ${list} in ${GENERATED}")
    endif()
endforeach()

# Those that are refused by name.
file(READ ${PREFIX}/include/fovea/bindings/takes.hpp text)
string(REGEX MATCH "taken_names{([^}]*)}" taken "${text}")
string(REGEX MATCHALL "${identifier}" refused "${CMAKE_MATCH_1}")
list(APPEND refused pages sequences)
list(LENGTH refused count)
if(count LESS 15)
    message(FATAL_ERROR "the names that are refused were not found: ${refused}")
endif()
set(names ${words} ${spoken} ${macros})
list(REMOVE_DUPLICATES names)
list(REMOVE_ITEM names ${refused} seen)
list(REMOVE_ITEM words ${refused})

# A kernel for each 160 names of numbers, of which the last says how many keys are seen; and one with tables and extents.
set(kernels)
set(header "#pragma once\n#include <fovea/fovea.hpp>\n#include <fovea/bindings/takes.hpp>\n")
set(body "return fovea::dot | fovea::where(fovea::placeholders::kv_idx < seen) | fovea::softmax | fovea::weighted_sum;")
list(LENGTH names count)
foreach(first RANGE 0 ${count} 160)
    list(SUBLIST names ${first} 160 some)
    list(TRANSFORM some REPLACE ".+" "float" OUTPUT_VARIABLE types)
    list(JOIN some ", " some)
    list(JOIN types ", " types)
    string(
        APPEND header "inline constexpr auto numbers_${first} = fovea::takes<\"${some}, seen\">([](${types}, "
               "fovea::index_t seen) { ${body} });\n"
    )
    list(APPEND kernels "numbers_${first}=numbers_${first}")
endforeach()
set(tables)
set(types)
set(rest ${words})
list(LENGTH rest left)
while(left GREATER 1)
    list(POP_FRONT rest name axis)
    list(APPEND tables "${name}(${axis})")
    list(APPEND types "fovea::view<float const, 1>")
    list(LENGTH rest left)
endwhile()
list(JOIN tables ", " tables)
list(JOIN types ", " types)
string(APPEND header "inline constexpr auto tables = fovea::takes<\"${tables}, seen\">([](${types}, fovea::index_t seen)"
                     " { ${body} });\n")
file(WRITE ${WORK}/names.hpp "${header}")

file(WRITE ${WORK}/names.cmake "set(KERNELS ${kernels} tables=tables)\n")

execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${CLIENT} -B ${WORK}/build -G Ninja -DCMAKE_PREFIX_PATH=${PREFIX} -DNAMES=${WORK}
            -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
)
execute_process(
    COMMAND ${CMAKE_COMMAND} --build ${WORK}/build RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said
)
if(failed)
    message(FATAL_ERROR "${said}")
endif()
foreach(program IN ITEMS call_c call_cpp)
    execute_process(COMMAND ${WORK}/build/${program} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(PYTHON)
    execute_process(
        COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PACKAGE} PYTHONDONTWRITEBYTECODE=1 ${PYTHON} ${CLIENT}/call.py
                ${WORK}/build/libnames.so COMMAND_ERROR_IS_FATAL ANY
    )
else()
    message("skipped: Python, which needs NumPy")
endif()
message("${count} names built and called")
