"""Members of answers and their types, written by python/docs/member_types.py. At run time all are Records.
Some members are there only where they were asked for: docs/cli.md says which.
"""
from typing import Any, Final

from natten_sim._record import Record
class CountMembers:
    q_tiles: Final[int]
    kv_tiles: Final[int]
    dense_tiles: Final[int]
    visited_tiles: Final[int]
    full_tiles: Final[int]
    partial_tiles: Final[int]
    max_tiles_per_q_tile: Final[int]
    attended_pairs: Final[int]
    dense_pairs: Final[int]
    sparsity: Final[float]
    speedup_flop: Final[float]
    speedup_mean: Final[float]
    speedup_worst: Final[float]
    mma_pairs: Final[int]
    speedup_work: Final[float]
    fully_block_sparse: Final[bool]
    natten_fast_path: Final[bool]
    flops: Final[Flops]
    wasted_flop_share: Final[float]
    e2e_speedup: Final[E2eSpeedup]
    kernel: Final[Kernel | None]
    time_ms: Final[TimeMs | None]
    speedup_time: Final[float | None]
    time: Final[Time]
    e2e_speedup_time: Final[float]
    backward: Final[Backward]
    add_kv: Final[AddKv]
    kernel_refusal: Final[KernelRefusal]
    time_missing: Final[str]
    passed_over: Final[tuple[str, ...]]
    fast_path_with: Final[FastPathWith]
    padded: Final[Padded]
    blocks_ms: Final[float]

class Flops(Record):
    attended: Final[int]
    mma: Final[int]
    dense: Final[int]

class E2eSpeedup(Record):
    flop: Final[float]
    mean: Final[float]
    worst: Final[float]

class Kernel(Record):
    name: Final[str]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    launched_tiles: Final[int]
    empty_tiles: Final[int]
    visited_tiles: Final[int]
    empty_visits: Final[int]
    masking: Final[str]
    unmasked_tiles: Final[int]
    bounds_masked_tiles: Final[int]
    masked_tiles: Final[int]
    mma_pairs: Final[int]
    dense_path: Final[bool]
    schedule: Final[str | None]
    natten_fast_path: Final[bool]
    additional: Final[Additional | None]
    speedup: Final[Speedup]
    permutation_bytes: Final[int | None]
    permutation_ms: Final[float]
    dense_ms: Final[float]
    dense_rate: Final[str]
    speedup_with_permutation: Final[SpeedupWithPermutation | None]
    e2e_speedup: Final[E2eSpeedup]
    instead_of: Final[str]

class Additional(Record):
    name: Final[str]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    launched_tiles: Final[int]
    empty_tiles: Final[int]
    visited_tiles: Final[int]
    empty_visits: Final[int]
    masking: Final[str]
    unmasked_tiles: Final[int]
    bounds_masked_tiles: Final[int]
    masked_tiles: Final[int]
    mma_pairs: Final[int]

class Speedup(Record):
    mean: Final[float]
    worst: Final[float]
    work: Final[float]

class TimeMs(Record):
    kernel: Final[float]
    permutation: Final[float | None]
    total: Final[float]
    low: Final[float]
    high: Final[float]
    back_to_back: Final[float]
    limited_by: Final[str]
    repetition: Final[float]

class Time(Record):
    ctas: Final[int]
    waves: Final[float]
    tflops_per_s: Final[float]
    parts_ms: Final[PartsMs]
    dense_kernel: Final[str]
    dense_ms: Final[float]
    speedup_kernel: Final[float]
    copies: Final[Copies]
    costs: Final[Costs]
    mask_function: Final[str]
    mask_instructions: Final[float]
    unmeasured: Final[str]
    dense_masked: Final[bool]

class PartsMs(Record):
    tiles: Final[float]
    masking: Final[float]
    prologue: Final[float]
    tail: Final[float]
    launch: Final[float]
    power: Final[float]

class Copies(Record):
    natten: Final[str]
    origin: Final[str]
    interval: Final[float]
    source: Final[str]

class Costs(Record):
    evidence: Final[str]
    runs: Final[int]
    kinds: Final[tuple[str, ...]]
    left_out_mean_error: Final[float | None]
    left_out_worst_error: Final[float | None]
    interval: Final[float]
    source: Final[str]
    transfer: Final[str]
    left_out_cells: Final[int]
    judged_launches: Final[int]
    judged_inside: Final[float]

class Backward(Record):
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    kv_tiles: Final[int]
    q_tiles: Final[int]
    dense_tiles: Final[int]
    visited_tiles: Final[int]
    full_tiles: Final[int]
    partial_tiles: Final[int]
    max_tiles_per_kv_tile: Final[int]
    speedup_mean: Final[float]
    speedup_worst: Final[float]
    mma_pairs: Final[int]
    speedup_work: Final[float]
    fully_block_sparse: Final[bool]
    flops: Final[Flops]
    wasted_flop_share: Final[float]
    kernel: Final[Kernel | None]
    time_ms: Final[TimeMs | None]
    speedup_time: Final[float | None]
    time: Final[Time]
    time_missing: Final[str]

class AddKv(Record):
    tokens: Final[int]
    kv_tiles: Final[int]
    visited_tiles: Final[int]
    attended_pairs: Final[int]
    mma_pairs: Final[int]

class KernelRefusal(Record):
    rule: Final[str]
    parameter: Final[str]
    value: Final[str]
    accepted: Final[str]
    hint: Final[str]

class FastPathWith(Record):
    window: Final[tuple[int, ...]]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]

class Padded(Record):
    before: Final[tuple[int, ...]]
    after: Final[tuple[int, ...]]
    input: Final[tuple[int, ...]]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    q_tiles: Final[int]
    kv_tiles: Final[int]
    visited_tiles: Final[int]
    mma_pairs: Final[int]
    time_ms: Final[TimeMs]
    speedup_time: Final[float]
    time: Final[Time]
    padding_ms: Final[float]

