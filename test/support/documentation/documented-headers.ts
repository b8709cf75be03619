import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type HeaderRow, namesOf, type SentMessage } from './header-conditions.ts';

/** Names and values of a message, in its order. */
export type Fields = readonly (readonly [string, string])[];

/** Compares docs/reference/headers.md with messages on the wire. */
interface DocumentedHeaders {
  /** Fails unless the section's table has exactly these names, each with who decided its value. */
  readonly assertDocumented: (section: string, fields: Fields, sent: SentMessage) => void;
  /** The cells of each row of the table with this head. */
  table(head: string): readonly (readonly string[])[];
  /** Rows that no message has confirmed: they never held, or they have a condition and always held. */
  unseen(sections: { readonly but: string } | { readonly only: string }): readonly string[];
}

/** Tests put one of these words into each value that the gateway does not decide. */
const marks = {
  caller: /caller/u,
  'adapter credentials': /adapter/u,
  configuration: /configured/u,
  upstream: /upstream/u,
} as const;

export function documentedHeaders(): DocumentedHeaders {
  const page = readFileSync(new URL('../../../docs/reference/headers.md', import.meta.url), 'utf8');
  const tables = headerTables(page);
  const seen = new Map<HeaderRow, Set<'present' | 'absent'>>();
  return {
    table: (head) => tableOf(page, head),
    assertDocumented(section, fields, sent) {
      const expected = new Map<string, string>();
      for (const row of tables.get(section) ?? assert.fail(`no table under ${section}`)) {
        const names = namesOf(row, sent);
        seen.set(row, (seen.get(row) ?? new Set()).add(names.length > 0 ? 'present' : 'absent'));
        for (const name of names) {
          assert.ok(!expected.has(name), `${section}: two rows hold for ${name}`);
          expected.set(name, row.who);
        }
      }
      const found = fields.map(([name, value]): [string, string] => [name.toLowerCase(), whoWrote(value)]);
      assert.deepEqual(found.toSorted(byName), [...expected].toSorted(byName), section);
    },
    unseen(sections) {
      const chosen = [...tables].filter(([name]) => ('only' in sections ? name === sections.only : name !== sections.but));
      return chosen.flatMap(([name, rows]) => {
        const open = rows.filter(
          (row) => seen.get(row)?.has('present') !== true || !(row.when === 'always' || seen.get(row)?.has('absent')),
        );
        return open.map(({ header, when }) => `${name}: ${header} (${when})`);
      });
    },
  };
}

function whoWrote(value: string): string {
  const basic = /^Basic (.+)$/u.exec(value)?.[1];
  const text = basic === undefined ? value : Buffer.from(basic, 'base64').toString();
  return Object.entries(marks).find(([, mark]) => mark.test(text))?.[0] ?? 'gateway';
}

function byName([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return one < other ? -1 : 1;
}

/** The tables `| header | who | when |` of the page, by their heading. */
function headerTables(page: string): ReadonlyMap<string, readonly HeaderRow[]> {
  const sections = page.split(/^## /mu).slice(1);
  return new Map(
    sections.flatMap((section): [string, readonly HeaderRow[]][] => {
      const rows = tableOf(section, '| header | who | when |');
      return rows.length === 0 ? [] : [[section.slice(0, section.indexOf('\n')), rows.map(toRow)]];
    }),
  );
}

/** The cells of each row of the table with this head. */
function tableOf(text: string, head: string): readonly (readonly string[])[] {
  const [, after] = text.split(`${head}\n`);
  const lines = after?.split('\n') ?? [];
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(1, end).map((line) => line.slice(2, -2).split(' | '));
}

function toRow([header = '', who = '', when = '']: readonly string[]): HeaderRow {
  return { header, who, when };
}
