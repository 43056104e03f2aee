/* A linear plant, x' = A x + B u, y = C x + D u, or x[k+1] = A x[k] + B u[k] every SAMPLE_TIME.

   The unit's own file defines the sparse matrices A, B, C, D, the nominal values and, of a continuous plant, BLOCKS: the
   groups of states that do not influence each other. Inputs are held over a step, and x(t + h) = Phi x + Gamma u with
   Phi = exp(A h), Gamma = int_0^h exp(A s) ds B is exact for any h. Each group is done for itself:

     SERIES   A A = 0 (a double integrator)      Phi = 1 + h A
     PAIR     two states (a mode)                exp(m h) (cosh(r h) 1 + sinh(r h)/r (A - m 1)),  m = tr A / 2
     GENERAL                                     Pade approximation of degree 13 with scaling and squaring of the
                                                 balanced matrix [A B; 0 0] h (Higham 2005) */

static void times(const sparse *M, const double x[], double y[], int add)
{
    for (int i = 0; i < M->rows; i++) {
        double sum = add ? y[i] : 0.0;
        for (int k = M->start[i]; k < M->start[i + 1]; k++) {
            sum += M->value[k] * x[M->column[k]];
        }
        y[i] = sum;
    }
}

static void model_directions(const double x[], const double u[], double y[], double rates[])
{
    times(&C, x, y, 0);
    times(&D, u, y, 1);
    times(&A, x, rates, 0);
    times(&B, u, rates, 1);
}

static double *model_state(unit *c, long i) { return &c->now.model.x[i]; }

static void model_start(unit *c) { (void)c; }

static const double *model_nominals(void) { return NOMINAL; }

#ifdef HELD_MOTION
static void inputs_beyond(unit *c, double u[]);
#else
static fmi2Status model_shown(unit *c, double x[])
{
    memcpy(x, c->now.model.x, sizeof c->now.model.x);
    return fmi2OK;
}

static void inputs_beyond(unit *c, double u[]) { memcpy(u, c->now.u, sizeof c->now.u); }
#endif

static fmi2Status model_outputs(unit *c, double y[])
{
    double x[AT_LEAST_ONE(N_STATES)];
    const fmi2Status status = model_shown(c, x);
    times(&C, x, y, 0);
    times(&D, c->now.u, y, 1);
    return status;
}

static fmi2Status model_derivatives(unit *c, double rates[])
{
    double u[AT_LEAST_ONE(N_INPUTS)];
    inputs_beyond(c, u);
    times(&A, c->now.model.x, rates, 0);
    times(&B, u, rates, 1);
    for (int i = 0; i < N_STATES; i++) {
        if (!is_finite(rates[i])) {
            return tell(c, fmi2Discard, "the rate of state %d is not finite", i + 1);
        }
    }
    return fmi2OK;
}

static fmi2Status check_values(const unit *c)
{
    for (int i = 0; i < N_INPUTS; i++) {
        if (!is_finite(c->now.u[i])) {
            return tell(c, fmi2Error, "input %d is %g: give a finite number", i + 1, c->now.u[i]);
        }
    }
    for (int i = 0; i < N_STATES; i++) {
        if (!is_finite(c->now.model.x[i])) {
            return tell(c, fmi2Error, "state %d is %g: give a finite start value, or a stable plant", i + 1,
                        c->now.model.x[i]);
        }
    }
    return fmi2OK;
}

static fmi2Status model_begin(unit *c) { return check_values(c); }

#ifdef SAMPLE_TIME

static void model_forget(unit *c) { (void)c; }

static fmi2Status model_advance(unit *c, double h)
{
    const double periods = floor(h / SAMPLE_TIME + 0.5);
    double next[AT_LEAST_ONE(N_STATES)];
    fmi2Status status = check_values(c);
    if (status != fmi2OK) {
        return status;
    }
    if (periods < 1.0 || fabs(h - periods * SAMPLE_TIME) > 1e-6 * SAMPLE_TIME) {
        return tell(c, fmi2Discard, "a step of %.9g s is not a multiple of the sample time of %.9g s", h, SAMPLE_TIME);
    }
    for (double k = 0.0; k < periods; k += 1.0) {
        times(&A, c->now.model.x, next, 0);
        times(&B, c->now.u, next, 1);
        memcpy(c->now.model.x, next, sizeof c->now.model.x);
    }
    return fmi2OK;
}

#else

/* --- dense matrices, row by row ----------------------------------------------------------------------------------

   Squaring k times multiplies rounding by 2^k: of a stiff joint, 1e8 1/s over 1 ms, double would leave nine digits. */

#ifndef WIDE
#define WIDE long double
#define LARGEST_NORM 3.5 /* 5.37 would do for double */
#endif
typedef WIDE wide;
#define SIZE_OF(x) ((x) < 0.0 ? -(x) : (x))

