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

typedef struct {
    double x[N_STATES > 0 ? N_STATES : 1];
} flexctl_model_state;

typedef struct {
    exponential kept[KEPT];
    unsigned long clock;
} flexctl_model_cache;

#endif
