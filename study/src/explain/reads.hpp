#pragma once

#include <natten_sim/study/explain.hpp>

namespace natten_sim::study {

/// Adds parts of the reads, other walks and assumed numbers to a kernel that misses nothing.
/// `catalog_kernel`: whose speed the catalog has; null: the launch's own time is taken.
void add_reads(const Device& device, const char* catalog_kernel, const Context& context,
               ExplainedKernel& kernel);

}  // namespace natten_sim::study
