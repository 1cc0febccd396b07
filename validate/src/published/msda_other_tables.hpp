#pragma once

#include "published/msda_tables.hpp"

namespace natten_sim::validate {

/// Tables 4, 7 and 13, whose Triton rows are cells of the sweep in other words, and table 12, the numerical
/// parity. Backends that are not modelled are shown without a prediction; nothing here is judged again.
void add_other_tables(MsdaTables& tables);

}  // namespace natten_sim::validate
