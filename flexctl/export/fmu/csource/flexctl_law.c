/* A sampled law as a unit: its C code runs once in every period, on inputs held over the communication step.

   The unit's own file defines N_MEASURES, SAMPLE_TIME, LAW_START(s, y) and LAW_STEP(s, y, r, u). Readings come first among
   the inputs, then the references. The command that is read after a step is the one that the law gave at its beginning. */

static fmi2Status model_begin(unit *c)
{
    if (LAW_START(&c->now.model.law, c->now.u) != 0) {
        return tell(c, fmi2Warning, "a reading is not finite: the law begins with zero states");
    }
    return fmi2OK;
}

static fmi2Status model_advance(unit *c, double h)
{
    const double periods = floor(h / SAMPLE_TIME + 0.5);
    int worst = 0;
    if (periods < 1.0 || fabs(h - periods * SAMPLE_TIME) > 1e-6 * SAMPLE_TIME) {
        return tell(c, fmi2Discard, "a step of %.9g s is not a multiple of the sample time of %.9g s", h, SAMPLE_TIME);
    }
    for (double k = 0.0; k < periods; k += 1.0) {
        const int status = LAW_STEP(&c->now.model.law, c->now.u, c->now.u + N_MEASURES, c->now.model.command);
        worst = status > worst ? status : worst;
    }
    if (worst == 1) {
        return tell(c, fmi2Warning, "a reading or reference is not finite: the last command is held");
    }
    if (worst != 0) {
        return tell(c, fmi2Warning, "the command would not be finite: the last one is held");
    }
    return fmi2OK;
}

static fmi2Status model_outputs(unit *c, double y[])
{
    memcpy(y, c->now.model.command, sizeof c->now.model.command);
    return fmi2OK;
}

static fmi2Status model_derivatives(unit *c, double rates[])
{
    (void)c;
    (void)rates;
    return fmi2OK;
}

/* There are no states. */
static double *model_state(unit *c, long i)
{
    (void)i;
    return c->now.u;
}

static void model_start(unit *c) { (void)c; }

static const double *model_nominals(void)
{
    static const double none[1] = {1.0};
    return none;
}

static void model_forget(unit *c) { (void)c; }
