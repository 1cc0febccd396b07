// Reuse of K and V, at every fidelity.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_reuse {

void read(std::string_view input) {
  Decisions bytes(input);
  Json options = {{"seqlen", 256 * bytes.between(1, 32)}};
  if (bytes.yes()) options["device"] = bytes.one_of({"h200", "a100", "rtx4090"});
  if (bytes.yes()) options["fidelity"] = bytes.one_of({"lru", "closed-form", "timed"});
  if (bytes.yes()) options["order"] = bytes.one_of({"sawtooth", "cyclic", "best"});
  if (bytes.yes()) options["compare"] = bytes.one_of({"sawtooth", "cyclic"});
  if (bytes.yes()) options["dim"] = bytes.one_of({64, 128, 32});
  if (bytes.yes()) options["heads"] = bytes.between(1, 4);
  if (bytes.yes()) options["causal"] = bytes.yes();
  if (bytes.yes()) options["l2_bytes"] = 65536 * bytes.between(1, 64);
  if (bytes.yes()) options["workers"] = bytes.between(1, 16);
  if (bytes.yes()) options["window"] = 128 * bytes.between(1, 8);
  if (!check_answers("reuse", options)) refuse_input();
}

const Target kTarget("answers_reuse", read);

}  // namespace natten_sim::fuzz::answers_reuse
