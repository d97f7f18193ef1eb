/* The element type of the loops: -DREAL=float makes them single precision. */
#ifndef REAL
#define REAL double
#endif
typedef REAL real;
#define R(x) ((real)(x))
#include <tgmath.h>
