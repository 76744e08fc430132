// SPDX-License-Identifier: Apache-2.0
//
// Opens cuBLAS by dlopen. The functions and constants that one product needs are declared here as
// cublas_v2.h and library_types.h of CUDA 12 and 13 declare them.
#include "cuda/cublas.h"

#include <dlfcn.h>

#include <memory>

#include "lib/device/device.h"

namespace binade {
namespace {

using Handle = void*;
using Create = int (*)(Handle*);
using Destroy = int (*)(Handle);
using GemmEx = int (*)(Handle, int transpose_a, int transpose_b, int m, int n, int k,
                       const void* alpha, const void* a, int a_type, int lda, const void* b,
                       int b_type, int ldb, const void* beta, void* c, int c_type, int ldc,
                       int compute, int algorithm);

constexpr int transposed = 1, plain = 0;   // CUBLAS_OP_T, CUBLAS_OP_N
constexpr int f32_data = 0, f16_data = 2;  // CUDA_R_32F, CUDA_R_16F
constexpr int compute_f32 = 68;            // CUBLAS_COMPUTE_32F
constexpr int default_algorithm = -1;      // CUBLAS_GEMM_DEFAULT

/// Returns the handle of the library, or null if there is none. The library is never closed,
/// because its own threads outlive any cuBLAS handle.
void* open_library() {
  for (const char* name : {"libcublas.so.13", "libcublas.so.12"}) {
    if (void* library = dlopen(name, RTLD_NOW)) return library;
  }
  return nullptr;
}

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

CublasProduct find_cublas() {
  void* library = open_library();
  if (library == nullptr) return {};
  const auto create = find<Create>(library, "cublasCreate_v2");
  const auto destroy = find<Destroy>(library, "cublasDestroy_v2");
  const auto product = find<GemmEx>(library, "cublasGemmEx");
  Handle handle = nullptr;
  if (create == nullptr || destroy == nullptr || product == nullptr || create(&handle) != 0) {
    return {};
  }
  const std::shared_ptr<void> owned(handle, destroy);
  return [owned, product](const std::uint32_t* a, const std::uint32_t* b, float* d, int m, int n,
                          int k) {
    const float one = 1, zero = 0;
    // Column-major: a, row after row, is k × m; b is k × n.
    const int status = product(owned.get(), transposed, plain, m, n, k, &one, a, f16_data, k, b,
                               f16_data, k, &zero, d, f32_data, m, compute_f32, default_algorithm);
    if (status != 0) {
      throw Error("cublasGemmEx failed with status " + std::to_string(status) +
                  "; run it without cuBLAS on the library path");
    }
  };
}

}  // namespace binade
