/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/small_dense.h"

#include <math.h>
#include <string.h>

int tulle__small_cholesky(int n, tulle__small_matrix A, double least, double *pivot)
{
    for (int j = 0; j < n; j++) {
        double d = A[j][j];
        for (int k = 0; k < j; k++) d -= A[j][k] * A[j][k];
        *pivot = d;
        if (!(d > least)) return j;
        A[j][j] = sqrt(d);
        for (int i = j + 1; i < n; i++) {
            double sum = A[i][j];
            for (int k = 0; k < j; k++) sum -= A[i][k] * A[j][k];
            A[i][j] = sum / A[j][j];
        }
    }
    return -1;
}

void tulle__small_solve(int n, tulle__small_matrix L, int cols, tulle__small_matrix B)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            for (int c = 0; c < cols; c++) B[i][c] -= L[i][k] * B[k][c];
        for (int c = 0; c < cols; c++) B[i][c] /= L[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            for (int c = 0; c < cols; c++) B[i][c] -= L[k][i] * B[k][c];
        for (int c = 0; c < cols; c++) B[i][c] /= L[i][i];
    }
}

void tulle__small_product(int m, int k, int n, tulle__small_matrix A, tulle__small_matrix B, tulle__small_matrix C)
{
    for (int i = 0; i < m; i++) {
        memset(C[i], 0, (size_t)n * sizeof(double));
        for (int l = 0; l < k; l++)
            for (int j = 0; j < n; j++) C[i][j] += A[i][l] * B[l][j];
    }
}

void tulle__small_product_t(int m, int k, int n, tulle__small_matrix A, tulle__small_matrix B, tulle__small_matrix C)
{
    for (int i = 0; i < m; i++) {
        memset(C[i], 0, (size_t)n * sizeof(double));
        for (int l = 0; l < k; l++)
            for (int j = 0; j < n; j++) C[i][j] += A[l][i] * B[l][j];
    }
}

void tulle__small_copy(int m, int n, tulle__small_matrix A, tulle__small_matrix B)
{
    for (int i = 0; i < m; i++) memcpy(B[i], A[i], (size_t)n * sizeof(double));
}

void tulle__small_identity(int n, tulle__small_matrix A)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) A[i][j] = i == j;
}

int tulle__small_pivoted(
    int n, tulle__small_matrix G, const double *weight, double least, tulle__small_matrix R, int *order, double *worst)
{
    double left[TULLE__TALL_MOST];
    int rank = 0;
    *worst = 1;
    for (int j = 0; j < n; j++) left[j] = weight[j] > 0 ? 1 : -1;
    for (; rank < n; rank++) {
        int p = -1;
        double longest = 0;
        for (int j = 0; j < n; j++)
            if (left[j] > least) longest = fmax(longest, left[j] * weight[j]);
        for (int j = 0; j < n; j++)
            if (left[j] > least && left[j] * weight[j] >= longest / 4 && (p < 0 || left[j] > left[p])) p = j;
        if (p < 0) break;
        if (left[p] < *worst) *worst = left[p];
        double root = sqrt(left[p]);
        for (int j = 0; j < n; j++) {
            double sum = weight[j] > 0 ? G[p][j] : 0;
            for (int k = 0; k < rank; k++) sum -= R[k][p] * R[k][j];
            R[rank][j] = sum / root;
        }
        for (int k = 0; k < rank; k++) R[rank][order[k]] = 0;
        R[rank][p] = root;
        for (int j = 0; j < n; j++)
            if (left[j] > 0) left[j] -= R[rank][j] * R[rank][j];
        left[p] = -1;
        order[rank] = p;
    }
    return rank;
}

/* Householder reflections: their vectors overwrite A's lower half. */
void tulle__small_basis(int m, int n, tulle__small_matrix A, tulle__small_matrix U)
{
    double twice[TULLE__TALL_MOST];
    for (int j = 0; j < n; j++) {
        double norm = 0, square = 0;
        for (int i = j; i < m; i++) norm = hypot(norm, A[i][j]);
        A[j][j] += A[j][j] < 0 ? -norm : norm;
        for (int i = j; i < m; i++) square += A[i][j] * A[i][j];
        twice[j] = square > 0 ? 2 / square : 0;
        for (int c = j + 1; c < n; c++) {
            double along = 0;
            for (int i = j; i < m; i++) along += A[i][j] * A[i][c];
            for (int i = j; i < m; i++) A[i][c] -= twice[j] * along * A[i][j];
        }
    }
    tulle__small_identity(m, U);
    for (int j = n - 1; j >= 0; j--)
        for (int c = 0; c < m; c++) {
            double along = 0;
            for (int i = j; i < m; i++) along += A[i][j] * U[i][c];
            for (int i = j; i < m; i++) U[i][c] -= twice[j] * along * A[i][j];
        }
}