class CountInput(Record):
    preset: Final[str]
    device: Final[str]
    input: Final[tuple[int, ...]]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]
    dilation: Final[tuple[int, ...]]
    causal: Final[tuple[bool, ...]]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    kv_tiling: Final[str]
    tiling: Final[str]
    backend: Final[str | None]
    natten: Final[str]
    deterministic: Final[bool]
    add_kv: Final[int]
    batch_size: Final[int]
    heads: Final[int]
    heads_kv: Final[int]
    head_dim: Final[int]
    dim_value: Final[int]
    dtype: Final[str]
    attention_share: Final[float]
    dense_steps: Final[str]
    backward_q_tile: Final[tuple[int, ...]]
    backward_kv_tile: Final[tuple[int, ...]]
    backward_q_tiling: Final[str]
    cyclic: Final[tuple[bool, ...]]
    kernel: Final[str]
    kernel_schedule: Final[str]
    rest_ms: Final[float]

class SearchMembers:
    space_size: Final[int]
    evaluated: Final[int]
    excluded: Final[tuple[Excluded, ...]]
    kernels_left_out: Final[tuple[KernelsLeftOut, ...]]
    tile_sizes: Final[tuple[TileSize, ...]]
    complete: Final[bool]
    sketched: Final[bool]
    candidates: Final[tuple[Candidate, ...]]
    devices: Final[tuple[Device, ...]]
    nearest_sparsity: Final[float]

class Excluded(Record):
    rule: Final[str]
    parameter: Final[str]
    accepted: Final[str]
    combinations: Final[int]

class KernelsLeftOut(Record):
    kernel: Final[str]
    reason: Final[str]

class TileSize(Record):
    forward: Final[int | None]
    backward: Final[int | None]

class Candidate(Record):
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]
    dilation: Final[tuple[int, ...]]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    backend: Final[str]
    tile_size: Final[int]
    speedup: Final[float]
    dense_path: Final[bool]
    fast_path: Final[bool]
    total_ms: Final[float]
    e2e_speedup_time: Final[float]
    time_ms: Final[TimeMs]
    speedup_time: Final[float]
    time: Final[Time]
    q_tiles: Final[int]
    kv_tiles: Final[int]
    dense_tiles: Final[int]
    visited_tiles: Final[int]
    full_tiles: Final[int]
    partial_tiles: Final[int]
    max_tiles_per_q_tile: Final[int]
    attended_pairs: Final[int]
    dense_pairs: Final[int]
    sparsity: Final[float]
    speedup_flop: Final[float]
    speedup_mean: Final[float]
    speedup_worst: Final[float]
    mma_pairs: Final[int]
    speedup_work: Final[float]
    fully_block_sparse: Final[bool]
    natten_fast_path: Final[bool]
    flops: Final[Flops]
    wasted_flop_share: Final[float]
    e2e_speedup: Final[E2eSpeedup]
    kernel: Final[Kernel | None]
    kernel_timed: Final[str]
    backward: Final[Backward]
    passed_over: Final[tuple[str, ...]]
    kernel_refusal: Final[KernelRefusal]

class SpeedupWithPermutation(Record):
    mean: Final[float]
    worst: Final[float]
    work: Final[float]

class Device(Record):
    device: Final[str]
    space_size: Final[int]
    evaluated: Final[int]
    excluded: Final[tuple[Excluded, ...]]
    kernels_left_out: Final[tuple[KernelsLeftOut, ...]]
    tile_sizes: Final[tuple[TileSize, ...]]
    complete: Final[bool]
    sketched: Final[bool]
    candidates: Final[tuple[Candidate, ...]]

class SearchInput(Record):
    preset: Final[str]
    device: Final[str | tuple[str, ...]]
    input: Final[tuple[int, ...]]
    window_range: Final[tuple[tuple[int, ...], ...]]
    stride_range: Final[tuple[tuple[int, ...], ...]]
    dilation: Final[tuple[int, ...]]
    causal: Final[tuple[bool, ...]]
    kv_tiling: Final[str | None]
    phase: Final[str]
    tiles: Final[tuple[Tile, ...]]
    sparsity: Final[tuple[float, ...] | None]
    window_multiple_of_kv_tile: Final[bool]
    max_imbalance: Final[float | None]
    fully_block_sparse: Final[bool]
    natten_fast_path: Final[bool]
    min_speedup: Final[None]
    no_padding: Final[bool]
    dense_axes: Final[tuple[int, ...]]
    any: Final[bool]
    objective: Final[str]
    rest_ms: Final[float]
    answer: Final[str]
    distinct: Final[str]
    top: Final[int]
    natten: Final[str]
    deterministic: Final[bool]
    add_kv: Final[int]
    batch_size: Final[int]
    heads: Final[int]
    heads_kv: Final[int]
    head_dim: Final[int]
    dim_value: Final[int]
    dtype: Final[str]
    attention_share: Final[float]
    dense_steps: Final[str]

class Tile(Record):
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    backend: Final[str]
    kernel: Final[str]
    backward_q_tile: Final[tuple[int, ...]]
    backward_kv_tile: Final[tuple[int, ...]]

class AdviceMembers:
    devices: Final[tuple[AdviceDevice, ...]]

class AdviceDevice(Record):
    device: Final[str]
    sketched: Final[bool]
    choices: Final[tuple[Choice, ...]]

class Choice(Record):
    role: Final[str]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    sparsity: Final[float]
    wasted_flop_share: Final[float]
    speedup_mean: Final[float]
    total_ms: Final[float]
    speedup: Final[float]
    time_ms: Final[TimeMs]
    speedup_time: Final[float]
    time: Final[Time]
    e2e_speedup_time: Final[float | None]
    e2e_speedup_time_low: Final[float | None]
    e2e_speedup_time_high: Final[float | None]
    e2e_estimated: Final[bool | None]
    tile_memory_bytes: Final[int]
    backward: Final[ChoiceBackward | None]
    natten_call: Final[str]
    natten_profiler: Final[str]
    flex_plan: Final[str]
    padded: Final[Padded]
    blocks_ms: Final[float]

class DeterministicTiles(Record):
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    backward_q_tile: Final[tuple[int, ...]]
    backward_kv_tile: Final[tuple[int, ...]]

class ChoiceBackward(Record):
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    time_ms: Final[TimeMs]
    speedup_time: Final[float]
    time: Final[Time]
    deterministic_ms: Final[float]
    deterministic_low_ms: Final[float]
    deterministic_high_ms: Final[float]
    deterministic_tiles: Final[DeterministicTiles]

