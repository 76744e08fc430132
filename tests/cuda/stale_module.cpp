// SPDX-License-Identifier: Apache-2.0
//
// A module in place of binade_cuda.so that was built from other headers, for module_test.py. Its
// device is not to be opened.
#include <cstdlib>

extern "C" {
extern const char binade_device_interface[];
const char binade_device_interface[] = "of headers that were";
void binade_open_device(void* opened);
void binade_open_device(void* /*opened*/) { std::abort(); }
}
