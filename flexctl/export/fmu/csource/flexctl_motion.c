/* Model exchange of a plant whose oscillations hardly decay, or are too fast for the solvers of importers.

   The errors of a solver's steps add up over the periods of an oscillation, so that a relative tolerance of 1e-4 leaves
   per cents, and many thousand periods take more steps than solvers are ready for. But the motion m(t) that held inputs
   u0 lead to is known: m = exp(A (t - t0)) x0 + int exp(A s) ds B u0. What an importer integrates is how far the plant
   departs from it, e = x - m:

       e' = A e + B (u - u0),  y = C (m + e) + D u,  e(t0) = 0

   A new motion begins at every event, from x and with the inputs as they are, and at the end of a step before which
   inputs were held and have now changed: e and its rate go on there as they were. So e stays 0, without any error,
   while inputs change at events and ends of steps alone. An importer that changes them within its steps is asked for an
   event at the end of the first; from then on, and before the first event of a run, m = 0 and e is the state itself,
   until inputs have been held from one event to the next.

   Groups of more than two states get m(t) from a table: exponentials for 1, 2, 4, .. times BLOCK_STEP, whose norm is at
   most 1, each the square of the one before; what is left of the time is a Taylor series. */

static void forget_doubled(unit *c)
{
    for (int b = 0; b < N_BLOCKS && c->cache.table != NULL; b++) {
        free(c->cache.table[b].top);
        for (int k = 0; k < c->cache.table[b].count; k++) {
            free(c->cache.table[b].power[k]);
        }
    }
    free(c->cache.table);
    c->cache.table = NULL;
}

/* Put one more exponential into the table of a group. Returns 0 without memory, or where it is not finite. */
static int add_doubled(doubled *table, int b)
{
    const int *states = BLOCK_STATE + BLOCK_START[b], n = BLOCK_START[b + 1] - BLOCK_START[b], m = n + N_INPUTS;
    const size_t n2 = (size_t)n * (size_t)n, size = (size_t)m * (size_t)m;
    double *found = (double *)malloc((n2 + (size_t)n * AT_LEAST_ONE(N_INPUTS)) * sizeof *found);
    wide *top = (wide *)table->top, *next;
    if (found == NULL) {
        return 0;
    }
    if (table->count == 0) {
        next = balanced_exponential(states, n, BLOCK_STEP[b], table->scale);
    } else {
        next = (wide *)malloc(size * sizeof *next);
        if (next != NULL) {
            multiply(m, top, top, next);
        }
    }
    if (next == NULL) {
        free(found);
        return 0;
    }
    free(top);
    table->top = next;
    unbalanced(next, states, n, ldexp(BLOCK_STEP[b], table->count), table->scale, found, found + n2);
    table->power[table->count++] = found;
    return 1;
}

/* next = phi x + gamma u of a group. */
static void apply(int n, const double *phi, const double *gamma, const double x[], const double u[], double next[])
{
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int j = 0; j < n; j++) {
            sum += phi[i * n + j] * x[j];
        }
        for (int j = 0; j < N_INPUTS; j++) {
            sum += gamma[i * N_INPUTS + j] * u[j];
        }
        next[i] = sum;
    }
}

/* rates = A x (+ B u) of a group, x and rates in the order of the plant's states. */
static void group_rates(int b, const double x[], const double *u, double rates[])
{
    for (int k = BLOCK_START[b]; k < BLOCK_START[b + 1]; k++) {
        const int i = BLOCK_STATE[k];
        double sum = 0.0;
        for (int j = A.start[i]; j < A.start[i + 1]; j++) {
            sum += A.value[j] * x[A.column[j]];
        }
        for (int j = B.start[i]; j < B.start[i + 1] && u != NULL; j++) {
            sum += B.value[j] * u[B.column[j]];
        }
        rates[i] = sum;
    }
}

/* Move a group by less than its BLOCK_STEP. */
static void series_step(int b, double h, const double u[], double x[])
{
    double term[AT_LEAST_ONE(N_STATES)], rates[AT_LEAST_ONE(N_STATES)];
    for (int k = 1; k <= 22; k++) { /* 1/22! is below rounding */
        group_rates(b, k == 1 ? x : term, k == 1 ? u : NULL, rates);
        for (int at = BLOCK_START[b]; at < BLOCK_START[b + 1]; at++) {
            term[BLOCK_STATE[at]] = h / k * rates[BLOCK_STATE[at]];
            x[BLOCK_STATE[at]] += term[BLOCK_STATE[at]];
        }
    }
}

static int move_by_table(unit *c, int b, double h, const double u[], double x[])
{
    const int *states = BLOCK_STATE + BLOCK_START[b], n = BLOCK_START[b + 1] - BLOCK_START[b];
    double whole = floor(h / BLOCK_STEP[b]), part[AT_LEAST_ONE(N_STATES)], next[AT_LEAST_ONE(N_STATES)];
    doubled *table;
    if (c->cache.table == NULL) {
        c->cache.table = (doubled *)calloc(AT_LEAST_ONE(N_BLOCKS), sizeof *c->cache.table);
    }
    if (c->cache.table == NULL || !(whole < 9007199254740992.0)) {
        return 0;
    }
    table = &c->cache.table[b];
    series_step(b, h - whole * BLOCK_STEP[b], u, x);
    for (int i = 0; i < n; i++) {
        part[i] = x[states[i]];
    }
    for (int k = 0; whole > 0.0; k++) {
        const double half = floor(0.5 * whole);
        if (k == table->count && !add_doubled(table, b)) {
            return 0;
        }
        if (whole > 2.0 * half) {
            apply(n, table->power[k], table->power[k] + (size_t)n * (size_t)n, part, u, next);
            memcpy(part, next, (size_t)n * sizeof *part);
        }
        whole = half;
    }
    for (int i = 0; i < n; i++) {
        x[states[i]] = part[i];
    }
    return 1;
}

