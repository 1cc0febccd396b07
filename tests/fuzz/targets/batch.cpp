// Lines of `count --batch`: each is answered, by a count or by what is wrong with it.
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::batch {

void read(std::string_view input) {
  const MemoryFile file(input);
  if (run_program({"count", "--quiet", "--batch", file.path()}, Answers::kQuick) != 0) refuse_input();
}

const Target kTarget("batch", read);

}  // namespace natten_sim::fuzz::batch
