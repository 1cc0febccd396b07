// Linked into every program of scripts/mutate.py's build: what a process reaches stands in the file that
// NATTEN_SIM_MUTANT_REACHED names, so that a test and the programs that it starts write into one, however they end.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mutant.hpp"

namespace {

// Before the constructors of static objects, which reach mutants too.
[[gnu::constructor(101)]] void share_reached() {
  const char* path = std::getenv("NATTEN_SIM_MUTANT_REACHED");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  if (mmap(natten_sim_mutant::reached, natten_sim_mutant::kMost, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
           0) == MAP_FAILED) {
    std::abort();
  }
  close(file);
}

}  // namespace