static int move_by_exponential(int b, double h, const double u[], double x[])
{
    const int *states = BLOCK_STATE + BLOCK_START[b], n = BLOCK_START[b + 1] - BLOCK_START[b];
    double phi[4], gamma[2 * AT_LEAST_ONE(N_INPUTS)], part[2], next[2];
    if (!block_exponential(b, h, phi, gamma)) {
        return 0;
    }
    for (int i = 0; i < n; i++) {
        part[i] = x[states[i]];
    }
    apply(n, phi, gamma, part, u, next);
    for (int i = 0; i < n; i++) {
        x[states[i]] = next[i];
    }
    return 1;
}

/* The motion at the unit's time. */
static fmi2Status motion(unit *c, double x[])
{
    const double t = c->now.time;
    const motion_start *from = t < c->now.model.from.t ? &c->now.model.before : &c->now.model.from;
    if (!c->now.model.known) {
        memset(x, 0, N_STATES * sizeof *x);
        return fmi2OK;
    }
    if (c->cache.known && memcmp(&c->cache.t, &t, sizeof t) == 0 && memcmp(&c->cache.from, from, sizeof *from) == 0) {
        memcpy(x, c->cache.x, N_STATES * sizeof *x);
        return fmi2OK;
    }
    if (t < from->t) {
        return tell(c, fmi2Error, "the time of %.9g s lies before the last event, at %.9g s", t, from->t);
    }
    memcpy(x, from->x, N_STATES * sizeof *x);
    for (int b = 0; b < N_BLOCKS && t > from->t; b++) {
        const int small = BLOCK_START[b + 1] - BLOCK_START[b] <= 2;
        if (!(small ? move_by_exponential(b, t - from->t, from->u, x)
                    : move_by_table(c, b, t - from->t, from->u, x))) {
            return tell(c, fmi2Discard, "the exponential for %g s is not finite, or memory ran out", t - from->t);
        }
    }
    c->cache.from = *from;
    c->cache.t = t;
    memcpy(c->cache.x, x, N_STATES * sizeof *x);
    c->cache.known = 1;
    return fmi2OK;
}

static fmi2Status model_shown(unit *c, double x[])
{
    const fmi2Status status = motion(c, x);
    for (int i = 0; i < N_STATES; i++) {
        x[i] += c->now.model.x[i];
    }
    return status;
}

static int inputs_changed(const unit *c)
{
    for (int j = 0; j < N_INPUTS; j++) {
        if (c->now.u[j] < c->now.model.from.u[j] || c->now.u[j] > c->now.model.from.u[j]) {
            return 1;
        }
    }
    return 0;
}

/* What the inputs are beyond those that the motion holds. */
static void inputs_beyond(unit *c, double u[])
{
    for (int j = 0; j < N_INPUTS; j++) {
        u[j] = c->now.u[j] - (c->now.model.known ? c->now.model.from.u[j] : 0.0);
    }
    if (c->now.mode == CONTINUOUS && inputs_changed(c)) {
        c->now.model.strayed = 1;
    }
}

static fmi2Status model_event(unit *c, int *changed)
{
    double x[AT_LEAST_ONE(N_STATES)], e;
    motion_start *from = &c->now.model.from;
    const fmi2Status status = model_shown(c, x);
    if (status != fmi2OK) {
        return status;
    }
    c->now.model.known = !c->now.model.strayed;
    c->now.model.strayed = 0;
    for (int i = 0; i < N_STATES; i++) {
        if (!is_finite(x[i])) {
            return tell(c, fmi2Error, "state %d is %g: give a finite start value, or a stable plant", i + 1, x[i]);
        }
        e = c->now.model.known ? 0.0 : x[i];
        *changed |= c->now.model.x[i] < e || c->now.model.x[i] > e;
        c->now.model.x[i] = e;
    }
    from->t = c->now.time;
    memcpy(from->x, x, N_STATES * sizeof *x);
    memcpy(from->u, c->now.u, sizeof from->u);
    c->now.model.before = *from;
    return fmi2OK;
}

static void model_resumed(unit *c) /* inputs may be set after the last call of model_event */
{
    if (!(c->now.time > c->now.model.from.t)) {
        memcpy(c->now.model.from.u, c->now.u, sizeof c->now.u);
    }
}

static fmi2Status model_completed(unit *c, int *event)
{
    double x[AT_LEAST_ONE(N_STATES)];
    motion_start *from = &c->now.model.from;
    fmi2Status status = fmi2OK;
    *event = c->now.model.known && c->now.model.strayed;
    if (c->now.model.known && !c->now.model.strayed && inputs_changed(c)) {
        status = motion(c, x);
        if (c->now.time > from->t) {
            c->now.model.before = *from;
        }
        from->t = c->now.time;
        memcpy(from->x, x, N_STATES * sizeof *x);
        memcpy(from->u, c->now.u, sizeof from->u);
    }
    return status;
}