static void multiply(int n, const wide *a, const wide *b, wide *out)
{
    memset(out, 0, (size_t)n * (size_t)n * sizeof *out);
    for (int i = 0; i < n; i++) {
        wide *row = out + (size_t)i * (size_t)n;
        for (int k = 0; k < n; k++) {
            const wide factor = a[(size_t)i * (size_t)n + (size_t)k];
            const wide *other = b + (size_t)k * (size_t)n;
            if (factor != 0.0) {
                for (int j = 0; j < n; j++) {
                    row[j] += factor * other[j];
                }
            }
        }
    }
}

/* Solve a X = b in place of b, by elimination with row pivots; a is destroyed. Returns 0 if a is singular. */
static int solve(int n, wide *a, wide *b)
{
    const size_t m = (size_t)n;
    for (size_t k = 0; k < m; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < m; i++) {
            if (SIZE_OF(a[i * m + k]) > SIZE_OF(a[pivot * m + k])) {
                pivot = i;
            }
        }
        if (!(SIZE_OF(a[pivot * m + k]) > 0.0)) {
            return 0;
        }
        for (size_t j = 0; j < m && pivot != k; j++) {
            wide swap = a[k * m + j];
            a[k * m + j] = a[pivot * m + j];
            a[pivot * m + j] = swap;
            swap = b[k * m + j];
            b[k * m + j] = b[pivot * m + j];
            b[pivot * m + j] = swap;
        }
        for (size_t i = k + 1; i < m; i++) {
            const wide factor = a[i * m + k] / a[k * m + k];
            if (factor != 0.0) {
                for (size_t j = k + 1; j < m; j++) {
                    a[i * m + j] -= factor * a[k * m + j];
                }
                for (size_t j = 0; j < m; j++) {
                    b[i * m + j] -= factor * b[k * m + j];
                }
            }
        }
    }
    for (size_t k = m; k-- > 0;) {
        for (size_t j = 0; j < m; j++) {
            b[k * m + j] /= a[k * m + k];
        }
        for (size_t i = 0; i < k; i++) {
            const wide factor = a[i * m + k];
            if (factor != 0.0) {
                for (size_t j = 0; j < m; j++) {
                    b[i * m + j] -= factor * b[k * m + j];
                }
            }
        }
    }
    return 1;
}

static void combine(int n, wide *out, wide c6, const wide *a6, wide c4, const wide *a4, wide c2,
                    const wide *a2, wide c0)
{
    const size_t m = (size_t)n;
    for (size_t k = 0; k < m * m; k++) {
        out[k] = c6 * a6[k] + c4 * a4[k] + c2 * a2[k];
    }
    for (size_t k = 0; k < m; k++) {
        out[k * m + k] += c0;
    }
}

/* Put exp(w) in place of w, n x n. Returns 0 without memory, or if w is not finite. */
static int exponentiate(int n, wide *w)
{
    static const wide b[] = {64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
                               129060195264000.0,   10559470521600.0,    670442572800.0,     33522128640.0,
                               1323241920.0,        40840800.0,          960960.0,           16380.0,
                               182.0,               1.0};
    const size_t m = (size_t)n, size = m * m;
    wide *scratch = (wide *)malloc(6 * size * sizeof *scratch), largest = 0.0, shrink;
    wide *w2 = scratch, *w4 = w2 + size, *w6 = w4 + size, *u = w6 + size, *v = u + size, *t = v + size;
    int squarings = 0, done;
    if (scratch == NULL) {
        return 0;
    }
    for (size_t j = 0; j < m; j++) {
        wide sum = 0.0;
        for (size_t i = 0; i < m; i++) {
            sum += SIZE_OF(w[i * m + j]);
        }
        largest = sum > largest ? sum : largest;
    }
    if (!is_finite((double)largest)) {
        free(scratch);
        return 0;
    }
    if (largest > LARGEST_NORM) {
        (void)frexp((double)largest / LARGEST_NORM, &squarings);
        shrink = (wide)ldexp(1.0, -squarings);
        for (size_t k = 0; k < size; k++) {
            w[k] *= shrink;
        }
    }
    multiply(n, w, w, w2);
    multiply(n, w2, w2, w4);
    multiply(n, w2, w4, w6);
    combine(n, t, b[13], w6, b[11], w4, b[9], w2, 0.0);
    multiply(n, w6, t, u);
    combine(n, t, b[7], w6, b[5], w4, b[3], w2, b[1]);
    for (size_t k = 0; k < size; k++) {
        t[k] += u[k];
    }
    multiply(n, w, t, u);
    combine(n, t, b[12], w6, b[10], w4, b[8], w2, 0.0);
    multiply(n, w6, t, v);
    combine(n, t, b[6], w6, b[4], w4, b[2], w2, b[0]);
    for (size_t k = 0; k < size; k++) {
        const wide even = v[k] + t[k];
        t[k] = even - u[k];
        w[k] = even + u[k];
    }
    done = solve(n, t, w);
    for (int k = 0; k < squarings && done; k++) {
        multiply(n, w, w, t);
        memcpy(w, t, size * sizeof *w);
    }
    free(scratch);
    return done;
}

