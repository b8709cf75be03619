import { setImmediate } from 'node:timers/promises';
import type { NamedPrincipal } from '#access/people.ts';
import type { Clock } from '#base/clock.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Automation } from '../automation.ts';
import { parseDocument, withNames } from '../store/automation-row.ts';
import type { AutomationStore, AutomationWriter, Conflict } from '../store/automation-store.ts';
import {
  createLineFaults,
  type LineFaults,
  lineLimit,
  type NdjsonLine,
  ndjsonLines,
  problemsOfError,
  readLine,
} from './import-lines.ts';
import { createImportedPeople } from './imported-people.ts';
import type { OtherDocument, OtherImport, OtherLine } from './other-kinds.ts';

interface ImportResult {
  readonly imported: number;
  /** Of them, those that replaced a document of the same name. */
  readonly replaced: number;
  /** Of the first hundred automations. */
  readonly ids: readonly string[];
}

/** `current` has the `_id` of the line. */
export interface ImportedLine {
  readonly current: Automation | undefined;
  readonly next: Automation;
}

/** Throws a GatewayError for a line that may not be stored. */
type Judge = (line: ImportedLine) => Promise<void>;

interface ImportOptions {
  readonly store: AutomationStore;
  readonly clock: Clock;
  /** NDJSON, of lines up to 2 MiB. */
  readonly source: AsyncIterable<Buffer>;
  /** Answers for what the lines change. */
  readonly importer: NamedPrincipal;
  /** Absent: every automation may be stored. */
  readonly judge?: Judge | undefined;
  /** Absent: a form or a workflow is a bad line. */
  readonly others?: OtherImport | undefined;
}

/** In memory. */
const importLimits = { documents: 20_000, bytes: 64 * 1024 ** 2 } as const;

const maxIds = 100;

/**
 * Imports documents in one transaction, all or nothing. A document replaces the one of the same name; its people follow from who imports
 * it. Rejects with `invalid-request` (400) and all bad lines, by the pointers `/LINE/field`, and with `import-too-large` (413). Where all
 * lines are good, rejects with `forbidden` (403), or with `automation-exists` or `workflow-exists` (409).
 */
export async function importAutomations(options: ImportOptions): Promise<ImportResult> {
  const { store, source, judge, others } = options;
  const lines = ndjsonLines(source, lineLimit);
  try {
    const portion = createPortion(others);
    for await (const line of lines) {
      if (portion.isFull()) throw tooLarge();
      await portion.add(line);
    }
    const replaced = await store.change(async (writer) => {
      const known = await portion.store(writer, judge);
      return known + (await portion.write(writer, options));
    });
    return { imported: portion.lines, replaced, ids: portion.ids(maxIds) };
  } finally {
    await lines.return();
  }
}

function tooLarge(): GatewayError {
  return new GatewayError(
    'import-too-large',
    `An import takes at most ${importLimits.documents} documents and ${importLimits.bytes / 1024 ** 2} MiB; nothing was changed. Send the rest as further imports.`,
  );
}

/** Lines validated in one iteration of the event loop. */
const validatedAtOnce = 20;

/** Small, so that a batch blocks the event loop only shortly. */
const batchSize = 50;

type Batch = readonly { readonly line: number; readonly automation: Automation }[];

/** A document that could not be inserted. */
interface RefusedLine extends Omit<Conflict, 'index'> {
  readonly line: number;
}

const maxRefused = 1_000;

/** The lines of an import. */
function createPortion(others: OtherImport | undefined) {
  const faults = createLineFaults();
  /** The texts are outside of the heap. */
  const read: { readonly line: number; readonly text: Buffer }[] = [];
  const besides = createBesides(faults, others);
  let [lines, bytes] = [0, 0];
  const parse = (text: Buffer): Automation => parseDocument(text.toString('utf8'));
  const batches = function* (): Generator<Batch> {
    for (let start = 0; start < read.length; start += batchSize)
      yield read.slice(start, start + batchSize).map(({ line, text }) => ({ line, automation: parse(text) }));
  };
  return {
    get lines() {
      return lines;
    },
    ids: (limit: number): readonly string[] => read.slice(0, limit).map(({ text }) => parse(text)._id),
    isFull: () => lines >= importLimits.documents || bytes >= importLimits.bytes,
    async add(line: NdjsonLine): Promise<void> {
      const result = await readLine(line);
      lines += 1;
      if ('problems' in result) faults.add(line.number, result.problems);
      else {
        bytes += line.bytes?.length ?? 0;
        if ('text' in result) read.push({ line: line.number, text: result.text });
        else await besides.read(line.number, result.other);
      }
      if (lines % validatedAtOnce === 0) await setImmediate();
    },
    /** Judges all lines and stores those that are no automations; answers how many of these were there before. Where lines have problems, does nothing. */
    async store(writer: AutomationWriter, judge: Judge | undefined): Promise<number> {
      if (faults.count > 0) return 0;
      const refusals = createRefusals();
      const known = await besides.store(writer, refusals);
      if (judge !== undefined) await judgeLines(batches(), writer, { judge, refusals });
      refusals.throwAny();
      return known;
    },
    /** Answers how many documents it replaced. */
    async write(writer: AutomationWriter, { importer, clock }: Pick<ImportOptions, 'clock' | 'importer'>): Promise<number> {
      let replaced = 0;
      const people = createImportedPeople(writer, importer);
      for (const batch of batches()) {
        await people.judge(batch.map(({ automation }) => automation));
        replaced += await writer.remove(batch.map(({ automation }) => automation._id));
      }
      const refused: RefusedLine[] = [];
      for (const batch of batches()) {
        const documents = batch.map(({ automation }) => people.withModifier(automation));
        for (const { index, ...conflict } of await writer.insert(documents, { peopleOf: people.of }))
          if (refused.length < maxRefused) refused.push({ line: batch[index]?.line ?? 0, ...conflict });
        const changed = documents.filter(people.isChanged).map((document) => withNames(document, people.of(document)));
        const at = clock.now();
        await writer.note(changed.map((automation) => ({ automation, change: 'imported', by: importer, at })));
      }
      // Rolls back. The good lines were inserted too, so that the error names their conflicts together with the bad lines.
      if (faults.count > 0 || refused.length > 0) throw importError(faults, refused, batches());
      return replaced;
    },
  };
}

