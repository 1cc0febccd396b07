#pragma once

#include <string>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim {

/// The "atomics" of a device, as data/contention.json and device files have them. @throws MalformedData.
[[nodiscard]] DeviceAtomics read_atomics(const Json& entry, const std::string& where);
/// One of a device's "msda_kernels". @throws MalformedData.
[[nodiscard]] MsdaKernel read_msda_kernel(const Json& entry, const std::string& where);

/// A device's "msda_costs". @throws MalformedData.
[[nodiscard]] MsdaCosts read_msda_costs(const Json& entry, const std::string& where);

/// Gives the catalog's devices what data/contention.json, data/msda-kernels.json and data/msda-costs.json
/// know about them.
void join_atomics(Catalog& catalog);
void join_msda_kernels(Catalog& catalog);
void join_msda_costs(Catalog& catalog);

/// The device of that name. @throws MalformedData when the catalog has none: the files disagree.
[[nodiscard]] Device& device_to_join(Catalog& catalog, const std::string& name, const std::string& where);

}  // namespace natten_sim