class AdviceInput(Record):
    preset: Final[str]
    input: Final[tuple[int, ...]]
    device: Final[tuple[str, ...]]
    sparsity: Final[tuple[float, ...]]
    max_imbalance: Final[float]
    natten: Final[str]
    deterministic: Final[bool]
    add_kv: Final[int]
    batch_size: Final[int]
    heads: Final[int]
    heads_kv: Final[int]
    head_dim: Final[int]
    dim_value: Final[int]
    dtype: Final[str]
    attention_share: Final[float]
    dense_steps: Final[str]
    speedup: Final[float]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]
    cyclic: Final[tuple[bool, ...]]

class MaskMembers:
    q_tile: Final[int]
    kv_tile: Final[int]
    q_tiles: Final[int]
    kv_tiles: Final[int]
    visited_tiles: Final[int]
    full_tiles: Final[int]
    partial_tiles: Final[int]
    visited_share: Final[float]
    used_share: Final[float | None]
    row: Final[Row]
    time_ms: Final[TimeMs | None]
    speedup_time: Final[float | None]
    time: Final[Time]
    backward: Final[MaskBackward]
    masks: Final[int]
    pairs: Final[int | None]
    pair_share: Final[float | None]
    others: Final[tuple[Other, ...]]
    time_missing: Final[str]

class Row(Record):
    shortest: Final[int]
    mean: Final[float]
    longest: Final[int]
    empty: Final[int]

class MaskBackward(Record):
    time_ms: Final[TimeMs]
    speedup_time: Final[float]
    time: Final[Time]

class Other(Record):
    q_tile: Final[int]
    kv_tile: Final[int]
    q_tiles: Final[int]
    kv_tiles: Final[int]
    visited_tiles: Final[int]
    full_tiles: Final[int]
    partial_tiles: Final[int]
    visited_share: Final[float]
    used_share: Final[float]
    row: Final[Row]
    time_ms: Final[TimeMs | None]
    speedup_time: Final[float | None]
    time: Final[Time]
    backward: Final[OtherBackward]
    time_missing: Final[str]

class OtherBackward(Record):
    time_ms: Final[TimeMs]
    speedup_time: Final[float]
    time: Final[Time]

class MaskInput(Record):
    mask: Final[str]
    seqlen_q: Final[int]
    seqlen_k: Final[int]
    q_tile: Final[int]
    kv_tile: Final[int]
    kernel: Final[str]
    device: Final[str]
    backprop: Final[bool]
    heads: Final[int]
    heads_kv: Final[int]
    batch_size: Final[int]
    head_dim: Final[int]
    dtype: Final[str]
    rest_ms: Final[float]

class PlanMembers:
    speedup: Final[float]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]
    tiles: Final[Tiles]
    steps: Final[int]
    dense_steps: Final[int]
    rest: Final[str]
    rest_flops: Final[float | None]
    link_bytes_per_s: Final[float | None]
    split: Final[Split | None]
    dense: Final[Dense]
    sparse: Final[Sparse]

class Tiles(Record):
    q_tile: Final[int | tuple[int, ...]]
    kv_tile: Final[int | tuple[int, ...]]
    backward_q_tile: Final[tuple[int, ...] | None]
    backward_kv_tile: Final[tuple[int, ...] | None]

class Split(Record):
    axis: Final[int]
    slabs: Final[tuple[Slab, ...]]

class Slab(Record):
    tokens: Final[tuple[int, ...]]
    attended: Final[tuple[int, ...]]
    computed: Final[tuple[int, ...]]

class Dense(Record):
    layout: Final[tuple[int, ...]]
    heads: Final[int]
    kernel: Final[str]
    attention_ms: Final[float]
    attention_low_ms: Final[float]
    attention_high_ms: Final[float]
    communication_bytes: Final[int]
    communication_ms: Final[float]
    communication_low_ms: Final[float]
    communication_high_ms: Final[float]
    rest_ms: Final[float | None]
    rest_low_ms: Final[float | None]
    rest_high_ms: Final[float | None]
    step_ms: Final[float]
    step_low_ms: Final[float]
    step_high_ms: Final[float]
    run_s: Final[float]
    run_low_s: Final[float]
    run_high_s: Final[float]
    cost_dollars: Final[float | None]
    cost_low_dollars: Final[float | None]
    cost_high_dollars: Final[float | None]
    memory: Final[Memory]

class Memory(Record):
    tensors_bytes: Final[int]
    copies_bytes: Final[int]
    received_bytes: Final[int]
    weights_bytes: Final[int | None]
    gradients_bytes: Final[int | None]
    optimizer_bytes: Final[int | None]
    total_bytes: Final[int]

class Sparse(Record):
    layout: Final[tuple[int, ...]]
    heads: Final[int]
    kernel: Final[str]
    attention_ms: Final[float]
    attention_low_ms: Final[float]
    attention_high_ms: Final[float]
    communication_bytes: Final[int]
    communication_ms: Final[float]
    communication_low_ms: Final[float]
    communication_high_ms: Final[float]
    rest_ms: Final[float | None]
    rest_low_ms: Final[float | None]
    rest_high_ms: Final[float | None]
    step_ms: Final[float]
    step_low_ms: Final[float]
    step_high_ms: Final[float]
    run_s: Final[float]
    run_low_s: Final[float]
    run_high_s: Final[float]
    cost_dollars: Final[float | None]
    cost_low_dollars: Final[float | None]
    cost_high_dollars: Final[float | None]
    memory: Final[Memory]

class PlanInput(Record):
    preset: Final[str]
    device: Final[str]
    input: Final[tuple[int, ...]]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]
    layers: Final[int]
    passes: Final[int]
    rest_flops: Final[float]
    parameters: Final[int]
    optimizer_bytes: Final[int]
    samples: Final[int]
    gpus: Final[int]
    parallel: Final[str]
    dollars_per_hour: Final[float]
    natten: Final[str]
    deterministic: Final[bool]
    add_kv: Final[int]
    batch_size: Final[int]
    heads: Final[int]
    heads_kv: Final[int]
    head_dim: Final[int]
    dim_value: Final[int]
    dtype: Final[str]
    attention_share: Final[float]
    dense_steps: Final[str]

class TimeMembers:
    time_ms: Final[TimeMs | None]
    speedup_time: Final[float | None]
    time: Final[Time]
    time_missing: Final[str]