/** The lines that are no automations. */
function createBesides(faults: LineFaults, others: OtherImport | undefined) {
  const documents: { readonly line: number; readonly document: OtherDocument }[] = [];
  const lineOf = new Map<string, number>();
  return {
    async read(line: number, other: OtherLine): Promise<void> {
      const key = JSON.stringify([other.kind, other.id, 'version' in other ? other.version : undefined]);
      const first = lineOf.get(key);
      lineOf.set(key, first ?? line);
      if (others === undefined) return faults.add(line, [{ pointer: '/kind', detail: 'must be automation here' }]);
      if (first !== undefined) return faults.add(line, [{ pointer: '/id', detail: `is that of line ${first} as well` }]);
      try {
        documents.push({ line, document: await others.read(other) });
      } catch (error) {
        faults.add(line, problemsOfError(refusalIn(error)));
      }
      return undefined;
    },
    /** Answers how many of them were there before. */
    async store({ transaction }: AutomationWriter, refusals: Refusals): Promise<number> {
      let known = 0;
      for (const { line, document } of documents) {
        try {
          if (await document.store(transaction)) known += 1;
        } catch (error) {
          refusals.add(line, refusalIn(error));
        }
      }
      return known;
    },
  };
}

type Refusals = ReturnType<typeof createRefusals>;

/** Good lines that may not be stored. */
function createRefusals() {
  const faults = createLineFaults();
  const codes = new Set<ErrorCode>();
  return {
    add(line: number, error: GatewayError): void {
      codes.add(error.code);
      faults.add(line, problemsOfError(error));
    },
    throwAny(): void {
      const code = codes.has('forbidden') ? 'forbidden' : [...codes][0];
      if (code !== undefined) throw faults.error(code);
    },
  };
}

const refusing: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'form-invalid',
  'invalid-request',
  'workflow-exists',
  'workflow-invalid',
]);

/** What refuses a document; throws what has another cause. */
function refusalIn(error: unknown): GatewayError {
  if (error instanceof GatewayError && refusing.has(error.code)) return error;
  throw error;
}

async function judgeLines(
  batches: Iterable<Batch>,
  writer: AutomationWriter,
  { judge, refusals }: { readonly judge: Judge; readonly refusals: Refusals },
): Promise<void> {
  for (const batch of batches) {
    for (const { line, automation: next } of batch) {
      const current = (await writer.read(next._id))?.automation;
      await judge({ current, next }).catch((error: unknown) => refusals.add(line, refusalIn(error)));
    }
  }
}

function importError(faults: LineFaults, refused: readonly RefusedLine[], batches: Iterable<Batch>): GatewayError {
  const wanted = new Set(refused.map(({ takenBy }) => takenBy));
  const lineOf = new Map<string, number>();
  for (const batch of wanted.size === 0 ? [] : batches) {
    for (const { line, automation } of batch) {
      if (wanted.has(automation._id) && !lineOf.has(automation._id)) lineOf.set(automation._id, line);
    }
  }
  // 400 for bad lines and for lines that conflict with each other; 409 where every conflict is with the catalogue.
  const code = faults.count > 0 || lineOf.size > 0 ? 'invalid-request' : 'automation-exists';
  for (const { line, field, takenBy } of refused) {
    const other = lineOf.get(takenBy);
    const whose = other === undefined ? `automation ${takenBy} of the catalogue` : `line ${other}`;
    faults.add(line, [{ pointer: `/${field}`, detail: `is the ${field} of ${whose} as well; each may occur once` }]);
  }
  return faults.error(code);
}
