/* The functions of FMI 2.0, the same for every unit; see flexctl_unit.h. */

static int may(const unit *c, int modes, const char *function)
{
    static const char *const words[] = {"instantiated", "being initialised", "in event mode", "in continuous-time mode",
                                        "in co-simulation", "terminated"};
    if (c == NULL) {
        return 0;
    }
    if (((int)c->now.mode & modes) == 0) {
        int word = 0;
        while ((1 << word) != (int)c->now.mode) {
            word++;
        }
        (void)tell(c, fmi2Error, "%s cannot be called: the unit is %s", function, words[word]);
        return 0;
    }
    return 1;
}

static fmi2Status enter(unit *c, int from, unit_mode to, const char *function)
{
    if (!may(c, from, function)) {
        return fmi2Error;
    }
    c->now.mode = to;
    return fmi2OK;
}

static void start_values(unit *c)
{
    memset(&c->now, 0, sizeof c->now);
    c->now.mode = INSTANTIATED;
    model_start(c);
}

const char *fmi2GetTypesPlatform(void) { return "default"; }

const char *fmi2GetVersion(void) { return "2.0"; }

fmi2Status fmi2SetDebugLogging(fmi2Component component, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    (void)on;
    (void)n;
    (void)categories; /* there are warnings and errors alone, and they are always told */
    return component == NULL ? fmi2Error : fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    unit *c;
    (void)resources;
    (void)visible;
    (void)logging;
    if (functions == NULL || functions->logger == NULL) {
        return NULL;
    }
    if (name == NULL || name[0] == '\0') {
        functions->logger(functions->componentEnvironment, "?", fmi2Error, "logStatusError", "an instance needs a name");
        return NULL;
    }
    if (guid == NULL || strcmp(guid, MODEL_GUID) != 0) {
        functions->logger(functions->componentEnvironment, name, fmi2Error, "logStatusError",
                          "the GUID is not the one of " MODEL_NAME ": modelDescription.xml and binary are not of one export");
        return NULL;
    }
    if (type == fmi2ModelExchange && !MODEL_EXCHANGE) {
        functions->logger(functions->componentEnvironment, name, fmi2Error, "logStatusError",
                          MODEL_NAME " is sampled: it is there for co-simulation alone");
        return NULL;
    }
    c = (unit *)calloc(1, sizeof *c);
    if (c != NULL) {
        c->name = (char *)malloc(strlen(name) + 1);
    }
    if (c == NULL || c->name == NULL) {
        free(c);
        functions->logger(functions->componentEnvironment, name, fmi2Error, "logStatusError", "out of memory");
        return NULL;
    }
    (void)strcpy(c->name, name);
    c->type = type;
    c->logger = functions->logger;
    c->environment = functions->componentEnvironment;
    start_values(c);
    return c;
}

void fmi2FreeInstance(fmi2Component component)
{
    unit *c = (unit *)component;
    if (c != NULL) {
        model_forget(c);
        free(c->name);
        free(c);
    }
}

fmi2Status fmi2SetupExperiment(fmi2Component component, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                               fmi2Boolean stops, fmi2Real stop)
{
    unit *c = (unit *)component;
    (void)has_tolerance;
    (void)tolerance; /* steps are exact */
    if (!may(c, INSTANTIATED, "fmi2SetupExperiment")) {
        return fmi2Error;
    }
    if (!is_finite(start) || (stops && !(stop >= start))) {
        return tell(c, fmi2Error, "start time %g s and stop time %g s are not ascending numbers", start, stop);
    }
    c->now.time = start;
    c->now.stops = stops != 0;
    c->now.stop = stop;
    return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component component)
{
    return enter((unit *)component, INSTANTIATED, INITIALISING, "fmi2EnterInitializationMode");
}

fmi2Status fmi2ExitInitializationMode(fmi2Component component)
{
    unit *c = (unit *)component;
    fmi2Status status;
    if (!may(c, INITIALISING, "fmi2ExitInitializationMode")) {
        return fmi2Error;
    }
    status = model_begin(c);
    if (status <= fmi2Warning) {
        c->now.mode = c->type == fmi2ModelExchange ? EVENT : STEPPED;
    }
    return status;
}

