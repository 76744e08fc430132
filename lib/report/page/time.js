// SPDX-License-Identifier: Apache-2.0
//
// The section over the run: what the controls above say of one moment, for every step. Shares follow
// the loss scale, the format and the denominator; intervals and lost updates are the report's own.

const update_lines = [['binary16', 'half'], ['bfloat16', 'brain']];

function update_columns(time, layer) {
  return time.updates.find((series) => series.layer === layer) ?? null;
}

function caption(figure, ...words) {
  figure.querySelector('figcaption').replaceChildren(...words);
}

function denominator_words(question, view) {
  if (question.id === 'lost_l2') return 'of the L2 norm';
  const of_all = question === odd_question || view.of === 'values';
  return of_all ? 'of all values' : 'of the non-zero values';
}

function odd_words(run) {
  const {steps, roles} = run.odd;
  return `NaN or Inf in ${roles.join(', ')}: ${integer(steps.length)} of ` +
    `${plural(run.steps.length, 'step')}, first in step ${integer(steps[0])}; dotted lines in the ` +
    'figures.';
}

// Returns {update(view)}. on_select(index of a tensor of the report).
function build_time(section, report, on_select) {
  for (const part of document.querySelectorAll('.of-time')) part.hidden = !report.time;
  if (!report.time) return {update() {}};
  section.hidden = false;
  const run = read_run(report);
  const inside = (name) => section.querySelector(`#time-${name}`);
  const state = {layer: null, question: time_questions[0], view: null};
  inside('layer').append(element('option', {value: -1}, 'all layers'),
    ...run.layers.map((name, i) => element('option', {value: i}, name)));
  const questions = [...time_questions, ...(run.odd.steps.length > 0 ? [odd_question] : [])];
  inside('what').append(...questions.map((question) =>
    element('option', {value: question.id}, question.words)));
  inside('notes').textContent = `${plural(run.steps.length, 'step')}, ` +
    `${integer(run.steps[0])} to ${integer(run.steps[run.steps.length - 1])} · ` +
    `${plural(run.layers.length, 'layer')} · ${run.roles.join(', ')}`;
  inside('odd').hidden = run.odd.steps.length === 0;
  if (run.odd.steps.length > 0) inside('odd').textContent = odd_words(run);
  inside('updates').hidden = report.time.updates.length === 0;
  inside('scale').hidden = report.time.loss_scale.length === 0;

  const say = (words) => inside('readout').replaceChildren(...raised(words));
  const value_of = (layer, role, step) => {
    const tensor = run.at(layer, role, step);
    return tensor ? state.question.of(tensor, state.view) : null;
  };
  const layer_words = () => state.layer ?? 'all layers';

  function draw_shares() {
    const {view, question} = state;
    const lines = run.roles.map((role) => ({name: role, class: role,
      values: run.steps.map((step) => value_of(state.layer, role, step))}));
    caption(inside('shares'), element('b', {}, question.words), ' in ', view.format.name, ' at ',
      ...raised(`2^${view.k}`), `, ${denominator_words(question, view)}, ${layer_words()}`);
    draw_time_lines(inside('shares').querySelector('.drawing'), run.steps, lines, run.odd.steps,
      `${question.words} over ${run.steps.length} steps, by role`, (i) => say(i < 0 ? '' :
        `Step ${integer(run.steps[i])}: ` + lines.filter((line) => line.values[i] !== null)
          .map((line) => `${line.name} ${percent(line.values[i])}`).join(', ')));
  }

  function draw_scale() {
    const scales = report.time.loss_scale;
    const empty = scales.filter((at) => at.status === 'empty interval').length;
    const passed = scales.filter((at) => at.status === 'not finite').length;
    caption(inside('scale'), element('b', {}, 'loss scales that serve'),
      ' all gradients of a step in binary16; dots: recommended',
      empty > 0 ? `; no scale serves ${plural(empty, 'step')}` : '',
      passed > 0 ? `; ${plural(passed, 'step')} passed over: NaN or Inf in gradients` : '');
    draw_scale_band(inside('scale').querySelector('.drawing'), run.steps, scales, run.odd.steps,
      state.view.k, (i) => {
        const at = i < 0 ? null : scales.find((one) => one.step === run.steps[i]);
        say(at ? `Step ${integer(at.step)}: ${at.reason}` : '');
      });
  }

  function draw_map() {
    const {view, question} = state;
    const roles = run.roles.filter(is_gradient);
    const of_cells = (role, of) =>
      run.layers.map((layer) => run.steps.map((step) => of(layer, role, step)));
    const odd = (layer, role, step) => odd_share(run.at(layer, role, step) ?? {values: 0});
    const groups = (roles.length > 0 ? roles : run.roles).map((role) => ({role,
      values: of_cells(role, value_of),
      odd: of_cells(role, (...place) => odd(...place) > 0)}));
    const key = [0.001, 0.01, 0.1, 0.5, 1].map((part) => element('span', {class: 'key'},
      element('i', {style: `opacity: ${Math.sqrt(part)}`}), percent(part)));
    caption(inside('map'), element('b', {}, question.words), ' by layer and step, ',
      denominator_words(question, view), ' ', ...key,
      run.odd.steps.length > 0 ? '; crossed: holds NaN or Inf' : '',
      '; press a cell to see its tensor');
    draw_time_map(inside('map').querySelector('.drawing'), run, groups, (cell) =>
      say(cell ? `${cell.layer} ${cell.role}, step ${integer(Number(cell.step))}: ` +
        (cell.value === undefined ? 'no such tensor, or nothing to share' :
          `${percent(Number(cell.value))} ${question.words}`) +
        (cell.odd && question !== odd_question ? '; ' +
          `${percent(odd(cell.layer, cell.role, Number(cell.step)))} NaN or Inf` : '') : ''),
    (layer, role, step) => {
      const index = run.index_of(layer, role, step);
      if (index >= 0) on_select(index);
    });
  }

  function draw_range() {
    const {view} = state;
    const gradients = run.roles.filter(is_gradient);
    const lines = (gradients.length > 0 ? gradients : run.roles).map((role) => {
      const series = report.time.series.find((one) =>
        one.layer === state.layer && one.role === role);
      const at = (name) => run.steps.map((step) =>
        series?.[name][series.step.indexOf(step)] ?? null);
      return {name: role, class: role, low: at('min_binade'), high: at('max_binade')};
    });
    caption(inside('range'), element('b', {}, 'largest and smallest'), ' |x|·S of ',
      ...lines.flatMap((line, i) => [i > 0 ? ' and ' : '',
        element('span', {class: `swatch ${line.class}`}), line.name]),
      `, over ${view.format.name}; ${layer_words()}`);
    draw_ranges(inside('range').querySelector('.drawing'), run.steps, lines, run.odd.steps,
      view.format, view.k,
      (i) => say(i < 0 ? '' : `Step ${integer(run.steps[i])}: ` + lines
        .filter((line) => line.low[i] !== null).map((line) =>
          `${line.name} from the binade of 2^${line.low[i]} to that of 2^${line.high[i]}`)
        .join(', ') + ', before scaling'));
  }

  function draw_updates() {
    if (report.time.updates.length === 0) return;
    const columns = update_columns(report.time, state.layer);
    const at = (step, counts) => {
      const i = columns ? columns.step.indexOf(step) : -1;
      return i < 0 || columns.updates[i] === 0 ? null : counts[i] / columns.updates[i];
    };
    const lines = update_lines.map(([name, style]) => ({name, class: style,
      values: run.steps.map((step) => at(step, columns?.formats[name].lost))}));
    caption(inside('updates'), element('b', {}, 'updates lost'), ' if the weight is kept in the ',
      `format, of the non-zero updates, ${layer_words()}`);
    draw_time_lines(inside('updates').querySelector('.drawing'), run.steps, lines, run.odd.steps,
      'Share of updates lost over the steps', (i) => say(i < 0 ? '' :
        `Step ${integer(run.steps[i])}: ` + lines.map((line) =>
          `${percent(line.values[i])} lost in ${line.name}`).join(', ') +
          `; ${percent(at(run.steps[i], columns?.below_2_11))} below 2^-11 of the weight`));
  }

  const draw_all = () => [draw_shares, draw_scale, draw_map, draw_range, draw_updates]
    .forEach((draw) => draw());
  inside('layer').addEventListener('change', (event) => {
    state.layer = Number(event.target.value) < 0 ? null : run.layers[Number(event.target.value)];
    draw_shares();
    draw_range();
    draw_updates();
  });
  inside('what').addEventListener('change', (event) => {
    state.question = questions.find((question) => question.id === event.target.value);
    draw_shares();
    draw_map();
  });
  let width = 0;
  new ResizeObserver(() => {
    if (!state.view || section.clientWidth === width) return;
    width = section.clientWidth;
    draw_all();
  }).observe(section);

  let drawn = '';
  function update(view) {
    state.view = view;
    const next = JSON.stringify([view.k, view.format.name, view.of]);
    if (next !== drawn) draw_all();
    drawn = next;
  }
  return {update};
}
