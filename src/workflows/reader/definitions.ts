import type { Located, TextPlace } from '#yaml/located.ts';
import { didYouMean } from '#yaml/nearest.ts';
import { listed, shown } from '#yaml/wording.ts';
import type { DocumentReading } from './reading.ts';

/** ObjectMembers of `use` that tasks refer to by name. */
const parts = ['authentications', 'errors', 'functions', 'retries', 'timeouts'] as const;

type Part = (typeof parts)[number];

/** What `use` defines, as the document wrote it. */
export class Definitions {
  readonly secrets: readonly string[];
  readonly #parts: ReadonlyMap<Part, ReadonlyMap<string, Located>>;
  readonly #used = new Set<Located>();

  constructor(use: Located | undefined) {
    const members = new Map(use?.kind === 'object' ? use.members.map(({ name, value }) => [name, value]) : []);
    this.#parts = new Map(
      parts.map((part) => {
        const node = members.get(part);
        return [part, new Map(node?.kind === 'object' ? node.members.map(({ name, value }) => [name, value]) : [])];
      }),
    );
    const secrets = members.get('secrets');
    this.secrets = secrets?.kind === 'array' ? secrets.items.flatMap((item) => (item.kind === 'string' ? [item.value] : [])) : [];
  }

  names(part: Part): readonly string[] {
    return [...(this.#parts.get(part)?.keys() ?? [])];
  }

  /** What `name` means, or undefined after the reference at `place` was reported. */
  find(reading: DocumentReading, part: Part, name: string, place: TextPlace): Located | undefined {
    const found = this.#parts.get(part)?.get(name);
    if (found === undefined)
      reading.problem(place, `${shown(name)} is not defined in use.${part}${suggestion(name, this.names(part))}`);
    else this.#used.add(found);
    return found;
  }

  /** Definitions that no task uses: they are read too, so that their problems show. */
  unused(part: Part): readonly Located[] {
    return [...(this.#parts.get(part)?.values() ?? [])].filter((node) => !this.#used.has(node));
  }
}

/** `; did you mean "x"?`, or what there is. */
export function suggestion(name: string, known: readonly string[]): string {
  const nearest = didYouMean(name, known);
  if (nearest !== '') return nearest;
  return known.length === 0 || known.length > 20 ? '' : `; known are ${listed(known)}`;
}
