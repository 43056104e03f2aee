/* An arm as a unit: the time loop of flexctl with the arm's own equations, translated to C.

   The unit's own file defines the loop and the groups of arrays that it works on, all of them in the memory of the
   instance (flexctl_model_state), and

     ARM_STEP       longest inner step [s]
     ARM_IMAGE      what the memory holds at first, where it is not zero
     ARM_STATE      where the coordinates and rates stand in it
     arm_bind       puts the groups in the cache onto the memory
     arm_loop       one call of the loop
     ARM_...(c)     arrays of the run: times, steps, inputs before and after a jump, span, readings

   A communication step is divided into the fewest equal inner steps that are not longer than ARM_STEP. Inputs are held
   over it; where they change the accelerations jump, as they do in a run of flexctl. */

enum { ARM_DONE = 0, ARM_NOT_CONVERGED = 1, ARM_SINGULAR = 2, ARM_DIVERGED = 3, ARM_NO_MEMORY = 9 };

static double *model_state(unit *c, long i) { return &c->now.model.real[ARM_STATE[i]]; }

static void model_start(unit *c)
{
    for (size_t i = 0; i < sizeof ARM_IMAGE / sizeof ARM_IMAGE[0]; i++) {
        memcpy(c->now.model.real + ARM_IMAGE[i].at, ARM_IMAGE[i].value, ARM_IMAGE[i].count * sizeof(double));
    }
    for (size_t i = 0; i < sizeof ARM_WHOLE_IMAGE / sizeof ARM_WHOLE_IMAGE[0]; i++) {
        memcpy(c->now.model.whole + ARM_WHOLE_IMAGE[i].at, ARM_WHOLE_IMAGE[i].value,
               ARM_WHOLE_IMAGE[i].count * sizeof(int64_t));
    }
    memcpy(c->now.u, ARM_INPUTS, sizeof c->now.u);
    arm_bind(c);
}

static void model_forget(unit *c)
{
    for (int i = 0; i < ROOMS; i++) {
        free(c->cache.fx.room[i]);
    }
    free(c->cache.kept);
}

static fmi2Status check_values(const unit *c)
{
    for (int i = 0; i < N_INPUTS; i++) {
        if (!is_finite(c->now.u[i])) {
            return tell(c, fmi2Error, "input %d is %g: give a finite number", i + 1, c->now.u[i]);
        }
    }
    return fmi2OK;
}

/* Run the loop from grid point `first` to `last`; *at is the time that it ends at. */
static int run(unit *c, int first, int last, double *at)
{
    double found[4];
    ARM_SPAN(c)[0] = first;
    ARM_SPAN(c)[1] = last;
    if (setjmp(c->cache.fx.out) != 0) {
        return ARM_NO_MEMORY;
    }
    arm_loop(c, found);
    *at = found[1];
    return (int)found[0];
}

static void hold(unit *c, double *row)
{
    for (int i = 0; i < N_INPUTS; i++) {
        row[i] = c->now.u[i];
    }
}

static fmi2Status told(unit *c, int status, double at, double h)
{
    switch (status) {
    case ARM_DONE:
        return fmi2OK;
    case ARM_NO_MEMORY:
        return tell(c, fmi2Error, "out of memory");
    case ARM_DIVERGED:
        return tell(c, fmi2Error,
                    "the arm went beyond 1e6 m or rad at t = %.6g s: the loop around it is unstable, or the inner step of "
                    "%.3g s too long", at, h);
    default:
        return tell(c, fmi2Discard,
                    "%s at t = %.6g s with the inner step of %.3g s: try a shorter communication step, or export again "
                    "with a smaller --step", status == ARM_SINGULAR ? "the iteration matrix is singular"
                                                                     : "Newton did not converge", at, h);
    }
}

/* Readings of the sensors at the start, with the inputs as they are. */
static fmi2Status begin(unit *c)
{
    double at = 0.0;
    int done;
    fmi2Status status = check_values(c);
    if (status != fmi2OK) {
        return status;
    }
    for (int i = 0; i < N_STATES; i++) {
        if (!is_finite(*model_state(c, i))) {
            return tell(c, fmi2Error, "state %d is %g: give a finite start value", i + 1, *model_state(c, i));
        }
    }
    hold(c, ARM_BEFORE(c));
    hold(c, ARM_AFTER(c));
    hold(c, ARM_ACTING(c));
    ARM_TIMES(c)[0] = c->now.time;
    ARM_STEPS(c)[0] = ARM_STEP;
    done = run(c, 0, 0, &at);
    return told(c, done, at, ARM_STEP);
}

static fmi2Status model_begin(unit *c) { return begin(c); }

static fmi2Status model_advance(unit *c, double h)
{
    const double wanted = ceil(h / ARM_STEP - 1e-6), count = wanted > 1.0 ? wanted : 1.0;
    const double inner = fabs(h - count * ARM_STEP) <= 1e-9 * h ? ARM_STEP : h / count;
    fmi2Status status = check_values(c);
    double at = 0.0;
    int done;
    if (status != fmi2OK) {
        return status;
    }
    if (c->cache.kept == NULL) {
        c->cache.kept = (flexctl_model_state *)malloc(sizeof *c->cache.kept);
    }
    if (c->cache.kept == NULL) {
        return tell(c, fmi2Error, "out of memory");
    }
    memcpy(c->cache.kept, &c->now.model, sizeof c->now.model); /* a step that fails is as if it had not been tried */
    for (double i = 0.0; i < count && status == fmi2OK; i += 1.0) {
        const int k = c->now.model.begun; /* grid points 0 and 1 at first, then always 1 and 2 */
        ARM_TIMES(c)[k] = c->now.time + i * inner;
        ARM_TIMES(c)[k + 1] = c->now.time + (i + 1.0) * inner;
        ARM_STEPS(c)[k] = inner;
        hold(c, ARM_AFTER(c) + k * N_INPUTS);
        hold(c, ARM_BEFORE(c) + (k + 1) * N_INPUTS);
        done = run(c, k, k + 1, &at);
        status = told(c, done, at, inner);
        c->now.model.begun = 1;
        hold(c, ARM_BEFORE(c) + N_INPUTS);
    }
    if (status > fmi2Warning) {
        memcpy(&c->now.model, c->cache.kept, sizeof c->now.model);
    }
    return status;
}

static fmi2Status model_outputs(unit *c, double y[])
{
    const fmi2Status status = c->now.mode == INITIALISING ? begin(c) : fmi2OK;
    memcpy(y, ARM_READINGS(c), N_OUTPUTS * sizeof *y);
    return status;
}

static fmi2Status model_derivatives(unit *c, double rates[])
{
    (void)rates;
    return tell(c, fmi2Error, "an arm gives no derivatives: it is for co-simulation");
}

static const double *model_nominals(void)
{
    static const double none[AT_LEAST_ONE(N_STATES)] = {1.0};
    return none;
}
