"""Compiled code of this formulation: residual, tangent and solve for the common step.

    frames      R = exp(psi) R0(phi) of all nodes [1], Theta = log(R1^T R2) of all elements [rad]
    element     N = C (x - t) [N], M = C Theta / l [N m], x = (x2 - x1) / l; forces N, moments l N x x / 2 -+ b
    linear      the same to first order in the deformation from the commanded rigid arm
    inertia     rho A l/6 (2 a1 + a2) [N], l/6 (2 J W1 + J W2)' [N m]; of what slides, v = x' + d' (1 - xi)/l (x2 - x1)
    damping     stresses beta C gamma' [N], beta C kappa' [N m]; modal: sum (2 zeta / omega^3) of all strain rates
    bodies      m (a - gravity) [N], (J W)' [N m] of rigid bodies; loads on nodes
    tangent     second variation of the energy along spins                                        [N/m, N, N m/rad]
    factor      ca M + cv D + cq K, blocks of 6 x 6 from the tip inwards
    solve       S d = r, d: correction of q, spins in base axes                                               [m, rad]
    static      K d = r with M a of the commanded rigid arm: its deformation, without steps                  [m, rad]
    sensors     y = y(q, v, a, u), in the units of the outputs

Everything is in SI units: positions in m, slopes in 1, angles in rad, forces in N, moments in N m, their rates per s.
S = ca M + cv D + cq K is in N per m or rad, N m per m or rad, with ca [1/s^2], cv [1/s], cq [1] of the scheme.
"""
