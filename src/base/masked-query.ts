/**
 * An address or path with the values of its query masked: `?depth=2&token=x&y` becomes `?depth=***&token=***&***`. Any value may be a
 * secret, and a parameter without `=` may be a value. Names before `=` and the path are kept.
 */
export function withMaskedQuery(address: string, mask = '***'): string {
  const start = address.indexOf('?');
  if (start < 0) return address;
  const masked = (parameter: string): string => {
    const end = parameter.indexOf('=');
    return parameter === '' ? '' : `${parameter.slice(0, end + 1)}${mask}`;
  };
  return `${address.slice(0, start)}?${address
    .slice(start + 1)
    .split('&')
    .map(masked)
    .join('&')}`;
}
