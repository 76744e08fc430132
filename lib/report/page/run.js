// SPDX-License-Identifier: Apache-2.0
//
// A training run's tensors by layer, role and step. All layers of a role are merged by adding their
// binade rows, which is exact: the merged tensor goes through the same functions as any other.

function add_rows(into, row) {
  into.count = into.count.map((n, s) => Number(n) + Number(row.count[s]));
  into.sum = into.sum.map((m, s) => BigInt(m) + BigInt(row.sum[s]));
  into.sum_of_squares = BigInt(into.sum_of_squares) + BigInt(row.sum_of_squares);
}

function merged(tensors) {
  if (tensors.length === 1) return tensors[0];
  const rows = new Map();
  for (const row of tensors.flatMap((tensor) => tensor.binades)) {
    const known = rows.get(row.exponent);
    if (known) add_rows(known, row);
    else rows.set(row.exponent, {...row, all: undefined});
  }
  const sum = (name) => tensors.reduce((all, tensor) => all + tensor[name], 0);
  return {values: sum('values'), nonzero: sum('nonzero'), zeros: sum('zeros'), nan: sum('nan'),
    inf: sum('inf'), binades: [...rows.values()].sort((a, b) => a.exponent - b.exponent)};
}

// {steps, roles} that hold NaN or Inf.
function odd_steps(report) {
  const counts = report.time.series.filter((series) => series.layer === null)
    .map(({role, step, nan, inf}) => ({role, steps: step.filter((_, i) => nan[i] > 0 || inf[i] > 0)}));
  const steps = new Set(counts.flatMap((series) => series.steps));
  return {steps: report.time.steps.filter((step) => steps.has(step)),
    roles: counts.filter((series) => series.steps.length > 0).map((series) => series.role)};
}

// Returns {roles, layers, steps, at(layer, role, step), index_of(layer, role, step), odd}: the merged
// tensor of a place or null, layer null for all; its index in the report where it is a single tensor, else
// -1; where NaN or Inf are.
function read_run(report) {
  const places = new Map();
  const key = (layer, role, step) => JSON.stringify([layer, role, step]);
  report.tensors.forEach((tensor, index) => {
    if (!tensor.time) return;
    const {layer, role, step} = tensor.time;
    for (const place of [key(layer, role, step), key(null, role, step)]) {
      if (!places.has(place)) places.set(place, {tensors: [], indices: [], whole: null});
      places.get(place).tensors.push(tensor);
      places.get(place).indices.push(index);
    }
  });
  const at = (layer, role, step) => {
    const place = places.get(key(layer, role, step));
    if (!place) return null;
    place.whole ??= merged(place.tensors);
    return place.whole;
  };
  const index_of = (layer, role, step) => {
    const place = places.get(key(layer, role, step));
    return place && place.indices.length === 1 ? place.indices[0] : -1;
  };
  const roles = role_names.filter((role) =>
    report.time.series.some((series) => series.role === role));
  return {roles, layers: report.time.layers, steps: report.time.steps, at, index_of,
    odd: odd_steps(report)};
}

// What is shown over time of a tensor in the view: a share, or null where there is nothing to share.
const time_questions = [
  {id: 'to_zero', words: 'become zero', of: (t, view) => fate_share(t, view, 'to_zero')},
  {id: 'lost_l2', words: 'lost L2', of: (t, view) => lost_l2(t, view.format, view.k)},
  {id: 'subnormal', words: 'subnormal', of: (t, view) => fate_share(t, view, 'subnormal')},
  {id: 'overflow', words: 'overflow', of: (t, view) => fate_share(t, view, 'overflow')},
];
const odd_question = {id: 'odd', words: 'NaN or Inf', of: odd_share};

function odd_share(tensor) {
  return tensor.values > 0 ? (tensor.nan + tensor.inf) / tensor.values : null;
}

function fate_share(tensor, view, fate) {
  return share(tensor_fates(tensor, view.format, view.k)[fate], tensor, view.of);
}
