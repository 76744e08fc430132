// SPDX-License-Identifier: Apache-2.0
//
// Prints emulate/'s table of PTX conversions, a line each: name, lowest target, operands, evidence.
#include <cstdio>
#include <string>

#include "emulate/cvt.h"

int main() {
  using namespace binade;
  for_each_ptx_cvt(
      [](const CvtFamily& family, std::string_view rounding, std::string_view modifiers) {
        const std::string name = "cvt" + std::string(rounding) + std::string(modifiers) + "." +
                                 std::string(family.to) + "." + std::string(family.from);
        const PtxCvt cvt = ptx_cvt_of(family, rounding, modifiers);
        std::string target = std::to_string(cvt.target.sm);
        if (cvt.target.suffix != ' ') target += cvt.target.suffix;
        std::printf("%s %s %d %s\n", name.c_str(), target.c_str(), cvt.operand_count(),
                    std::string(cvt_evidence_name(cvt.evidence)).c_str());
      });
  return 0;
}