fmi2Status fmi2Terminate(fmi2Component component)
{
    return enter((unit *)component, EVENT | CONTINUOUS | STEPPED, TERMINATED, "fmi2Terminate");
}

fmi2Status fmi2Reset(fmi2Component component)
{
    unit *c = (unit *)component;
    if (!may(c, ANY_MODE, "fmi2Reset")) {
        return fmi2Error;
    }
    start_values(c);
    return fmi2OK;
}

/* --- values ------------------------------------------------------------------------------------------------------ */

/* What a call asks for more than once is computed once. */
#define ONCE(has, computed) \
    if (!(has)) { \
        const fmi2Status status = computed; \
        if (status != fmi2OK) { \
            return status; \
        } \
        (has) = 1; \
    }

fmi2Status fmi2GetReal(fmi2Component component, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    unit *c = (unit *)component;
    double y[AT_LEAST_ONE(N_OUTPUTS)], rates[AT_LEAST_ONE(N_STATES)] = {0.0};
    int has_y = 0, has_rates = 0;
#ifdef HELD_MOTION
    double shown[AT_LEAST_ONE(N_STATES)];
    int has_shown = 0;
#endif
    if (!may(c, ANY_MODE, "fmi2GetReal")) {
        return fmi2Error;
    }
    for (size_t i = 0; i < n; i++) {
        const long at = (long)vr[i];
        if (at >= N_VALUES || at < 0) {
            return tell(c, fmi2Error, "fmi2GetReal: there is no value reference %u", vr[i]);
        }
        if (at < FIRST_OUTPUT) {
            value[i] = c->now.u[at];
        } else if (at < FIRST_STATE) {
            ONCE(has_y, model_outputs(c, y))
            value[i] = y[at - FIRST_OUTPUT];
        } else if (at < FIRST_RATE) {
            value[i] = N_SHOWN > 0 && c->type == fmi2CoSimulation ? 0.0 : *model_state(c, at - FIRST_STATE);
#ifdef HELD_MOTION
        } else if (at >= FIRST_SHOWN) {
            ONCE(has_shown, model_shown(c, shown))
            value[i] = shown[at - FIRST_SHOWN];
#endif
        } else {
            ONCE(has_rates, model_derivatives(c, rates))
            value[i] = rates[at - FIRST_RATE];
        }
    }
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component component, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    unit *c = (unit *)component;
    if (!may(c, INSTANTIATED | INITIALISING | EVENT | CONTINUOUS | STEPPED, "fmi2SetReal")) {
        return fmi2Error;
    }
    for (size_t i = 0; i < n; i++) {
        const long at = (long)vr[i];
        const int start = (c->now.mode & (INSTANTIATED | INITIALISING)) != 0 && STATES_MAY_BE_SET;
        if (at >= 0 && at < FIRST_OUTPUT) {
            c->now.u[at] = value[i];
        } else if (at >= FIRST_START && at < FIRST_START + N_STATES && start) {
            *model_state(c, at - FIRST_START) = value[i];
        } else {
            return tell(c, fmi2Error, "fmi2SetReal: value reference %u is not an input%s", vr[i],
                        at < FIRST_START || at >= FIRST_START + N_STATES ? ""
                        : STATES_MAY_BE_SET  ? "; start values of states are set before the run"
                                             : "; closures tie the coordinates of this arm, it begins in its pose");
        }
    }
    return fmi2OK;
}

static fmi2Status without(fmi2Component component, size_t n, const char *why)
{
    const unit *c = (const unit *)component;
    if (c == NULL) {
        return fmi2Error;
    }
    return n == 0 ? fmi2OK : tell(c, fmi2Error, "%s", why);
}

#define NO_SUCH(function, kind, values) \
    fmi2Status function(fmi2Component c, const fmi2ValueReference vr[], size_t n, values) \
    { \
        (void)vr; \
        (void)value; \
        return without(c, n, MODEL_NAME " has no variables of type " kind); \
    }

NO_SUCH(fmi2GetInteger, "Integer", fmi2Integer value[])
NO_SUCH(fmi2GetBoolean, "Boolean", fmi2Boolean value[])
NO_SUCH(fmi2GetString, "String", fmi2String value[])
NO_SUCH(fmi2SetInteger, "Integer", const fmi2Integer value[])
NO_SUCH(fmi2SetBoolean, "Boolean", const fmi2Boolean value[])
NO_SUCH(fmi2SetString, "String", const fmi2String value[])

