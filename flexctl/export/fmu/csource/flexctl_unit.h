/* What every functional mock-up unit of flexctl has: an instance, its modes, its values, its saved states.

   A unit is one source file. It defines MODEL_GUID, MODEL_NAME, N_INPUTS, N_OUTPUTS, N_STATES, MODEL_EXCHANGE (1 if the
   unit also serves as such), HAS_DIRECTIONS if it has directional derivatives, HELD_MOTION if importers integrate the
   departures of its states from a motion that it knows (flexctl_motion.c), and the types flexctl_model_state (plain
   data: it is copied byte by byte when a state is saved) and flexctl_model_cache (what is computed once and kept),
   includes this header, defines the functions model_..., and includes flexctl_unit.c. Everything is static but the
   interface, and nothing is global that changes: a process may hold any number of instances. */
#ifndef FLEXCTL_UNIT_H
#define FLEXCTL_UNIT_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flexctl_fmi2.h"

#define AT_LEAST_ONE(n) ((n) > 0 ? (n) : 1)

typedef enum { INSTANTIATED = 1, INITIALISING = 2, EVENT = 4, CONTINUOUS = 8, STEPPED = 16, TERMINATED = 32 } unit_mode;
#define ANY_MODE 63
#ifndef STATES_MAY_BE_SET
#define STATES_MAY_BE_SET 1 /* before the run */
#endif

/* All that changes while the unit runs. */
typedef struct {
    unit_mode mode;
    int stops;         /* whether a stop time was given */
    double time, stop; /* [s] */
    double u[AT_LEAST_ONE(N_INPUTS)];
    flexctl_model_state model;
} flexctl_unit_state;

typedef struct {
    flexctl_unit_state now;
    fmi2Type type;
    fmi2CallbackLogger logger;
    fmi2ComponentEnvironment environment;
    char *name;
    flexctl_model_cache cache;
} unit;

/* Value references: inputs, outputs, what importers integrate, its derivatives, and the states where they are others. */
#ifdef HELD_MOTION
#define N_SHOWN N_STATES
#else
#define N_SHOWN 0
#endif
#define FIRST_OUTPUT N_INPUTS
#define FIRST_STATE (FIRST_OUTPUT + N_OUTPUTS)
#define FIRST_RATE (FIRST_STATE + N_STATES)
#define FIRST_SHOWN (FIRST_RATE + N_STATES)
#define N_VALUES (FIRST_SHOWN + N_SHOWN)
#define FIRST_START (N_SHOWN > 0 ? FIRST_SHOWN : FIRST_STATE) /* states that may be set before the run */

/* Tell the importer, and return the status. The text is no format: a per cent sign in it stands doubled. */
static fmi2Status tell(const unit *c, fmi2Status status, const char *text, ...)
{
    char line[512];
    va_list given;
    va_start(given, text);
    (void)vsnprintf(line, sizeof line, text, given);
    va_end(given);
    if (c->logger != NULL) {
        const char *kind = status == fmi2Warning ? "logStatusWarning" : "logStatusError";
        c->logger(c->environment, c->name, status, kind, line);
    }
    return status;
}

static int is_finite(double value) { return value - value == 0.0; }

static fmi2Status model_begin(unit *c);                  /* the end of the initialisation */
static fmi2Status model_advance(unit *c, double h);      /* a communication step, inputs held */
static fmi2Status model_outputs(unit *c, double y[]);
static fmi2Status model_derivatives(unit *c, double rates[]);
static double *model_state(unit *c, long i);             /* where state i stands, or its departure */
static void model_start(unit *c);                        /* start values of the state; all else is zero */
static const double *model_nominals(void);
#ifdef HAS_DIRECTIONS
static void model_directions(const double x[], const double u[], double y[], double rates[]);
#endif
#ifdef HELD_MOTION
static fmi2Status model_shown(unit *c, double x[]);      /* the states */
static fmi2Status model_event(unit *c, int *changed);    /* whether departures changed */
static void model_resumed(unit *c);                      /* the end of an event */
static fmi2Status model_completed(unit *c, int *event);  /* the end of a step; whether it wants an event */
#endif
static void model_forget(unit *c);                       /* frees what flexctl_model_cache holds */

#endif
