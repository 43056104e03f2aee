"""Compiled code of this formulation: residual, tangent and solve for the common step.

    balance     r = J^T [M (a + alpha v) + F(x, x') - weight] + servo joints - B u      [N; N m at a joint angle]
    element     F = (sum sigma_c N_c) X, sigma = C eps, eps: 15 coefficients of the strains [1], see ..element; M a
    sweep       dF/dx [N/m] and M [kg] of an element, together ca M + cv D + cq dF/dx
    root        r_x, r_y of the section at the root of a link from its angle phi [rad] and stretch [1]
    solve       S d = r,  S = ca M + cv D + cq K as U^T D^-1 U in a band of 16; d: correction of q      [m, 1, rad]
    sensors     y = y(q, v, a, u), in the units of the outputs

Everything is in SI units: positions in m, slopes in 1, angles in rad, forces in N, moments in N m, their rates per s.
S = ca M + cv D + cq K is in N per m or rad, N m per m or rad, with ca [1/s^2], cv [1/s], cq [1] of the scheme.
"""
