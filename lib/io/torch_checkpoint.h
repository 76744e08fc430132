// SPDX-License-Identifier: Apache-2.0
//
// A folder of torch.distributed.checkpoint's (torch 2.0 and later): the pickle .metadata says of each tensor how it is cut
// into chunks, and of each chunk which bytes of which file beside it are its archive of torch.save's.
//
//   .metadata | __0_0.distcp: archive archive … | __1_0.distcp …
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/io/tensor_file.h"

namespace binade {

constexpr std::string_view torch_checkpoint_metadata = ".metadata";

/// Whether the bytes begin as a .metadata: a pickle that first asks for its class.
inline bool starts_as_torch_checkpoint(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto named = text.substr(0, 64).find("torch.distributed.checkpoint.metadata");
  return text.starts_with('\x80') && named != std::string_view::npos;
}

/// Each tensor whole, put together from its chunks; what is no tensor is passed over. Error unless the chunks hold each
/// element once. `path` is what the checkpoint is called: its folder or its .metadata.
std::unique_ptr<TensorFile> open_torch_checkpoint(const std::string& path,
                                                  std::shared_ptr<const InputFile> metadata);

}  // namespace binade
