// SPDX-License-Identifier: Apache-2.0
//
// Finds an instruction's kernel, copies a pool of rows to the device and runs tiles of it, in
// chunks that bound the memory for d.
#include "cuda/run_dots.h"

#include <algorithm>
#include <array>

#include "cuda/device_array.h"
#include "cuda/emulated_dot.h"
#include "cuda/pool.h"
#include "cuda/tile_kernels.h"

namespace binade {
namespace {

constexpr std::uint64_t most_dots = std::uint64_t{1} << 25;  ///< elements of d in a chunk: 256 MiB

/// Returns whether the kernel executes instruction x. The n of wgmma is not compared, because an
/// element does not depend on it (wgmma_layout.h).
bool runs(const TileKernel& row, const Instruction& x) {
  const bool any_n = row.family == Family::wgmma || row.family == Family::wgmma_sp;
  const bool f64 = x.types.d == binary64;
  return row.family == x.family && row.m == x.m && (any_n || row.n == x.n) && row.k == x.k &&
         row.types == x.types && row.variant.kind == x.kind &&
         row.variant.integer == x.model.integer && row.variant.scales == x.model.scales &&
         (!f64 || row.variant.rounding == x.model.rounding);
}

/// A pool on the device, and the memory for a chunk of its tiles.
class TileRunner {
 public:
  TileRunner(const TileKernel& how, const Instruction& instruction, const Dots& pool,
             std::uint64_t tiles)
      : how_(how),
        doing_(std::string("kernel ") + how.name + ", pool of " + std::to_string(pool.c.size()) +
               " rows"),
        chunk_(std::clamp<std::uint64_t>(most_dots / dots_of_tile(), 1,
                                         std::max<std::uint64_t>(tiles, 1))),
        packed_(packed_pool(instruction, pool)),
        a_(std::span<const unsigned char>(packed_.a), doing_),
        b_(std::span<const unsigned char>(packed_.b), doing_),
        c_(std::span(pool.c), doing_),
        kept_(std::span<const std::uint64_t>(packed_.kept), doing_),
        scales_a_(std::span<const std::uint32_t>(packed_.scales_a), doing_),
        scales_b_(std::span<const std::uint32_t>(packed_.scales_b), doing_),
        d_(chunk_ * dots_of_tile(), doing_),
        done_(1, doing_) {
    tiles_.a = a_.get();
    tiles_.b = b_.get();
    tiles_.c = c_.get();
    tiles_.d = d_.get();
    tiles_.done = done_.get();
    tiles_.kept = kept_.get();
    if (!packed_.scales_a.empty()) {
      tiles_.scales_a = scales_a_.get();
      tiles_.scales_b = scales_b_.get();
    }
    tiles_.row_bytes_a = packed_.row_bytes_a;
    tiles_.row_bytes_b = packed_.row_bytes_b;
  }

  std::uint64_t dots_of_tile() const {
    return static_cast<std::uint64_t>(how_.m) * static_cast<std::uint64_t>(how_.n);
  }
  const std::string& doing() const { return doing_; }
  void copy_d(std::span<std::uint64_t> d) const { d_.copy_to(d); }

  /// Runs the tiles of a crossing and calls then(tiles) after each chunk. Returns a reason if this
  /// program has no code for this GPU, and throws Error if CUDA fails or only some tiles were run.
  template <class Then>
  CannotRun run(Crossing crossing, bool diagonal, const Then& then) {
    const std::uint64_t end = crossing.first + crossing.tiles;
    for (; crossing.first < end; crossing.first += chunk_) {
      crossing.tiles = std::min(end - crossing.first, chunk_);
      tiles_.crossing = crossing;
      tiles_.diagonal = diagonal;
      if (CannotRun why = run_chunk()) return why;
      then(tiles_);
    }
    return std::nullopt;
  }

 private:
  CannotRun run_chunk() {
    std::array<unsigned long long, 1> done{};
    done_.copy_from(done);
    const auto per = static_cast<std::uint64_t>(how_.tiles);
    const auto blocks = static_cast<unsigned>((tiles_.crossing.tiles + per - 1) / per);
    launch(how_.kernel, blocks, static_cast<unsigned>(how_.threads), doing_, tiles_);
    done_.copy_to(done);
    if (done[0] == tiles_.crossing.tiles) return std::nullopt;
    if (done[0] == 0) {
      return std::string("the CUDA module has no machine code of ") + how_.name +
             " for this GPU; build it with -Dgpu_archs=" + how_.arch + " or a later one";
    }
    throw Error(doing_ + ": only " + std::to_string(done[0]) + " of " +
                std::to_string(tiles_.crossing.tiles) +
                " tiles were run; this is a defect of the kernel, report it");
  }

