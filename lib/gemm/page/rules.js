// SPDX-License-Identifier: Apache-2.0
//
// Names of the rules. A rule's key is also the class that has its colour. Counts above 2^53 come as strings; for shares
// they are read as doubles.

const rule_styles = [
  {rule: 'product_alignment', name: 'alignment of products', short: 'alignment'},
  {rule: 'addend_alignment', name: 'alignment of the accumulator', short: 'accumulator aligned'},
  {rule: 'product_floor', name: 'floor, products', short: 'floor'},
  {rule: 'addend_floor', name: 'floor, accumulator', short: 'floor, accumulator'},
  {rule: 'block_rounding', name: 'rounding of the block’s sum', short: 'block rounding'},
  {rule: 'accumulator_format', name: 'accumulator format', short: 'accumulator format'},
  {rule: 'operation', name: 'operations of a chain', short: 'operations'},
  {rule: 'promotion', name: 'promotion', short: 'promotion'},
  {rule: 'c_last', name: 'accumulator added last', short: 'accumulator added'},
  {rule: 'reduction', name: 'reduction of parts of K', short: 'reduction'},
  {rule: 'alpha', name: 'alpha', short: 'alpha'},
  {rule: 'beta', name: 'beta', short: 'beta'},
  {rule: 'bias', name: 'bias', short: 'bias'},
  {rule: 'output', name: 'output format', short: 'output'},
];

function style_of(rule) {
  return rule_styles.find((row) => row.rule === rule) ?? {rule, name: rule, short: rule};
}

// The rules that had a step, in the order of the account.
function used_rules(account) {
  return account.rules.filter((row) => Number(row.steps) > 0);
}

// The rules that lost something.
function costly_rules(account) {
  return used_rules(account).filter((row) => row.lost.value > 0);
}

// The rules that lost something at a known place along K, in the order in which they are stacked.
function placed_rules(account) {
  const at_places = new Set(account.positions.flatMap((row) => Object.keys(row.rules)));
  return costly_rules(account).filter((row) => at_places.has(row.rule));
}

function ratio(part, all) {
  return Number(all) > 0 ? Number(part) / Number(all) : null;
}
