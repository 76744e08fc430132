// SPDX-License-Identifier: Apache-2.0
//
// The map of layers over steps: which layers it shows (all, a group, those that a search found), its legend, and the
// words for a cell. A press on the map shows the row's group alone where rows are narrow, else it chooses the layer.

const zoomed_rows = 24;  // rows that a press shows where names have no groups

// The layers that have a tensor of the map's roles. Others, as an optimizer's states, are not in the map.
function mapped_layers(run) {
  return run.layers.map((_, layer) => layer).filter((layer) => run.gradients.some((role) => run.at(layer, role) >= 0));
}

// The layers of the map whose names hold all words of the text.
function layers_with(run, text) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  return mapped_layers(run).filter((layer) =>
    words.every((word) => run.layers[layer].toLowerCase().includes(word)));
}

// The rows of the group that a row is in; without groups its nearest `zoomed_rows`.
function rows_around(run, rows, row) {
  const names = rows.map((layer) => run.layers[layer]);
  const group = grouped_names(names).find(({first, end}) => first <= row && row < end);
  if (group && group.end - group.first > 1) return rows.slice(group.first, group.end);
  const first = Math.min(Math.max(row - zoomed_rows / 2, 0), Math.max(rows.length - zoomed_rows, 0));
  return rows.slice(first, first + zoomed_rows);
}

function map_legend(question, colors, marked) {
  const shades = question === 'serves' ?
    [[0, 'served'], [1, '1 binade short'], [4, '4'], [8, '8 or more']].map(([short, words]) =>
      [code_of_shortfall[short], words]) :
    [0, 0.001, 0.01, 0.1, 0.5, 1].map((part) => [Math.round(all_code * part ** 0.25), percent(part)]);
  const entries = shades.map(([code, words]) => [`rgb(${colors[code].join(' ')})`, words]);
  if (marked) entries.push(['var(--ink)', question === 'serves' ? 'too large' : 'holds NaN or Inf']);
  return legend_of(entries.map(([color, words]) => ({mark: element('i', {style: `background: ${color}`}), words})));
}

