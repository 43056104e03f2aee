/* What translated code works with: arrays, complex numbers, and functions of whole numbers as Python has them.

   An array is a pointer and its lengths; one with an s behind its name has gaps between its entries, and knows how far
   neighbours are apart. The file that includes this one has defined ROOMS, the number of places in its code where an
   array is made. Such an array stands in a room of its own, which is used again when the code comes by again. */
#ifndef FLEXCTL_NUMBERS_H
#define FLEXCTL_NUMBERS_H

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define FX_UNUSED __attribute__((unused))
#else
#define FX_UNUSED
#endif
#define FX static inline FX_UNUSED

typedef struct { double re, im; } fx_complex;

typedef struct {
    void *room[ROOMS + 1];
    size_t size[ROOMS + 1];
    jmp_buf out; /* where to go when there is no memory left */
} fx_context;

/* Arrays of one kind of number, with one, two and three indices. */
#define FX_KIND(k, number) \
    typedef struct { number *p; int64_t n0; } fx_##k##1; \
    typedef struct { number *p; int64_t n0, s0; } fx_##k##1s; \
    typedef struct { number *p; int64_t n0, n1; } fx_##k##2; \
    typedef struct { number *p; int64_t n0, n1, s0, s1; } fx_##k##2s; \
    typedef struct { number *p; int64_t n0, n1, n2; } fx_##k##3; \
    typedef struct { number *p; int64_t n0, n1, n2, s0, s1, s2; } fx_##k##3s;

FX_KIND(f, double)
FX_KIND(i, int64_t)
FX_KIND(c, fx_complex)

FX int64_t fx_at(int64_t i, int64_t n) { return i < 0 ? i + n : i; }

FX int64_t fx_bound(int64_t i, int64_t n)
{
    const int64_t at = i < 0 ? i + n : i;
    return at < 0 ? 0 : at > n ? n : at;
}

FX int64_t fx_between(int64_t low, int64_t high) { return high > low ? high - low : 0; }

FX int64_t fx_floor_div(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

FX int64_t fx_floor_mod(int64_t a, int64_t b)
{
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

FX double fx_floor_mod_f(double a, double b)
{
    const double r = fmod(a, b);
    return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}

FX double fx_floor_div_f(double a, double b) { return floor((a - fx_floor_mod_f(a, b)) / b + 0.5); }

FX int64_t fx_size_i(int64_t a) { return a < 0 ? -a : a; }
FX int64_t fx_max_i(int64_t a, int64_t b) { return b > a ? b : a; }
FX int64_t fx_min_i(int64_t a, int64_t b) { return b < a ? b : a; }
FX double fx_max_f(double a, double b) { return b > a ? b : a; }
FX double fx_min_f(double a, double b) { return b < a ? b : a; }
FX double fx_square(double a) { return a * a; }
FX double fx_cube(double a) { return a * a * a; }
FX double fx_sign(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }

FX fx_complex fx_complex_of(double re, double im)
{
    fx_complex z;
    z.re = re;
    z.im = im;
    return z;
}

FX fx_complex fx_plus(fx_complex a, fx_complex b) { return fx_complex_of(a.re + b.re, a.im + b.im); }
FX fx_complex fx_less(fx_complex a, fx_complex b) { return fx_complex_of(a.re - b.re, a.im - b.im); }
FX fx_complex fx_minus(fx_complex a) { return fx_complex_of(-a.re, -a.im); }
FX fx_complex fx_conjugate(fx_complex a) { return fx_complex_of(a.re, -a.im); }
FX fx_complex fx_scaled(double s, fx_complex a) { return fx_complex_of(s * a.re, s * a.im); }
FX double fx_modulus(fx_complex a) { return hypot(a.re, a.im); }
FX int fx_same(fx_complex a, fx_complex b) { return a.re == b.re && a.im == b.im; }

FX fx_complex fx_times(fx_complex a, fx_complex b)
{
    return fx_complex_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/* Smith's way, which does not overflow where the quotient does not. */
FX fx_complex fx_over(fx_complex a, fx_complex b)
{
    if (fabs(b.re) >= fabs(b.im)) {
        const double r = b.im / b.re, d = b.re + b.im * r;
        return fx_complex_of((a.re + a.im * r) / d, (a.im - a.re * r) / d);
    } else {
        const double r = b.re / b.im, d = b.re * r + b.im;
        return fx_complex_of((a.re * r + a.im) / d, (a.im * r - a.re) / d);
    }
}

FX void *fx_room(fx_context *fx, int room, int64_t count, size_t each, int zeros)
{
    const size_t size = (size_t)(count > 0 ? count : 1) * each;
    if (size > fx->size[room]) {
        void *more = realloc(fx->room[room], size);
        if (more == NULL) {
            longjmp(fx->out, 1);
        }
        fx->room[room] = more;
        fx->size[room] = size;
    }
    if (zeros) {
        memset(fx->room[room], 0, size);
    }
    return fx->room[room];
}

FX double *fx_room_f(fx_context *fx, int room, int64_t count, int zeros)
{
    return (double *)fx_room(fx, room, count, sizeof(double), zeros);
}

FX int64_t *fx_room_i(fx_context *fx, int room, int64_t count, int zeros)
{
    return (int64_t *)fx_room(fx, room, count, sizeof(int64_t), zeros);
}

FX fx_complex *fx_room_c(fx_context *fx, int room, int64_t count, int zeros)
{
    return (fx_complex *)fx_room(fx, room, count, sizeof(fx_complex), zeros);
}

/* What goes through all entries of an array: fill it with a value, put another array there, copy one without its gaps. */
#define FX_EACH1(x) for (int64_t i0 = 0; i0 < (x).n0; i0++)
#define FX_EACH2(x) FX_EACH1(x) for (int64_t i1 = 0; i1 < (x).n1; i1++)
#define FX_EACH3(x) FX_EACH2(x) for (int64_t i2 = 0; i2 < (x).n2; i2++)
#define FX_ENTRY1(x) (x).p[i0 * (x).s0]
#define FX_ENTRY2(x) (x).p[i0 * (x).s0 + i1 * (x).s1]
#define FX_ENTRY3(x) (x).p[i0 * (x).s0 + i1 * (x).s1 + i2 * (x).s2]

#define FX_FILL(k, number, n) \
    FX void fx_fill_##k##n(fx_##k##n##s x, number value) { FX_EACH##n(x) FX_ENTRY##n(x) = value; } \
    FX void fx_put_##k##n(fx_##k##n##s x, fx_##k##n##s y) { FX_EACH##n(x) FX_ENTRY##n(x) = FX_ENTRY##n(y); }

#define FX_COPY(k, n, ...) \
    FX fx_##k##n fx_copy_##k##n(fx_##k##n to, fx_##k##n##s from) \
    { \
        fx_##k##n##s whole = {to.p, __VA_ARGS__}; \
        fx_put_##k##n(whole, from); \
        return to; \
    }

#define FX_ARRAYS(k, number) \
    FX_FILL(k, number, 1) \
    FX_FILL(k, number, 2) \
    FX_FILL(k, number, 3) \
    FX_COPY(k, 1, to.n0, 1) \
    FX_COPY(k, 2, to.n0, to.n1, to.n1, 1) \
    FX_COPY(k, 3, to.n0, to.n1, to.n2, to.n1 * to.n2, to.n2, 1)

FX_ARRAYS(f, double)
FX_ARRAYS(i, int64_t)
FX_ARRAYS(c, fx_complex)

#endif
