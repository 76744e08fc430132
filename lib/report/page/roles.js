// SPDX-License-Identifier: Apache-2.0
//
// Roles of tensors, and groups of tensors that are shown as one: all, the gradients, those of each role.

const gradient_roles = ['dAct', 'dW', 'grad'];

function is_gradient(role) {
  return gradient_roles.includes(role);
}

// The tensors that the loss scale multiplies: the gradients, or all tensors where names do not say which are gradients.
function scaled_tensors(report) {
  return report.gradients ? report.tensors.filter(({role}) => is_gradient(role)) : report.tensors;
}

// The scales at which a format holds a tensor, or a group with scales of its own: as LossScale of lib/report has them.
function scale_of(tensor, format, options) {
  if (tensor.loss_scales) return tensor.loss_scales.find((scale) => scale.format === format.name);
  if (tensor.tie === null) return {status: 'no finite value', s_min_log2: null, s_max_log2: null, recommended_log2: null};
  const s_min_log2 = Math.max(format.emin - format.precision - tensor.tie, least_scale_log2);
  const s_max_log2 = Math.min(headroom(tensor, format, 0) - options.headroom, most_scale_log2);
  const empty = s_min_log2 > s_max_log2;
  const needs_none = options.prefer === 'margin' && format.emin <= least_scale_log2 && s_min_log2 <= 0 && s_max_log2 >= 0;
  const best = needs_none ? 0 : options.prefer === 's_min' && !empty ? s_min_log2 : s_max_log2;
  return {status: empty ? 'empty interval' : 'ok', s_min_log2, s_max_log2,
    recommended_log2: best < least_scale_log2 ? null : best};
}
const [least_scale_log2, most_scale_log2] = [-126, 127];

// Whether tensors in the format have a scale of each one's own, as in FP8, in place of one loss scale.
function has_own_scales(report, format) {
  return report.loss_scales.find((scale) => scale.format === format.name).own_scales;
}

// The loss scales of the steps in a format.
function step_scales(time, format) {
  return time.loss_scale.map((at) => ({...at, ...at.formats.find((scale) => scale.format === format.name)}));
}

// "the 2 gradients", "all 6 tensors", "the tensor". With {gradients: true} of the tensors that the loss scale multiplies.
function tensors_words(report, {gradients}) {
  const count = gradients ? report.scaled_count : report.tensor_count;
  const noun = gradients && report.gradients ? 'gradient' : 'tensor';
  if (count === 1) return `the ${noun}`;
  return `${count === report.tensor_count ? 'all' : 'the'} ${plural(count, noun)}`;
}

// Groups of tensors, each merged into one tensor with a name. The first is all tensors. If some of them are gradients and
// others are not, the second is the gradients, and that group is what the page shows first.
function groups_of(report) {
  const scaled = (group, name) => ({...group, name, loss_scales: report.loss_scales});
  const roles = report.roles.map((role) => ({...role, name: `all ${role.name}`}));
  const groups = report.roles.length > 0 && report.gradients && report.scaled_count !== report.tensor_count ?
    [{...report.total, name: 'all tensors'}, scaled(report.gradients, 'all gradients'), ...roles] :
    [scaled(report.total, 'all tensors'), ...roles];
  return groups.map((group, i) => ({...group, index: -1 - i, is_group: true}));
}
