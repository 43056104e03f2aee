/* As much of Simulink's simstruc.h as a generated block uses, so that the block can be compiled and run without it. */
#ifndef SIMSTRUC_H
#define SIMSTRUC_H
#include <stddef.h>

typedef double real_T;
typedef int int_T;
typedef struct {
    int_T inputs, outputs, works, widths[3], feeds[2], work_widths[2];
    real_T sample_time;
    const void *input[2];
    void *output, *work[2];
} SimStruct;

#define SS_DOUBLE 0
#define ssSetNumSFcnParams(S, n) ((void)(S))
#define ssGetNumSFcnParams(S) ((void)(S), 0)
#define ssGetSFcnParamsCount(S) 0
#define ssSetNumContStates(S, n) ((void)0)
#define ssSetNumDiscStates(S, n) ((void)0)
#define ssSetNumInputPorts(S, n) ((S)->inputs = (n), 1)
#define ssSetInputPortWidth(S, p, n) ((S)->widths[p] = (n))
#define ssSetInputPortRequiredContiguous(S, p, on) ((void)0)
#define ssSetInputPortDirectFeedThrough(S, p, on) ((S)->feeds[p] = (on))
#define ssSetNumOutputPorts(S, n) ((S)->outputs = (n), 1)
#define ssSetOutputPortWidth(S, p, n) ((S)->widths[2] = (n))
#define ssSetNumSampleTimes(S, n) ((void)0)
#define ssSetNumDWork(S, n) ((S)->works = (n), 1)
#define ssSetDWorkWidth(S, i, n) ((S)->work_widths[i] = (n))
#define ssSetDWorkDataType(S, i, t) ((void)0)
#define ssSetOptions(S, o) ((void)0)
#define ssSetSampleTime(S, i, t) ((S)->sample_time = (t))
#define ssSetOffsetTime(S, i, t) ((void)0)
#define ssGetDWork(S, i) ((S)->work[i])
#define ssGetInputPortSignal(S, p) ((S)->input[p])
#define ssGetOutputPortSignal(S, p) ((S)->output)
#endif