  const TileKernel& how_;
  std::string doing_;
  std::uint64_t chunk_;
  PackedPool packed_;
  DeviceArray<unsigned char> a_, b_;
  DeviceArray<std::uint64_t> c_, kept_;
  DeviceArray<std::uint32_t> scales_a_, scales_b_;
  DeviceArray<std::uint64_t> d_;
  DeviceArray<unsigned long long> done_;
  Tiles tiles_;
};

CannotRun no_kernel() { return "the GPU path has no kernel of this instruction"; }

/// The operands of the emulator in the device's memory.
struct EmulatorPool {
  EmulatorPool(const Instruction& x, const Dots& pool, const std::string& doing)
      : rows_a(predecoded(x.model, x.types, x.types.a, pool.a, x.k)),
        rows_b(predecoded(x.model, x.types, x.types.b, pool.b, x.k)),
        a(std::span(pool.a), doing),
        b(std::span(pool.b), doing),
        factors_a(std::span<const fast::Factor>(rows_a.factors), doing),
        factors_b(std::span<const fast::Factor>(rows_b.factors), doing),
        finite_a(std::span<const unsigned char>(rows_a.finite), doing),
        finite_b(std::span<const unsigned char>(rows_b.finite), doing) {}

  Comparison comparison(const Instruction& x, const Tiles& tiles, CrossTally* total) const {
    Comparison out{tiles, x.model, x.types, x.k, a.get(), b.get()};
    out.total = total;
    if (rows_a.factors.empty()) return out;
    out.factors_a = factors_a.get();
    out.factors_b = factors_b.get();
    out.finite_a = finite_a.get();
    out.finite_b = finite_b.get();
    return out;
  }

  PredecodedRows rows_a, rows_b;
  DeviceArray<std::uint64_t> a, b;
  DeviceArray<fast::Factor> factors_a, factors_b;
  DeviceArray<unsigned char> finite_a, finite_b;
};

void check_crossing(const TileKernel& how, const Dots& pool, const Crossing& x,
                    const std::string& doing) {
  if (x.m != how.m || x.n != how.n) {
    throw Error(doing + ": tiles of " + std::to_string(x.m) + " × " + std::to_string(x.n) +
                " asked, the instruction's are " + std::to_string(how.m) + " × " +
                std::to_string(how.n));
  }
  if (x.rows == 0 || x.rows != pool.c.size()) {
    throw Error(doing + ": a crossing over " + std::to_string(x.rows) + " rows of a pool of " +
                std::to_string(pool.c.size()));
  }
}

}  // namespace

const TileKernel* find_tile_kernel(const Instruction& x) {
  for (const auto kernels :
       {mma_kernels(), wmma_kernels(), wgmma_kernels(), sparse_kernels(), scaled_kernels()}) {
    for (const TileKernel& row : kernels) {
      if (runs(row, x)) return &row;
    }
  }
  return nullptr;
}

CannotRun run_dots_on_gpu(const Instruction& instruction, Dots& dots) {
  const TileKernel* how = find_tile_kernel(instruction);
  if (how == nullptr) return no_kernel();
  check_rows(dots, instruction, how->name);
  dots.d.assign(dots.c.size(), 0);
  if (dots.c.empty()) return std::nullopt;
  const auto side = static_cast<std::uint64_t>(std::min(how->m, how->n));
  Crossing all{.tiles = (dots.c.size() + side - 1) / side,
               .rows = static_cast<std::uint32_t>(dots.c.size()),
               .m = how->m,
               .n = how->n};
  TileRunner runner(*how, instruction, dots, all.tiles);
  std::vector<std::uint64_t> chunk;
  return runner.run(all, true, [&](const Tiles& tiles) {
    chunk.resize(tiles.crossing.tiles * runner.dots_of_tile());
    runner.copy_d(chunk);
    const std::uint64_t first = tiles.crossing.first * side;
    const std::uint64_t end = std::min(first + tiles.crossing.tiles * side, dots.c.size());
    for (std::uint64_t i = first; i < end; ++i) {
      const std::uint64_t local = i - first;
      const std::uint64_t diagonal = local % side * (static_cast<std::uint64_t>(how->n) + 1);
      dots.d[i] = chunk[local / side * runner.dots_of_tile() + diagonal];
    }
  });
}

CannotRun tally_crossed_on_gpu(const Instruction& instruction, const Dots& pool,
                               const Crossing& crossing, CrossTally& tally) {
  const TileKernel* how = find_tile_kernel(instruction);
  if (how == nullptr) return no_kernel();
  check_rows(pool, instruction, how->name);
  check_crossing(*how, pool, crossing, how->name);
  TileRunner runner(*how, instruction, pool, crossing.tiles);
  const std::string doing = runner.doing() + ", compare_kernel";
  const EmulatorPool emulator(instruction, pool, doing);
  std::array<CrossTally, 1> counted{};
  DeviceArray<CrossTally> total(std::span<const CrossTally>(counted), doing);
  if (CannotRun why = runner.run(crossing, false, [&](const Tiles& tiles) {
        launch_comparison(emulator.comparison(instruction, tiles, total.get()), doing);
      })) {
    return why;
  }
  total.copy_to(counted);
  if (counted[0].dots != crossing.tiles * runner.dots_of_tile()) {
    throw Error(doing + ": only " + std::to_string(counted[0].dots) + " of " +
                std::to_string(crossing.tiles * runner.dots_of_tile()) +
                " dots were compared; this is a defect of the kernel, report it");
  }
  tally = counted[0];
  return std::nullopt;
}

}  // namespace binade
