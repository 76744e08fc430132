// SPDX-License-Identifier: Apache-2.0
//
// PyTorch 2.11's autocast lists, read from the AT_FORALL_… lists of aten/src/ATen/autocast_mode.h
// (CUDA, XPU) and the KERNEL_… lines of autocast_mode.cpp (CPU, MPS; CUDA's own), and Apex's from
// apex/amp/lists/. Overloads of one name share its policy. PyTorch 2.0 does not have these entries
// yet: linalg_vecdot, scaled_dot_product_attention outside CUDA, the upsample_… ops of the fp32
// list, and MPS's list (new in 2.5). tests/recordings/torch compares the lists, and the changes
// between versions, with the kernels in PyTorch's own libraries.
#include "lib/amp/op_lists.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lib/text/error.h"

namespace binade {
namespace {

/// Ops with one policy from one file. `names` are separated by spaces.
struct Group {
  CastPolicy policy;
  std::string_view source;
  std::string_view names;
};

/// Files in aten/src/ATen/.
constexpr std::string_view mode_h = "autocast_mode.h", mode_cpp = "autocast_mode.cpp";

constexpr Group shared_groups[]{
    {CastPolicy::lower_precision_fp, mode_h,
     "_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d "
     "conv_transpose3d "
     "convolution prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm "
     "bmm "
     "chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell "
     "rnn_tanh_cell rnn_relu_cell _scaled_dot_product_flash_attention "
     "scaled_dot_product_attention"},
    {CastPolicy::fp32, mode_h,
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
    {CastPolicy::fp32_set_opt_dtype, mode_h,
     "prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum"},
    {CastPolicy::fp32_append_dtype, mode_h, "norm"},
    {CastPolicy::promote, mode_h,
     "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add"},
    {CastPolicy::banned, mode_cpp, "binary_cross_entropy"},
};

constexpr Group cuda_only[]{
    {CastPolicy::lower_precision_fp, mode_cpp, "cudnn_convolution cudnn_convolution_transpose"},
    {CastPolicy::lower_precision_fp, "cudnn/AutocastRNN.cpp", "_cudnn_rnn"},
};

constexpr Group cpu_groups[]{
    {CastPolicy::lower_precision_fp, mode_cpp,
     "conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm _addmm_activation addbmm linear "
     "_convolution matmul conv_tbc mkldnn_rnn_layer conv_transpose1d conv_transpose2d "
     "conv_transpose3d prelu scaled_dot_product_attention _native_multi_head_attention"},
    {CastPolicy::fp32, mode_cpp,
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
    {CastPolicy::promote, mode_cpp, "stack cat index_copy"},
};

/// In the source, prod to sum stand below a comment that says fp32_set_opt_dtype, but they are
/// registered as fp32.
constexpr Group mps_groups[]{
    {CastPolicy::lower_precision_fp, mode_cpp,
     "_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d convolution "
     "_mps_convolution prelu addmm addmv addr matmul einsum mm mv linear addbmm baddbmm bmm "
     "chain_matmul linalg_multi_dot lstm_cell scaled_dot_product_attention"},
    {CastPolicy::fp32, mode_cpp,
     "conv_transpose3d acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh "
     "tan pow softplus layer_norm native_layer_norm group_norm frobenius_norm nuclear_norm "
     "batch_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d "
     "hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss "
     "multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss "
     "binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp prod softmax log_softmax "
     "cumprod cumsum linalg_vector_norm linalg_matrix_norm sum"},
    {CastPolicy::promote, mode_cpp,
     "addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put tensordot scatter_add"},
};

/// Files in apex/amp/lists/. They name the patched functions of torch.nn.functional, of torch (and
/// the methods of Tensor that have the same names), and of Tensor alone.
constexpr std::string_view of_functional = "functional_overrides.py",
                           of_torch = "torch_overrides.py", of_tensor = "tensor_overrides.py";

/// The functions of torch, torch.nn.functional and Tensor together, as they are with CUDA 9.1 and
/// PyTorch 1.1 or later; with older versions batched products and mean are on the fp32 list.
constexpr Group apex_groups[]{
    {CastPolicy::lower_precision_fp, of_functional,
     "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc linear"},
    {CastPolicy::lower_precision_fp, of_torch,
     "prelu addmm addmv addr matmul mm mv addbmm baddbmm bmm"},
    {CastPolicy::lower_precision_fp, of_tensor, "__matmul__"},
    {CastPolicy::fp32, of_functional,
     "interpolate grid_sample softplus softmin log_softmax softmax layer_norm group_norm "
     "local_response_norm normalize cosine_similarity poisson_nll_loss cosine_embedding_loss "
     "cross_entropy "
     "hinge_embedding_loss kl_div l1_loss mse_loss margin_ranking_loss multilabel_margin_loss "
     "multilabel_soft_margin_loss multi_margin_loss nll_loss binary_cross_entropy_with_logits "
     "smooth_l1_loss soft_margin_loss triplet_margin_loss"},
    {CastPolicy::fp32, of_torch,
     "acos asin cosh erfinv exp expm1 log log10 log2 reciprocal rsqrt sinh tan pow cumprod cumsum "
     "dist norm prod std sum var renorm"},
    {CastPolicy::fp32, of_tensor, "__ipow__ __pow__ __rpow__ cpu"},
    {CastPolicy::promote, of_torch,
     "addcdiv addcmul atan2 cross bilinear dot add div mul eq equal ge gt le lt ne cat stack"},
    {CastPolicy::promote, of_tensor,
     "__add__ __div__ __eq__ __ge__ __gt__ __iadd__ __idiv__ __imul__ __isub__ __itruediv__ __le__ "
     "__lt__ __mul__ __ne__ __radd__ __rdiv__ __rmul__ __rsub__ __rtruediv__ __sub__ __truediv__"},
    {CastPolicy::banned, of_functional, "binary_cross_entropy"},
};

std::vector<ListedOp> ops_of(std::span<const Group> groups, std::span<const Group> more = {}) {
  std::vector<ListedOp> out;
  const auto add = [&out](const Group& group) {
    for (std::string_view rest = group.names; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      out.push_back({rest.substr(0, end), group.policy, group.source});
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

std::optional<ListedOp> row_in(std::span<const ListedOp> list, std::string_view op) {
  const auto row = std::ranges::find(list, op, &ListedOp::name);
  return row == list.end() ? std::nullopt : std::optional(*row);
}

CastPolicy policy_of(const std::optional<ListedOp>& row) {
  return row ? row->policy : CastPolicy::unlisted;
}

constexpr std::array op_list_changes_table{
    OpListChange{DeviceType::cuda, "rms_norm", "fp32 from PyTorch 2.12 on"},
    OpListChange{DeviceType::xpu, "rms_norm", "fp32 from PyTorch 2.12 on"},
    OpListChange{DeviceType::cuda, "linalg_matrix_sqrth", "fp32 from PyTorch 2.14 on"},
    OpListChange{DeviceType::cpu, "linalg_matrix_sqrth", "fp32 from PyTorch 2.14 on"},
    OpListChange{DeviceType::cpu, "cholesky", "unlisted from PyTorch 2.14 on"},
    OpListChange{DeviceType::cpu, "qr", "unlisted from PyTorch 2.14 on"},
    OpListChange{DeviceType::cpu, "_addmm_activation", "unlisted before PyTorch 2.6"},
    OpListChange{DeviceType::mps, "scaled_dot_product_attention", "unlisted before PyTorch 2.6"},
    OpListChange{DeviceType::mps, "conv3d", "unlisted before PyTorch 2.9"},
    OpListChange{DeviceType::mps, "conv_transpose3d", "unlisted before PyTorch 2.9"},
};

}  // namespace

std::span<const ListedOp> op_list(DeviceType device) {
  static const std::array lists{ops_of(shared_groups, cuda_only), ops_of(cpu_groups),
                                ops_of(shared_groups), ops_of(mps_groups)};
  return lists.at(static_cast<std::size_t>(device));
}

std::optional<ListedOp> listed_op(DeviceType device, std::string_view op) {
  return row_in(op_list(device), op);
}

CastPolicy cast_policy(DeviceType device, std::string_view op) {
  return policy_of(listed_op(device, op));
}

std::span<const ListedOp> apex_op_list() {
  static const std::vector<ListedOp> list = ops_of(apex_groups);
  return list;
}

std::optional<ListedOp> apex_listed_op(std::string_view op) { return row_in(apex_op_list(), op); }

CastPolicy apex_cast_policy(std::string_view op) { return policy_of(apex_listed_op(op)); }

std::span<const OpListChange> op_list_changes() { return op_list_changes_table; }

std::string_view cast_policy_name(CastPolicy policy) {
  constexpr std::array<std::string_view, 7> names{"lower_precision_fp",
                                                  "fp32",
                                                  "fp32_set_opt_dtype",
                                                  "fp32_append_dtype",
                                                  "promote",
                                                  "banned",
                                                  "unlisted"};
  return names.at(static_cast<std::size_t>(policy));
}

std::string_view device_type_name(DeviceType device) {
  constexpr std::array<std::string_view, device_types.size()> names{"cuda", "cpu", "xpu", "mps"};
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
