// SPDX-License-Identifier: Apache-2.0
//
// The report in words: its source, the values that become zero, the recommended loss scale, what that saves, and the
// limits of the formats.

function write_source(report) {
  const total = report.total;
  const files = report.files.length <= 3 ? report.files.join(', ') :
    `${report.files.slice(0, 2).join(', ')} and ${report.files.length - 2} more files`;
  const odd = [];
  if (total.nan > 0) odd.push(`${integer(total.nan)} NaN`);
  if (total.inf > 0) odd.push(`${integer(total.inf)} infinite`);
  write_version(report.binade);
  const hint = by_id('hint');
  hint.hidden = !report.hint;
  hint.textContent = report.hint ?? '';
  by_id('source').append(element('span', {class: 'files'}, files),
    ` · ${plural(report.tensor_count, 'tensor')} · ${plural(total.values, 'value')}` +
    (total.values > 0 ? `, ${percent(total.zeros / total.values)} of them exactly zero` : '') +
    (odd.length > 0 ? `, ${odd.join(' and ')}` : ''));
}

function fate_strip(tensor, counts, of) {
  const outside = of === 'values' ? {zero: tensor.zeros, other: tensor.nan + tensor.inf} : {};
  return strip_of(Object.entries({...outside, ...counts}));
}

// What "What dies?" is about: all tensors; where there are several roles, whose norms have no unit in common, the gradients,
// or else the first role.
function subject_of_dying(report) {
  if (report.roles.length === 0 || (report.gradients && report.scaled_count === report.tensor_count)) {
    return {all: report.total, tensors: report.tensors, words: tensors_words(report, {gradients: false})};
  }
  if (report.gradients) {
    return {all: report.gradients, tensors: scaled_tensors(report), words: tensors_words(report, {gradients: true})};
  }
  const [role] = report.roles;
  return {all: role, tensors: report.tensors.filter((tensor) => (tensor.role ?? 'other') === role.name),
    words: `${role.name}, of ${plural(report.tensor_count, 'tensor')} of several roles`};
}

function worst_tensor(tensors, format) {
  const [worst] = tensors.reduce(([worst, most], tensor) => {
    const lost = lost_l2(tensor, format, 0) ?? 0;
    return lost > most ? [tensor, lost] : [worst, most];
  }, [null, 0]);
  return worst;
}

// The fates at scale 1: counts, their shares of the non-zero values, and the lost share of the norm, which is null for a
// tensor without values.
function shares_at_one(tensor, format) {
  const counts = tensor_fates(tensor, format, 0);
  const [to_zero, subnormal, overflow] = ['to_zero', 'subnormal', 'overflow'].map((fate) =>
    share(counts[fate], tensor, 'nonzero') ?? 0);
  return {counts, to_zero, lost_l2: lost_l2(tensor, format, 0), subnormal, overflow};
}

function loss_sentences({all, tensors}, format) {
  const at_one = shares_at_one(all, format);
  const words = [`Cast to ${format.name} as they are, `];
  if (at_one.counts.to_zero === 0) {
    words.push(strong('no value becomes zero'), '.');
  } else {
    words.push(strong(percent(at_one.to_zero)), ' of the non-zero values become zero. They carry ',
      strong(percent(at_one.lost_l2)), ' of the L2 norm.');
  }
  if (at_one.counts.overflow > 0) {
    words.push(' ', strong(plural(at_one.counts.overflow, 'value')),
      at_one.counts.overflow === 1 ? ' overflows.' : ' overflow.');
  }
  const worst = worst_tensor(tensors, format);
  if (worst && tensors.length > 1) {
    const of_worst = shares_at_one(worst, format);
    words.push(' Hardest hit is ', name_of(worst.name),
      `: ${percent(of_worst.to_zero)} of its non-zero values, ${percent(of_worst.lost_l2)} of its norm.`);
  }
  return paragraph(...words);
}

// Begins an answer anew: which tensors it is about, under its question.
function write_subject(article, words) {
  for (const part of article.querySelectorAll('.prose, .evidence')) part.replaceChildren();
  article.querySelector('.subject')?.remove();
  article.querySelector('h2').after(element('p', {class: 'subject'}, words));
}

function cells_at_one(tensor, format) {
  const at_one = shares_at_one(tensor, format);
  return [at_one.to_zero, at_one.lost_l2, at_one.subnormal, at_one.overflow].map(percent);
}

const heads_at_one = ['', 'to zero', 'lost L2', 'subnormal', 'overflow'];

function role_table(report, format) {
  const rows = report.roles.map((role) => [[role.name, ' ', element('small', {}, integer(role.tensors))],
    ...cells_at_one(role, format)]);
  return small_table(heads_at_one, rows,
    {also: 'by-role', caption: `By role, in ${format.name} at scale 1`});
}

