// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of <X11/Xlib.h>, <X11/Xutil.h> and <X11/Xos.h>.
#define Bool int
#define Status int
#define True 1
#define False 0
#define None 0L
#define Success 0
#define NotUseful 0
#define WhenMapped 1
#define Always 2
#define Above 0
#define Below 1
#define TopIf 2
#define BottomIf 3
#define Opposite 4
#define Complex 0
#define Nonconvex 1
#define Convex 2
#define Unsorted 0
#define YSorted 1
#define GrayScale 1
#define CurrentTime 0L
#define KeyPress 2
#define FocusIn 9
#define Expose 12
#define NoValue 0x0000
#define index(s, c) (strchr((s), (c)))
