/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ground of an engine over NVSHMEM: processes that nobody's launcher has started find each other by a unique id,
 * and a kernel of each puts a word into the next one's memory: unique_id_start RANK SIZE FILE. PE 0 writes the id to
 * FILE, which is what the others wait for; it must not be there before.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <nvshmem.h>
#include <nvshmemx.h>

namespace
{

enum { DONE = 0, WRONG = 1, USAGE = 2, NOT_HERE = 3, PATIENCE = 60 };

int tell(int code, const char *what, const char *why)
{
    std::fprintf(stderr, "unique_id_start: %s: %s\n", what, why);
    return code;
}

/* A name that others see only when all of it is there. */
bool write_id(const char *path, const nvshmemx_uniqueid_t &id)
{
    char temporary[4096];
    if (std::snprintf(temporary, sizeof temporary, "%s.tmp", path) >= static_cast<int>(sizeof temporary)) return false;
    std::FILE *file = std::fopen(temporary, "wb");
    if (!file) return false;
    bool fine = std::fwrite(&id, sizeof id, 1, file) == 1;
    fine = std::fclose(file) == 0 && fine;
    return fine && std::rename(temporary, path) == 0;
}

bool read_id(const char *path, nvshmemx_uniqueid_t &id)
{
    for (int tenths = 0; tenths < 10 * PATIENCE; tenths++) {
        if (std::FILE *file = std::fopen(path, "rb")) {
            bool fine = std::fread(&id, sizeof id, 1, file) == 1;
            std::fclose(file);
            return fine;
        }
        usleep(100000);
    }
    return false;
}

__global__ void put_to_next(int64_t *word, int rank, int size)
{
    nvshmem_int64_p(word, rank + 1, (rank + 1) % size);
}

/* After NVSHMEM has started. */
int ring(int rank, int size)
{
    int64_t got = 0, want = (rank + size - 1) % size + 1;
    int64_t *word = static_cast<int64_t *>(nvshmem_calloc(1, sizeof *word));
    if (!word) return tell(WRONG, "symmetric memory", "there is none");
    nvshmem_barrier_all();
    void *arguments[] = {&word, &rank, &size};
    cudaError_t error = cudaLaunchKernel(put_to_next, dim3(1), dim3(1), arguments, 0, nullptr);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    nvshmem_barrier_all();
    if (error == cudaSuccess) error = cudaMemcpy(&got, word, sizeof got, cudaMemcpyDeviceToHost);
    nvshmem_free(word);
    if (error != cudaSuccess) return tell(WRONG, "the kernel", cudaGetErrorString(error));
    if (got != want) return tell(WRONG, "the word", "is not the one of the PE before");
    std::printf("PE %d of %d: a word has come from PE %d\n", rank, size, static_cast<int>(got - 1));
    return DONE;
}

} // namespace

int main(int argc, char **argv)
{
    int rank = argc == 4 ? std::atoi(argv[1]) : -1, size = argc == 4 ? std::atoi(argv[2]) : 0, gpus = 0;
    if (rank < 0 || rank >= size) return tell(USAGE, "usage", "unique_id_start RANK SIZE FILE, 0 <= RANK < SIZE");
    cudaError_t error = cudaGetDeviceCount(&gpus);
    if (error != cudaSuccess || gpus == 0)
        return tell(NOT_HERE, "no GPU can be used", error == cudaSuccess ? "there is none" : cudaGetErrorString(error));
    error = cudaSetDevice(rank % gpus);
    if (error != cudaSuccess) return tell(NOT_HERE, "choosing the GPU", cudaGetErrorString(error));
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (rank == 0 && nvshmemx_get_uniqueid(&id) != 0) return tell(WRONG, "NVSHMEM", "gives no unique id");
    if (rank == 0 && !write_id(argv[3], id)) return tell(WRONG, argv[3], "cannot be written");
    if (rank != 0 && !read_id(argv[3], id)) return tell(WRONG, argv[3], "PE 0 has not written its id there");
    if (nvshmemx_set_attr_uniqueid_args(rank, size, &id, &attributes) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0)
        return tell(WRONG, "NVSHMEM", "does not start; NVSHMEM_DEBUG=INFO tells more");
    int code = ring(rank, size);
    nvshmem_finalize();
    return code;
}
