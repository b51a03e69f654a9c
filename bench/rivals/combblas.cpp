/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CombBLAS: Mult_AnXBn_Synch over int64 indices and SpDCCols on a square number of MPI ranks, threads inside each by
 * OpenMP. This release keeps the tuples of every product (they are never freed), so that no run finds warm memory by
 * itself: enough for all runs is touched and given back to the allocator after the first.
 */
#include <CombBLAS/CombBLAS.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "rival.h"

#ifndef RIVAL_VERSION
#define RIVAL_VERSION "unknown"
#endif

template <class T> struct product {
    typedef combblas::SpDCCols<int64_t, T> local;
    typedef combblas::SpParMat<int64_t, T, local> matrix;
    rival_case *work;
    std::unique_ptr<matrix> A, B, C;
    int runs;

    /* Each rank hands in its share of the entries. */
    std::unique_ptr<matrix> make(const rival_csr &A_csr, std::shared_ptr<combblas::CommGrid> grid)
    {
        combblas::FullyDistVec<int64_t, int64_t> rows(grid, A_csr.nnz, 0), cols(grid, A_csr.nnz, 0);
        combblas::FullyDistVec<int64_t, T> vals(grid, A_csr.nnz, 0);
        int64_t share = rows.LocArrSize(), end = 0, at = 0;
        MPI_Scan(&share, &end, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        int64_t first = end - share;
        for (int64_t r = 0; r < A_csr.m; r++)
            for (int64_t i = std::max(first, A_csr.rowptr[r]); i < std::min(end, A_csr.rowptr[r + 1]); i++) {
                rows.SetLocalElement(at, r);
                cols.SetLocalElement(at, A_csr.colind[i]);
                vals.SetLocalElement(at++, static_cast<const T *>(A_csr.val)[i]);
            }
        return std::unique_ptr<matrix>(new matrix(A_csr.m, A_csr.n, rows, cols, vals, true));
    }

    /* Touches what the runs to come will keep; fewer runs if half of the free memory does not hold that. */
    void warm()
    {
        size_t bytes = (size_t)C->seq().getnnz() * sizeof(std::tuple<int64_t, int64_t, T>) + 1;
        size_t room = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2 / (size_t)work->ranks;
        int reps = (int)std::max((size_t)1, std::min((size_t)work->reps, room / bytes));
        MPI_Allreduce(MPI_IN_PLACE, &reps, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (reps < work->reps)
            snprintf(work->note, sizeof work->note, "fewer runs than asked for: the library keeps its tuples");
        work->reps = reps;
        void *block = malloc(bytes * (size_t)reps);
        if (block) memset(block, 1, bytes * (size_t)reps);
        free(block);
    }

    void run(double *seconds)
    {
        typedef combblas::PlusTimesSRing<T, T> semiring;
        if (runs++ == 1) warm();
        C.reset();
        MPI_Barrier(MPI_COMM_WORLD);
        double start = rival_now();
        C.reset(new matrix(combblas::Mult_AnXBn_Synch<semiring, T, local>(*A, *B)));
        double mine = rival_now() - start;
        MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
};

template <class T> static void multiply(void *context, double *seconds, double *extra)
{
    (void)extra;
    static_cast<product<T> *>(context)->run(seconds);
}

template <class T> static void bench(rival_case *work)
{
    product<T> p;
    auto grid = std::make_shared<combblas::CommGrid>(MPI_COMM_WORLD, 0, 0);
    double start = rival_now();
    p.work = work;
    p.runs = 0;
    p.A = p.make(work->A, grid);
    p.B = p.make(work->B, grid);
    work->setup = rival_now() - start;
    rival_measure(work, multiply<T>, &p);
    int64_t nnz = p.C->seq().getnnz();
    if (nnz > 0) rival_checksum(work, p.C->seq().GetDCSC()->numx, nnz);
    work->nnz_c = nnz;
    MPI_Allreduce(MPI_IN_PLACE, &work->nnz_c, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &work->sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &work->sum_abs, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static rival_case work;
    int rank, ranks, provided;
    rival_environment(argc, argv, 1);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rival_open(&work, "combblas", argc, argv, rank, ranks);
    if (work.spmm) rival_die("this CombBLAS has no product of a sparse and a dense matrix");
    int side = (int)std::lround(std::sqrt((double)ranks));
    if (side * side != ranks) rival_die("CombBLAS wants a square number of ranks");
    snprintf(work.version, sizeof work.version, "%s", RIVAL_VERSION);
    snprintf(work.code_path, sizeof work.code_path, "Mult_AnXBn_Synch, heap, int64 indices, -O3 for this processor");
    if (work.f64)
        bench<double>(&work);
    else
        bench<float>(&work);
    rival_report(&work);
    MPI_Finalize();
    return 0;
}
