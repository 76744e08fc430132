// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's autocast lists as they stood in 2025, read from the AT_FORALL_… lists of
// aten/src/ATen/autocast_mode.h (CUDA, XPU) and the KERNEL_CPU lines of autocast_mode.cpp, and Apex's from
// apex/amp/lists/. Overloads of one name share its policy. Younger than PyTorch 2.0 are linalg_vecdot,
// scaled_dot_product_attention outside CUDA, and the upsample_… of the fp32 list.
#include "lib/amp/op_lists.h"

#include <array>
#include <string>
#include <vector>

#include "lib/tensor/error.h"

namespace binade {
namespace {

/// Names between spaces.
struct Group {
  CastPolicy policy;
  std::string_view names;
};

constexpr Group shared_groups[]{
    {CastPolicy::lower_precision_fp,
     "_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d "
     "conv_transpose3d "
     "convolution prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm "
     "bmm "
     "chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell "
     "rnn_tanh_cell rnn_relu_cell _scaled_dot_product_flash_attention "
     "scaled_dot_product_attention"},
    {CastPolicy::fp32,
     "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus "
     "layer_norm native_layer_norm group_norm frobenius_norm nuclear_norm cosine_similarity "
     "poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div "
     "l1_loss "
     "smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss "
     "soft_margin_loss "
     "triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist "
     "renorm "
     "logsumexp upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d "
     "_upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d "
     "upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d "
     "_upsample_bicubic2d_aa"},
    {CastPolicy::fp32_set_opt_dtype,
     "prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum"},
    {CastPolicy::fp32_append_dtype, "norm"},
    {CastPolicy::promote,
     "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add"},
    {CastPolicy::banned, "binary_cross_entropy"},
};

constexpr Group cuda_only[]{
    {CastPolicy::lower_precision_fp, "cudnn_convolution cudnn_convolution_transpose"},
};

constexpr Group cpu_groups[]{
    {CastPolicy::lower_precision_fp,
     "conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm _addmm_activation addbmm linear "
     "_convolution matmul conv_tbc mkldnn_rnn_layer conv_transpose1d conv_transpose2d "
     "conv_transpose3d prelu scaled_dot_product_attention _native_multi_head_attention"},
    {CastPolicy::fp32,
     "avg_pool3d binary_cross_entropy grid_sampler polar prod quantile nanquantile stft cdist "
     "grid_sampler_2d _grid_sampler_2d_cpu_fallback grid_sampler_3d trace view_as_complex cholesky "
     "cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse max_pool3d "
     "max_unpool2d "
     "max_unpool3d adaptive_avg_pool3d reflection_pad1d reflection_pad2d replication_pad1d "
     "replication_pad2d replication_pad3d mse_loss cosine_embedding_loss nll_loss nll_loss2d "
     "hinge_embedding_loss poisson_nll_loss smooth_l1_loss cross_entropy_loss l1_loss huber_loss "
     "margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss kl_div "
     "multilabel_margin_loss binary_cross_entropy_with_logits fft_fft fft_ifft fft_fft2 fft_ifft2 "
     "fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn fft_hfft "
     "fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky linalg_svdvals "
     "linalg_eigvals linalg_eigvalsh linalg_inv linalg_householder_product linalg_tensorinv "
     "linalg_tensorsolve fake_quantize_per_tensor_affine geqrf _lu_with_info qr svd "
     "triangular_solve "
     "fractional_max_pool2d fractional_max_pool3d adaptive_max_pool3d "
     "multilabel_margin_loss_forward linalg_qr linalg_cholesky_ex linalg_svd linalg_eig "
     "linalg_eigh "
     "linalg_lstsq linalg_inv_ex"},
    {CastPolicy::promote, "stack cat index_copy"},
};

/// The functions of torch, torch.nn.functional and Tensor together, for CUDA 9.1 and PyTorch 1.1 or
/// later (before, the batched products and mean were on the fp32 list).
constexpr Group apex_groups[]{
    {CastPolicy::lower_precision_fp,
     "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc linear "
     "prelu "
     "addmm addmv addr matmul mm mv addbmm baddbmm bmm __matmul__"},
    {CastPolicy::fp32,
     "interpolate grid_sample softplus softmin log_softmax softmax layer_norm group_norm "
     "local_response_norm normalize cosine_similarity poisson_nll_loss cosine_embedding_loss "
     "cross_entropy hinge_embedding_loss kl_div l1_loss mse_loss margin_ranking_loss "
     "multilabel_margin_loss multilabel_soft_margin_loss multi_margin_loss nll_loss "
     "binary_cross_entropy_with_logits smooth_l1_loss soft_margin_loss triplet_margin_loss acos "
     "asin "
     "cosh erfinv exp expm1 log log10 log2 reciprocal rsqrt sinh tan pow cumprod cumsum dist norm "
     "prod std sum var renorm __ipow__ __pow__ __rpow__ cpu"},
    {CastPolicy::promote,
     "addcdiv addcmul atan2 cross bilinear dot add div mul eq equal ge gt le lt ne cat stack "
     "__add__ "
     "__div__ __eq__ __ge__ __gt__ __iadd__ __idiv__ __imul__ __isub__ __itruediv__ __le__ __lt__ "
     "__mul__ __ne__ __radd__ __rdiv__ __rmul__ __rsub__ __rtruediv__ __sub__ __truediv__"},
    {CastPolicy::banned, "binary_cross_entropy"},
};

std::vector<ListedOp> ops_of(std::span<const Group> groups, std::span<const Group> more = {}) {
  std::vector<ListedOp> out;
  const auto add = [&out](const Group& group) {
    for (std::string_view rest = group.names; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      out.push_back({rest.substr(0, end), group.policy});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  };
  for (const Group& group : groups) {
    add(group);
    for (const Group& extra : more) {
      if (extra.policy == group.policy) add(extra);
    }
  }
  return out;
}

CastPolicy policy_in(std::span<const ListedOp> list, std::string_view op) {
  for (const ListedOp& row : list) {
    if (row.name == op) return row.policy;
  }
  return CastPolicy::unlisted;
}

}  // namespace

std::span<const ListedOp> op_list(DeviceType device) {
  static const std::array lists{ops_of(shared_groups, cuda_only), ops_of(cpu_groups),
                                ops_of(shared_groups)};
  return lists.at(static_cast<std::size_t>(device));
}

CastPolicy cast_policy(DeviceType device, std::string_view op) {
  return policy_in(op_list(device), op);
}

std::span<const ListedOp> apex_op_list() {
  static const std::vector<ListedOp> list = ops_of(apex_groups);
  return list;
}

CastPolicy apex_cast_policy(std::string_view op) { return policy_in(apex_op_list(), op); }

std::string_view name_of(CastPolicy policy) {
  constexpr std::array<std::string_view, 7> names{"lower_precision_fp",
                                                  "fp32",
                                                  "fp32_set_opt_dtype",
                                                  "fp32_append_dtype",
                                                  "promote",
                                                  "banned",
                                                  "unlisted"};
  return names.at(static_cast<std::size_t>(policy));
}

std::string_view name_of(DeviceType device) {
  constexpr std::array<std::string_view, 3> names{"cuda", "cpu", "xpu"};
  return names.at(static_cast<std::size_t>(device));
}

std::string_view banned_reason(std::string_view op) {
  if (op != "binary_cross_entropy") {
    throw Error(printable(op) + ": no autocast list bans it; ask for banned ops only");
  }
  return "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. "
         "Many models use a sigmoid layer right before the binary cross entropy layer. "
         "In this case, combine the two layers using "
         "torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss. "
         "binary_cross_entropy_with_logits and BCEWithLogits are safe to autocast.";
}

}  // namespace binade
