#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/natten_rules.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::study {

Context default_context() {
  static const NattenRules rules = natten_rules(builtin_catalog());
  Context context{.catalog = builtin_catalog()};
  context.natten = rules;
  return context;
}

}  // namespace natten_sim::study