function write_what_dies(report, format) {
  const article = by_id('answer-dies');
  const subject = subject_of_dying(report);
  write_subject(article, subject.words);
  const prose = article.querySelector('.prose');
  if (report.total.nonzero === 0) {
    prose.append(paragraph('There is no finite non-zero value, so nothing can die.'));
    return;
  }
  prose.append(loss_sentences(subject, format));
  const rows = report.formats.map((one) => [one.name, ...cells_at_one(subject.all, one)]);
  article.querySelector('.evidence').append(small_table(heads_at_one, rows,
    {caption: 'At scale 1, of the non-zero values; lost L2 of the norm'}),
  ...(report.roles.length > 0 ? [role_table(report, format)] : []));
}

// How many of the tensors that the scale is for have a scale of their own that serves in the format.
function own_scales_words(report, format) {
  const scales = scaled_tensors(report).map((tensor) => scale_of(tensor, format, report.options))
    .filter(({s_min_log2}) => s_min_log2 !== null);
  const served = scales.filter(({status}) => status === 'ok').length;
  return [strong('Each tensor its own'), `: ${format.name} is used with a scale of each tensor’s own, not with one loss ` +
    `scale. ${integer(served)} of ${plural(scales.length, report.time ? 'layer' : 'tensor')} have one that serves: the table ` +
    'has it. One scale for all:'];
}

function scale_headline(report, format, scale) {
  if (['no finite value', 'not finite', 'no gradients'].includes(scale.status)) return [strong('None'), '.'];
  if (scale.own_scales) return own_scales_words(report, format);
  if (scale.status === 'empty interval') return [];
  const inside = scale.s_min_log2 <= 0 && scale.s_max_log2 >= 0;
  return [strong(`2^${scale.recommended_log2} = ${decimal_power(scale.recommended_log2)}`),
    `, for ${format.name}.`,
    (inside && !scale.at_floor ? ' By the norm none is needed: scale 1 is in the interval.' : '')];
}

function write_which_scale(report, format, on_select) {
  const scale = scale_of(report, format, report.options);
  const article = by_id('answer-scale');
  const prose = article.querySelector('.prose');
  write_subject(article, tensors_words(report, {gradients: true}));
  prose.append(paragraph(...scale_headline(report, format, scale)), paragraph(...raised(scale.reason)));
  if (scale.basis) prose.append(element('p', {class: 'basis'}, scale.basis));
  const bound = [['upper end: ', scale.binding_max, scale.row_of_max], ['lower end: ', scale.binding_min, scale.row_of_min]];
  prose.append(element('ul', {}, ...bound.filter(([, name]) => name).map(([what, name, row]) => {
    const button = element('button', {type: 'button', class: 'link'}, name);
    button.addEventListener('click', () => on_select(row));
    return element('li', {}, what, button);
  })));
}

// All tensors that the loss scale multiplies, merged into one.
function what_is_scaled(report) {
  return report.gradients ?? report.total;
}

// What the answer compares at each scale 2^k: the fates, the lost share of the norm, and that of the worst tensor.
function standing(report, format, k) {
  const worst = scaled_tensors(report).reduce((most, tensor) =>
    Math.max(most, lost_l2(tensor, format, k) ?? 0), 0);
  const scaled = what_is_scaled(report);
  return {k, worst, counts: tensor_fates(scaled, format, k), lost: lost_l2(scaled, format, k)};
}

function saving_sentence(report, before, after) {
  const total = what_is_scaled(report);
  if (before.counts.to_zero === 0 && before.counts.overflow === 0) {
    return paragraph('Nothing becomes zero or overflows at scale 1: there is nothing to save.');
  }
  const to_zero = (at) => strong(percent(at.counts.to_zero / total.nonzero));
  const words = [...raised(`At 2^${after.k} the share that becomes zero goes from `),
    to_zero(before), ' to ', to_zero(after), ', the lost norm from ', strong(percent(before.lost)),
    ' to ', strong(percent(after.lost))];
  if (report.scaled_count > 1) {
    words.push(`; in the worst ${report.time ? 'layer' : 'tensor'} from `, strong(percent(before.worst)), ' to ',
      strong(percent(after.worst)));
  }
  if (before.counts.overflow > 0) {
    words.push(`. Overflows: ${integer(before.counts.overflow)} before, `,
      strong(integer(after.counts.overflow)), ' after');
  }
  return paragraph(...words, '.');
}

