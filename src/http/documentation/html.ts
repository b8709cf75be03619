/** Markup in which every value is escaped. */
interface Html {
  readonly markup: string;
}

type Piece = string | number | Html | undefined | readonly Piece[];

/** A template literal of HTML. Its strings and numbers are escaped, both for text and for quoted attribute values. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return { markup: strings.reduce((all, part, index) => `${all}${markupOf(pieces[index - 1])}${part}`) };
}

function markupOf(piece: Piece): string {
  if (piece === undefined) return '';
  if (typeof piece === 'string' || typeof piece === 'number') return escapeHtml(String(piece));
  if ('markup' in piece) return piece.markup;
  return piece.map(markupOf).join('');
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/gu, (character) => entities[character] ?? '');
}

/** Text in which backticks mark code, as in `RouteDocs`. */
export function inline(text: string): Html {
  const parts = text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
  return html`${parts}`;
}