class TimeInput(Record):
    kernel: Final[str]
    device: Final[str]
    input: Final[tuple[int, ...]]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]
    dilation: Final[tuple[int, ...]]
    causal: Final[tuple[bool, ...]]
    q_tile: Final[tuple[int, ...] | None]
    kv_tile: Final[tuple[int, ...] | None]
    phase: Final[str]
    kernel_schedule: Final[str]
    batch_size: Final[int]
    heads: Final[int]
    heads_kv: Final[int]
    head_dim: Final[int]
    dim_value: Final[int]
    dtype: Final[str]
    add_kv: Final[int]
    rest_ms: Final[float]

class CalibrationMembers:
    schema: Final[str]
    kernels: Final[tuple[CalibrationKernel, ...]]
    runs: Final[tuple[Run, ...]]
    suggestions: Final[tuple[Suggestion, ...]]

class CalibrationKernel(Record):
    kernel: Final[str]
    device: Final[str]
    head_dim: Final[int]
    dtypes: Final[tuple[str, ...]]
    ctas_per_sm: Final[int]
    forward: Final[Forward]
    backward: Final[CalibrationKernelBackward]
    permutation: Final[tuple[Permutation, ...]]

class Forward(Record):
    q_tile_tokens: Final[int]
    kv_tile_tokens: Final[int]
    unmasked_tile_us: Final[float]
    bounds_masked_tile_us: Final[float]
    cta_us: Final[float]
    launch_us: Final[float]
    slowdown: Final[float]
    slowdown_ms: Final[float]
    masked_tile_us: Final[tuple[float, ...]]
    runs: Final[int]
    kinds: Final[tuple[str, ...]]
    left_out: Final[LeftOut | None]
    interval: Final[float]
    source: Final[str]
    fitted: Final[tuple[str, ...]]
    ctas_per_sm: Final[int]

class LeftOut(Record):
    mean: Final[float]
    worst: Final[float]

class CalibrationKernelBackward(Record):
    q_tile_tokens: Final[int]
    kv_tile_tokens: Final[int]
    unmasked_tile_us: Final[float]
    bounds_masked_tile_us: Final[float]
    cta_us: Final[float]
    launch_us: Final[float]
    slowdown: Final[float]
    slowdown_ms: Final[float]
    masked_tile_us: Final[tuple[float, ...]]
    runs: Final[int]
    kinds: Final[tuple[str, ...]]
    left_out: Final[LeftOut]
    interval: Final[float]
    source: Final[str]
    fitted: Final[tuple[str, ...]]

class Permutation(Record):
    axes: Final[int]
    natten: Final[str]
    into_bytes_per_s: Final[float]
    out_bytes_per_s: Final[float]
    lse_bytes_per_s: Final[float]
    interval: Final[float]
    origin: Final[str]
    source: Final[str]

class Run(Record):
    kernel: Final[str]
    device: Final[str]
    input: Final[tuple[int, ...]]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...] | None]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    heads: Final[int]
    head_dim: Final[int]
    kind: Final[str]
    measured_ms: Final[float]
    predicted_ms: Final[float]
    deviation: Final[float]
    left_out_ms: Final[float | None]
    left_out_deviation: Final[float | None]

class Suggestion(Record):
    kernel: Final[str]
    device: Final[str]
    input: Final[tuple[int, ...]]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...] | None]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    heads: Final[int]
    head_dim: Final[int]
    predicted_ms: Final[float]
    uncertainty: Final[float]
    command: Final[str]

class CalibrationInput(Record):
    runs: Final[str | tuple[CalibrationInputRun, ...]]
    plan: Final[bool]
    kernel: Final[None]
    device: Final[None]
    head_dim: Final[int]
    dtype: Final[str]
    times: Final[None]
    ncu_kernel: Final[str]
    decimal: Final[str | None]
    source: Final[str]
    suggestions: Final[int]

class CalibrationInputRun(Record):
    kernel: Final[str]
    device: Final[str]
    input: Final[tuple[int, ...]]
    window: Final[tuple[int, ...]]
    stride: Final[tuple[int, ...]]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    head_dim: Final[int]
    ms: Final[float]

class ScheduleMembers:
    algorithms: Final[tuple[Algorithm, ...]]
    left_out: Final[tuple[Any, ...]]
    algorithm: Final[str]
    ordered: Final[bool]
    makespan: Final[float]
    lower_bound: Final[float]
    lower_bound_by: Final[str]
    optimality_gap: Final[float]
    proved: Final[bool]
    utilization: Final[float]
    total_work: Final[float]
    bubble: Final[Bubble]
    heads_in_flight: Final[int]
    workspace_bytes: Final[int | None]
    critical_path: Final[tuple[CriticalPath, ...]]
    closed_form: Final[float | None]
    deadlock: Final[None]
    hang_free: Final[str]
    not_applicable: Final[None]
    dispatch: Final[str]
    kernel: Final[ScheduleKernel]
    cost_map: Final[tuple[CostMap, ...]]

class Algorithm(Record):
    algorithm: Final[str]
    ordered: Final[bool]
    makespan: Final[float | None]
    lower_bound: Final[float | None]
    lower_bound_by: Final[str | None]
    optimality_gap: Final[float | None]
    proved: Final[bool | None]
    utilization: Final[float | None]
    total_work: Final[float | None]
    bubble: Final[Bubble]
    heads_in_flight: Final[int | None]
    workspace_bytes: Final[int | None]
    critical_path: Final[tuple[Any, ...]]
    closed_form: Final[float | None]
    deadlock: Final[None]
    hang_free: Final[str | None]
    not_applicable: Final[str | None]
    dispatch: Final[str | None]

class Bubble(Record):
    startup: Final[float | None]
    wait_for_turn: Final[float | None]
    tail: Final[float | None]

class CriticalPath(Record):
    head: Final[int]
    kv_tile: Final[int]
    q_tile: Final[int]
    phase: Final[str]
    start: Final[float]
    end: Final[float]

