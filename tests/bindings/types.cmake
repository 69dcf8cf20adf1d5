# TYPES and OUTPUTS of fovea_add_kernels: what functions are then called, or given, and what is said of mistakes.
#
#   cmake -DKERNELS=cmake/kernels.cmake [-DTYPES=one of them [-DMORE=GRADIENTS name, OUTPUTS name=output, STATIC]
#         [-DWIN32=ON]] -P types.cmake
cmake_policy(VERSION 3.25)

if(TYPES)
    set(CMAKE_SYSTEM_PROCESSOR x86_64)
    include(${KERNELS})
    function(read)
        fovea_read_kernels(${ARGN})
        message("${given_TYPES}: ${elements_${given_TYPES}}${outputs_causal}")
    endfunction()
    read(TARGET read KERNELS causal=causal TYPES "${TYPES}" ARCHS sse2 ${MORE})
    return()
endif()

# require_said(<type> <what is said of it> [GRADIENTS causal] [OUTPUTS output] [STATIC])
set(system)
function(require_said types expected)
    execute_process(
        COMMAND ${CMAKE_COMMAND} -DKERNELS=${KERNELS} "-DTYPES=${types}" "-DMORE=${ARGN}" ${system} -P
                ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        OUTPUT_VARIABLE said ERROR_VARIABLE said
    )
    string(REGEX REPLACE "[ \n]+" " " said "${said}")
    string(FIND "${said}" "${expected}" place)
    if(place EQUAL -1)
        message(SEND_ERROR "TYPES \"${types}\" says '${said}', not '${expected}'")
    endif()
endfunction()

require_said(f32 "f32: float ")
require_said(bf16 "bf16: fovea::bfloat16 ")
require_said("query=f64" "f64: double ")
require_said("query=f32 key=f32 value=f32 result=f32" "f32: float ")
require_said("query=f32 key=q8_0 value=q4_0" "f32_q8_0_q4_0: float, fovea::q8_0, fovea::q4_0, float ")
require_said("value=i8 query=f16" "f16_f16_i8: fovea::float16, fovea::float16, std::int8_t, fovea::float16 ")
require_said("query=bf16 result=f32" "bf16_bf16_bf16_f32: fovea::bfloat16, fovea::bfloat16, fovea::bfloat16, float ")
require_said("query=f32 key=fp8_e4m3 value=fp8_e5m2 result=f64"
             "f32_fp8_e4m3_fp8_e5m2_f64: float, fovea::fp8_e4m3, fovea::fp8_e5m2, double ")

set(reals "f32, f64, bf16, f16")
set(cached "${reals}, i8, fp8_e4m3, fp8_e5m2, q8_0, q4_0, q4_1")
require_said(q8_0 "TYPES 'q8_0': query 'q8_0' is not one of ${reals}")
require_said("query=i8" "TYPES 'query=i8': query 'i8' is not one of ${reals}")
require_said("query=f32 key=q5_0" "key 'q5_0' is not one of ${cached}")
require_said("query=f32 value=F32" "value 'F32' is not one of ${cached}")
require_said("query=f32 result=i8" "result 'i8' is not one of ${reals}")
require_said("key=q8_0" "TYPES 'key=q8_0' has no query: write \"query=f32 key=q8_0\", in quotation marks")
require_said("query=f32 keys=q8_0" "'keys=q8_0' is no query=, key=, value= or result= and a type")
require_said("query=f32 q8_0" "'q8_0' is no query=, key=, value= or result= and a type")
require_said("query=f32 key=" "'key=' is no query=, key=, value= or result= and a type")
require_said("query=f32 key=q8_0" "GRADIENTS are of one type" GRADIENTS causal)

require_said(f32 "f32: float, fovea::bindings::outputs<\"lse\">{} " OUTPUTS causal=lse)
require_said(f32 "float, fovea::bindings::outputs<\"weights\", \"lse\">{} " OUTPUTS "causal=weights lse weights")
require_said(f32 "OUTPUTS 'lse' is no kernel and its outputs: write \"name=lse weights\"" OUTPUTS lse)
require_said(f32 "OUTPUTS 'alibi=lse': 'alibi' is none of the KERNELS" OUTPUTS alibi=lse)
require_said(f32 "'state' is not one of lse, weights, scores, entropy, best_key, column_sums" OUTPUTS "causal=lse state")

require_said(f32 "f32: float " STATIC)
set(system -DWIN32=ON)
require_said(f32 "f32: float ")
require_said(f32 "STATIC is not for Windows, whose linker joins no objects: take it away, for a DLL" STATIC)
