// SPDX-License-Identifier: Apache-2.0
//
// The arrays of a converter, from files: what it was given, and the codes or values that it gave.
#pragma once

#include <string>

#include "lib/identify/conversion.h"

namespace binade {

/// The values of the options of `binade check` of the same names.
struct ConversionFiles {
  std::string in = {}, codes = {};  ///< FILE or FILE:NAME
  std::string format = {};          ///< of the codes; empty: the format that their dtype names
  std::string dtype = {};           ///< of inputs in raw bytes; empty: the file's
};

/// Reads both arrays. Codes are encodings in the format's own dtype or in unsigned integers of its
/// width, or values in a wider dtype; those of 4 bits may be packed, two in a byte, the first in
/// the low half. Throws Error if a file cannot be read, the shapes differ, there are no elements,
/// or a value is no number of the format.
Converted read_conversion(const ConversionFiles& files);

}  // namespace binade