/* --- saved states ------------------------------------------------------------------------------------------------ */

fmi2Status fmi2GetFMUstate(fmi2Component component, fmi2FMUstate *state)
{
    unit *c = (unit *)component;
    if (!may(c, ANY_MODE, "fmi2GetFMUstate") || state == NULL) {
        return fmi2Error;
    }
    if (*state == NULL) {
        *state = malloc(sizeof c->now);
    }
    if (*state == NULL) {
        return tell(c, fmi2Error, "out of memory: no state saved");
    }
    memcpy(*state, &c->now, sizeof c->now);
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component component, fmi2FMUstate state)
{
    unit *c = (unit *)component;
    if (!may(c, ANY_MODE, "fmi2SetFMUstate") || state == NULL) {
        return fmi2Error;
    }
    memcpy(&c->now, state, sizeof c->now);
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component component, fmi2FMUstate *state)
{
    if (component == NULL || state == NULL) {
        return fmi2Error;
    }
    free(*state);
    *state = NULL;
    return fmi2OK;
}

/* The GUID goes before the bytes, so that those of another unit are refused. */
fmi2Status fmi2SerializedFMUstateSize(fmi2Component component, fmi2FMUstate state, size_t *size)
{
    if (component == NULL || state == NULL || size == NULL) {
        return fmi2Error;
    }
    *size = sizeof MODEL_GUID + sizeof(flexctl_unit_state);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component component, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    const unit *c = (const unit *)component;
    if (c == NULL || state == NULL) {
        return fmi2Error;
    }
    if (size < sizeof MODEL_GUID + sizeof(flexctl_unit_state)) {
        return tell(c, fmi2Error, "a serialised state needs %lu bytes, not %lu",
                    (unsigned long)(sizeof MODEL_GUID + sizeof(flexctl_unit_state)), (unsigned long)size);
    }
    memcpy(bytes, MODEL_GUID, sizeof MODEL_GUID);
    memcpy(bytes + sizeof MODEL_GUID, state, sizeof(flexctl_unit_state));
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component component, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    const unit *c = (const unit *)component;
    if (c == NULL || state == NULL) {
        return fmi2Error;
    }
    if (size != sizeof MODEL_GUID + sizeof(flexctl_unit_state) || memcmp(bytes, MODEL_GUID, sizeof MODEL_GUID) != 0) {
        return tell(c, fmi2Error, "these %lu bytes are not a serialised state of " MODEL_NAME, (unsigned long)size);
    }
    if (*state == NULL) {
        *state = malloc(sizeof(flexctl_unit_state));
    }
    if (*state == NULL) {
        return tell(c, fmi2Error, "out of memory: no state read");
    }
    memcpy(*state, bytes + sizeof MODEL_GUID, sizeof(flexctl_unit_state));
    return fmi2OK;
}

/* --- directional derivatives ------------------------------------------------------------------------------------- */

fmi2Status fmi2GetDirectionalDerivative(fmi2Component component, const fmi2ValueReference unknown[], size_t n_unknown,
                                        const fmi2ValueReference known[], size_t n_known, const fmi2Real seed[],
                                        fmi2Real answer[])
{
    unit *c = (unit *)component;
#ifdef HAS_DIRECTIONS
    double x[AT_LEAST_ONE(N_STATES)] = {0.0}, u[AT_LEAST_ONE(N_INPUTS)] = {0.0};
    double y[AT_LEAST_ONE(N_OUTPUTS)], rates[AT_LEAST_ONE(N_STATES)];
    if (!may(c, ANY_MODE & ~INSTANTIATED, "fmi2GetDirectionalDerivative")) {
        return fmi2Error;
    }
    for (size_t i = 0; i < n_known; i++) {
        const long at = (long)known[i];
        if (at >= 0 && at < FIRST_OUTPUT) {
            u[at] = seed[i];
        } else if (at >= FIRST_STATE && at < FIRST_RATE) {
            x[at - FIRST_STATE] += seed[i];
        } else if (at >= FIRST_SHOWN && at < N_VALUES) { /* a state moves as its departure does */
            x[at - FIRST_SHOWN] += seed[i];
        } else {
            return tell(c, fmi2Error, "directional derivatives are with respect to inputs and states, not %u", known[i]);
        }
    }
    model_directions(x, u, y, rates);
    for (size_t i = 0; i < n_unknown; i++) {
        const long at = (long)unknown[i];
        if (at >= FIRST_OUTPUT && at < FIRST_STATE) {
            answer[i] = y[at - FIRST_OUTPUT];
        } else if (at >= FIRST_RATE && at < FIRST_SHOWN) {
            answer[i] = rates[at - FIRST_RATE];
        } else {
            return tell(c, fmi2Error, "directional derivatives are of outputs and rates of states, not %u", unknown[i]);
        }
    }
    return fmi2OK;
#else
    (void)unknown;
    (void)n_unknown;
    (void)known;
    (void)n_known;
    (void)seed;
    (void)answer;
    return c == NULL ? fmi2Error : tell(c, fmi2Error, MODEL_NAME " has no directional derivatives");
#endif
}

