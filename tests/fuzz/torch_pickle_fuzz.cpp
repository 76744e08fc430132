// SPDX-License-Identifier: Apache-2.0
//
// A libFuzzer harness that reads any bytes as the pickle of an archive of torch.save's. The archive
// itself is left out, since its checksums and offsets would reject most inputs. The reader may only
// throw Error or give tensors.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/io/torch_pickle.h"
#include "lib/text/error.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    std::vector<binade::UnknownGlobal> unknown;
    const binade::Pickle pickle("p", {reinterpret_cast<const char*>(data), size},
                                binade::noting_unknown_globals(unknown));
    for (const binade::PickledTensor& tensor : binade::pickled_tensors(pickle, unknown)) {
      if (tensor.sizes.size() != tensor.strides.size()) std::abort();
    }
  } catch (const binade::Error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
