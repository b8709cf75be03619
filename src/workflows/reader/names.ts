/** A namespace or a name of a workflow: a label of DNS, in any case. */
export function isName(text: string): boolean {
  return /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/iu.test(text);
}