/* --- model exchange ---------------------------------------------------------------------------------------------- */

fmi2Status fmi2EnterEventMode(fmi2Component component)
{
    return enter((unit *)component, CONTINUOUS | EVENT, EVENT, "fmi2EnterEventMode");
}

fmi2Status fmi2NewDiscreteStates(fmi2Component component, fmi2EventInfo *info)
{
    unit *c = (unit *)component;
    if (!may(c, EVENT, "fmi2NewDiscreteStates") || info == NULL) {
        return fmi2Error;
    }
    memset(info, 0, sizeof *info); /* nothing ever happens but through the inputs */
#ifdef HELD_MOTION
    return model_event(c, &info->valuesOfContinuousStatesChanged);
#else
    return fmi2OK;
#endif
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component component)
{
    const fmi2Status status = enter((unit *)component, EVENT, CONTINUOUS, "fmi2EnterContinuousTimeMode");
#ifdef HELD_MOTION
    if (status == fmi2OK) {
        model_resumed((unit *)component);
    }
#endif
    return status;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component component, fmi2Boolean no_earlier, fmi2Boolean *event,
                                       fmi2Boolean *terminate)
{
    unit *c = (unit *)component;
    (void)no_earlier;
    if (!may(c, CONTINUOUS, "fmi2CompletedIntegratorStep") || event == NULL || terminate == NULL) {
        return fmi2Error;
    }
    *event = fmi2False;
    *terminate = fmi2False;
#ifdef HELD_MOTION
    return model_completed(c, event);
#else
    return fmi2OK;
#endif
}

fmi2Status fmi2SetTime(fmi2Component component, fmi2Real time)
{
    unit *c = (unit *)component;
    if (!may(c, EVENT | CONTINUOUS, "fmi2SetTime")) {
        return fmi2Error;
    }
    c->now.time = time;
    return fmi2OK;
}

static int sized(const unit *c, size_t n, int wanted, const char *function)
{
    if (n != (size_t)wanted) {
        (void)tell(c, fmi2Error, "%s: %lu numbers for %d", function, (unsigned long)n, wanted);
        return 0;
    }
    return 1;
}

fmi2Status fmi2SetContinuousStates(fmi2Component component, const fmi2Real x[], size_t n)
{
    unit *c = (unit *)component;
    if (!may(c, CONTINUOUS, "fmi2SetContinuousStates") || !sized(c, n, N_STATES, "fmi2SetContinuousStates")) {
        return fmi2Error;
    }
    for (size_t i = 0; i < n; i++) {
        *model_state(c, (long)i) = x[i];
    }
    return fmi2OK;
}

fmi2Status fmi2GetDerivatives(fmi2Component component, fmi2Real rates[], size_t n)
{
    unit *c = (unit *)component;
    if (!may(c, INITIALISING | EVENT | CONTINUOUS | TERMINATED, "fmi2GetDerivatives") ||
        !sized(c, n, N_STATES, "fmi2GetDerivatives")) {
        return fmi2Error;
    }
    return model_derivatives(c, rates);
}

