/**
 * An address or path with the values of its query masked: `?depth=2&token=x` becomes `?depth=***&token=***`. Which of them are secrets
 * nobody can tell; their names stay, and so does the path.
 */
export function maskedAddress(address: string): string {
  const start = address.indexOf('?');
  if (start < 0) return address;
  const parameters = address.slice(start + 1).split('&');
  return `${address.slice(0, start)}?${parameters.map((parameter) => parameter.replace(/=[^]*$/u, '=***')).join('&')}`;
}
