"""Compiled code of this formulation: residual, tangent and solve for the common step.

    element     (1 + eps, gamma) = R(theta)^T (r_2 - r_1) / l [1],  kappa = (theta_2 - theta_1) / l [1/m];
                N = EA (eps + beta eps'), Q = kt G A (gamma + beta gamma') [N],  M = EI (kappa + beta kappa') [N m]
    balance     r = M (a + alpha v) + forces of the elements - weight - B u          [N at nodes, N m at nodes, joints]
    solve       (ca M + cv D + cq K) d = r, blocks of 3 x 3 from the tip inwards; d: correction of q          [m, rad]
    rigid       places, rates and accelerations of the commanded rigid arm [m, m/s, m/s^2], its axial forces [N]
    static      K d = r with M a of the commanded rigid arm: its deformation, without steps                  [m, rad]
    sensors     y = y(q, v, a, u), in the units of the outputs

Everything is in SI units: positions in m, slopes in 1, angles in rad, forces in N, moments in N m, their rates per s.
S = ca M + cv D + cq K is in N per m or rad, N m per m or rad, with ca [1/s^2], cv [1/s], cq [1] of the scheme.
"""