function write_what_it_saves(report, format) {
  const article = by_id('answer-saves');
  write_subject(article, tensors_words(report, {gradients: true}));
  const prose = article.querySelector('.prose');
  const total = what_is_scaled(report);
  const k = scale_of(report, format, report.options).recommended_log2;
  if (k === null || total.nonzero === 0) {
    prose.append(paragraph('Without a recommended scale there is nothing to compare.'));
    return;
  }
  const strips = element('div', {class: 'strips'});
  const rows = [];
  const at = (k === 0 ? [0] : [0, k]).map((scale) => standing(report, format, scale));
  for (const {k: scale, counts, lost} of at) {
    strips.append(element('span', {}, ...raised(`2^${scale}`)),
      fate_strip(total, counts, 'nonzero'));
    rows.push([raised(`2^${scale}`), ...fates.map((fate) => percent(counts[fate] / total.nonzero)), percent(lost)]);
  }
  prose.append(k === 0 ? paragraph('The recommended scale is 1: all as it is.') :
    saving_sentence(report, at[0], at[1]));
  article.querySelector('.evidence').append(strips,
    small_table(['', 'to zero', 'subnormal', 'normal', 'overflow', 'lost L2'], rows));
}

function write_scale_definition(report, format) {
  const {headroom, target_loss, prefer} = report.options;
  const one = report.gradients ? 'gradient' : 'tensor';
  by_id('definition-scale').textContent =
    `The upper end of its interval is the largest power of two at which nothing in any ${one} ` +
    `overflows ${format.name} and ${plural(headroom, 'binade')} of headroom remain; the lower end is ` +
    `the smallest at which no ${one} loses more than ${percent(target_loss)} of its own L2 norm. ` +
    `Between them the ${prefer === 's_min' ? 'lower' : 'upper'} end is recommended` +
    (prefer === 'margin' ? ', of a run less as many binades as its largest gradients lie above those of its usual step, ' +
      'within the upper half' : '') + '; a growing scaler may wander anywhere between the two.';
}

// The magnitude from which a format overflows, which is the lower edge of its overflow segment, and whether that edge
// itself overflows: it does if the segment is written [a, b), and does not if it is written (a, b).
function overflow_edge(format, segments) {
  const segment = segments[format.overflow_segment];
  const [, plain, power_of_two] = segment.match(/^[([]([\d.]+)(?:-2\^-(\d+))?/);
  const edge = Number(plain) - (power_of_two ? 2 ** -Number(power_of_two) : 0);
  const value = edge * 2 ** format.emax;
  const words = value < 1e6 ? integer(value) : scientific(value, 4);
  return `${segment[0] === '(' ? '>' : '≥'} ${words} → ${overflow_words(format)}`;
}

function write_limits(report) {
  const both = (k) => raised(`2^${k} ≈ ${scientific(2 ** k, 3)}`);
  const rows = report.formats.map((format) => [format.name, integer(format.precision),
    ['≤ ', ...both(format.emin - format.precision)], both(format.emin - format.precision + 1), both(format.emin),
    format.max < 1e6 ? integer(format.max) : scientific(format.max, 4), overflow_edge(format, report.segments)]);
  by_id('limits').append(small_table(['', 'significant bits', 'becomes zero', 'smallest subnormal', 'smallest normal',
    'largest', 'overflow'], rows, {also: 'wide'}));
}

// Names of the first 40 tensors, each with words after it, and how many more there are.
function named_in_part(tensors, words) {
  const most = 40;
  const named = tensors.slice(0, most).flatMap((tensor, i) => [i > 0 ? ', ' : '', name_of(tensor.name), words(tensor)]);
  return tensors.length > most ? [...named, ` and ${integer(tensors.length - most)} more`] : named;
}

// Writes which tensors have no finite non-zero value, and which were skipped, with the reason.
function write_apart(report) {
  const host = by_id('apart');
  const silent = {'empty': 'Empty', 'all zero': 'All zero', 'no finite value': 'No finite value'};
  for (const [status, words] of Object.entries(silent)) {
    const names = report.tensors.filter((t) => t.status === status);
    if (names.length === 0) continue;
    host.append(paragraph(element('b', {}, `${words}: `), ...named_in_part(names, () => ''), '.'));
  }
  const {skipped} = report;
  if (skipped.length === 0) return;
  host.append(paragraph(element('b', {}, 'Skipped: '),
    ...named_in_part(skipped, (t) => ` (${t.dtype}, ${shape_words(t.shape)}, ${t.reason})`), '.'));
}

// Writes what depends on the format.
function write_answers(report, format, on_select) {
  write_what_dies(report, format);
  write_which_scale(report, format, on_select);
  write_what_it_saves(report, format);
  write_scale_definition(report, format);
}
