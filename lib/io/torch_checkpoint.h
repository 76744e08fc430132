// SPDX-License-Identifier: Apache-2.0
//
// A folder written by torch.distributed.checkpoint (torch 2.0 and later). The pickle .metadata says
// for each tensor how it is cut into chunks, and for each chunk where it is: a range of bytes of a
// file beside it, which is an archive of torch.save.
//
//   .metadata | __0_0.distcp: archive archive … | __1_0.distcp …
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace binade {

constexpr std::string_view torch_checkpoint_metadata = ".metadata";

/// Returns whether the bytes begin as a .metadata: a pickle that names
/// torch.distributed.checkpoint.metadata, the module of its first global, in its first 64 bytes.
inline bool starts_as_torch_checkpoint(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto named = text.substr(0, 64).find("torch.distributed.checkpoint.metadata");
  return text.starts_with('\x80') && named != std::string_view::npos;
}

}  // namespace binade
