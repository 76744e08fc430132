// SPDX-License-Identifier: Apache-2.0
//
// Error, the one exception that the library throws: a line that says what is wrong, where, and what
// to do.
#pragma once

#include "lib/text/error.h"
