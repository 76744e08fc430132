// SPDX-License-Identifier: Apache-2.0
//
// What tensors are by their names, and what is shown of several at once: all, the gradients, each role.

const gradient_roles = ['dAct', 'dW', 'grad'];

function is_gradient(role) {
  return gradient_roles.includes(role);
}

// The loss scale multiplies gradients: where names tell which tensors are, it is for those alone.
function scaled_tensors(report) {
  return report.gradients ? report.tensors.filter(({role}) => is_gradient(role)) : report.tensors;
}

// "the 2 gradients", "all 6 tensors", "the tensor"; {gradients: true} where there are some.
function tensors_words(report, {gradients}) {
  const count = gradients ? report.scaled_count : report.tensor_count;
  const noun = gradients && report.gradients ? 'gradient' : 'tensor';
  if (count === 1) return `the ${noun}`;
  return `${count === report.tensor_count ? 'all' : 'the'} ${plural(count, noun)}`;
}

// Tensors merged, as a tensor with a name; the first is all of them. Where some are gradients, the second is
// those, and it is what is shown first.
function groups_of(report) {
  const scaled = (group, name) => ({...group, name, loss_scale: report.loss_scale});
  const roles = report.roles.map((role) => ({...role, name: `all ${role.name}`}));
  const groups = report.roles.length > 0 && report.gradients && report.scaled_count !== report.tensor_count ?
    [{...report.total, name: 'all tensors'}, scaled(report.gradients, 'all gradients'), ...roles] :
    [scaled(report.total, 'all tensors'), ...roles];
  return groups.map((group, i) => ({...group, index: -1 - i, is_group: true}));
}
