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
  const scaled = (group, name) => ({...group, name, loss_scale: report.loss_scale});
  const roles = report.roles.map((role) => ({...role, name: `all ${role.name}`}));
  const groups = report.roles.length > 0 && report.gradients && report.scaled_count !== report.tensor_count ?
    [{...report.total, name: 'all tensors'}, scaled(report.gradients, 'all gradients'), ...roles] :
    [scaled(report.total, 'all tensors'), ...roles];
  return groups.map((group, i) => ({...group, index: -1 - i, is_group: true}));
}
