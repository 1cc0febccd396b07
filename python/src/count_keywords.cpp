#include "count_keywords.hpp"

#include "described.hpp"

namespace natten_sim::python {

Keywords<study::CountQuestion> many_keywords() {
  return keywords_of<study::CountQuestion>().only({"preset", "device", "input", "window", "stride", "dilation",
                                                   "causal", "cyclic", "q_tile", "kv_tile", "kv_tiling", "tiling",
                                                   "backend", "head_dim"});
}

}  // namespace natten_sim::python
