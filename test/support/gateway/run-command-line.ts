import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { StoredConfig } from '#config/load-config.ts';
import type { AuditReader } from '../../../src/audit/audit-reader.ts';
import { runCli } from '../../../src/cli/cli.ts';
import type { CommandContext, DemoOptions, ServeOptions } from '../../../src/cli/command.ts';
import type { Owner } from '../owner.ts';

interface Given {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly isTerminal?: boolean;
  readonly printsToTerminal?: boolean;
  readonly outputColumns?: number;
  readonly progressColumns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly audit?: AuditReader;
  readonly untilInterrupted?: CommandContext['untilInterrupted'];
}

export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly cwd: string;
  readonly served: readonly ServeOptions[];
  readonly demonstrated: readonly DemoOptions[];
  /** The configuration with which the store was opened. */
  readonly opened: StoredConfig | undefined;
}

/** Runs a command line in this process, in a directory of its own that holds the given files. */
export async function runCommandLine(owner: Owner, argv: readonly string[], given: Given = {}): Promise<CliRun> {
  const cwd = await mkdtemp(join(tmpdir(), 'cli-'));
  owner.after(() => rm(cwd, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(given.files ?? {})) await writeFile(join(cwd, name), content);
  const [stdout, stderr] = [collector(), collector()];
  const served: ServeOptions[] = [];
  const demonstrated: DemoOptions[] = [];
  let opened: StoredConfig | undefined;
  const code = await runCli({
    argv,
    stdin: given.stdin ?? Readable.from([]),
    stdout: given.stdout ?? stdout.stream,
    stderr: stderr.stream,
    env: given.env ?? {},
    cwd,
    invocation: 'npx orchestration-gateway',
    isTerminal: given.isTerminal ?? false,
    printsToTerminal: given.printsToTerminal ?? false,
    outputColumns: given.outputColumns,
    progressColumns: given.progressColumns,
    serve: async (options) => {
      served.push(options);
      return 0;
    },
    demo: async (options) => {
      demonstrated.push(options);
      return 0;
    },
    withAudit: async (config, work) => {
      opened = config;
      if (given.audit === undefined) throw new Error('this test has no audit log');
      return work(given.audit);
    },
    maintenance: () => import('../../../src/wiring/offline/maintenance.ts'),
    untilInterrupted: given.untilInterrupted ?? ((work) => work(new AbortController().signal)),
  });
  return { code, out: stdout.text(), err: stderr.text(), cwd, served, demonstrated, opened };
}

function collector(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk.toString());
      done();
    },
  });
  return { stream, text: () => chunks.join('') };
}