class ScheduleKernel(Record):
    name: Final[str]
    release: Final[str]
    architectures: Final[tuple[str, ...]]
    order: Final[str]
    ctas_per_tile: Final[int]
    turn_release: Final[str]
    dkv_order: Final[str]
    tiles: Final[Tiles]
    workers: Final[int]
    deterministic: Final[Deterministic]
    unordered: Final[Unordered]
    ratio: Final[float]
    ratio_interval: Final[RatioInterval]
    extrapolated_from_tokens: Final[None]
    costs: Final[ScheduleKernelCosts]
    missing: Final[None]
    source: Final[str]

class Deterministic(Record):
    time_ms: Final[float]
    interval_ms: Final[IntervalMs]
    tflops: Final[float]
    makespan_us: Final[float]
    waiting_us: Final[float]
    lower_bound_us: Final[float]
    algorithm: Final[str]
    walk: Final[str]
    dispatch: Final[str]
    launch_order: Final[str]
    heads_per_section: Final[int | None]
    dq_order: Final[str]
    workspace_bytes: Final[int]

class IntervalMs(Record):
    low: Final[float]
    high: Final[float]
    points: Final[int]
    basis: Final[str]
    outside: Final[tuple[Record, ...]]

class Unordered(Record):
    time_ms: Final[float]
    interval_ms: Final[IntervalMs]
    tflops: Final[float]
    makespan_us: Final[float]
    waiting_us: Final[float]
    lower_bound_us: Final[float]
    algorithm: Final[str]
    walk: Final[str]
    dispatch: Final[str]
    launch_order: Final[str]
    heads_per_section: Final[int]
    dq_order: Final[str]
    workspace_bytes: Final[int]

class RatioInterval(Record):
    low: Final[float]
    high: Final[float]
    points: Final[int]
    basis: Final[str]
    outside: Final[tuple[Record, ...]]

class ScheduleKernelCosts(Record):
    name: Final[str]
    fitted_to: Final[str]
    points: Final[int]
    parameters: Final[int]
    rms_error: Final[float]
    held_out_error: Final[float]
    validity: Final[str]

class CostMap(Record):
    reduce: Final[float]
    handoff: Final[float]
    fastest: Final[str]

class ScheduleInput(Record):
    q_tiles: Final[int]
    kv_tiles: Final[int]
    heads: Final[int]
    heads_kv: Final[int]
    batch_size: Final[int]
    mask: Final[str]
    algorithm: Final[str]
    dispatch: Final[None]
    launch_order: Final[None]
    effort: Final[None]
    seed: Final[int]
    walk: Final[str]
    heads_in_flight: Final[int | None]
    gqa_chains: Final[str]
    ctas_per_chain: Final[int]
    dim: Final[int]
    dtype: Final[str]
    workers: Final[int]
    compute: Final[float]
    compute_partial: Final[float]
    reduce: Final[float]
    reduce_kv: Final[float]
    handoff: Final[float]
    handoff_far: Final[float]
    tax: Final[float]
    prologue: Final[float]
    epilogue: Final[float]
    overlap: Final[str]
    release: Final[str]
    dkv_turns: Final[str]
    early_exit: Final[float]
    seqlen_q: Final[int]
    seqlen_k: Final[int]
    q_tile: Final[int]
    kv_tile: Final[int]
    time_limit: Final[float]
    kernel: Final[str]
    costs: Final[str]
    device: Final[str]
    table: Final[str]

class ReuseMembers:
    sectors: Final[Sectors]
    cold_sectors: Final[int]
    miss_sectors: Final[int | None]
    hit_rate: Final[float | None]
    dram_read_bytes: Final[int | None]
    dram_write_bytes: Final[int]
    effective_capacity_bytes: Final[int | None]
    first_noncompulsory_seqlen: Final[int | None]
    stack_distance: Final[StackDistance]
    order: Final[str]
    compare: Final[Compare]
    sweep: Final[tuple[Sweep, ...]]
    miss_ratio_standard_error: Final[float]
    time_ns: Final[float]

class Sectors(Record):
    q: Final[int | None]
    k: Final[int | None]
    v: Final[int | None]
    o: Final[int | None]
    total: Final[int]

class StackDistance(Record):
    mean_bytes: Final[float | None]
    histogram: Final[tuple[Histogram, ...]]

class Histogram(Record):
    upto_bytes: Final[int]
    count: Final[int]

class Compare(Record):
    sectors: Final[Sectors]
    cold_sectors: Final[int]
    miss_sectors: Final[int]
    hit_rate: Final[float]
    dram_read_bytes: Final[int]
    dram_write_bytes: Final[int]
    effective_capacity_bytes: Final[int]
    first_noncompulsory_seqlen: Final[int]
    stack_distance: Final[StackDistance]
    order: Final[str]
    reduction: Final[Reduction]
    time_ns: Final[float]

class Reduction(Record):
    miss_sectors: Final[float]
    noncompulsory_miss_sectors: Final[float | None]
    dram_read_bytes: Final[float]

class Sweep(Record):
    seqlen: Final[int]
    sectors: Final[Sectors]
    cold_sectors: Final[int]
    miss_sectors: Final[int]
    hit_rate: Final[float]
    dram_read_bytes: Final[int]
    dram_write_bytes: Final[int]
    effective_capacity_bytes: Final[int]
    first_noncompulsory_seqlen: Final[int]
    stack_distance: Final[StackDistance]
    order: Final[str]
    compare: Final[Compare]

class ReuseInput(Record):
    seqlen: Final[tuple[int, ...]]
    head_dim: Final[int]
    dim_value: Final[int]
    dtype: Final[str]
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    heads: Final[int]
    heads_kv: Final[int]
    batch_size: Final[int]
    causal: Final[bool | tuple[bool, ...]]
    window: Final[tuple[int, ...] | None]
    stride: Final[tuple[int, ...]]
    kernel: Final[str | None]
    schedule: Final[str]
    interleave_heads: Final[bool]
    longest_first: Final[bool]
    ctas_per_sm: Final[int]
    workers: Final[int]
    order: Final[str]
    compare: Final[str]
    device: Final[str | None]
    l2_bytes: Final[int | None]
    sector_bytes: Final[int]
    sms: Final[int]
    fidelity: Final[str]
    granularity: Final[str]
    sweep: Final[str]
    stream_bytes: Final[int]
    passes: Final[int]
    sample: Final[float]
    line_bytes: Final[int]
    ways: Final[int]
    replacement: Final[str]
    hashed: Final[bool]
    jitter: Final[float]

