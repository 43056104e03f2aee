"""The law as a block of Simulink and as a function of MATLAB and Octave, around its C code.

    mex NAME_sfun.c NAME.c          a block, S-function "NAME_sfun": readings and references in, commands out
    mex NAME_step.c NAME.c          [u, s, status] = NAME_step(s, y, r); mkoctfile --mex in Octave
"""

from __future__ import annotations

from .c_header import started
from .program import Program


def wrappers(program: Program, name: str, title: str) -> dict[str, str]:
    """Return NAME_sfun.c, NAME_step.c and the help text NAME_step.m."""
    words = _words(program, name, title)
    return {
        f"{name}_sfun.c": _filled(_BLOCK, words), f"{name}_step.c": _filled(_FUNCTION, words),
        f"{name}_step.m": _filled(_HELP, words),
    }


def _words(program: Program, name: str, title: str) -> dict[str, str]:
    told = program.table is None and bool(program.follows)
    step = f"{name}_step(s, y, r, u)" if program.table is None else f"{name}_follow(s, y, u)"
    start = f"{name}_start(s, y)" if started(program) else f"{name}_init(s)"
    return {
        "NAME": name, "UPPER": name.upper(), "TITLE": "".join(c if " " <= c < "\x7f" else "?" for c in title),
        "STEP": step, "START": f"(void){start}" if started(program) else start,
        "REFERENCES": str(3 * len(program.follows) if told else 0), "MEASURES": str(len(program.measures)),
        "DRIVES": str(len(program.drives)), "PERIOD": repr(program.sample_time),
        "FEEDS": "1" if program.delay == 0 else "0",
        "READINGS": ", ".join(s.name for s in program.measures) or "none",
        "FOLLOWED": ", ".join(s.name for s in program.follows) if told else "none",
        "COMMANDS": ", ".join(s.name for s in program.drives),
    }


def _filled(text: str, words: dict[str, str]) -> str:
    for key, value in words.items():
        text = text.replace(f"@{key}@", value.replace("*/", "* /").replace("/*", "/ *"))
    return text


_BLOCK = """/* The law @TITLE@ as a block of Simulink:
   mex @NAME@_sfun.c @NAME@.c, and "@NAME@_sfun" in an S-Function block.

   Input port 1: readings (@READINGS@).
   Port 2, if the law follows something: value, rate, acceleration of each reference (@FOLLOWED@).
   Output port: commands (@COMMANDS@).

   The state of the law is work memory of the block, which Simulink saves and restores. Outputs are computed on a copy
   of it, since Simulink may ask for them more than once in a period. A law that delays its command by a period or more
   does not feed its inputs through: its loop is no algebraic one. */
#define S_FUNCTION_NAME @NAME@_sfun
#define S_FUNCTION_LEVEL 2

#include <string.h>

#include "simstruc.h"
#include "@NAME@.h"

#ifdef @UPPER@_FLOAT
#error "compile the law in double precision for Simulink"
#endif

#define MEASURES @MEASURES@
#define REFERENCES @REFERENCES@
#define DRIVES @DRIVES@
#define FEEDS @FEEDS@
#define WORDS ((int_T)((sizeof(@NAME@_state) + sizeof(real_T) - 1) / sizeof(real_T)))

enum { STATE = 0, BEGUN = 1 };

static void mdlInitializeSizes(SimStruct *S)
{
    int_T port = 0;
    ssSetNumSFcnParams(S, 0);
    if (ssGetNumSFcnParams(S) != ssGetSFcnParamsCount(S)) {
        return;
    }
    ssSetNumContStates(S, 0);
    ssSetNumDiscStates(S, 0);
    if (!ssSetNumInputPorts(S, (MEASURES > 0) + (REFERENCES > 0))) {
        return;
    }
    if (MEASURES > 0) {
        ssSetInputPortWidth(S, port, MEASURES);
        ssSetInputPortRequiredContiguous(S, port, 1);
        ssSetInputPortDirectFeedThrough(S, port, FEEDS);
        port++;
    }
    if (REFERENCES > 0) {
        ssSetInputPortWidth(S, port, REFERENCES);
        ssSetInputPortRequiredContiguous(S, port, 1);
        ssSetInputPortDirectFeedThrough(S, port, FEEDS);
    }
    if (!ssSetNumOutputPorts(S, 1)) {
        return;
    }
    ssSetOutputPortWidth(S, 0, DRIVES);
    ssSetNumSampleTimes(S, 1);
    if (!ssSetNumDWork(S, 2)) {
        return;
    }
    ssSetDWorkWidth(S, STATE, WORDS);
    ssSetDWorkDataType(S, STATE, SS_DOUBLE);
    ssSetDWorkWidth(S, BEGUN, 1);
    ssSetDWorkDataType(S, BEGUN, SS_DOUBLE);
    ssSetOptions(S, 0);
}

static void mdlInitializeSampleTimes(SimStruct *S)
{
    ssSetSampleTime(S, 0, @PERIOD@);
    ssSetOffsetTime(S, 0, 0.0);
}

#define MDL_INITIALIZE_CONDITIONS
static void mdlInitializeConditions(SimStruct *S)
{
    @NAME@_state s;
    memset(ssGetDWork(S, STATE), 0, (size_t)WORDS * sizeof(real_T));
    @NAME@_init(&s);
    memcpy(ssGetDWork(S, STATE), &s, sizeof s);
    *(real_T *)ssGetDWork(S, BEGUN) = 0.0;
}

/* One period on a state that is given; a law begins where its first readings say the arm stands. */
static void period(SimStruct *S, @NAME@_state *s, int_T read, real_T *u)
{
    static const real_T none[MEASURES + REFERENCES + 1] = {0.0};
    const real_T *y = none, *r = none;
    if (read && MEASURES > 0) {
        y = (const real_T *)ssGetInputPortSignal(S, 0);
    }
    if (read && REFERENCES > 0) {
        r = (const real_T *)ssGetInputPortSignal(S, MEASURES > 0);
    }
    if (*(real_T *)ssGetDWork(S, BEGUN) == 0.0) {
        @START@;
    }
    (void)r;
    (void)y;
    (void)@STEP@;
}

static void mdlOutputs(SimStruct *S, int_T tid)
{
    @NAME@_state s;
    (void)tid;
    memcpy(&s, ssGetDWork(S, STATE), sizeof s);
    period(S, &s, FEEDS, (real_T *)ssGetOutputPortSignal(S, 0));
}

#define MDL_UPDATE
static void mdlUpdate(SimStruct *S, int_T tid)
{
    @NAME@_state s;
    real_T u[DRIVES];
    (void)tid;
    memcpy(&s, ssGetDWork(S, STATE), sizeof s);
    period(S, &s, 1, u);
    memcpy(ssGetDWork(S, STATE), &s, sizeof s);
    *(real_T *)ssGetDWork(S, BEGUN) = 1.0;
}

static void mdlTerminate(SimStruct *S) { (void)S; }

#ifdef MATLAB_MEX_FILE
#include "simulink.c"
#else
#include "cg_sfun.h"
#endif
"""

