import { visible } from '#base/text/visible.ts';
import { GatewayError } from '#client/gateway.ts';
import { gatewayCommand, givenOptions } from '../../gateway-command.ts';
import { CommandFailed, type GatewaySession } from '../../gateway-session.ts';
import { print, tryPrint } from '../../output.ts';
import { counted, createProgressLine, flow, grouped } from '../../texts/progress-line.ts';
import { type ImportLine, nameOf, openImportFile } from './import-file.ts';

/** Of one request, as in the gateway. */
const limits = { documents: 20_000, bytes: 63 * 1024 ** 2 } as const;

export const catalogueImport = gatewayCommand({
  name: 'import',
  summary: 'put forms, workflows and automations into the catalogue',
  description: [
    'Read what "export" wrote ("-" is standard input), and store it: the forms, then the workflows, then the',
    'automations, in requests of 20,000 documents, each of them whole or not at all. You answer for what is',
    'new or changed. Each bad line is reported as FILE:LINE: /field: what to do; it ends the import, which',
    'then names the last line stored.',
  ],
  flags: { json: 'print one JSON value: how many documents were imported, and how many of them replaced' },
  operands: ['FILE'],
  work: (session) => session.context.untilInterrupted((interruption) => importFile(session, interruption)),
});

async function importFile(session: GatewaySession, interruption: AbortSignal): Promise<number> {
  const { context, given, gateway, complain } = session;
  const file = given.operand('FILE');
  const progress = createProgressLine({ stderr: context.stderr, columns: context.progressColumns });
  const done = { imported: 0, replaced: 0 };
  let last: number | undefined;
  try {
    await using source = await openImportFile(context, file, interruption);
    const { lines } = source;
    for (const request of requestsOf(lines)) {
      interruption.throwIfAborted();
      progress.show(() => `importing: ${grouped(done.imported)} of ${counted(lines.length, 'document')}`);
      const rawBody = ReadableStream.from(source.bytesOf(request));
      const { value } = await gateway
        .importAutomations({ rawBody, signal: interruption })
        .catch(placedIn(session, file, request));
      done.imported += value.imported;
      done.replaced += value.replaced;
      last = request.at(-1)?.number;
    }
  } catch (error) {
    progress.clear();
    const kept = last === undefined ? 'nothing was stored' : `the last line stored is ${last}`;
    if (interruption.aborted) throw new CommandFailed(`interrupted; ${kept}, and perhaps the request under way`);
    complain(kept);
    throw error;
  }
  progress.clear();
  const result = `imported ${counted(done.imported, 'document')}, ${grouped(done.replaced)} of them replaced`;
  const failed = await tryPrint(context.stdout, `${given.flag('json') ? JSON.stringify(done) : result}\n`);
  if (failed !== undefined) complain(`${result}; ${failed.message}`);
  return 0;
}

function* requestsOf(lines: readonly ImportLine[]): Generator<readonly ImportLine[]> {
  let [request, bytes]: [ImportLine[], number] = [[], 0];
  for (const line of lines) {
    if (request.length === limits.documents || (request.length > 0 && bytes + line.length > limits.bytes)) {
      yield request;
      [request, bytes] = [[], 0];
    }
    request.push(line);
    bytes += line.length;
  }
  if (request.length > 0) yield request;
}

/** One line for each problem, in the format of compilers, in place of the lines of the request. */
function placedIn({ context }: GatewaySession, file: string, request: readonly ImportLine[]): (error: unknown) => never {
  const placeOf = (pointer: string): string => {
    const [, at = '', field = ''] = /^\/([0-9]+)(\/.*)?$/su.exec(pointer) ?? [];
    const number = request[Number(at) - 1]?.number;
    return number === undefined ? pointer : `${nameOf(file)}:${number}:${field === '' ? '' : ` ${field}:`}`;
  };
  return (error) => {
    if (!(error instanceof GatewayError) || error.problem?.errors === undefined) throw error;
    const { status, code, problem } = error;
    for (const { pointer, detail } of error.problem.errors)
      context.stderr.write(`${visible(`${placeOf(pointer)} ${detail.replace(/^line [0-9]+: /u, '')}`)}\n`);
    throw new GatewayError(error.message, { code, status, problem: problem && { ...problem, errors: [] } });
  };
}

const kinds = ['form', 'workflow', 'automation'] as const;

export const catalogueExport = gatewayCommand({
  name: 'export',
  summary: 'print the catalogue: forms, workflows and automations',
  description: [
    'Print a snapshot of the catalogue as one JSON document per line (NDJSON): the forms, each version of',
    'each workflow, and the automations. "import" stores them in another gateway, but for their people.',
  ],
  options: { kind: { value: 'KIND', meaning: 'only form, workflow or automation', values: kinds } },
  async work({ context, gateway, given }) {
    const { stdout, stderr, printsToTerminal, progressColumns } = context;
    // On a terminal the progress line would mix with the documents.
    const progress = createProgressLine({ stderr, columns: printsToTerminal ? undefined : progressColumns });
    const response = await gateway.open('exportAutomations', {
      query: givenOptions<{ readonly kind?: string }>(given, ['kind']),
    });
    let [lines, bytes] = [0, 0];
    try {
      for await (const piece of response.body ?? []) {
        const block = Buffer.from(piece);
        await print(stdout, block);
        bytes += block.length;
        for (const byte of block) if (byte === 0x0a) lines += 1;
        progress.show((elapsed) => flow({ lines, bytes, elapsed }));
      }
    } catch (error) {
      // The fetch of Node says so where the transfer coding has no end.
      if (error instanceof TypeError) throw new CommandFailed('the gateway broke off; the printed catalogue is incomplete');
      throw error;
    } finally {
      progress.clear();
    }
    stderr.write(`exported ${counted(lines, 'document')}\n`);
    return 0;
  },
});
