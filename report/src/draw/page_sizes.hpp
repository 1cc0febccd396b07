#pragma once

namespace natten_sim::draw {

// Sizes that all pictures share, in pixels.
inline constexpr double kMargin = 16;    ///< around a picture
inline constexpr double kTickSize = 11;  ///< text of ticks

}  // namespace natten_sim::draw
