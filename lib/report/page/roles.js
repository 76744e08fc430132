// SPDX-License-Identifier: Apache-2.0
//
// What tensors are by their names, and what is shown of several at once: all, the gradients, each role.

const role_names = ['act', 'dAct', 'weight', 'dW', 'grad', 'update', 'state'];
const gradient_roles = ['dAct', 'dW', 'grad'];

function is_gradient(role) {
  return gradient_roles.includes(role);
}

// The loss scale multiplies gradients: where names tell which tensors are, it is for those alone.
function scaled_tensors(report) {
  if (!report.gradients) return report.tensors;
  const passed_over = report.gradients.passed_over;
  return report.tensors.filter(({role, time}) =>
    is_gradient(role) && !(time && passed_over.includes(time.step)));
}

// "the 2 gradients", "all 6 tensors", "the tensor"; {gradients: true} where there are some.
function tensors_words(report, {gradients}) {
  const count = gradients ? scaled_tensors(report).length : report.tensors.length;
  const noun = gradients && report.gradients ? 'gradient' : 'tensor';
  if (count === 1) return `the ${noun}`;
  return `${count === report.tensors.length ? 'all' : 'the'} ${plural(count, noun)}`;
}

// Tensors merged, as a tensor with a name; the first is all of them. Where some are gradients, the second is
// those, and it is what is shown first.
function groups_of(report) {
  const scaled = (group, name) => ({...group, name, loss_scale: report.loss_scale});
  if (report.roles.length === 0) return [scaled(report.total, 'all tensors')];
  const roles = report.roles.map((role) => ({...role, name: `all ${role.name}`}));
  if (!report.gradients || scaled_tensors(report).length === report.tensors.length) {
    return [scaled(report.total, 'all tensors'), ...roles];
  }
  return [{...report.total, name: 'all tensors'}, scaled(report.gradients, 'all gradients'), ...roles];
}
