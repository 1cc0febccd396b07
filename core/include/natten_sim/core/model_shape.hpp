#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace natten_sim {

/// What surrounds a preset's attention: how often it is called, and the multiplications of everything else.
struct ModelShape {
  std::string preset;
  std::int64_t layers = 1;         ///< that run this attention
  std::int64_t layer_weights = 0;  ///< that a token is multiplied by in a layer
  std::int64_t passes = 1;         ///< of the model in a step: 2 with and without the prompt
  std::string source;
};

/// A number and the two that it lies between.
struct Bounded {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct ModelShapes {
  std::vector<ModelShape> models;
  /// Time of a FLOP outside attention over that of a FLOP of dense attention.
  Bounded rest_cost;
};

/// How fast a GPU sends to the others of its machine.
struct Link {
  std::string device;
  double bytes_per_s = 0;  ///< in one direction
  double least_share = 1;  ///< of it that transfers reach, between this ..
  double most_share = 1;   ///< .. and this
  std::string source;
};

}  // namespace natten_sim