// Returns {draw({view, question, losses}), filter(text)}; `losses` is what first_losses() returns.
function build_map({figure, report, run, odd, say, choose_series, words}) {
  const canvas = figure.querySelector('canvas');
  const cursor = figure.querySelector('.cursor');
  const n = run.steps.length;
  const every = mapped_layers(run);
  let [rows, found, asked, drawn] = [every, every, null, null];

  function question_title({view, question}) {
    if (question === 'serves') return ` ${power(view.k)}, by layer and step in ${view.format.name}`;
    return `, by layer and step${question === 'odd' ? '' : ` in ${view.format.name} at scale 1`}, ` +
      denominator_words(question, view);
  }

  function write_caption(area, colors) {
    const {question, view} = asked;
    const marked = question === 'serves' ? view.format === report.formats[0] : odd.steps.length > 0 && question !== 'odd';
    const notes = [];
    if (area.shared_rows > 1) notes.push(`up to ${area.shared_rows} layers share a line, which shows the largest`);
    if (area.shared_steps > 1) notes.push(`up to ${area.shared_steps} steps share a column`);
    notes.push('upright marks: begins to lose, as above');
    caption(figure, element('b', {}, question === 'serves' ? 'served by S =' : question_words[question]),
      question_title(asked), ' ', element('span', {class: 'keys'}, ...map_legend(question, colors, marked)),
    notes.join('; '));
  }

  function write_nav() {
    const button = (text, action) => {
      const node = element('button', {type: 'button', class: 'link'}, text);
      node.addEventListener('click', action);
      return node;
    };
    const name = (layer) => run.layers[layer];
    const here = rows.length === 0 ? 'no layer has such a name' : rows.length === 1 ? name(rows[0]) :
      `${name(rows[0])} to ${name(rows[rows.length - 1])}`;
    figure.querySelector('nav').replaceChildren(...rows === every ? [] :
      [button(`all ${integer(every.length)} layers`, () => show(every, every)), ' › ',
        ...(rows !== found && found !== every ? [button(`${integer(found.length)} found`, () => show(found, found)), ' › '] : []),
        element('span', {}, here)]);
  }

  function show(next, from = found) {
    [rows, found] = [next, from];
    if (from === every) words('');
    redraw();
  }

  function summary_of(parts) {
    const {question, view} = asked;
    const most = {code: -1};
    for (const {title, series, codes} of parts) {
      rows.forEach((layer, row) => {
        for (let at = Math.max(series[row], 0) * n, end = series[row] * n + n; at < end; at += 1) {
          if (codes[at] !== none_code && codes[at] > most.code) Object.assign(most, {title, layer, code: codes[at]});
        }
      });
    }
    const worst = most.code <= 0 ? 'nothing is lost' : `most in ${run.layers[most.layer]} ${most.title}` +
      (question === 'serves' ? '' : `, ${about(share_of_code[most.code])}`);
    return `Map of ${integer(rows.length)} layers over ${integer(n)} steps, ${question_words[question]} in ` +
      `${view.format.name}: ${worst}. Arrow keys read cells out, Enter goes into a group or to a layer, Escape back.`;
  }

  function redraw() {
    write_nav();
    canvas.hidden = rows.length === 0;
    cursor.hidden = true;
    if (rows.length === 0) return;
    const codes = question_plane(run, asked.question, asked.view);
    const marks = marks_plane(run, asked.question, asked.view, odd.steps.length > 0);
    const parts = run.gradients.map((role) => {
      const series = rows.map((layer) => run.at(layer, role));
      return {title: role, series, codes, marks, firsts: series.map((s) => (s < 0 ? -1 : asked.losses[s].first))};
    }).filter(({series}) => series.some((s) => s >= 0));
    const map = {rows, names: rows.map((layer) => run.layers[layer]), steps: run.steps, parts, summary: summary_of(parts)};
    drawn = {map, area: draw_heat_map(figure.querySelector('.drawing'), canvas, map)};
    write_caption(drawn.area, drawn.area.colors);
  }

  function scale_words(s, t) {
    const {view} = asked;
    const at = s * n + t;
    const s_min = run.numbers('s_min')[at];
    if (s_min === no_number) return 'no such tensor, or nothing to share';
    const least = s_min + smallest_scale_shift(view);
    const short = least - view.k;
    const s_max = run.numbers('s_max')[at];
    const too_large = view.format === report.formats[0] && s_max < view.k ? `; at most 2^${s_max} for its largest value` : '';
    return (short > 0 ? `needs 2^${least}, ${plural(short, 'binade')} more than S` : `served from 2^${least} on`) + too_large;
  }

  function read_out(cell) {
    const {area, map} = drawn;
    place_cursor(cursor, area, map, cell);
    if (cell === null) {
      say('');
      return '';
    }
    const {title, series} = map.parts[cell.part];
    const s = series[cell.row];
    const {question} = asked;
    const place = `${map.names[cell.row]} ${title}, step ${integer(run.steps[cell.step])}: `;
    const part = s < 0 ? null : share_at(question_plane(run, question === 'serves' ? 'to_zero' : question, asked.view),
      s * n + cell.step);
    const odd_part = s < 0 ? null : share_at(run.share('odd'), s * n + cell.step);
    const value = s >= 0 && question === 'serves' ? scale_words(s, cell.step) :
      part === null ? 'no such tensor, or nothing to share' : `${about(part)} ${question_words[question]}`;
    const words = place + value + (odd_part > 0 && question !== 'odd' ? `; ${about(odd_part)} NaN or Inf` : '');
    say(words);
    return words;
  }

  function choose(cell) {
    const {area, map} = drawn;
    if (area.pitch < label_pitch) return show(rows_around(run, rows, cell.row));
    const s = map.parts[cell.part].series[cell.row];
    return s >= 0 ? choose_series(run.series[s]) : undefined;
  }

  follow_cells(canvas, () => drawn, {on_cell: read_out, on_choose: choose,
    on_back: () => (rows === found ? show(every, every) : show(found, found))});
  return {
    draw(next) {
      asked = next;
      redraw();
    },
    filter(text) {
      const wanted = text.trim() === '' ? every : layers_with(run, text);
      [rows, found] = [wanted, wanted];
      redraw();
    },
  };
}
