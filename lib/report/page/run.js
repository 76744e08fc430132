// SPDX-License-Identifier: Apache-2.0
//
// A training run's figures by layer, role and step. For every step the page holds the shares of the values' fates at
// scale 1, a byte each, and exactly the smallest and the largest binade and the interval of loss scales. Whole counts it
// holds for the run and for its last step.

// The share of a code is (code / 250)^4. From code to code it grows by about 0.01 at 60 %, and by about a tenth of itself
// at a thousandth. Code 0 is the share 0 only and code 250 the share 1 only; 255 means that there is no such tensor, or no
// value.
const all_code = 250;
const none_code = 255;
const no_number = -32768;
const share_of_code = Float64Array.from({length: 256}, (_, code) =>
  (code <= all_code ? (code / all_code) ** 4 : NaN));

function share_at(plane, i) {
  return plane[i] === none_code ? null : share_of_code[plane[i]];
}

const role_names = ['act', 'dAct', 'weight', 'dW', 'grad', 'update', 'state'];

// Planes, which are unpacked when they are first used. A plane's index is series · (number of steps) + place of the step.
function planes_of(bytes, places, series, steps) {
  const unpacked = new Map();
  const once = (name, at, unpack) => {
    if (!unpacked.has(name)) unpacked.set(name, unpack(bytes, at, series, steps));
    return unpacked.get(name);
  };
  return {share: (name, format = null) => once(`${name} ${format}`,
    format === null ? places[name] : places[name][format], unpack_plane),
  numbers: (name) => once(name, places[name], unpack_numbers)};
}

// A series is what one layer and role has over the steps; layer -1 is all layers together. at(layer, role) is the
// number of their series, or -1.
function read_run(time) {
  const {steps, layers} = time;
  const series = time.layer.map((layer, index) => ({index, layer, role: time.role[index]}));
  const place = new Map(series.map(({layer, role, index}) => [`${layer} ${role}`, index]));
  const roles = role_names.filter((role) => time.role.includes(role));
  const scaled = roles.filter(is_gradient);
  const name = ({layer, role}) => `${layer < 0 ? 'all layers' : layers[layer]} ${role}`;
  return {steps, layers, roles, gradients: scaled.length > 0 ? scaled : roles, series,
    at: (layer, role) => place.get(`${layer} ${role}`) ?? -1, name,
    ...planes_of(time.bytes, time.planes, series.length, steps.length)};
}

// The steps and the roles that hold NaN or Inf in some layer.
function odd_steps(run) {
  const plane = run.share('odd');
  const n = run.steps.length;
  const odd = (s, t) => plane[s * n + t] > 0 && plane[s * n + t] !== none_code;
  const together = run.series.filter((series) => series.layer === -1);
  return {steps: run.steps.filter((_, t) => together.some((series) => odd(series.index, t))),
    roles: together.filter((series) => run.steps.some((_, t) => odd(series.index, t))).map((series) => series.role)};
}

// How many binades the smallest scale that serves in the view's format lies above that of the report's first, which the
// planes hold: as many as lie between the largest magnitudes that become zero in them.
function smallest_scale_shift({format, report}) {
  const tie = ({emin, precision}) => emin - precision;
  return tie(format) - tie(report.formats[0]);
}

// The questions that the map and the lines answer for every layer, role and step.
const share_questions = ['to_zero', 'lost_l2', 'subnormal', 'overflow'];
const question_words = {to_zero: 'become zero', lost_l2: 'lost L2', subnormal: 'subnormal', overflow: 'overflow',
  serves: 'served by S', odd: 'NaN or Inf'};

// The plane that each question had last, and the values from which it was computed.
const last_planes = new Map();

function remembered(name, of, work_out) {
  const before = last_planes.get(name);
  if (before && of.every((one, i) => one === before.of[i])) return before.plane;
  const plane = work_out();
  last_planes.set(name, {of, plane});
  return plane;
}

