#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/natten_rules.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::study {

Context default_context() {
  Context context{.catalog = builtin_catalog()};
  context.natten = natten_rules(context.catalog);
  return context;
}

}  // namespace natten_sim::study