/* --- the groups of states ---------------------------------------------------------------------------------------- */

static double entry(const sparse *M, int i, int j)
{
    for (int k = M->start[i]; k < M->start[i + 1]; k++) {
        if (M->column[k] == j) {
            return M->value[k];
        }
    }
    return 0.0;
}

/* gamma = G B of a group, G with n rows. */
static void driven(const int *states, int n, const double *G, double *gamma)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < N_INPUTS; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++) {
                sum += G[i * n + k] * entry(&B, states[k], j);
            }
            gamma[i * N_INPUTS + j] = sum;
        }
    }
}

static int series(const int *states, int n, double h, double *phi, double *gamma)
{
    const size_t size = (size_t)n * (size_t)n;
    double *G = (double *)malloc(size * sizeof *G);
    if (G == NULL) {
        return 0;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            const double a = entry(&A, states[i], states[j]), one = i == j ? 1.0 : 0.0;
            phi[i * n + j] = one + h * a;
            G[i * n + j] = h * one + 0.5 * h * h * a;
        }
    }
    driven(states, n, G, gamma);
    free(G);
    return 1;
}

/* Returns 0 where the closed form would lose digits: slow motion, near a double pole, near an integrator. */
static int pair(const int *states, double h, double *phi, double *gamma)
{
    const double a = entry(&A, states[0], states[0]), b = entry(&A, states[0], states[1]);
    const double c = entry(&A, states[1], states[0]), d = entry(&A, states[1], states[1]);
    const double largest = fmax(fmax(fabs(a), fabs(b)), fmax(fabs(c), fabs(d)));
    const double m = 0.5 * (a + d), det = a * d - b * c, square = m * m - det, r = sqrt(fabs(square));
    double even, odd, G[4], p0, p3;
    if (!(largest * h > 1.0) || fabs(det) < 1e-8 * largest * largest || r * h < 1e-6) {
        return 0;
    }
    if (square < 0.0) {
        even = exp(m * h) * cos(r * h);
        odd = exp(m * h) * sin(r * h) / r;
    } else { /* exp(m h) inside: cosh alone overflows for a strongly damped mode */
        const double plus = exp((m + r) * h), minus = exp((m - r) * h);
        even = 0.5 * (plus + minus);
        odd = 0.5 * (plus - minus) / r;
    }
    phi[0] = even + odd * (a - m);
    phi[1] = odd * b;
    phi[2] = odd * c;
    phi[3] = even + odd * (d - m);
    p0 = phi[0] - 1.0;
    p3 = phi[3] - 1.0;
    G[0] = (d * p0 - b * phi[2]) / det;
    G[1] = (d * phi[1] - b * p3) / det;
    G[2] = (a * phi[2] - c * p0) / det;
    G[3] = (a * p3 - c * phi[1]) / det;
    driven(states, 2, G, gamma);
    return 1;
}

/* exp([A B; 0 0] h) of a group, balanced, the column of input j times 2^-scale[j]; NULL where there is none. */
static wide *balanced_exponential(const int *states, int n, double h, int scale[])
{
    const int m = n + N_INPUTS;
    wide *w = (wide *)calloc((size_t)m * (size_t)m, sizeof *w);
    double norm = 0.0;
    if (w == NULL) {
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int j = 0; j < n; j++) {
            w[i * m + j] = (wide)h * (entry(&A, states[i], states[j]) * (BALANCE[states[j]] / BALANCE[states[i]]));
            sum += fabs((double)w[i * m + j]);
        }
        norm = fmax(norm, sum);
    }
    for (int j = 0; j < N_INPUTS; j++) { /* Gamma is linear in B: large columns shall not ask for more squarings */
        double sum = 0.0;
        for (int i = 0; i < n; i++) {
            w[i * m + n + j] = (wide)h * (entry(&B, states[i], j) / BALANCE[states[i]]);
            sum += fabs((double)w[i * m + n + j]);
        }
        scale[j] = 0;
        if (sum > 0.0 && norm > 0.0) {
            (void)frexp(sum / norm, &scale[j]);
        }
        for (int i = 0; i < n; i++) {
            w[i * m + n + j] *= (wide)ldexp(1.0, -scale[j]);
        }
    }
    if (!exponentiate(m, w)) {
        free(w);
        return NULL;
    }
    return w;
}

