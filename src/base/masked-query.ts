/**
 * An address or path with what its query says masked: `?depth=2&token=x&y` becomes `?depth=***&token=***&***`. Which values are secrets
 * nobody can tell, nor whether a parameter without `=` is a name or a value; the other names stay, and so does the path.
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
