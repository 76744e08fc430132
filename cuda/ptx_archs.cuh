// SPDX-License-Identifier: Apache-2.0
//
// Macros that compile an instruction only for the architectures that have it. BINADE_ON(90a,
// statement) is the body of a wrapper: compiled for sm_90a it executes the statement and returns
// true, compiled for another architecture it returns false. BINADE_ONLY_ON(90a, statement) is the
// body of a kernel: compiled for sm_90a it executes the statement, else it is empty, so that the
// code around an instruction is compiled only where the instruction is. A number without a letter
// stands for that architecture and all later ones; a number with `a` for that architecture alone,
// whose instructions no later one need have (100a also stands for sm_103a and sm_110a,
// 120a for sm_121a).
#pragma once

#define BINADE_ON(arch, statement) BINADE_ON_##arch(statement)
#define BINADE_ONLY_ON(arch, ...) BINADE_ONLY_ON_##arch(__VA_ARGS__)
#define BINADE_DO(statement) \
  statement;                 \
  return true

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define BINADE_ON_80(statement) BINADE_DO(statement)
#define BINADE_ONLY_ON_80(...) __VA_ARGS__
#else
#define BINADE_ON_80(statement) return false
#define BINADE_ONLY_ON_80(...)
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define BINADE_ON_89(statement) BINADE_DO(statement)
#define BINADE_ONLY_ON_89(...) __VA_ARGS__
#else
#define BINADE_ON_89(statement) return false
#define BINADE_ONLY_ON_89(...)
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define BINADE_ON_90(statement) BINADE_DO(statement)
#define BINADE_ONLY_ON_90(...) __VA_ARGS__
#else
#define BINADE_ON_90(statement) return false
#define BINADE_ONLY_ON_90(...)
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define BINADE_ON_90a(statement) BINADE_DO(statement)
#define BINADE_ONLY_ON_90a(...) __VA_ARGS__
#else
#define BINADE_ON_90a(statement) return false
#define BINADE_ONLY_ON_90a(...)
#endif
#if defined(__CUDA_ARCH_SPECIFIC__) &&                                   \
    (__CUDA_ARCH_SPECIFIC__ == 1000 || __CUDA_ARCH_SPECIFIC__ == 1030 || \
     __CUDA_ARCH_SPECIFIC__ == 1100)
#define BINADE_ON_100a(statement) BINADE_DO(statement)
#define BINADE_ONLY_ON_100a(...) __VA_ARGS__
#else
#define BINADE_ON_100a(statement) return false
#define BINADE_ONLY_ON_100a(...)
#endif
#if defined(__CUDA_ARCH_SPECIFIC__) && \
    (__CUDA_ARCH_SPECIFIC__ == 1200 || __CUDA_ARCH_SPECIFIC__ == 1210)
#define BINADE_ON_120a(statement) BINADE_DO(statement)
#define BINADE_ONLY_ON_120a(...) __VA_ARGS__
#else
#define BINADE_ON_120a(statement) return false
#define BINADE_ONLY_ON_120a(...)
#endif
