// SPDX-License-Identifier: Apache-2.0
//
// A run in sentences: which tensors begin to lose when, which of them set the loss scale, and which steps are not whole.

const named_steps = 6;  // how many steps are listed at which tensors begin to lose
const named_series = 3;  // how many tensors are named at each of these steps

function series_button(run, series, on_series) {
  const button = element('button', {type: 'button', class: 'link', 'data-series': series.index}, run.name(series));
  button.addEventListener('click', () => on_series(series));
  return button;
}

// "3, 7, 9 and 12 more"
function list_of_steps(steps) {
  const most = 8;
  const first = steps.slice(0, most).map((step) => integer(step)).join(', ');
  return steps.length > most ? `${first} and ${integer(steps.length - most)} more` : first;
}

// The series that begin to lose at each step, [{t, series: [{series, count, of}]}] by rising step. Series that lose at the
// most steps come first.
function by_first_step(run, losses) {
  const steps = new Map();
  run.series.forEach((series, i) => {
    const {first, count, of} = losses[i];
    if (series.layer < 0 || first < 0 || !run.gradients.includes(series.role)) return;
    if (!steps.has(first)) steps.set(first, []);
    steps.get(first).push({series, count, of});
  });
  return [...steps].sort(([a], [b]) => a - b).map(([t, series]) =>
    ({t, series: series.sort((a, b) => b.count - a.count || a.series.index - b.series.index)}));
}

function write_beginnings(host, run, losses, criterion, on_series) {
  const begin = by_first_step(run, losses);
  const asked = run.series.filter(({layer, role}) => layer >= 0 && run.gradients.includes(role)).length;
  const dying = begin.reduce((sum, {series}) => sum + series.length, 0);
  const at_first = begin.length > 0 && begin[0].t === 0 ? begin[0].series.length : 0;
  const from_first = at_first === 0 ? '' : at_first === dying ? ', from the first step on' :
    `, ${integer(at_first)} of them at the first step`;
  const of = `Of ${plural(asked, 'tensor')} (layer and role)`;
  const sentence = element('p', {}, ...raised(dying === 0 ? `${of} none loses ${criterion} at any step.` :
    `${of} ${integer(dying)} ${dying === 1 ? 'loses' : 'lose'} ${criterion} at some step${from_first}.`));
  const rows = begin.slice(0, named_steps).map(({t, series}) => element('li', {'data-step': run.steps[t]},
    element('span', {class: 'when'}, `step ${integer(run.steps[t])}`), element('span', {},
      ...series.slice(0, named_series).flatMap(({series: one, count, of}, i) => [i > 0 ? ', ' : '',
        series_button(run, one, on_series),
        element('small', {}, count === of ? ' at every step' : ` at ${integer(count)} of ${integer(of)} steps`)]),
      series.length > named_series ? element('span', {class: 'rest'},
        ` and ${integer(series.length - named_series)} more`) : '')));
  const later = begin.slice(named_steps).reduce((sum, {series}) => sum + series.length, 0);
  host.replaceChildren(sentence, element('ol', {class: 'begins'}, ...rows),
    later > 0 ? element('p', {class: 'more'},
      `${integer(later)} more ${later === 1 ? 'begins' : 'begin'} later: the upright marks in the map.`) : '');
}

function binding_list(run, time, end, on_series) {
  const counts = binding_counts(time, end);
  const known = time.loss_scale.filter((at) => at[end] !== null).length;
  const most = 4;
  const rows = counts.slice(0, most).map(({series, steps}) => element('li', {},
    element('span', {class: 'who'}, series_button(run, run.series[series], on_series)),
    element('span', {class: 'share', 'aria-hidden': 'true'},
      element('i', {style: `width: ${(100 * steps / known).toFixed(1)}%`})),
    element('small', {'data-steps': steps}, `${integer(steps)} of ${plural(known, 'step')}`)));
  const rest = counts.length > most ? element('p', {class: 'more'}, `and ${integer(counts.length - most)} more`) : '';
  return rows.length === 0 ? [] : [element('p', {class: 'end'},
    end === 'binding_max' ? 'The upper end, by the largest value:' : 'The lower end, by what dies first:'),
  element('ol', {class: 'binds', 'data-end': end}, ...rows), rest];
}

function write_binding(host, run, time, on_series) {
  host.replaceChildren(...binding_list(run, time, 'binding_min', on_series),
    ...binding_list(run, time, 'binding_max', on_series));
}

// Steps that have gradients and no update, in a run that has updates.
function steps_without_update(run) {
  const update = run.at(-1, 'update');
  const gradient = run.series.filter(({layer, role}) => layer < 0 && is_gradient(role));
  if (update < 0 || gradient.length === 0) return [];
  const nonzero = run.share('nonzero');
  const there = (s, t) => nonzero[s * run.steps.length + t] !== none_code;
  return run.steps.filter((_, t) => !there(update, t) && gradient.some(({index}) => there(index, t)));
}

// Writes which steps are not whole. Returns whether there are any.
function write_skipped(host, run, report, odd) {
  const passed = report.passed_over ?? [];
  const skipped = steps_without_update(run);
  const words = [];
  if (odd.steps.length > 0) {
    words.push(`NaN or Inf in ${odd.roles.join(', ')}: ${integer(odd.steps.length)} of ` +
      `${plural(run.steps.length, 'step')}, first in step ${integer(odd.steps[0])}; dotted lines in the figures.`);
  }
  if (passed.length > 0) {
    words.push(`The gradients of ${passed.length === 1 ? 'step' : 'steps'} ${list_of_steps(passed)} hold NaN or Inf: ` +
      'no loss scale is told of them.');
  }
  if (skipped.length > 0) {
    words.push(`Without an update, as steps are that a scaler skips: ${list_of_steps(skipped)}.`);
  }
  host.replaceChildren(...words.map((text) => element('p', {}, text)));
  return words.length > 0;
}