static void unbalanced(const wide *w, const int *states, int n, double h, const int scale[], double *phi, double *gamma)
{
    const int m = n + N_INPUTS;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            phi[i * n + j] = (double)w[i * m + j] * (BALANCE[states[i]] / BALANCE[states[j]]);
        }
        for (int j = 0; j < N_INPUTS; j++) {
            gamma[i * N_INPUTS + j] = ldexp((double)w[i * m + n + j], scale[j]) * BALANCE[states[i]];
        }
    }
    /* columns of states that only integrate, without rounding */
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n && INTEGRATES[states[j]]; i++) {
            phi[i * n + j] = (i == j ? 1.0 : 0.0) + h * entry(&A, states[i], states[j]);
        }
    }
}

static int general(const int *states, int n, double h, double *phi, double *gamma)
{
    int scale[AT_LEAST_ONE(N_INPUTS)];
    wide *w = balanced_exponential(states, n, h, scale);
    if (w == NULL) {
        return 0;
    }
    unbalanced(w, states, n, h, scale, phi, gamma);
    free(w);
    return 1;
}

static int block_exponential(int b, double h, double *phi, double *gamma)
{
    const int *states = BLOCK_STATE + BLOCK_START[b];
    const int n = BLOCK_START[b + 1] - BLOCK_START[b];
    int done = 0;
    if (BLOCK_IS_SERIES[b]) {
        done = series(states, n, h, phi, gamma);
    } else if (n == 2) {
        done = pair(states, h, phi, gamma);
    }
    if (!done && !BLOCK_IS_SERIES[b]) {
        done = general(states, n, h, phi, gamma);
    }
    for (int k = 0; k < n * n && done; k++) {
        done = is_finite(phi[k]);
    }
    for (int k = 0; k < n * N_INPUTS && done; k++) {
        done = is_finite(gamma[k]);
    }
    return done;
}

static int exponential_of(double h, exponential *found)
{
    double *phi = found->phi, *gamma = found->gamma;
    for (int b = 0; b < N_BLOCKS; b++) {
        const int n = BLOCK_START[b + 1] - BLOCK_START[b];
        if (!block_exponential(b, h, phi, gamma)) {
            return 0;
        }
        phi += n * n;
        gamma += n * N_INPUTS;
    }
    return 1;
}

#ifdef HELD_MOTION
static void forget_doubled(unit *c);
#endif

static void model_forget(unit *c)
{
    for (int k = 0; k < KEPT; k++) {
        free(c->cache.kept[k].phi);
        c->cache.kept[k].phi = NULL;
        c->cache.kept[k].h = 0.0;
    }
#ifdef HELD_MOTION
    forget_doubled(c);
#endif
}

/* The exponential for a step, made once for each of the last few lengths. */
static const exponential *for_step(unit *c, double h)
{
    exponential *oldest = &c->cache.kept[0];
    c->cache.clock++;
    for (int k = 0; k < KEPT; k++) {
        exponential *one = &c->cache.kept[k];
        if (one->phi != NULL && one->h == h) {
            one->used = c->cache.clock;
            return one;
        }
        if (one->used < oldest->used) {
            oldest = one;
        }
    }
    if (oldest->phi == NULL) {
        oldest->phi = (double *)malloc((PHI_SIZE + N_STATES * N_INPUTS + 1) * sizeof(double));
        if (oldest->phi == NULL) {
            return NULL;
        }
        oldest->gamma = oldest->phi + PHI_SIZE;
    }
    oldest->h = 0.0;
    if (!exponential_of(h, oldest)) {
        return NULL;
    }
    oldest->h = h;
    oldest->used = c->cache.clock;
    return oldest;
}

static fmi2Status model_advance(unit *c, double h)
{
    const exponential *step;
    const double *phi, *gamma;
    double next[AT_LEAST_ONE(N_STATES)];
    fmi2Status status = check_values(c);
    if (status != fmi2OK) {
        return status;
    }
    step = for_step(c, h);
    if (step == NULL) {
        return tell(c, fmi2Discard, "the exponential for a step of %g s is not finite, or memory ran out", h);
    }
    phi = step->phi;
    gamma = step->gamma;
    for (int b = 0; b < N_BLOCKS; b++) {
        const int *states = BLOCK_STATE + BLOCK_START[b];
        const int n = BLOCK_START[b + 1] - BLOCK_START[b];
        for (int i = 0; i < n; i++) {
            double sum = 0.0;
            for (int j = 0; j < n; j++) {
                sum += phi[i * n + j] * c->now.model.x[states[j]];
            }
            for (int j = 0; j < N_INPUTS; j++) {
                sum += gamma[i * N_INPUTS + j] * c->now.u[j];
            }
            next[states[i]] = sum;
        }
        phi += n * n;
        gamma += n * N_INPUTS;
    }
    memcpy(c->now.model.x, next, sizeof c->now.model.x);
    return fmi2OK;
}

#endif
