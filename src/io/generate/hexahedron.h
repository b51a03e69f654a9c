/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stiffness matrices of the cube of unit edge with 8 nodes and trilinear functions, integrated by 2
 * x 2 x 2 points of Gauss, which is exact here. Node l is at (l & 1, l >> 1 & 1, l >> 2).
 *
 *   dof 1   Laplace: grad u . grad v; rank 7
 *   dof 3   linear elasticity, displacements: isotropic, Young's modulus 1, Poisson's ratio 0.3; rank 18
 *   dof 6   micropolar solid (Eringen 1966), displacements u and rotations w of the points themselves:
 *           lambda e_kk f_ll + (mu + kappa) e_kl f_kl + mu e_kl f_lk, e_kl = u_l,k + epsilon_lkm w_m, and
 *           alpha w_k,k z_l,l + beta w_k,l z_l,k + gamma w_k,l z_k,l; the shear modulus mu + kappa / 2 and the ratio
 *           are as above, kappa half the shear modulus, alpha = beta a quarter of it, gamma it; rank 42
 */
#ifndef TULLE_IO_GENERATE_HEXAHEDRON_H
#define TULLE_IO_GENERATE_HEXAHEDRON_H

enum { TULLE__HEXAHEDRON_NODES = 8, TULLE__HEXAHEDRON_DOF = 6 };

/*
 * K[((l * dof + a) * 8 + m) * dof + b] couples unknown a of node l with b of node m; symmetric to
 * the bit.
 */
void tulle__hexahedron(int dof, double *K);

#endif
