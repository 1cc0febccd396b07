#pragma once

#include <string>
#include <string_view>

#include <natten_sim/core/catalog.hpp>

namespace natten_sim {

/// The catalog that ships with the library (data/ of the source tree), read once.
[[nodiscard]] const Catalog& builtin_catalog();

/// Adds presets or devices from JSON text in the format of data/presets.json or data/devices/; devices
/// refer to backends of the catalog. Unknown keys are refused. An existing name is replaced. `where` names
/// the text in errors. @throws MalformedData.
void add_presets(Catalog& catalog, std::string_view json, const std::string& where);
void add_devices(Catalog& catalog, std::string_view json, const std::string& where);

/// Published figures of the dissertation on generalized neighborhood attention (data/gna-dissertation.json),
/// as JSON.
[[nodiscard]] std::string_view published_gna_figures();

/// Published throughputs of FlashAttention-3's deterministic backward and the costs fitted to them
/// (data/dash.json), as JSON.
[[nodiscard]] std::string_view published_dash_figures();

/// What determinism costs FlashAttention's backward, as its pull requests say
/// (data/flash-attention-determinism.json), as JSON.
[[nodiscard]] std::string_view published_determinism_figures();

/// Published figures of the Sawtooth paper (data/sawtooth.json), as JSON.
[[nodiscard]] std::string_view published_sawtooth_figures();

/// Published figures of the TiledAttention paper (data/tiled-attention.json), as JSON.
[[nodiscard]] std::string_view published_tiled_attention_figures();

/// What this project measured for published figures (data/measured-beside.json), as JSON.
[[nodiscard]] std::string_view measured_beside_figures();

}  // namespace natten_sim
