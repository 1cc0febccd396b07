#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/study/advise.hpp>

#include "shared_context.hpp"

namespace natten_sim::test {

/// A question about one layout of head dim 128.
[[nodiscard]] inline study::AdviseQuestion asked(const Extents& input, std::int64_t heads,
                                                 const char* device = "h200") {
  study::AdviseQuestion question;
  question.setting.input = input;
  question.setting.heads = heads;
  question.setting.head_dim = 128;
  question.devices = {device};
  return question;
}

[[nodiscard]] inline study::AdviseQuestion preset(const char* name, const char* device = "h200") {
  study::AdviseQuestion question;
  question.setting.preset = name;
  question.devices = {device};
  return question;
}

/// Of the question's first device.
[[nodiscard]] inline std::vector<study::AdviceChoice> choices_of(const study::AdviseQuestion& question) {
  return study::advise(question, shared_context()).devices.at(0).choices;
}

[[nodiscard]] inline const NeighborhoodMask& mask_of(const study::AdviceChoice& choice) {
  return choice.count.forward.problem.mask;
}

}  // namespace natten_sim::test
