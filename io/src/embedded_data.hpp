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
extern const std::string_view lowering;
extern const std::string_view natten_calls;
extern const std::string_view contention;
extern const std::string_view msda_configs;
extern const std::string_view msda_kernels;
extern const std::string_view msda_paper;
extern const std::string_view kernel_times;

}  // namespace natten_sim::embedded
