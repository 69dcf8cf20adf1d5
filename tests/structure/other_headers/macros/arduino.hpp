// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of <Arduino.h> and <binary.h>.
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define abs(x) ((x) > 0 ? (x) : -(x))
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x) - 0.5))
#define constrain(amt, low, high) ((amt) < (low) ? (low) : ((amt) > (high) ? (high) : (amt)))
#define radians(deg) ((deg) * DEG_TO_RAD)
#define degrees(rad) ((rad) * RAD_TO_DEG)
#define sq(x) ((x) * (x))
#define bit(b) (1UL << (b))
#define word(...) makeWord(__VA_ARGS__)
#define lowByte(w) ((unsigned char)((w) & 0xff))
#define bitRead(value, bit) (((value) >> (bit)) & 0x01)
#define interrupts() sei()
#define F(string_literal) (string_literal)
#define PI 3.1415926535897932
#define HALF_PI 1.5707963267948966
#define TWO_PI 6.283185307179586
#define EULER 2.718281828459045
#define HIGH 0x1
#define LOW 0x0
#define INPUT 0x0
#define OUTPUT 0x1
#define DEFAULT 1
#define EXTERNAL 0
#define INTERNAL 3
#define CHANGE 1
#define B0 0
#define B1 1
#define B10 2
#define A0 14
#define A1 15
#define A2 16
#define A3 17
