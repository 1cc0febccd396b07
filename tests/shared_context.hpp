#pragma once

#include <natten_sim/study/context.hpp>

namespace natten_sim::test {

/// The catalog and options that ship, made once a program.
inline const study::Context& shared_context() {
  static const study::Context context = study::default_context();
  return context;
}

}  // namespace natten_sim::test
