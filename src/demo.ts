import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { hashPassword } from '#access/password-hash.ts';
import { shellQuoted } from '#base/shell-quoted.ts';
import { systemCode } from '#base/system-code.ts';
import type { DemoOptions } from '#cli/command.ts';
import { loadConfig } from '#config/load-config.ts';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import { freePort } from '../demo/free-port.ts';
import { type ServingProcess, serve } from './serve.ts';

const configFile = 'data/demo.yaml';

/** Runs a gateway and the demo orchestrator on loopback only, and prints example calls; resolves to the exit code. */
export async function demo({ adminPassword }: DemoOptions, process: ServingProcess & { cwd(): string }): Promise<number> {
  const orchestratorPassword = randomBytes(18).toString('base64url');
  const orchestrator = await startDemoOrchestrator({ username: 'gateway', password: orchestratorPassword });
  try {
    const port = await freePort(3000);
    const config = demoConfig({ port, orchestrator: orchestrator.url, passwordHash: await hashPassword(adminPassword) });
    const fault = await writeConfig(config);
    if (fault !== undefined) {
      process.stderr.write(
        `orchestration-gateway demo: ${configFile} ${fault}; start the demo in a directory where this user may write\n`,
      );
      return 1;
    }
    const loaded = await loadConfig({
      file: configFile,
      cwd: process.cwd(),
      env: { DEMO_ORCHESTRATOR_PASSWORD: orchestratorPassword },
    });
    return await serve({ ...loaded, configFile }, process, (url) =>
      process.stdout.write(invitation(url, orchestrator.url, adminPassword)),
    );
  } finally {
    await orchestrator.close();
  }
}

/** Resolves to the reason where the file cannot be written. */
async function writeConfig(config: string): Promise<string | undefined> {
  try {
    await mkdir('data', { recursive: true });
    await writeFile(configFile, config, { mode: 0o600 });
    return undefined;
  } catch (error) {
    return `cannot be written (${systemCode(error) ?? 'unknown'})`;
  }
}

function demoConfig({
  port,
  orchestrator,
  passwordHash,
}: {
  readonly port: number;
  readonly orchestrator: string;
  readonly passwordHash: string;
}): string {
  return `# Each "orchestration-gateway demo" overwrites this file. For a gateway of your own use "orchestration-gateway init".
server: { port: ${port} }
store: { url: sqlite:./demo.db }
access:
  users:
    - { username: admin, passwordHash: "${passwordHash}", roles: [admin] }
outbound:
  allow: [127.0.0.0/8, "::1/128", localhost]   # loopback destinations, for the demo only
adapters:
  - name: Local NSO
    kind: nso
    url: ${orchestrator}
    auth: { type: basic, username: gateway, password: { env: DEMO_ORCHESTRATOR_PASSWORD } }
`;
}

function invitation(gateway: string, orchestrator: string, password: string): string {
  const curl = (path: string, body: string): string =>
    `curl -s -u ${shellQuoted(`admin:${password}`)} -H 'Content-Type: application/json' ${gateway}${path} -d ${shellQuoted(body)}`;
  const json = 'application/yang-data+json';
  const device = 'restconf/data/tailf-ncs:devices/device';
  return `
The gateway and a demo orchestrator in place of Cisco NSO are running. The orchestrator is ${orchestrator} (adapter instance "Local NSO").
User admin, password ${password} (set GATEWAY_ADMIN_PASSWORD to choose it). API documentation: ${gateway}/docs

A query:
${curl('/orchestrator_manager/restQuery/Local%20NSO', JSON.stringify({ params: { path: `${device}?limit=2&fields=name;address;description`, accept: 'application/yang-data+json' } }))}

An action:
${curl('/orchestrator_manager/restAction/Local%20NSO', JSON.stringify({ params: { path: `${device}=ce0/check-sync`, accept: json }, body: {} }))}

A REST call:
${curl('/tools/restCall', JSON.stringify({ uri: `${orchestrator}/demo/echo`, verb: 'POST', body: { id: 1 }, responseHeaders: false }))}

Ctrl-C stops both.
`;
}
