"""The programs as users of Numba write them: loops, `prange` where iterations are independent."""
