#pragma once

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/described.hpp>

namespace natten_sim::report {

// The members of a conclusion.

template <typename Members>
void describe(Members& m, Of<Closing>) {
  m.put("sentence", &sentence, "The whole conclusion");
  m.put("limit", &Closing::limit, "What limits the answer");
  m.put("change", unless_empty(&Closing::change), "What to change first; null: nothing");
  m.put(
      "options",
      [](const Closing& closing) {
        return closing.options.is_null() ? std::nullopt : std::optional(OpenObject{closing.options});
      },
      "The change as options, by their names in input; null: no option does it");
  m.put("gain", &Closing::gain, "Time before over time after the change; null where nothing is promised");
  m.put("certainty", &Closing::certainty, "How sure the answer is");
  m.optional("interval", &Closing::interval,
             "Between which values the answer lies, as inputs vary that nobody measured", [](auto& interval) {
               interval.put("low_bytes", &study::ReuseInterval::low_bytes, "The fewest reads from DRAM");
               interval.put("high_bytes", &study::ReuseInterval::high_bytes, "The most reads from DRAM");
               interval.put("influences", &study::ReuseInterval::influences, "By input, the widest first",
                            [](auto& influence) {
                              using I = study::ReuseInfluence;
                              influence.put("input", &I::input, "The input");
                              influence.put("values", &I::values, "Values that it may have");
                              influence.put("low_bytes", &I::low_bytes, "The fewest reads over these values");
                              influence.put("high_bytes", &I::high_bytes, "The most reads over these values");
                            });
             });
}

}  // namespace natten_sim::report
