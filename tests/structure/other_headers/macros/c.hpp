// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of <complex.h>, and of other headers of C on Unix: <sys/param.h>, <sys/sysmacros.h>, <term.h>.
#define complex _Complex
#define imaginary _Imaginary
#define _Complex_I (__extension__ 1.0iF)
#define I _Complex_I
#define major(device) gnu_dev_major(device)
#define minor(device) gnu_dev_minor(device)
#define MIN(a, b) (((a) < (b)) ? (a) : (b))
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#define roundup(x, y) ((((x) + ((y) - 1)) / (y)) * (y))
#define howmany(x, y) (((x) + ((y) - 1)) / (y))
#define bell terminal->strings[1]
#define columns terminal->numbers[0]
#define device_type terminal->numbers[36]
#define label_width terminal->numbers[10]
#define lines terminal->numbers[2]
