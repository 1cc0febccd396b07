#pragma once

/// What is compiled, for both dtypes: X(head_dim, q_tile, kv_tile, warps, stages, max_ctas_per_sm). Shared
/// memory of a CTA is 2 * head_dim * (q_tile + 2 * stages * kv_tile) bytes: 24 to 96 KiB.
#define NATTEN_SIM_ATTENTION_TILES(X) \
  X(64, 128, 64, 4, 1, 2)             \
  X(64, 128, 64, 4, 2, 2)             \
  X(64, 128, 128, 4, 1, 2)            \
  X(64, 64, 64, 4, 1, 3)              \
  X(96, 128, 64, 4, 1, 2)             \
  X(96, 128, 64, 4, 2, 2)             \
  X(96, 64, 64, 4, 1, 3)              \
  X(128, 128, 64, 4, 1, 2)            \
  X(128, 128, 64, 4, 2, 2)            \
  X(128, 128, 32, 4, 2, 2)            \
  X(128, 128, 128, 8, 1, 1)           \
  X(128, 64, 64, 4, 1, 2)             \
  X(160, 128, 32, 4, 2, 2)            \
  X(160, 128, 64, 8, 1, 1)            \
  X(160, 64, 64, 4, 1, 2)

/// Of the engine for sm_90a, one CTA an SM: X(head_dim, q_tile, kv_tile, warps, stages). The fastest of
/// attention_forward's instances of each head dimension.
#define NATTEN_SIM_ATTENTION_WGMMA_TILES(X) \
  X(64, 192, 128, 16, 3)                    \
  X(96, 128, 128, 12, 2)                    \
  X(128, 128, 128, 12, 2)                   \
  X(160, 128, 112, 12, 2)                   \
  X(192, 128, 96, 12, 2)                    \
  X(256, 128, 64, 12, 2)
