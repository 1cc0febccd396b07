#pragma once

#include <string_view>

/// The files of data/, compiled in.
namespace natten_sim::embedded {

extern const std::string_view backends;
extern const std::string_view presets;
extern const std::string_view devices;
extern const std::string_view gna_dissertation;
extern const std::string_view dash;
extern const std::string_view attention_kernels;
extern const std::string_view sawtooth;

}  // namespace natten_sim::embedded
