import { resolve } from 'node:path';
import type { Finding } from '#config/finding.ts';
import { loadConfig } from '#config/load-config.ts';
import type { Command } from '../../command.ts';
import { configFileArgument } from '../../config-file-option.ts';
import { loadOrReport } from '../../load-or-report.ts';
import { print } from '../../output.ts';

const words: Readonly<Record<Finding['verdict'], string>> = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' };

export const doctor: Command = {
  name: 'doctor',
  summary: 'say what is wrong with an installation',
  description: [
    'Look at everything that a gateway needs: Node.js, the configuration, its files and their rights, the',
    'port, the store, the disk, the clock, and the name, the address and the certificate of each adapter.',
    'The output is for a support ticket: it holds no secret. A gateway may run at the same time. No call is',
    'sent to an orchestrator. The exit code is 1 where there is a problem.',
  ],
  ...configFileArgument,
  flags: { json: 'print each finding as a line of JSON' },
  async run(context, { option, flag }) {
    const maintenance = await context.maintenance();
    const line = (finding: Finding): string =>
      flag('json') ? JSON.stringify(finding) : `${words[finding.verdict]}  ${finding.subject}: ${finding.detail}`;
    let code = 0;
    const tell = async (finding: Finding): Promise<void> => {
      if (finding.verdict === 'problem') code = 1;
      await print(context.stdout, `${line(finding)}\n`);
    };
    await tell(await maintenance.examineProgram());
    const loaded = await loadOrReport({
      context,
      file: option('config'),
      command: 'doctor',
      load: loadConfig,
      tell: (detail) => tell({ subject: 'configuration', verdict: 'problem', detail }),
    });
    if (loaded === undefined) return 1;
    await tell({ subject: 'configuration', verdict: 'ok', detail: option('config') });
    for (const { path, message } of loaded.warnings)
      await tell({ subject: 'configuration', verdict: 'warning', detail: path === '' ? message : `${path} ${message}` });
    for await (const finding of maintenance.examine(loaded.config, resolve(context.cwd, option('config')))) await tell(finding);
    return code;
  },
};
