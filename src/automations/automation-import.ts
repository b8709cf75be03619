import { setImmediate } from 'node:timers/promises';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { readEnvelope } from '#json/json-envelope.ts';
import { opaqueMembers } from '#json/opaque-member.ts';
import { createProblemList } from '#json/problem-list.ts';
import type { Automation } from './automation.ts';
import { generateId, readImported } from './automation-document.ts';
import { inputPointer, withInput } from './automation-input.ts';
import { documentText } from './automation-row.ts';
import { documentLimits } from './automation-schema.ts';
import type { AutomationStore, AutomationWriter, Conflict } from './automation-store.ts';
import { type ImportSpool, openSpool } from './import-spool.ts';
import { type NdjsonLine, ndjsonLines } from './ndjson-lines.ts';

/** The progress of an import. Every line is read and validated before the first is written. */
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
  /** Throws a GatewayError where the line may not be stored. Absent: every line may be. */
  readonly judge?: ((line: ImportedLine) => Promise<void>) | undefined;
  /** Aborts the import with its reason, until the import ends; then nothing is changed. */
  readonly interruption?: AbortSignal | undefined;
  /** Called often. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
}

/**
 * Imports documents as they are, all or nothing. A document replaces the one with the same `_id`. Rejects with `invalid-request` (400) and
 * all bad lines, by the pointers `/LINE/field`. Where names of other automations are the only problem, it rejects with `automation-exists`
 * (409). The first write to the store follows the last line.
 */
export async function importAutomations({
  store,
  source,
  judge: judgeRights,
  interruption,
  onProgress,
}: ImportOptions): Promise<ImportResult> {
  const spool = await openSpool();
  try {
    const faults = createFaults();
    const bytes = await readAll({ source, spool, faults, interruption, onProgress });
    return await store.change(async (writer) => {
      if (judgeRights !== undefined && faults.count === 0) await judgeLines(writer, spool, judgeRights);
      const replaced = await removeAll(writer, spool, interruption);
      const { imported, refused } = await insertAll(writer, spool, (lines) => {
        interruption?.throwIfAborted();
        onProgress?.({ step: 'writing', lines, bytes });
      });
      // Rolls the change back. The good lines were inserted too, so that the error names their conflicts together with the bad lines.
      if (faults.count > 0 || refused.length > 0) throw await importError(faults, refused, spool);
      return { imported, replaced };
    });
  } finally {
    await spool.close();
  }
}

/** Lines validated in one iteration of the event loop. */
const validatedAtOnce = 20;

/** Adds good documents to the spool, and the problems of bad lines to the faults. Answers how many bytes it read. */
async function readAll({
  source,
  spool,
  faults,
  interruption,
  onProgress,
}: Omit<ImportOptions, 'store'> & { readonly spool: ImportSpool; readonly faults: Faults }): Promise<number> {
  let [lines, bytes] = [0, 0];
  const counted = async function* (): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of source) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  for await (const line of ndjsonLines(counted(), documentLimits.document)) {
    interruption?.throwIfAborted();
    const judged = judge(line);
    if ('problems' in judged) faults.add(line.number, judged.problems);
    else await spool.add({ line: line.number, automation: judged.automation });
    lines += 1;
    if (lines % validatedAtOnce !== 0) continue;
    onProgress?.({ step: 'reading', lines, bytes });
    await setImmediate();
  }
  interruption?.throwIfAborted();
  return bytes;
}

const opaqueInput = opaqueMembers([inputPointer]);

function judge({ bytes }: NdjsonLine): { readonly automation: Automation } | { readonly problems: readonly RequestProblem[] } {
  const tooLong = { problems: [{ pointer: '', detail: `is over ${documentLimits.document} bytes; shorten the document` }] };
  if (bytes === undefined) return tooLong;
  try {
    const line = readEnvelope(bytes, { opaque: opaqueInput, sentAs: 'line' });
    const { value, problems } = withInput(line.value, line.spans);
    const read = readImported(value);
    if (read.kind === 'problems') return { problems: [...read.problems, ...problems] };
    if (problems.length > 0) return { problems };
    const automation = { ...read.automation, _id: read.automation._id ?? generateId() };
    return Buffer.byteLength(documentText(automation)) > documentLimits.document ? tooLong : { automation };
  } catch (error) {
    if (error instanceof GatewayError) return { problems: error.errors ?? [{ pointer: '', detail: error.message }] };
    throw error;
  }
}

/** Throws `forbidden` (403) with every line that may not be stored. */
async function judgeLines(
  writer: AutomationWriter,
  spool: ImportSpool,
  judgeRights: NonNullable<ImportOptions['judge']>,
): Promise<void> {
  const refused = createFaults();
  for await (const batch of spool.batches()) {
    for (const { line, automation: next } of batch) {
      const current = (await writer.read(next._id))?.automation;
      try {
        await judgeRights({ current, next });
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        refused.add(line, [{ pointer: '', detail: error.message }]);
      }
    }
  }
  if (refused.count > 0) throw refused.error('forbidden');
}

async function removeAll(writer: AutomationWriter, spool: ImportSpool, interruption?: AbortSignal): Promise<number> {
  let removed = 0;
  for await (const batch of spool.batches()) {
    interruption?.throwIfAborted();
    removed += await writer.remove(batch.map(({ automation }) => automation._id));
  }
  return removed;
}

/** A document that could not be inserted. */
interface Refused extends Omit<Conflict, 'index'> {
  readonly line: number;
}

async function insertAll(
  writer: AutomationWriter,
  spool: ImportSpool,
  written: (lines: number) => void,
): Promise<{ readonly imported: number; readonly refused: readonly Refused[] }> {
  const refused: Refused[] = [];
  let lines = 0;
  for await (const batch of spool.batches()) {
    const conflicts = await writer.insert(batch.map(({ automation }) => automation));
    for (const { index, ...conflict } of conflicts) {
      if (refused.length < refusedAtMost) refused.push({ line: batch[index]?.line ?? 0, ...conflict });
    }
    lines += batch.length;
    written(lines);
  }
  return { imported: lines, refused };
}

const refusedAtMost = 1_000;

/** Distinguishes a conflict with another line of the import from a conflict with the catalogue. */
async function importError(faults: Faults, refused: readonly Refused[], spool: ImportSpool): Promise<GatewayError> {
  const wanted = new Set(refused.map(({ takenBy }) => takenBy));
  const lineOf = new Map<string, number>();
  for await (const batch of spool.batches()) {
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
function createFaults() {
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
      return new GatewayError(code, `${lines} cannot be imported; nothing was changed.`, { errors: list.problems });
    },
  };
}
