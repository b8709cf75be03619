import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { AuditVerdict } from '#audit/chain/audit-verification.ts';
import { readWitness, type Witness } from '#audit/chain/checkpoint.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';
import { loadStoredConfig } from '#config/load-config.ts';
import type { Command } from '../../command.ts';
import { configFileArgument, configFileOption } from '../../config-file-option.ts';
import { loadOrReport } from '../../load-or-report.ts';
import { tryPrint } from '../../output.ts';
import { program } from '../../texts/help.ts';
import { counted } from '../../texts/progress-line.ts';

export const auditVerify: Command = {
  name: 'audit verify',
  summary: 'verify that the audit log was not tampered with',
  description: [
    'Verify the audit log of the configured store, and name the first record of each chain that was',
    'changed, removed, inserted, swapped or cut off, and each kept body that was changed; the exit code is',
    'then 1. A gateway may use the store at the same time. Only checkpoints kept elsewhere reveal the',
    'changes of somebody who has the store.',
  ],
  ...configFileArgument,
  options: {
    config: configFileOption,
    checkpoints: { value: 'FILE', meaning: 'a checkpoint file, or a log that contains checkpoints' },
  },
  async run(context, { option }) {
    const loaded = await loadOrReport({ context, file: option('config'), command: 'audit verify', load: loadStoredConfig });
    if (loaded === undefined) return 1;
    const file = option('checkpoints') === '' ? undefined : resolve(context.cwd, option('checkpoints'));
    try {
      const { config } = loaded;
      const verdict = await context.withAudit(config, (audit) => audit.verify({ checkpoints: readFrom(file) }));
      const { problems, lost } = verdict;
      const losses = lost.map(({ chain, from, to }) => `the store lost ${chain}/${from} to ${chain}/${to}, as a gateway noticed`);
      // A failure to print does not change the exit code, which is the result.
      const outputError = await tryPrint(context.stdout, [...problems, ...losses].map((line) => `${line}\n`).join(''));
      if (outputError?.readerLeft === false) context.stderr.write(`${program} audit verify: ${outputError.message}\n`);
      context.stderr.write(
        `verified ${extentOf(verdict)}: ${problems.length === 0 ? unchangedWords(lost.length > 0) : 'TAMPERED WITH'}\n`,
      );
      return problems.length === 0 ? 0 : 1;
    } catch (error) {
      const why = reason(error, option('checkpoints'));
      if (why === undefined) throw error;
      context.stderr.write(`${program} audit verify: ${why}\n`);
      return 1;
    }
  },
};

function unchangedWords(isLost: boolean): string {
  return isLost ? 'no record was changed; the store lost records' : 'no record was changed';
}

/** What was verified, in words. */
function extentOf({ records, chains, checkpoints, from, to }: AuditVerdict): string {
  const seen = `${counted(records, 'record')} in ${counted(chains, 'chain')}, ${counted(checkpoints, 'checkpoint')}`;
  if (from === undefined || to === undefined) return seen;
  return `${seen}, from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
}

async function* readFrom(file: string | undefined): AsyncGenerator<Witness, void, undefined> {
  if (file === undefined) return;
  let found = false;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const checkpoint = readWitness(line);
    if (checkpoint === undefined) continue;
    found = true;
    yield checkpoint;
  }
  if (!found) throw new NoCheckpoint();
}

class NoCheckpoint extends Error {}

function reason(error: unknown, file: string): string | undefined {
  if (error instanceof GatewayError) return error.message;
  const why = error instanceof NoCheckpoint ? 'it contains no checkpoint' : systemCode(error);
  return why && `the checkpoints of ${file} cannot be read (${why})`;
}
