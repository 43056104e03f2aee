/* Types of a linear plant; see flexctl_linear.c. */
#ifndef FLEXCTL_LINEAR_H
#define FLEXCTL_LINEAR_H

/* A matrix by rows: row i holds value[start[i]] .. value[start[i + 1] - 1], in the columns of the same places. */
typedef struct {
    int rows;
    const int *start, *column;
    const double *value;
} sparse;

/* exp(A h) and the part of the inputs, group by group. */
typedef struct {
    double h, *phi, *gamma;
    unsigned long used;
} exponential;

#define KEPT 4

#ifdef HELD_MOTION
/* Where a motion begins, and the inputs that are held along it. */
typedef struct {
    double t, x[N_STATES > 0 ? N_STATES : 1], u[N_INPUTS > 0 ? N_INPUTS : 1];
} motion_start;

/* Exponentials of a group for 1, 2, 4, .. times its BLOCK_STEP; `top` is the widest, in many digits. */
typedef struct {
    void *top;
    double *power[64];
    int count, scale[N_INPUTS > 0 ? N_INPUTS : 1];
} doubled;
#endif

typedef struct {
    double x[N_STATES > 0 ? N_STATES : 1];
#ifdef HELD_MOTION
    motion_start from, before; /* the motion from the last change of inputs on, and the one until then */
    int known;                 /* whether there is one; x then holds departures from it */
    int strayed;               /* whether a rate was asked for with other inputs than those of `from` */
#endif
} flexctl_model_state;

typedef struct {
    exponential kept[KEPT];
    unsigned long clock;
#ifdef HELD_MOTION
    doubled *table;
    motion_start from; /* of the motion that was asked for last, at `t` */
    double t, x[N_STATES > 0 ? N_STATES : 1];
    int known;
#endif
} flexctl_model_cache;

#endif
