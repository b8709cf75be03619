import { setImmediate } from 'node:timers/promises';
import type { NamedPrincipal } from '#access/people.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { readEnvelope } from '#json/json-envelope.ts';
import { opaqueMembers } from '#json/opaque-member.ts';
import { createProblemList } from '#json/problem-list.ts';
import type { Automation } from './automation.ts';
import { generateId, readImported } from './automation-document.ts';
import { inputPointer, withInput } from './automation-input.ts';
import { documentText, parseDocument } from './automation-row.ts';
import { documentLimits } from './automation-schema.ts';
import type { AutomationStore, AutomationWriter, Conflict } from './automation-store.ts';
import { createImportedPeople } from './imported-people.ts';
import { type NdjsonLine, ndjsonLines } from './ndjson-lines.ts';

/** The progress of an import. Every line of a transaction is read and validated before its first is written. */
interface ImportProgress {
  readonly step: 'reading' | 'writing';
  /** Documents read, or written. */
  readonly lines: number;
  /** Bytes read. */
  readonly bytes: number;
}

export interface ImportResult {
  readonly imported: number;
  /** How many of them replaced a document with the same `_id`. */
  readonly replaced: number;
  /** The `_id`s of the first hundred. */
  readonly ids: readonly string[];
}

/** `current`: what has the `_id` of the line now. */
export interface ImportedLine {
  readonly current: Automation | undefined;
  readonly next: Automation;
}

interface ImportOptions {
  readonly store: AutomationStore;
  /** NDJSON: a document a line, of 1 MiB at most. */
  readonly source: AsyncIterable<Buffer>;
  /** Answers for what the lines change. Absent: no person does, and such an automation does not run until a person takes it. */
  readonly importer?: NamedPrincipal | undefined;
  /** Throws a GatewayError where the line may not be stored. Absent: every line may be. */
  readonly judge?: ((line: ImportedLine) => Promise<void>) | undefined;
  /** Aborts the import with its reason, until the transaction ends; then it changes nothing. */
  readonly interruption?: AbortSignal | undefined;
  /** Called often. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Called after each transaction, with its last line. */
  readonly onStored?: ((line: number) => void) | undefined;
}

/** What one transaction takes. All of its documents are in memory. */
const importLimits = { documents: 20_000, bytes: 64 * 1024 ** 2 } as const;

/**
 * Imports documents in one transaction, all or nothing, as they are but for the people. A document replaces the one with the same `_id`. Rejects with
 * `invalid-request` (400) and all bad lines, by the pointers `/LINE/field`, and with `import-too-large` (413) beyond the limits. Where names
 * of other automations are the only problem, it rejects with `automation-exists` (409).
 */
export function importAutomations(options: ImportOptions): Promise<ImportResult> {
  return importAll(options, () => {
    throw new GatewayError(
      'import-too-large',
      `An import takes at most ${importLimits.documents} documents and ${importLimits.bytes / 1024 ** 2} MiB; nothing was changed. Send the rest as further imports.`,
    );
  });
}

/** As `importAutomations`, for any number of documents, in several transactions. After a rejection what `onStored` named stays. */
export function importPortions(options: ImportOptions): Promise<ImportResult> {
  return importAll(options, () => {});
}

/** `onFull` is called where a transaction is full, and there is another line. */
async function importAll(options: ImportOptions, onFull: () => void): Promise<ImportResult> {
  const { store, judge: judgeRights, interruption, onProgress, onStored, importer } = options;
  const result: Writable<ImportResult> = { imported: 0, replaced: 0, ids: [] };
  const reader = createReader(options);
  try {
    for (let stored = 0; ; ) {
      const { portion, bytes, isLast } = await reader.read(stored, result.imported);
      if (!isLast) onFull();
      const written = (documents: number): void => {
        interruption?.throwIfAborted();
        onProgress?.({ step: 'writing', lines: result.imported + documents, bytes });
      };
      result.replaced += await store.change(async (writer) => {
        if (judgeRights !== undefined) await portion.judge(writer, judgeRights);
        return await portion.write(writer, { importer, onBatch: written });
      });
      result.imported += portion.lines;
      result.ids = [...result.ids, ...portion.ids(idsAtMost - result.ids.length)];
      stored = portion.lastLine;
      onStored?.(stored);
      if (isLast) return result;
    }
  } finally {
    await reader.close();
  }
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

const idsAtMost = 100;

/** Reads the lines of one transaction after the other. */
function createReader({ source, interruption, onProgress }: ImportOptions) {
  let bytes = 0;
  const counted = async function* (): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of source) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  const lines = ndjsonLines(counted(), documentLimits.document);
  let next: IteratorResult<NdjsonLine, void> | undefined;
  return {
    /** `stored`: the last line of the transaction before; `imported`: how many documents those before had. */
    async read(stored: number, imported: number) {
      const portion = createPortion(stored);
      for (next ??= await lines.next(); next.done !== true && !portion.isFull(); next = await lines.next()) {
        interruption?.throwIfAborted();
        portion.add(next.value);
        if (portion.lines % validatedAtOnce !== 0) continue;
        onProgress?.({ step: 'reading', lines: imported + portion.lines, bytes });
        await setImmediate();
      }
      interruption?.throwIfAborted();
      return { portion, bytes, isLast: next.done === true };
    },
    close: () => lines.return(),
  };
}

/** Lines validated in one iteration of the event loop. */
const validatedAtOnce = 20;
/** Small enough that reading a batch and making rows of it blocks the event loop only shortly. */
const batchSize = 50;

/** A document and its line. The text is kept outside of the heap. */
interface ReadLine {
  readonly line: number;
  readonly text: Buffer;
}

