#pragma once

#include <string>

/// Where a test program finds what it reads and runs. One small file a program has the paths, so that a compiler cache
/// serves the tests of another folder, too.
namespace natten_sim::test {

extern const char* const kSourceDir;
extern const char* const kProgram;  ///< natten-sim, or what a test puts in its place
extern const char* const kLessons;

}  // namespace natten_sim::test