class ScatterMembers:
    time_ns: Final[float]
    bound: Final[str]
    updates: Final[int]
    addresses: Final[int]
    max_multiplicity: Final[int]
    cas_retries: Final[int]
    sectors: Final[ScatterSectors]
    service_ns_per_update: Final[float]
    bandwidth_utilization: Final[float]
    remedies: Final[tuple[Remedy, ...]]
    l2_sectors: Final[L2Sectors]
    bounds_ns: Final[BoundsNs]
    launch_ns: Final[float]
    host_launch_ns: Final[float]
    path: Final[str]
    vector_width: Final[int]
    instruction: Final[str]
    rows_touched: Final[int]
    serial_multiplicity: Final[int]
    collapsed: Final[bool]
    contenders: Final[float]
    changing_share: Final[float]
    hottest_rows: Final[int]
    close_updates: Final[float]
    slice_sectors: Final[float]
    sent_sectors: Final[float]
    streamed_bytes: Final[float]
    warp_instructions: Final[int]
    releases: Final[tuple[OperatorRelease, ...]]
    calibration: Final[Calibration]

class ScatterSectors(Record):
    atom: Final[int]
    red: Final[int]

class Remedy(Record):
    name: Final[str]
    time_ns: Final[float]
    extra_bytes: Final[int]
    bound: Final[str]
    effort: Final[str]
    construct: Final[str | None]
    low_ns: Final[float | None]
    high_ns: Final[float | None]
    judged_runs: Final[int]
    median_ratio: Final[float | None]
    worst_ratio: Final[float | None]

class OperatorRelease(Record):
    operator: Final[str]
    release: Final[str]
    construct: Final[str]
    path: Final[str]
    instruction: Final[str]
    time_ns: Final[float]
    low_ns: Final[float | None]
    high_ns: Final[float | None]
    condition: Final[str | None]
    source: Final[str]

class L2Sectors(Record):
    atom: Final[int]
    red: Final[int]

class BoundsNs(Record):
    hottest_address: Final[float]
    slice_throughput: Final[float]
    issue: Final[float]
    dram: Final[float]

class Calibration(Record):
    fitted_points: Final[int]
    unfitted_points: Final[int]
    unfitted_worst_ratio: Final[float]
    unfitted_mean_ratio: Final[float]
    kind: Final[str]
    outside: Final[tuple[str, ...]]
    interval_ns: Final[IntervalNs | None]
    held_out: Final[str]

class IntervalNs(Record):
    low: Final[float]
    high: Final[float]

class ScatterInput(Record):
    updates: Final[int]
    rows: Final[int]
    width: Final[int]
    distribution: Final[str]
    dtype: Final[str]
    path: Final[str]
    construct: Final[str]
    device: Final[str]
    seed: Final[int]
    prior_runs: Final[int]
    values: Final[str]
    compare: Final[tuple[str, ...]]

class MsdaMembers:
    time_ns: Final[float]
    bound: Final[str]
    max_multiplicity: Final[int]
    bandwidth_utilization: Final[float]
    reads: Final[int]
    samples: Final[int]
    unique_sectors: Final[int]
    bytes: Final[int]
    flops: Final[int]
    arithmetic_intensity: Final[float]
    occupancy: Final[float]
    l2_hit_rate: Final[float]
    peak_bytes: Final[int]
    latency_ns: Final[float]
    reuse: Final[float]
    achieved_bytes_per_s: Final[float]
    little_bytes_per_s: Final[float]
    times_ns: Final[TimesNs]
    rows: Final[int]
    l2_misses: Final[int]
    own_kernel: Final[bool]
    calibration: Final[Calibration]
    borrowed_from: Final[str]
    updates: Final[int]
    addresses: Final[int]
    cas_retries: Final[int]
    sectors: Final[MsdaSectors]
    service_ns_per_update: Final[float]
    remedies: Final[tuple[Remedy, ...]]
    l2_sectors: Final[L2Sectors]
    bounds_ns: Final[BoundsNs]
    launch_ns: Final[float]
    host_launch_ns: Final[float]
    path: Final[str]
    vector_width: Final[int]
    instruction: Final[str]
    rows_touched: Final[int]
    serial_multiplicity: Final[int]
    collapsed: Final[bool]
    contenders: Final[float]
    changing_share: Final[float]
    contention_bound: Final[str]
    orders: Final[tuple[Order, ...]]

class TimesNs(Record):
    l2: Final[float]
    memory_parallelism: Final[float]
    dram: Final[float]
    atomics: Final[float]
    launch: Final[float]
    chain: Final[float]
    issue: Final[float]

class MsdaSectors(Record):
    atom: Final[int]
    red: Final[int]

class Order(Record):
    order: Final[str]
    time_ns: Final[float]
    bound: Final[str]
    l2_hit_rate: Final[float]
    l2_misses: Final[int]
    bytes: Final[int]
    reads_per_miss: Final[float]

class MsdaInput(Record):
    config: Final[str]
    batch: Final[int]
    height: Final[int]
    width: Final[int]
    strides: Final[tuple[int, ...]]
    channels: Final[int]
    heads: Final[int]
    points: Final[int]
    queries: Final[int]
    phase: Final[str]
    tiling: Final[str]
    dtype: Final[str]
    accumulator: Final[str]
    order: Final[str]
    device: Final[str]
    offsets: Final[str]
    spread: Final[float]
    seed: Final[int]
    l2_bytes: Final[int]
    construct: Final[str]
    update: Final[str]

class ExplanationMembers:
    device: Final[str | None]
    kernels: Final[tuple[ExplanationKernel, ...]]
    other_launches: Final[int]
    other_names: Final[tuple[str, ...]]
    others: Final[tuple[ExplanationOther, ...]]
    conclusion: Final[Conclusion]

class ExplanationKernel(Record):
    family: Final[str]
    title: Final[str]
    name: Final[str]
    launches: Final[int]
    grid: Final[tuple[int, ...]]
    block: Final[tuple[int, ...]]
    shared_bytes: Final[int | None]
    ctas_per_sm: Final[int | None]
    time_ns: Final[float]
    dram_read_bytes: Final[float | None]
    dram_write_bytes: Final[float | None]
    dram_bytes: Final[float | None]
    problem: Final[Problem]
    known: Final[Known]
    missing: Final[tuple[str, ...]]
    unmodelled: Final[str | None]
    sectors: Final[ExplanationKernelSectors]
    read: Final[Read | None]
    changes: Final[tuple[Change, ...]]
    assumed_numbers: Final[tuple[str, ...]]

