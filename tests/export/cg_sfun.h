/* In the place of Simulink's file of this name: the methods of the block as functions that a test can call. */
#include <stdlib.h>

SimStruct *block_new(void);
void block_widths(const SimStruct *S, int *out);
double block_period(const SimStruct *S);
void block_outputs(SimStruct *S, const double *y, const double *r, double *u);
void block_update(SimStruct *S, const double *y, const double *r);
void block_free(SimStruct *S);

SimStruct *block_new(void)
{
    SimStruct *S = (SimStruct *)calloc(1, sizeof *S);
    mdlInitializeSizes(S);
    mdlInitializeSampleTimes(S);
    for (int i = 0; i < S->works; i++) {
        S->work[i] = calloc((size_t)S->work_widths[i], sizeof(real_T));
    }
    mdlInitializeConditions(S);
    return S;
}

void block_widths(const SimStruct *S, int *out)
{
    out[0] = S->inputs;
    out[1] = S->widths[0];
    out[2] = S->inputs > 1 ? S->widths[1] : 0;
    out[3] = S->widths[2];
    out[4] = S->feeds[0];
}

double block_period(const SimStruct *S) { return S->sample_time; }

static void connect(SimStruct *S, const double *y, const double *r)
{
    S->input[0] = y;
    S->input[1] = r;
}

void block_outputs(SimStruct *S, const double *y, const double *r, double *u)
{
    connect(S, y, r);
    S->output = u;
    mdlOutputs(S, 0);
}

void block_update(SimStruct *S, const double *y, const double *r)
{
    connect(S, y, r);
    mdlUpdate(S, 0);
}

void block_free(SimStruct *S)
{
    mdlTerminate(S);
    free(S->work[0]);
    free(S->work[1]);
    free(S);
}
