/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checks of a program in C: how many were made, and how many failed. */
#pragma once

#include <stdio.h>

static int checks, failures;

#define CHECK(condition)                                                         \
    do {                                                                         \
        ++checks;                                                                \
        if (!(condition)) {                                                      \
            ++failures;                                                          \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
        }                                                                        \
    } while (0)