class Problem(Record):
    seqlen: Final[int | None]
    seqlen_k: Final[int | None]
    batch_size: Final[int | None]
    heads: Final[int | None]
    heads_kv: Final[int | None]
    head_dim: Final[int | None]
    dtype: Final[str]
    causal: Final[bool]
    q_tile: Final[int | None]
    kv_tile: Final[int | None]
    schedule: Final[str]
    order: Final[str]
    longest_first: Final[bool]

class Known(Record):
    q_tile: Final[str]
    kv_tile: Final[str]
    dim: Final[str]
    dtype: Final[str]
    schedule: Final[str]
    order: Final[str]
    longest_first: Final[str]
    seqlen: Final[str]
    causal: Final[str]
    batch_size: Final[str]
    heads: Final[str]
    heads_kv: Final[str]
    seqlen_k: Final[str]

class ExplanationKernelSectors(Record):
    measured: Final[float]
    predicted: Final[float | None]

class Read(Record):
    measured_bytes: Final[float | None]
    compulsory_bytes: Final[float]
    lockstep_bytes: Final[float]
    drift_bytes: Final[float]
    unexplained_bytes: Final[float | None]
    predicted_bytes: Final[float]
    fidelity: Final[str]
    held_out_median_deviation: Final[float]
    score: Final[Score]

class Score(Record):
    suite: Final[str]
    points: Final[int]
    predicted_first: Final[bool]
    median_deviation: Final[float]
    p90_deviation: Final[float]

class Change(Record):
    change: Final[str]
    options: Final[Options]
    predicted_bytes: Final[float]
    saved_share: Final[float]
    expected_bytes: Final[float]

class Options(Record):
    longest_first: Final[bool]
    order: Final[str]

class ExplanationOther(Record):
    name: Final[str]
    grid: Final[tuple[int, ...]]
    block: Final[tuple[int, ...]]
    shared_bytes: Final[int | None]
    time_ns: Final[float]
    dram_read_bytes: Final[float | None]
    dram_write_bytes: Final[float | None]
    dram_bytes: Final[float | None]
    l2_read_sectors: Final[float]

class Conclusion(Record):
    sentence: Final[str]
    limit: Final[str]
    change: Final[str | None]
    options: Final[ConclusionOptions]
    gain: Final[float | None]
    certainty: Final[str]

class ConclusionOptions(Record):
    ...

class ExplanationInput(Record):
    profile: Final[str]
    ncu_kernel: Final[str]
    device: Final[str | None]
    family: Final[str | None]
    decimal: Final[None]
    seqlen: Final[int | None]
    seqlen_k: Final[None]
    heads: Final[int | None]
    heads_kv: Final[None]
    batch_size: Final[None]
    head_dim: Final[int | None]
    causal: Final[bool]
    dtype: Final[None]
    q_tile: Final[None]
    kv_tile: Final[int | None]

class ComparisonMembers:
    recordings: Final[tuple[Recording, ...]]
    rows: Final[tuple[ComparisonRow, ...]]
    groups: Final[tuple[Group, ...]]
    throughput: Final[tuple[Throughput, ...]]
    scores: Final[tuple[ComparisonScore, ...]]
    within: Final[int]
    excused: Final[int]
    excused_worst: Final[float]
    out_of_tolerance: Final[int]
    scored: Final[int]
    scores_missed: Final[int]
    notes: Final[tuple[str, ...]]

class Recording(Record):
    suite: Final[str]
    points: Final[int]
    device: Final[str]
    driver: Final[str]
    toolkit: Final[str]
    profiler: Final[str]
    commit: Final[str]

class ComparisonRow(Record):
    suite: Final[str]
    device: Final[str]
    point: Final[str]
    group: Final[str]
    counter: Final[str]
    model: Final[str]
    predicted: Final[float]
    measured: Final[float]
    deviation: Final[float]
    spread: Final[float]
    fitted: Final[bool]
    tolerance: Final[float]
    verdict: Final[str]
    cause: Final[str]

class Group(Record):
    suite: Final[str]
    device: Final[str]
    counter: Final[str]
    model: Final[str]
    group: Final[str]
    not_fitted: Final[NotFitted | None]
    fitted: Final[Fitted | None]

class NotFitted(Record):
    points: Final[int]
    mape: Final[float]
    median: Final[float]
    p95: Final[float]
    worst: Final[float]
    worst_point: Final[str]

class Fitted(Record):
    points: Final[int]
    mape: Final[float]
    median: Final[float]
    p95: Final[float]
    worst: Final[float]
    worst_point: Final[str]

class Throughput(Record):
    suite: Final[str]
    point: Final[str]
    median_ms: Final[float]
    p95_ms: Final[float]
    repetitions: Final[int]
    inputs: Final[int]
    tflops: Final[float | None]

class ComparisonScore(Record):
    suite: Final[str]
    counter: Final[str]
    model: Final[str]
    group: Final[str]
    tolerance: Final[float]
    reached: Final[Reached]
    stored: Final[Stored]
    judged: Final[bool]
    held: Final[bool]

class Reached(Record):
    points: Final[int]
    within: Final[float]
    median: Final[float]
    p90: Final[float]
    rank: Final[float]
    skill: Final[float]

class Stored(Record):
    points: Final[int]
    within: Final[float]
    median: Final[float]
    p90: Final[float]
    rank: Final[float]
    skill: Final[float]

class ComparisonInput(Record):
    suites: Final[tuple[str, ...]]
    recorded: Final[str]
    ncu_csv: Final[str]
    ncu_kernel: Final[str]
    decimal: Final[str | None]
    point: Final[tuple[Any, ...]]
    kernel: Final[str | None]
    profile: Final[str]
    fidelity: Final[str]
    rows: Final[bool]

