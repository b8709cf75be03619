import assert from 'node:assert/strict';

/** The values that a writer gave an automation. */
export interface Entry {
  readonly name: string;
  readonly description: string;
  readonly read: readonly string[];
  readonly repeatInterval: string;
  /** Undefined until a reply shows it, unless an import set it. */
  readonly id?: string;
  /** From the reply that acknowledged the write. */
  readonly etag?: string;
}

/** An automation as the gateway shows it. */
export interface Shown {
  readonly _id: string;
  readonly name: string;
  readonly data?: { readonly description?: string; readonly gbac?: { readonly read?: readonly string[] } };
  readonly repeatInterval?: string;
}

/** What each name of a write has after the write; undefined: no automation. A write happens as a whole, or not at all. */
export type Change = ReadonlyMap<string, Entry | undefined>;

/**
 * What a catalogue must have. An acknowledged write is certain. Of an unanswered write either all or nothing must be there; no other write
 * uses its names until `reconcile` has found which.
 */
export class CatalogueLedger {
  readonly #certain = new Map<string, Entry>();
  readonly #unsure = new Set<Change>();
  acknowledged = 0;
  unanswered = 0;

  entry(name: string): Entry | undefined {
    return this.#certain.get(name);
  }

  /** Names with this beginning whose automation is certainly there. */
  names(prefix = ''): readonly string[] {
    const locked = new Set([...this.#unsure].flatMap((change) => [...change.keys()]));
    return [...this.#certain.keys()].filter((name) => name.startsWith(prefix) && !locked.has(name));
  }

  entries(): readonly Entry[] {
    return [...this.#certain.values()];
  }

  acknowledge(change: Change): void {
    this.acknowledged += 1;
    this.#apply(change);
  }

  leaveOpen(change: Change): void {
    this.unanswered += 1;
    this.#unsure.add(change);
  }

  /** Compares the shown automations with those that must be there, and learns from them how the unanswered writes ended. */
  reconcile(shown: readonly Shown[]): void {
    const byName = new Map(shown.map((document) => [document.name, document]));
    assert.equal(byName.size, shown.length, 'two automations have one name');
    for (const change of this.#unsure) {
      const happened = [...change].filter(([name, after]) => isSame(byName.get(name), after));
      const left = [...change].filter(([name]) => isSame(byName.get(name), this.#certain.get(name)));
      if (happened.length === change.size) this.#apply(withoutTags(change));
      else if (left.length !== change.size) {
        assert.fail(
          `a write of ${change.size} automations is there in part: ${happened.length} changed, ${left.length} as before`,
        );
      }
    }
    this.#unsure.clear();
    const wrong: string[] = [];
    for (const [name, entry] of this.#certain) {
      const document = byName.get(name);
      if (document === undefined) wrong.push(`${name} is lost`);
      else if (!isSame(document, entry)) wrong.push(`${name} is not as acknowledged: ${JSON.stringify({ document, entry })}`);
      else this.#certain.set(name, { ...entry, id: document._id });
    }
    for (const name of byName.keys()) if (!this.#certain.has(name)) wrong.push(`${name} is there again, or was never written`);
    assert.deepEqual(wrong.slice(0, 20), []);
  }

  #apply(change: Change): void {
    for (const [name, after] of change) {
      if (after === undefined) this.#certain.delete(name);
      else this.#certain.set(name, after);
    }
  }
}

/** The ETag of an unanswered write is not known. */
function withoutTags(change: Change): Change {
  return new Map(
    [...change].map(([name, entry]) => {
      if (entry === undefined) return [name, undefined];
      const { etag: _etag, ...rest } = entry;
      return [name, rest];
    }),
  );
}

function isSame(document: Shown | undefined, entry: Entry | undefined): boolean {
  if (document === undefined || entry === undefined) return document === entry;
  return (
    (entry.id === undefined || entry.id === document._id) &&
    document.data?.description === entry.description &&
    document.repeatInterval === entry.repeatInterval &&
    JSON.stringify(document.data.gbac?.read ?? []) === JSON.stringify(entry.read)
  );
}
