// SPDX-License-Identifier: Apache-2.0
//
// The account in words and tables.

// An error in per cent of what it is compared with, which it may exceed.
function error_percent(x) {
  return x >= 1 ? `${size({value: 100 * x})}${thin}%` : percent(x);
}

function write_source(account) {
  write_version(account.binade);
  const {m, n, k} = account;
  const parts = [name_of(account.instruction),
    account.device ? ` on ${account.device}` : '',
    ` · ${integer(m)} × ${integer(n)} × ${integer(k)}`,
    account.order ? ` · ${account.order}` : '', account.operands ? ` · ${account.operands}` : ''];
  const special = Number(account.special);
  if (special > 0) parts.push(` · ${plural(special, 'element')} with NaN or ∞, left out`);
  by_id('source').append(...parts);
  document.title = `Loss account: ${account.instruction}`;
}

function prose_of(id) {
  return by_id(id).querySelector('.prose');
}

function write_how_far(account) {
  const prose = prose_of('answer-off');
  if (Number(account.elements) === Number(account.special)) {
    prose.append(paragraph('No element is a number from beginning to end.'));
    return;
  }
  if (account.error.value === 0) {
    prose.append(paragraph('Not at all: ', strong('every element is exact'), '.'));
    return;
  }
  const exact = account.exact_magnitude.value;
  const inward = account.inward.value - account.outward.value;
  prose.append(paragraph('On average D is off by ', strong(error_percent(account.error_of_exact)),
    ' of its size. Of what went into the sums that is ', strong(percent(account.error_of_products)), '.'));
  const net = exact > 0 ? Math.abs(inward) / exact : null;
  prose.append(paragraph(inward === 0 ? 'It leaves |D| as large as it is.' :
    `All in all it makes |D| ${inward > 0 ? 'smaller' : 'larger'} by ${error_percent(net)}: the rest of it ` +
    'goes both ways and cancels.'));
  const right = Number(account.exact);
  if (right > 0) {
    prose.append(paragraph(strong(plural(right, 'element')),
      right === 1 ? ' is exact.' : ' are exact.'));
  }
  const at = (worst) => (worst ?
    [error_percent(worst.ratio), `${integer(worst.row)}, ${integer(worst.column)}`] : [none, none]);
  by_id('answer-off').querySelector('.evidence').append(small_table(
    ['the worst element', 'error', 'row, column'],
    [['of |exact D|', ...at(account.worst_relative)],
      ['of its Σ|a·b|', ...at(account.worst_to_products)]]));
}

function write_what_cost(account) {
  const article = by_id('answer-cost');
  const rules = costly_rules(account);
  const all = rules.reduce((sum, row) => sum + row.lost.value, 0);
  if (all === 0) {
    prose_of('answer-cost').append(paragraph('Nothing: no rule lost a bit.'));
    return;
  }
  const order = [...rules].sort((a, b) => b.lost.value - a.lost.value);
  const worst = order[0];
  const vanished = account.rules.filter((row) => /^product_/.test(row.rule))
    .reduce((sum, row) => sum + Number(row.vanished), 0);
  prose_of('answer-cost').append(paragraph(strong(percent(worst.lost.value / all)),
    ` of what was lost went by ${rules.length === 1 ? 'the one rule that cost anything' : 'one rule'}, `,
    element('em', {}, style_of(worst.rule).name), ': it cut ',
    strong(percent(ratio(worst.cut, worst.steps))), ` of its ${integer(worst.steps)} steps.`));
  if (vanished > 0) {
    prose_of('answer-cost').append(paragraph(strong(plural(vanished, 'product')),
      ` (${percent(ratio(vanished, account.products))}) vanished entirely.`));
  }
  const shown = order.slice(0, 4).map((row) => [[swatch(row.rule), style_of(row.rule).short],
    percent(row.of_products), percent(row.lost.value / all)]);
  article.querySelector('.evidence').append(
    strip_of(rules.map((row) => [row.rule, row.lost.value / all])), small_table(['lost by', 'of Σ|a·b|', 'of all losses'], shown));
}

function write_bound(account) {
  const worst = account.worst_to_bound;
  const prose = prose_of('answer-bound');
  if (!worst) {
    prose.append(paragraph('There is no error to hold against its bound.'));
    return;
  }
  const [beyond, least] = [Number(account.beyond_bound), 1 / worst.ratio];
  prose.append(paragraph('Yes, by the rules of the hardware. The bound of the worst element is ',
    strong(`${magnitude(least, 2)} times`), ' its error; ', beyond === 0 ? 'no element' :
      strong(plural(beyond, 'element')), ' lies beyond it.'));
}

// A magnitude to four digits, without a power of ten where it can be read at a glance.
function size({value}) {
  if (value === 0) return '0';
  if (value < 1e-4 || value >= 1e7) return scientific(value, 4);
  return rounded(value, 4);
}

function cell(text, name) {
  return element('td', name ? {class: name} : {}, text);
}

function write_rules(account) {
  const heads = ['rule', 'steps', 'cut', 'of steps', 'vanished', 'Σ|lost|', 'of Σ|a·b|', 'raised',
    'lowered'];
  const rows = used_rules(account).map((row) => element('tr', {'data-rule': row.rule},
    element('th', {scope: 'row'}, swatch(row.rule), style_of(row.rule).name,
      element('small', {}, row.meaning)),
    cell(integer(row.steps)), cell(integer(row.cut), Number(row.cut) === 0 ? 'nil' : ''),
    cell(percent(ratio(row.cut, row.steps))),
    cell(integer(row.vanished), Number(row.vanished) === 0 ? 'nil' : ''), cell(size(row.lost)),
    cell(percent(row.of_products)), cell(size(row.raised)), cell(size(row.lowered))));
  by_id('rules').querySelector('.scroll').append(element('table', {}, head_of(heads),
    element('tbody', {}, ...rows)));
}

function write_window(account) {
  if (account.model.fraction_bits === null) return;
  const bits = window_of(account);
  for (const place of document.querySelectorAll('.window-bits')) place.textContent = integer(bits.kept);
  const blocks = Number(account.blocks);
  by_id('window-words').textContent =
    `In ${integer(account.blocks)} blocks of up to ${account.model.block} products. The accumulator alone ` +
    `has the largest exponent in ${percent(ratio(account.blocks_at_addend, blocks))} of them, the floor ` +
    `${power(account.model.exponent_floor)} lies above all terms in ` +
    `${percent(ratio(account.blocks_at_floor, blocks))}.`;
}

function position_words(account, i) {
  const row = account.positions[i];
  const parts = placed_rules(account).filter(({rule}) => (row.rules[rule]?.of_products ?? 0) > 0)
    .map(({rule}) => `${style_of(rule).short} ${percent(row.rules[rule].of_products)}`);
  return `k from ${integer(row.first_k)} to ${integer(row.end_k - 1)}: ` +
    (parts.length > 0 ? `${parts.join(', ')} of Σ|a·b|.` : 'nothing lost.');
}

function distance_words(account, i) {
  const row = account.distances[i];
  const share_of = (n) => percent(ratio(n, row.products));
  return `${row.distance}${row.and_beyond ? ' or more' : ''} binades below the top: ` +
    `${plural(row.products, 'product')}, ${percent(ratio(row.products, account.products))} of all; ` +
    `${share_of(row.cut)} of them cut, ${share_of(row.vanished)} vanished.`;
}
