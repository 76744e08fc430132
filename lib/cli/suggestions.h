// SPDX-License-Identifier: Apache-2.0
//
// The words that shells offer for the values of options, from the tables that the options' own
// readers look into.
#pragma once

#include <string>
#include <vector>

namespace binade {

std::vector<std::string> format_words();           ///< binary16, bfloat16 …
std::vector<std::string> all_format_words();       ///< the same, then mxfp8_e4m3, nvfp4 …
std::vector<std::string> scale_rule_words();       ///< ocp, torchao_floor …
std::vector<std::string> report_format_words();    ///< those that reports know
std::vector<std::string> type_and_format_words();  ///< PTX's f16, bf16 …, then the formats
std::vector<std::string> architecture_words();     ///< sm_70 …
std::vector<std::string> instruction_words();      ///< of every architecture, each once
std::vector<std::string> dtype_words();        ///< F32, BF16 …: floating-point dtypes of files
std::vector<std::string> listed_op_words();    ///< ops on PyTorch's and Apex's lists
std::vector<std::string> device_type_words();  ///< cuda, cpu …
std::vector<std::string> setting_words();      ///< of trainings: lr=, format=binary16 …

}  // namespace binade
