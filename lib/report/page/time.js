// SPDX-License-Identifier: Apache-2.0
//
// The section over the run: its controls, its map, its lines, its sentences. Shares are those at scale 1; what S serves,
// the intervals and the ranges follow the slider.

const update_lines = [['binary16', 'half', 'lost in binary16'], ['bfloat16', 'brain', 'lost in bfloat16'],
  ['unmoved', 'dW', 'lost by the weights as they are']];

function caption(figure, ...words) {
  figure.querySelector('figcaption').replaceChildren(...words);
}

// A share in per cent. All shares but 0 and 1 are rounded to a byte in the page and so read "about".
function about(part) {
  return part === null || part === 0 || part === 1 ? percent(part) : `about ${percent(Number(part.toPrecision(2)))}`;
}

function denominator_words(question, view) {
  if (question === 'lost_l2') return 'of the L2 norm';
  return question === 'odd' || view.of === 'values' ? 'of all values' : 'of the non-zero values';
}

// Returns {update(view)}, which redraws what the view changes. Calls on_select(number of a series) when it is pressed.
function build_time(section, report, on_select) {
  for (const part of document.querySelectorAll('.of-time')) part.hidden = !report.time;
  if (!report.time) return {update() {}};
  section.hidden = false;
  const {time} = report;
  const run = read_run(time);
  const odd = odd_steps(run);
  const n = run.steps.length;
  const inside = (name) => section.querySelector(`#time-${name}`);
  const drawing_of = (name) => inside(name).querySelector('.drawing');
  const state = {layer: -1, question: 'to_zero', beginning: beginnings[0], view: null, words: '', zoom: null};
  const questions = [...share_questions, ...(time.loss_scale.length > 0 ? ['serves'] : []),
    ...(odd.steps.length > 0 ? ['odd'] : [])];
  const with_updates = time.update_layer.length > 0;
  const updates = planes_of(time.bytes, time.update_planes, time.update_layer.length, n);
  const say = (words) => inside('readout').replaceChildren(...raised(words));
  const layer_words = () => (state.layer < 0 ? 'all layers' : run.layers[state.layer]);
  const at_step = (i, words) => say(i < 0 ? '' : `Step ${integer(run.steps[i])}: ${words()}`);

  function choose_series(series) {
    state.layer = series.layer;
    inside('layer').value = series.layer;
    draw_lines();
    on_select(series.index);
  }

  // One value per step for a role: the layer's share; where the question is what S serves, the share of the layers that S
  // does not serve.
  function values_of(role) {
    const {view, question} = state;
    const plane = question_plane(run, question, view);
    const s = run.at(state.layer, role);
    if (question !== 'serves') return run.steps.map((_, t) => (s < 0 ? null : share_at(plane, s * n + t)));
    const wanted = run.series.filter((series) => series.role === role && series.layer >= 0 &&
      (state.layer < 0 || series.layer === state.layer));
    return run.steps.map((_, t) => {
      const codes = wanted.map(({index}) => plane[index * n + t]).filter((code) => code !== none_code);
      return codes.length > 0 ? codes.filter((code) => code > 0).length / codes.length : null;
    });
  }

  function draw_shares() {
    const {view, question} = state;
    const serves = question === 'serves';
    const lines = (serves ? run.gradients : run.roles).map((role) => ({name: role, class: role, values: values_of(role)}));
    caption(inside('shares'), ...serves ?
      [element('b', {}, 'not served'), ' by ', ...raised(`S = 2^${view.k}`), ` in ${view.format.name}: share of layers ` +
        `that lose more than ${percent(report.options.target_loss)} of their norm, ${layer_words()}`] :
      [element('b', {}, question_words[question]), question === 'odd' ? '' : ` in ${view.format.name} at scale 1`,
        `, ${denominator_words(question, view)}, ${layer_words()}`]);
    const words = serves ? percent : about;
    draw_time_lines(drawing_of('shares'), run.steps, lines, odd.steps,
      `${question_words[question]} over ${n} steps, by role`, (i) => at_step(i, () =>
        lines.filter((line) => line.values[i] !== null).map((line) => `${line.name} ${words(line.values[i])}`).join(', ')));
  }

  function draw_scale() {
    const {format} = state.view;
    const scales = step_scales(time, format);
    const empty = scales.filter((at) => at.status === 'empty interval').length;
    const passed = scales.filter((at) => at.status === 'not finite').length;
    const used = scales.some(is_used);
    caption(inside('scale'), element('b', {}, 'loss scales that serve'),
      ` all gradients of a step in ${format.name}; ${n > most_points ? 'dark line' : 'dots'}: recommended`,
      used ? '; stairs: used by the run' : '',
      empty > 0 ? `; no scale serves ${plural(empty, 'step')}` : '',
      passed > 0 ? `; ${plural(passed, 'step')} passed over: NaN or Inf in gradients` : '');
    draw_scale_band(drawing_of('scale'), run.steps, scales, odd.steps, state.view.k, (i) => {
      const at = i < 0 ? null : scales.find((one) => one.step === run.steps[i]);
      const with_scale = is_used(at) ? `used ${used_words(at.used_log2)}. ` : '';
      say(at ? `Step ${integer(at.step)}: ${with_scale}${at.reason}` : '');
    });
  }

  function draw_range() {
    const {view} = state;
    const ends = {low: run.numbers('min_binade'), high: run.numbers('max_binade')};
    const lines = run.gradients.map((role) => {
      const s = run.at(state.layer, role);
      const of = (plane) => run.steps.map((_, t) =>
        (s < 0 || plane[s * n + t] === no_number ? null : plane[s * n + t]));
      return {name: role, class: role, low: of(ends.low), high: of(ends.high)};
    });
    caption(inside('range'), element('b', {}, 'largest and smallest'), ' |x|·S of ',
      ...lines.flatMap((line, i) => [i > 0 ? ' and ' : '',
        swatch(line.class), line.name]),
      `, over ${view.format.name}; ${layer_words()}`);
    draw_ranges(drawing_of('range'), run.steps, lines, odd.steps, view.format, view.k, (i) => at_step(i, () =>
      lines.filter((line) => line.low[i] !== null).map((line) =>
        `${line.name} from the binade of 2^${line.low[i]} to that of 2^${line.high[i]}`).join(', ') + ', before scaling'));
  }

  function draw_updates() {
    const u = time.update_layer.indexOf(state.layer);
    const at = (name, t) => (u < 0 ? null : share_at(updates.share(name), u * n + t));
    const lines = update_lines.filter(([name]) => name in time.update_planes).map(([name, style, words]) => ({name,
      class: style, words, values: run.steps.map((_, t) => at(name, t))}));
    const is_held = 'unmoved' in time.update_planes;
    caption(inside('updates'), element('b', {}, 'updates lost'), ' if the weight is kept in the ',
      `format, of the non-zero updates, ${layer_words()}`,
      is_held ? '; unmoved: weights that stayed as they were, of those that a gradient was to change' : '');
    draw_time_lines(drawing_of('updates'), run.steps, lines, odd.steps, 'Share of updates lost over the steps',
      (i) => at_step(i, () => lines.map((line) => `${about(line.values[i])} ${line.words}`).join(', ') +
        (is_held ? `, ${about(at('decay', i))} of weight decay` : '') +
        `; ${about(at('below_2_11', i))} below 2^-11 of the weight`));
  }

  const map = build_map({figure: inside('map'), report, run, odd, say, choose_series,
    words: (text) => { inside('rows').value = text; }});

  function write_begin() {
    const losses = first_losses(run, state.beginning, state.view);
    write_beginnings(inside('begin').querySelector('.prose'), run, losses,
      state.beginning.words(report, state.view), choose_series);
    return losses;
  }

  function draw_map() {
    map.draw({view: state.view, question: state.question, losses: write_begin()});
  }

  function draw_lines() {
    draw_shares();
    draw_range();
    if (with_updates) draw_updates();
  }

  function draw_all() {
    draw_lines();
    if (time.loss_scale.length > 0) draw_scale();
    draw_map();
  }

  inside('layer').append(element('option', {value: -1}, 'all layers'),
    ...run.layers.map((name, i) => element('option', {value: i}, name)));
  inside('what').append(...questions.map((id) => element('option', {value: id}, question_words[id])));
  inside('beginning').append(...beginnings.map((beginning) => element('option', {value: beginning.id},
    beginning.label)));
  inside('notes').textContent = `${plural(n, 'step')}, ${integer(run.steps[0])} to ${integer(run.steps[n - 1])} · ` +
    `${plural(run.layers.length, 'layer')} · ${run.roles.join(', ')}`;
  inside('updates').hidden = !with_updates;
  inside('scale').hidden = time.loss_scale.length === 0;
  write_binding(inside('binds').querySelector('.prose'), run, time, choose_series);
  inside('binds').hidden = time.loss_scale.every((at) => at.binding_min === null && at.binding_max === null);
  inside('skipped').hidden = !write_skipped(inside('skipped').querySelector('.prose'), run, report, odd);

  inside('layer').addEventListener('change', (event) => {
    state.layer = Number(event.target.value);
    draw_lines();
  });
  inside('what').addEventListener('change', (event) => {
    state.question = event.target.value;
    draw_shares();
    draw_map();
  });
  inside('beginning').addEventListener('change', (event) => {
    state.beginning = beginnings.find(({id}) => id === event.target.value);
    draw_map();
  });
  inside('rows').addEventListener('input', (event) => map.filter(event.target.value));
  on_width(section, () => {
    if (state.view) draw_all();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw_map());

  let drawn = {};
  function update(view) {
    const moved = view.k !== drawn.k;
    const other = view.format !== drawn.format || view.of !== drawn.of;
    state.view = view;
    drawn = view;
    if (other) {
      draw_all();
    } else if (moved) {
      if (time.loss_scale.length > 0) draw_scale();
      draw_range();
      if (state.question === 'serves') draw_shares();
      if (state.question === 'serves' || state.beginning.question === 'serves') draw_map();
    }
  }
  return {update};
}
