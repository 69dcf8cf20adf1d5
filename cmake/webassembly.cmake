# Clang 19 as a compiler of WebAssembly, whose vectors are those of any processor: without exceptions and threads.

# fovea_find_webassembly(<result>): the command, or nothing where this machine has no Clang 19 with wasi-libc and libc++.
function(fovea_find_webassembly result)
    find_program(FOVEA_CLANG_19 clang++-19)
    set(command ${FOVEA_CLANG_19} --target=wasm32-wasi -std=c++20 -msimd128 -fno-exceptions -Wall -Wextra)
    if(FOVEA_CLANG_19 AND NOT FOVEA_HAS_WEBASSEMBLY)
        set(hello ${CMAKE_CURRENT_BINARY_DIR}/hello)
        file(WRITE ${hello}.cpp "#include <string>\nint main() { return std::stoi(\"0\"); }\n")
        execute_process(
            COMMAND ${command} ${hello}.cpp -o ${hello}.wasm RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET
        )
        if(failed EQUAL 0)
            set(FOVEA_HAS_WEBASSEMBLY ON CACHE INTERNAL "Whether Clang 19 has what it takes to compile to WebAssembly")
        endif()
    endif()
    if(NOT FOVEA_HAS_WEBASSEMBLY)
        set(command)
    endif()
    set(${result} ${command} PARENT_SCOPE)
endfunction()
