#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::study {

Context default_context() { return {.catalog = builtin_catalog()}; }

}  // namespace natten_sim::study
