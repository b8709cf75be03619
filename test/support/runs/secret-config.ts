/** A secret of `automations.secrets` that all workflows of admins may send to these places. */
export function secretConfig(value: object | string, rule: object): object {
  return { value, workflows: ['*'], writers: { roles: ['admin'] }, destinations: [], ...rule };
}