class PresetEntry(Record):
    name: Final[str]
    description: Final[str]
    layout: Final[tuple[int, ...]]
    heads: Final[int]
    head_dim: Final[int]
    attention_share: Final[float | None]
    share_basis: Final[str]
    estimated_share: Final[float | None]
    estimated_share_low: Final[float | None]
    estimated_share_high: Final[float | None]
    steps: Final[int | None]
    dense_steps: Final[int | None]
    windows: Final[tuple[Window, ...]]
    source: Final[str]

class Window(Record):
    window: Final[tuple[int, ...]]
    q_tile: Final[tuple[int, ...] | None]
    kv_tile: Final[tuple[int, ...] | None]
    strides: Final[tuple[tuple[int, ...], ...]]
    source: Final[str]
    dilation: Final[tuple[int, ...]]

class BackendEntry(Record):
    name: Final[str]
    architectures: Final[tuple[str, ...]]
    dtypes: Final[tuple[str, ...]]
    kv_tiling: Final[str]
    forward: Final[tuple[BackendEntryForward, ...]]
    backward: Final[tuple[BackendEntryBackward, ...]]
    source: Final[str]

class BackendEntryForward(Record):
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    head_dim: Final[int | None]
    variant: Final[str | None]

class BackendEntryBackward(Record):
    q_tile: Final[tuple[int, ...]]
    kv_tile: Final[tuple[int, ...]]
    head_dim: Final[int | None]
    variant: Final[str | None]

class DeviceEntry(Record):
    name: Final[str]
    title: Final[str]
    architecture: Final[str]
    default_backend: Final[str]
    values: Final[Values]

class Values(Record):
    sms: Final[SourcedValue]
    l2_bytes: Final[SourcedValue]
    l2_sector_bytes: Final[SourcedValue]
    dram_bandwidth_bytes_per_s: Final[SourcedValue]
    shared_memory_per_block_bytes: Final[SourcedValue]
    dense_bf16_flops_per_s: Final[SourcedValue]
    boost_clock_hz: Final[SourcedValue]
    l2_partitions: Final[SourcedValue]
    l2_effective_bytes: Final[SourcedValue]
    l2_line_bytes: Final[SourcedValue]
    l2_ways: Final[SourcedValue]
    l2_hit_bandwidth_bytes_per_s: Final[SourcedValue]
    l2_miss_bandwidth_bytes_per_s: Final[SourcedValue]
    l2_tile_ns: Final[SourcedValue]
    dram_tile_ns: Final[SourcedValue]
    dram_tile_p90_ns: Final[SourcedValue]
    dram_tile_p99_ns: Final[SourcedValue]
    dram_tile_p999_ns: Final[SourcedValue]
    launch_runs: Final[SourcedValue]

class SourcedValue(Record):
    value: Final[float | tuple[tuple[int, ...], ...]]
    measured: Final[bool]
    source: Final[str]

class KernelEntry(Record):
    name: Final[str]
    title: Final[str]
    q_tile: Final[int]
    kv_tiles: Final[tuple[KvTile, ...]]
    schedule: Final[str]
    order: Final[str]
    ctas_per_sm: Final[int]
    rates: Final[tuple[Rate, ...]]
    source: Final[str]

class KvTile(Record):
    head_dim: Final[int]
    kv_tile: Final[int]
    stages: Final[int | None]

class Rate(Record):
    device: Final[str]
    head_dim: Final[int]
    flops_per_s: Final[float]
    tokens: Final[int]
    heads: Final[int]
    lone_share: Final[float]
    slot_skew: Final[float]
    jitter: Final[float]
    score_share: Final[float]
    arrival_ns: Final[float]
    measured: Final[bool]
    source: Final[str]
    assumed: Final[tuple[str, ...]]

class CountResult(CountMembers, Record): ...
class CountAnswer(CountMembers):
    @property
    def input(self) -> CountInput: ...
    @property
    def result(self) -> CountResult: ...
class SearchResult(SearchMembers, Record): ...
class SearchAnswer(SearchMembers):
    @property
    def input(self) -> SearchInput: ...
    @property
    def result(self) -> SearchResult: ...
class AdviceResult(AdviceMembers, Record): ...
class AdviceAnswer(AdviceMembers):
    @property
    def input(self) -> AdviceInput: ...
    @property
    def result(self) -> AdviceResult: ...
class MaskResult(MaskMembers, Record): ...
class MaskAnswer(MaskMembers):
    @property
    def input(self) -> MaskInput: ...
    @property
    def result(self) -> MaskResult: ...
class PlanResult(PlanMembers, Record): ...
class PlanAnswer(PlanMembers):
    @property
    def input(self) -> PlanInput: ...
    @property
    def result(self) -> PlanResult: ...
class TimeResult(TimeMembers, Record): ...
class TimeAnswer(TimeMembers):
    @property
    def input(self) -> TimeInput: ...
    @property
    def result(self) -> TimeResult: ...
class CalibrationResult(CalibrationMembers, Record): ...
class CalibrationAnswer(CalibrationMembers):
    @property
    def input(self) -> CalibrationInput: ...
    @property
    def result(self) -> CalibrationResult: ...
class ScheduleResult(ScheduleMembers, Record): ...
class ScheduleAnswer(ScheduleMembers):
    @property
    def input(self) -> ScheduleInput: ...
    @property
    def result(self) -> ScheduleResult: ...
class ReuseResult(ReuseMembers, Record): ...
class ReuseAnswer(ReuseMembers):
    @property
    def input(self) -> ReuseInput: ...
    @property
    def result(self) -> ReuseResult: ...
class ScatterResult(ScatterMembers, Record): ...
class ScatterAnswer(ScatterMembers):
    @property
    def input(self) -> ScatterInput: ...
    @property
    def result(self) -> ScatterResult: ...
class MsdaResult(MsdaMembers, Record): ...
class MsdaAnswer(MsdaMembers):
    @property
    def input(self) -> MsdaInput: ...
    @property
    def result(self) -> MsdaResult: ...
class ExplanationResult(ExplanationMembers, Record): ...
class ExplanationAnswer(ExplanationMembers):
    @property
    def input(self) -> ExplanationInput: ...
    @property
    def result(self) -> ExplanationResult: ...
class ComparisonResult(ComparisonMembers, Record): ...
class ComparisonAnswer(ComparisonMembers):
    @property
    def input(self) -> ComparisonInput: ...
    @property
    def result(self) -> ComparisonResult: ...
