// Which SM, and which partition of the L2, the CTAs of a launch get, and how fast the device copies. Writes
// natten-sim.launch-order/1 to standard output: what data/launch-order holds. Takes two seconds.
#include <cstdio>
#include <exception>

#include <natten_sim/validate/measure/device_samples.hpp>

int main() {
  using namespace natten_sim;
  try {
    std::fputs(validate::device_samples_json(validate::sample_device(kernels::open_gpu())).c_str(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "launch_order: %s\n", error.what());
    return 1;
  }
}