/** The lines of one transaction. `stored`: the last line of the one before. */
function createPortion(stored: number) {
  const faults = createFaults(stored === 0 ? 'nothing was changed' : `nothing after line ${stored} was changed`);
  const read: ReadLine[] = [];
  let [lines, bytes, lastLine] = [0, 0, 0];
  const batches = function* (): Generator<readonly { readonly line: number; readonly automation: Automation }[]> {
    for (let start = 0; start < read.length; start += batchSize)
      yield read
        .slice(start, start + batchSize)
        .map(({ line, text }) => ({ line, automation: parseDocument(text.toString('utf8')) }));
  };
  return {
    get lines() {
      return lines;
    },
    get lastLine() {
      return lastLine;
    },
    ids: (limit: number): readonly string[] => read.slice(0, limit).map(({ text }) => parseDocument(text.toString('utf8'))._id),
    isFull: () => lines >= importLimits.documents || bytes >= importLimits.bytes,
    add(line: NdjsonLine): void {
      const judged = judge(line);
      lines += 1;
      lastLine = line.number;
      if ('problems' in judged) {
        faults.add(line.number, judged.problems);
        return;
      }
      read.push({ line: line.number, text: judged.text });
      bytes += judged.text.length;
    },
    /** See `judgeLines`. A line with other problems is not judged. */
    judge: async (writer: AutomationWriter, judgeRights: Judge): Promise<void> =>
      faults.count > 0 ? undefined : judgeLines(batches(), writer, judgeRights),
    /** Answers how many documents were replaced. */
    async write(writer: AutomationWriter, { importer, onBatch }: PortionWrite): Promise<number> {
      let [replaced, written] = [0, 0];
      const people = createImportedPeople(writer, importer);
      for (const batch of batches()) {
        await people.judge(batch.map(({ automation }) => automation));
        replaced += await writer.remove(batch.map(({ automation }) => automation._id));
        onBatch(0);
      }
      const refused: Refused[] = [];
      for (const batch of batches()) {
        const conflicts = await writer.insert(
          batch.map(({ automation }) => people.modified(automation)),
          { peopleOf: (automation) => people.of(automation) },
        );
        for (const { index, ...conflict } of conflicts)
          if (refused.length < refusedAtMost) refused.push({ line: batch[index]?.line ?? 0, ...conflict });
        written += batch.length;
        onBatch(written);
      }
      // Rolls the change back. The good lines were inserted too, so that the error names their conflicts together with the bad lines.
      if (faults.count > 0 || refused.length > 0) throw importError(faults, refused, batches());
      return replaced;
    },
  };
}

interface PortionWrite {
  readonly importer: NamedPrincipal | undefined;
  /** Called often, with the number of documents written. */
  readonly onBatch: (written: number) => void;
}

type Judge = NonNullable<ImportOptions['judge']>;
type Batches = Iterable<readonly { readonly line: number; readonly automation: Automation }[]>;

/** Throws `forbidden` (403) with every line that may not be stored. */
async function judgeLines(batches: Batches, writer: AutomationWriter, judgeRights: Judge): Promise<void> {
  const forbidden = createFaults('nothing was changed');
  for (const batch of batches) {
    for (const { line, automation: next } of batch) {
      const current = (await writer.read(next._id))?.automation;
      await judgeRights({ current, next }).catch((error: unknown) => {
        if (!(error instanceof GatewayError)) throw error;
        forbidden.add(line, [{ pointer: '', detail: error.message }]);
      });
    }
  }
  if (forbidden.count > 0) throw forbidden.error('forbidden');
}

const opaqueInput = opaqueMembers([inputPointer]);

function judge({ bytes }: NdjsonLine): { readonly text: Buffer } | { readonly problems: readonly RequestProblem[] } {
  const tooLong = { problems: [{ pointer: '', detail: `is over ${documentLimits.document} bytes; shorten the document` }] };
  if (bytes === undefined) return tooLong;
  try {
    const line = readEnvelope(bytes, { opaque: opaqueInput, sentAs: 'line' });
    const { value, problems } = withInput(line.value, line.spans);
    const read = readImported(value);
    if (read.kind === 'problems') return { problems: [...read.problems, ...problems] };
    if (problems.length > 0) return { problems };
    const text = Buffer.from(documentText({ ...read.automation, _id: read.automation._id ?? generateId() }));
    return text.length > documentLimits.document ? tooLong : { text };
  } catch (error) {
    if (error instanceof GatewayError) return { problems: error.errors ?? [{ pointer: '', detail: error.message }] };
    throw error;
  }
}

/** A document that could not be inserted. */
interface Refused extends Omit<Conflict, 'index'> {
  readonly line: number;
}

const refusedAtMost = 1_000;

/** Distinguishes a conflict with another line of the import from a conflict with the catalogue. */
function importError(
  faults: Faults,
  refused: readonly Refused[],
  batches: Iterable<readonly { readonly line: number; readonly automation: Automation }[]>,
): GatewayError {
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

/** More than for other requests: the file may be long, and its sender corrects all problems in one pass. */
const mostPlaces = 10_000;

type Faults = ReturnType<typeof createFaults>;

/** Collects the problems of lines, up to `mostPlaces`; it counts all bad lines. */
function createFaults(unchanged: string) {
  const list = createProblemList(mostPlaces);
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(line: number, problems: readonly RequestProblem[]) {
      count += 1;
      for (const { pointer, detail } of problems) list.add(`/${line}${pointer}`, `line ${line}: ${detail}`);
    },
    error(code: 'automation-exists' | 'forbidden' | 'invalid-request'): GatewayError {
      const lines = count === 1 ? 'A line' : `${count} lines`;
      return new GatewayError(code, `${lines} cannot be imported; ${unchanged}.`, { errors: list.problems });
    },
  };
}