fmi2Status fmi2GetEventIndicators(fmi2Component component, fmi2Real indicators[], size_t n)
{
    const unit *c = (const unit *)component;
    (void)indicators;
    return c != NULL && sized(c, n, 0, "fmi2GetEventIndicators") ? fmi2OK : fmi2Error;
}

fmi2Status fmi2GetContinuousStates(fmi2Component component, fmi2Real x[], size_t n)
{
    unit *c = (unit *)component;
    if (!may(c, ANY_MODE & ~INSTANTIATED, "fmi2GetContinuousStates") ||
        !sized(c, n, N_STATES, "fmi2GetContinuousStates")) {
        return fmi2Error;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = *model_state(c, (long)i);
    }
    return fmi2OK;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component component, fmi2Real nominal[], size_t n)
{
    unit *c = (unit *)component;
    if (!may(c, ANY_MODE, "fmi2GetNominalsOfContinuousStates") ||
        !sized(c, n, N_STATES, "fmi2GetNominalsOfContinuousStates")) {
        return fmi2Error;
    }
    memcpy(nominal, model_nominals(), n * sizeof *nominal);
    return fmi2OK;
}

/* --- co-simulation ----------------------------------------------------------------------------------------------- */

fmi2Status fmi2SetRealInputDerivatives(fmi2Component component, const fmi2ValueReference vr[], size_t n,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return without(component, n, "inputs are held over a step, not interpolated");
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component component, const fmi2ValueReference vr[], size_t n,
                                        const fmi2Integer order[], fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return without(component, n, "derivatives of outputs are not provided");
}

fmi2Status fmi2DoStep(fmi2Component component, fmi2Real time, fmi2Real h, fmi2Boolean no_set_state)
{
    unit *c = (unit *)component;
    fmi2Status status;
    double slack;
    (void)no_set_state;
    if (!may(c, STEPPED, "fmi2DoStep")) {
        return fmi2Error;
    }
    if (!is_finite(h) || h <= 0.0 || !is_finite(time)) {
        return tell(c, fmi2Error, "the step of %g s from %g s is not a step forward: give a positive one", h, time);
    }
    slack = 1e-6 * h + 1e-9 * fabs(time);
    if (fabs(time - c->now.time) > slack) {
        return tell(c, fmi2Error, "a step from %.9g s was asked for, but the unit is at %.9g s", time, c->now.time);
    }
    if (c->now.stops && time + h > c->now.stop + slack) {
        return tell(c, fmi2Error, "a step to %.9g s goes beyond the stop time of %.9g s", time + h, c->now.stop);
    }
    status = model_advance(c, h);
    if (status <= fmi2Warning) {
        c->now.time = time + h;
    }
    return status;
}

fmi2Status fmi2CancelStep(fmi2Component component)
{
    const unit *c = (const unit *)component;
    return c == NULL ? fmi2Error : tell(c, fmi2Error, "no step is under way: steps end before fmi2DoStep returns");
}

/* Of a step that may still be under way; here none is, so that only time and termination can be asked for. */
#define NO_STATUS(function, values) \
    fmi2Status function(fmi2Component component, const fmi2StatusKind kind, values *value) \
    { \
        (void)kind; \
        (void)value; \
        return component == NULL ? fmi2Error : fmi2Discard; \
    }

NO_STATUS(fmi2GetStatus, fmi2Status)
NO_STATUS(fmi2GetIntegerStatus, fmi2Integer)
NO_STATUS(fmi2GetStringStatus, fmi2String)

static fmi2Status asked(fmi2Component component, const void *value, fmi2StatusKind kind, fmi2StatusKind wanted)
{
    return component == NULL || value == NULL ? fmi2Error : kind == wanted ? fmi2OK : fmi2Discard;
}

fmi2Status fmi2GetRealStatus(fmi2Component component, const fmi2StatusKind kind, fmi2Real *value)
{
    const fmi2Status status = asked(component, value, kind, fmi2LastSuccessfulTime);
    if (status == fmi2OK) {
        *value = ((const unit *)component)->now.time;
    }
    return status;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component component, const fmi2StatusKind kind, fmi2Boolean *value)
{
    const fmi2Status status = asked(component, value, kind, fmi2Terminated);
    if (status == fmi2OK) {
        *value = fmi2False;
    }
    return status;
}
