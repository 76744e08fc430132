// SPDX-License-Identifier: Apache-2.0
//
// The row `avx2` of the table of kernels (kernels.h): the templates of vector_*.h for the unit of
// avx2.h.
#include "emulate/fast/avx2.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "emulate/fast/block_plan.h"
#include "emulate/fast/blocks.h"
#include "emulate/fast/chains.h"
#include "emulate/fast/decode.h"
#include "emulate/fast/dot_blocks.h"
#include "emulate/fast/dot_groups.h"
#include "emulate/fast/elementwise.h"
#include "emulate/fast/integers.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/nonfinite.h"
#include "emulate/fast/products.h"
#include "emulate/fast/quantize_tile.h"
#include "emulate/fast/range_count.h"
#include "emulate/fast/sparse_lines.h"
#include "emulate/fast/tile_values.h"

BINADE_AVX2_BEGIN
#include "emulate/fast/vector_block_amaxes.h"
#include "emulate/fast/vector_block_loops.h"
#include "emulate/fast/vector_block_rounding.h"
#include "emulate/fast/vector_block_scales.h"
#include "emulate/fast/vector_block_values.h"
#include "emulate/fast/vector_blocks.h"
#include "emulate/fast/vector_chains.h"
#include "emulate/fast/vector_decode.h"
#include "emulate/fast/vector_dot_blocks.h"
#include "emulate/fast/vector_dot_groups.h"
#include "emulate/fast/vector_dot_kernel.h"
#include "emulate/fast/vector_elementwise.h"
#include "emulate/fast/vector_epilogues.h"
#include "emulate/fast/vector_integers.h"
#include "emulate/fast/vector_nonfinite.h"
#include "emulate/fast/vector_quantize.h"
#include "emulate/fast/vector_random.h"
#include "emulate/fast/vector_range_count.h"
#include "emulate/fast/vector_unscale.h"

namespace binade {

extern const Kernels avx2_kernels;
constinit const Kernels avx2_kernels{
    .quantize_f32 = &fast::quantize_vectors<fast::Avx2<float>>,
    .quantize_f64 = &fast::quantize_vectors<fast::Avx2<double>>,
    .encode_f32 = &fast::encode_vectors<fast::Avx2<float>>,
    .encode_f64 = &fast::encode_vectors<fast::Avx2<double>>,
    .decode_f32 = &fast::decode_vectors<fast::Avx2<float>>,
    .decode_f64 = &fast::decode_vectors<fast::Avx2<double>>,
    .random_words = &fast::random_word_vectors<fast::Avx2<double>>,
    .unscale_f32 = &fast::unscale_vectors<fast::Avx2<float>>,
    .elementwise_f32 = &fast::elementwise_vectors<fast::Avx2<float>>,
    .range_count_f32 = &fast::range_count_vectors<fast::Avx2<float>, fast::Avx2<float>>,
    .any_nonfinite = &fast::any_nonfinite_vectors<fast::Avx2<float>>,
    .block_amaxes = &fast::block_amaxes_loops<fast::Avx2<float>>,
    .block_scales = &fast::block_scales_tiles<fast::Avx2<float>,
                                              &fast::encode_vectors<fast::Avx2<float>, float>,
                                              &fast::decode_vectors<fast::Avx2<float>, float>>,
    .block_codes = &fast::block_codes_tiles<fast::Avx2<float>,
                                            &fast::encode_vectors<fast::Avx2<float>, float>>,
    .block_values_f32 =
        &fast::block_values_tiles<fast::Avx2<float>,
                                  &fast::decode_vectors<fast::Avx2<float>, float>, float>,
    .block_values_f64 =
        &fast::block_values_tiles<fast::Avx2<float>,
                                  &fast::decode_vectors<fast::Avx2<float>, float>, double>,
    .block_quantize = &fast::block_quantize_tiles<fast::Avx2<float>,
                                                  &fast::encode_vectors<fast::Avx2<float>, float>,
                                                  &fast::quantize_vectors<fast::Avx2<float>, float>,
                                                  &fast::decode_vectors<fast::Avx2<float>, float>>,
    .pack_4 = &fast::pack_4_loops<fast::Avx2<float>>,
    .dot_blocks = &fast::VectorDotBlocksKernel<fast::Avx2<float>>::kernel,
    .dot_groups = &fast::VectorDotGroupsKernel<fast::Avx2<float>>::kernel,
    .chains = &fast::VectorChainsKernel<fast::Avx2<float>>::kernel,
    .integers = &fast::VectorIntegersKernel<fast::Avx2<float>>::kernel,
    .epilogue_f32 = &fast::epilogue_vectors<fast::Avx2<float>>,
};

}  // namespace binade

BINADE_AVX2_END
