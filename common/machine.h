/* Requirements on the machine. The Makefile compiles this first, so that the first line names
 * what is missing. */
#if __FLT_EVAL_METHOD__
#error float is computed in a wider type. On an x87: make CFLAGS='-O2 -msse2 -mfpmath=sse'
#endif

_Static_assert(sizeof(float) == 4 && __FLT_MANT_DIG__ == 24 && __FLT_MAX_EXP__ == 128,
               "float must be IEEE binary32");
_Static_assert(sizeof(double) == 8 && __DBL_MANT_DIG__ == 53, "double must be IEEE binary64");
_Static_assert(sizeof(int) == 4 && sizeof(long long) == 8 && __CHAR_BIT__ == 8,
               "int must have 32 bits");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the machine must be little-endian");
