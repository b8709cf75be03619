// NCName of Namespaces in XML 1.0, section 3: NameStartChar and NameChar of XML 1.0, fifth edition, section 2.3, without the
// colon.
const nameStart =
  'A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}\\u{200D}\\u{2070}-\\u{218F}' +
  '\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}';
const ncName = `[${nameStart}][${nameStart}\\-.0-9\\u{B7}\\u{300}-\\u{36F}\\u{203F}\\u{2040}]*`;
const qualifiedName = new RegExp(`^(?:(?<prefix>${ncName}):)?(?<local>${ncName})$`, 'u');

/** A qualified name in two parts (Namespaces in XML). The prefix is empty if there is none. */
export interface XmlName {
  readonly prefix: string;
  readonly local: string;
}

/** Splits a qualified name. Undefined if XML does not allow the name. */
export function readXmlName(name: string): XmlName | undefined {
  const groups = qualifiedName.exec(name)?.groups;
  const local = groups?.['local'];
  return local === undefined ? undefined : { prefix: groups?.['prefix'] ?? '', local };
}
