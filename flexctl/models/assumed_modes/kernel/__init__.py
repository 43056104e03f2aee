"""Compiled code of this formulation: residual, tangent and solve for the common step.

    sweep       r = sum m Re(J^H (a - gravity)) + C q' + K q - B u and ca M + cv D + cq K      [N m at angles, N at p]
    chain       the same with G^T lam, and g, G, (G q')_q q' of the pins              [m, m/rad, m/s^2; lam in N]
    hydraulic   the same, and z'' + c2 z' + c1 p' + c0 (p - p_ref) - b u of each cylinder, z' = p''         [rad/s^3]
    functions   the operations of the common step made of these
    pack        the constants of the equations in the order that `chain` states

Everything is in SI units: positions in m, slopes in 1, angles in rad, forces in N, moments in N m, their rates per s.
S = ca M + cv D + cq K is in N per m or rad, N m per m or rad, with ca [1/s^2], cv [1/s], cq [1] of the scheme.
"""
