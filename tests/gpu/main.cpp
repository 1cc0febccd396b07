// Exit 77, ctest's "skipped", without a GPU: a missing GPU is a skip, never a pass.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <cstdio>

#include <natten_sim/kernels/gpu/gpu.hpp>

int main(int argc, char** argv) {
  try {
    (void)natten_sim::kernels::open_gpu();
  } catch (const natten_sim::HardwareAbsent& absent) {
    std::fprintf(stderr, "skipped: %s\n", absent.what());
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