// The plane of codes that answers a question. A share of all values is the share of the non-zero values times their own
// share of all.
function question_plane(run, question, view) {
  if (question === 'odd') return run.share('odd');
  if (question === 'serves') {
    return remembered('serves', [view.format, view.k], () => shortfall_plane(run, view));
  }
  const plane = run.share(question, view.format.name);
  if (question === 'lost_l2' || view.of === 'nonzero') return plane;
  return remembered(`${question} of values`, [view.format], () => {
    const nonzero = run.share('nonzero');
    return plane.map((code, i) => (code === none_code ? none_code : Math.round(code * nonzero[i] / all_code)));
  });
}

// A plane that is not 0 in cells to be marked, where S is too large for the values or where there are NaN or Inf; null if
// the question has no marks.
function marks_plane(run, question, view, any_odd) {
  if (question === 'serves') {
    if (view.format !== view.report.formats[0]) return null;
    return remembered('too large', [view.k], () => {
      const s_max = run.numbers('s_max');
      const marks = new Uint8Array(s_max.length);
      for (let i = 0; i < marks.length; i += 1) marks[i] = s_max[i] !== no_number && s_max[i] < view.k ? 1 : 0;
      return marks;
    });
  }
  if (question === 'odd' || !any_odd) return null;
  return remembered('odd', [], () => run.share('odd').map((code) => (code === none_code ? 0 : code)));
}

const code_of_shortfall = Uint8Array.from({length: 9}, (_, short) => Math.round(all_code * (short / 8) ** 0.5));

// By how many binades S falls short of the smallest scale that serves, as codes that the map paints as it paints those
// of shares: 8 binades or more are darkest.
function shortfall_plane(run, view) {
  const s_min = run.numbers('s_min');
  const shift = smallest_scale_shift(view) - view.k;
  const codes = new Uint8Array(s_min.length);
  for (let i = 0; i < codes.length; i += 1) {
    codes[i] = s_min[i] === no_number ? none_code : code_of_shortfall[Math.min(Math.max(s_min[i] + shift, 0), 8)];
  }
  return codes;
}

// Criteria by which a series begins to lose: from the code `least` on in the plane of `question`. At S the smallest scale
// that serves decides, which is exact; at scale 1 shares decide, which a byte rounds.
const beginnings = [
  {id: 'serves', label: 'loses more than its target at S', question: 'serves', least: 1,
    words: (report, view) => `more than ${percent(report.options.target_loss)} of the norm ` +
      `at S = 2^${view.k} in ${view.format.name}`},
  ...[[0.01, 'lost_l2', '1 % of the norm'], [0.1, 'lost_l2', '10 % of the norm'],
    [0.01, 'to_zero', '1 % of the values'], [0.1, 'to_zero', '10 % of the values'],
    [0.5, 'to_zero', 'half of the values']].map(([least, question, what]) => ({
    id: `${question} ${least}`, label: `loses more than ${what} at scale 1`, question,
    least: Math.round(all_code * least ** 0.25),
    words: (report, view) => `more than about ${what} at scale 1 in ${view.format.name}`})),
];

// For each series {first: the place of the first step at which it loses, or -1; count: at how many steps it loses; of: at
// how many steps there is something to lose}.
function first_losses(run, beginning, view) {
  const plane = question_plane(run, beginning.question, {...view, of: 'nonzero'});
  const n = run.steps.length;
  return run.series.map(({index}) => {
    let [first, count, of] = [-1, 0, 0];
    for (let t = 0; t < n; t += 1) {
      const code = plane[index * n + t];
      if (code === none_code) continue;
      of += 1;
      if (code < beginning.least) continue;
      if (first < 0) first = t;
      count += 1;
    }
    return {first, count, of};
  });
}

// The series that set one end (binding_min, binding_max) of the steps' intervals, as [{series, steps: how many}] by
// falling count.
function binding_counts(time, end) {
  const counts = new Map();
  for (const at of time.loss_scale) {
    const series = at[end];
    if (series !== null && series !== undefined) counts.set(series, (counts.get(series) ?? 0) + 1);
  }
  return [...counts].map(([series, steps]) => ({series, steps})).sort((a, b) => b.steps - a.steps);
}
