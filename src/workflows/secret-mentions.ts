const mention = /\$secrets\s*\.?\s*(?:\[?\s*"([^"\\]*)"|([A-Za-z_]\w*))/gu;

/** The names of secrets that a jq text names, as `$secrets.NAME` or `$secrets["NAME"]`. A text within a string counts too. */
export function secretMentions(jq: string): readonly string[] {
  if (!jq.includes('$secrets')) return [];
  return Array.from(jq.matchAll(mention), ([, quoted, plain]) => quoted ?? plain ?? '').filter(
    (name) => !name.endsWith(pairSuffix),
  );
}

/** `$secrets["NAME:basic"]` has both parts of a secret that is `username:password`, for `authentication`. */
export const pairSuffix = ':basic';
