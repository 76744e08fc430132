// SPDX-License-Identifier: Apache-2.0
//
// Eigen's product of two matrices as a filter: a (m × k) and b (k × n), row after row, come on
// standard input, a·b goes to standard output. Without arguments it says which Eigen and for which
// CPU.
//   eigen_product [F32|F64 M N K]
#include <Eigen/Dense>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

template <class Real>
int multiply(Eigen::Index m, Eigen::Index n, Eigen::Index k) {
  using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  using Rows = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto read = [](Eigen::Index rows, Eigen::Index columns) {
    Rows out(rows, columns);
    const auto size = static_cast<std::size_t>(out.size());
    if (std::fread(out.data(), sizeof(Real), size, stdin) != size) std::exit(2);
    return Matrix(out);
  };
  const Matrix a = read(m, k);
  const Matrix b = read(k, n);
  const Rows d = Matrix(a * b);
  const auto size = static_cast<std::size_t>(d.size());
  return std::fwrite(d.data(), sizeof(Real), size, stdout) == size ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::printf("Eigen %d.%d.%d (%s)\n", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                EIGEN_MINOR_VERSION, Eigen::SimdInstructionSetsInUse());
    return 0;
  }
  const Eigen::Index m = std::atol(argv[2]);
  const Eigen::Index n = std::atol(argv[3]);
  const Eigen::Index k = std::atol(argv[4]);
  return std::string_view(argv[1]) == "F32" ? multiply<float>(m, n, k) : multiply<double>(m, n, k);
}