_FUNCTION = """/* The law @TITLE@ as a function:
   mex @NAME@_step.c @NAME@.c, in Octave mkoctfile --mex @NAME@_step.c @NAME@.c

   [u, s, status] = @NAME@_step(s, y, r); see @NAME@_step.m. */
#include <string.h>

#include "mex.h"
#include "@NAME@.h"

#ifdef @UPPER@_FLOAT
#error "compile the law in double precision for MATLAB and Octave"
#endif

#define MEASURES @MEASURES@
#define REFERENCES @REFERENCES@
#define DRIVES @DRIVES@

static const double *numbers(int count, const mxArray *given[], int at, size_t wanted, const char *word)
{
    if (wanted == 0) {
        return NULL;
    }
    if (count <= at || !mxIsDouble(given[at]) || mxIsComplex(given[at]) ||
        (size_t)mxGetNumberOfElements(given[at]) != wanted) {
        mexErrMsgIdAndTxt("flexctl:size", "@NAME@_step: %s must be %d real numbers of class double", word, (int)wanted);
    }
    return mxGetPr(given[at]);
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    @NAME@_state state, *s = &state;
    double none[1] = {0.0}, *u;
    const double *y, *r;
    int status;
    if (nrhs < 1 || nrhs > 3) {
        mexErrMsgIdAndTxt("flexctl:count", "call it as [u, s, status] = @NAME@_step(s, y, r)");
    }
    y = numbers(nrhs, prhs, 1, MEASURES, "the readings y");
    r = numbers(nrhs, prhs, 2, REFERENCES, "the references r");
    y = y == NULL ? none : y;
    r = r == NULL ? none : r;
    (void)y;
    (void)r;
    if (mxIsEmpty(prhs[0])) {
        @NAME@_init(s);
        @START@;
    } else {
        if (!mxIsUint8(prhs[0]) || (size_t)mxGetNumberOfElements(prhs[0]) != sizeof state) {
            mexErrMsgIdAndTxt("flexctl:state", "@NAME@_step: s must be [] or what an earlier call returned");
        }
        memcpy(s, mxGetData(prhs[0]), sizeof state);
    }
    plhs[0] = mxCreateDoubleMatrix(DRIVES, 1, mxREAL);
    u = mxGetPr(plhs[0]);
    status = @STEP@;
    if (nlhs > 1) {
        plhs[1] = mxCreateNumericMatrix(1, (mwSize)sizeof state, mxUINT8_CLASS, mxREAL);
        memcpy(mxGetData(plhs[1]), s, sizeof state);
    }
    if (nlhs > 2) {
        plhs[2] = mxCreateDoubleScalar((double)status);
    }
}
"""

_HELP = """%@UPPER@_STEP  One period of the law @TITLE@, @PERIOD@ s; made by  mex @NAME@_step.c @NAME@.c
%  [u, s, status] = @NAME@_step(s, y, r)
%  s       state: [] in the first period, in which the law begins where the readings say; then what was returned
%  y       readings: @READINGS@
%  r       value, rate, acceleration of each reference: @FOLLOWED@
%  u       commands: @COMMANDS@
%  status  0; 1 where y or r, 2 where the command is not finite: the last command is held, and the state stays
error('flexctl:mex', ...
    'compile it first: mex @NAME@_step.c @NAME@.c, in Octave mkoctfile --mex @NAME@_step.c @NAME@.c');
"""
