#pragma once

namespace natten_sim::test {

/// Whether this build has a sanitizer. Then programs map more memory than any limit allows, are many times
/// slower, and may say on stderr how far they are where they otherwise answer at once.
#ifdef NATTEN_SIM_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace natten_sim::test
