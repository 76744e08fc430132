// SPDX-License-Identifier: Apache-2.0
//
// The program: what it does is run_program, which the Python module has too.
#include "lib/cli/program.h"

int main(int argc, char** argv) { return binade::run_program(argc, argv); }
