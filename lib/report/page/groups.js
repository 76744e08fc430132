// SPDX-License-Identifier: Apache-2.0
//
// Names of many layers as groups: what stands before and with the first number that is a part of the
// name by itself or ends one, as in h.0, encoder.layers.3, blocks/12, layer7.

const part_of_name = /[^./]+[./]?/g;

// "encoder.layers.3" of "encoder.layers.3.self_attn.q_proj"; '' of a name without such a part.
function group_of(name) {
  let prefix = '';
  for (const part of name.match(part_of_name) ?? []) {
    const plain = part.replace(/[./]$/, '');
    if (/\d$/.test(plain) && (prefix !== '' || !/^\d+$/.test(plain))) return prefix + plain;
    prefix += part;
  }
  return '';
}

// Neighbours of one group: [{name, first, end}] over the names in their order; nothing where no group has
// two of them, or all are one.
function grouped_names(names) {
  const groups = [];
  names.forEach((name, i) => {
    const group = group_of(name);
    const last = groups[groups.length - 1];
    if (last && last.name === group) last.end = i + 1;
    else groups.push({name: group, first: i, end: i + 1});
  });
  const grouping = groups.some((group) => group.name !== '' && group.end - group.first > 1);
  return grouping && groups.length > 1 ? groups : [];
}
