import { existsSync } from 'node:fs';
import { mkdir, open, readFile } from 'node:fs/promises';
import { hashPassword } from '#access/passwords/password-hash.ts';
import { systemCode } from '#base/system-code.ts';
import { visible } from '#base/text/visible.ts';
import type { DemoOptions } from '#cli/command.ts';
import { shellQuoted, shellWord } from '#cli/invocation.ts';
import { generatedPassword } from '#cli/passwords.ts';
import { createGateway, GatewayError } from '#client/gateway.ts';
import { loadConfig } from '#config/load-config.ts';
import { readDemoAutomations } from '../demo/demo-automations.ts';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import { freePort } from '../demo/free-port.ts';
import { type ServingProcess, serve } from './serve.ts';

const folder = 'data';
const configFile = `${folder}/demo.yaml`;
const passwordsFile = `${folder}/demo-passwords.json`;
const storeFile = `${folder}/demo.db`;
const usualPort = 3000;
const orchestratorUser = 'gateway';

interface Passwords {
  readonly admin: string;
  /** Of lea, who approves changes. */
  readonly approver: string;
  readonly orchestrator: string;
}

/** Runs a gateway and the demo orchestrator on loopback only, and prints example calls; resolves to the exit code. */
export async function demo(
  { adminPassword, invocation }: DemoOptions,
  process: ServingProcess & { cwd(): string },
): Promise<number> {
  const keptData = existsSync(storeFile);
  const kept = await keptPasswords();
  const generated = {
    admin: kept.admin ?? generatedPassword(),
    approver: kept.approver ?? generatedPassword(),
    orchestrator: kept.orchestrator ?? generatedPassword(),
  };
  const passwords = { ...generated, ...(adminPassword === undefined ? {} : { admin: adminPassword }) };
  const orchestrator = await startDemoOrchestrator({ username: orchestratorUser, password: passwords.orchestrator });
  try {
    const port = await freePort(usualPort);
    const hashes = { admin: await hashPassword(passwords.admin), approver: await hashPassword(passwords.approver) };
    const config = demoConfig({ port, orchestrator: orchestrator.url, hashes });
    // A password that the user chose is not written to a file.
    const files = { [configFile]: config, [passwordsFile]: `${JSON.stringify(generated, undefined, 2)}\n` };
    const fault = await writeFiles(files);
    if (fault !== undefined) {
      process.stderr.write(`orchestration-gateway demo: ${fault}; start the demo in a directory where this user may write\n`);
      return 1;
    }
    const env = { DEMO_ORCHESTRATOR_PASSWORD: passwords.orchestrator };
    const loaded = await loadConfig({ file: configFile, cwd: process.cwd(), env });
    const movedPort = port !== usualPort;
    return await serve({ ...loaded, configFile }, process, (gateway) => {
      const invite = (problems: readonly string[]): void =>
        void process.stdout.write(
          invitation({ gateway, orchestrator: orchestrator.url, passwords, movedPort, keptData, invocation, problems }),
        );
      storeAutomations(gateway, passwords.admin).then(invite, () => invite(['its automations could not be stored']));
    });
  } finally {
    await orchestrator.close();
  }
}

/**
 * Puts the workflows and automations of the demo into the catalogue, as a caller does. Those of an earlier demo stay as they are.
 * Resolves with what the gateway refused.
 */
async function storeAutomations(url: string, password: string): Promise<readonly string[]> {
  const problems: string[] = [];
  const gateway = createGateway({ baseUrl: url, username: 'admin', password });
  const stored = async (storing: Promise<unknown>): Promise<void> => {
    await storing.catch((error: unknown) => {
      if (!(error instanceof GatewayError)) throw error;
      if (error.code !== 'automation-exists') problems.push(error.message);
    });
  };
  for (const { name, data, workflow, inner } of await readDemoAutomations()) {
    for (const rawBody of [...inner, workflow])
      await stored(gateway.createWorkflow({ rawBody, contentType: 'application/yaml' }));
    await stored(gateway.createAutomation({ body: { name, data } }));
  }
  return problems;
}

/** The generated passwords of the last demo in this folder, as far as they can be read. */
async function keptPasswords(): Promise<Partial<Passwords>> {
  try {
    const kept = JSON.parse(await readFile(passwordsFile, 'utf8')) as Readonly<Record<string, unknown>>;
    return Object.fromEntries(Object.entries(kept).filter(([, password]) => isPassword(password)));
  } catch {
    return {};
  }
}

function isPassword(value: unknown): value is string {
  return typeof value === 'string' && /^\w{8,128}$/u.test(value);
}

/** Resolves to the reason where a file cannot be written. */
async function writeFiles(files: Readonly<Record<string, string>>): Promise<string | undefined> {
  for (const [name, text] of Object.entries(files)) {
    try {
      await mkdir(folder, { recursive: true });
      await writeOwnFile(name, text);
    } catch (error) {
      return `${name} cannot be written (${systemCode(error) ?? 'unknown'})`;
    }
  }
  return undefined;
}

/** Only the owner may read the file afterwards, also where it was there with other rights. */
async function writeOwnFile(name: string, text: string): Promise<void> {
  const file = await open(name, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

function demoConfig({
  port,
  orchestrator,
  hashes,
}: {
  readonly port: number;
  readonly orchestrator: string;
  readonly hashes: Readonly<Record<'admin' | 'approver', string>>;
}): string {
  return `# Each "orchestration-gateway demo" overwrites this file. For a gateway of your own use "orchestration-gateway init".
server: { port: ${port} }
store: { url: sqlite:./demo.db }
access:
  users:
    - { username: admin, passwordHash: "${hashes.admin}", roles: [admin] }
    - { username: lea, passwordHash: "${hashes.approver}", roles: [], groups: [noc-leads] }
outbound:
  allow: [127.0.0.0/8, "::1/128", localhost]   # loopback destinations, for the demo only
adapters:
  - name: Local NSO
    kind: nso
    url: ${orchestrator}
    auth: { type: basic, username: gateway, password: { env: DEMO_ORCHESTRATOR_PASSWORD } }
approvals:   # lea sees each of these calls before it leaves, and what the orchestrator says that it would do
  - name: device-changes
    when: { routes: [restRequest], adapters: [Local NSO], methods: [PATCH, PUT, DELETE], paths: ["restconf/data/tailf-ncs:devices/**"] }
    approvers: { groups: [noc-leads] }
`;
}

interface Invitation {
  readonly gateway: string;
  readonly orchestrator: string;
  readonly passwords: Passwords;
  readonly movedPort: boolean;
  readonly keptData: boolean;
  readonly invocation: string;
  /** Why automations of the demo could not be stored. */
  readonly problems: readonly string[];
}

function invitation(options: Invitation): string {
  const { gateway, orchestrator, passwords, movedPort, keptData } = options;
  const password = passwords.admin;
  const curl = (path: string, body: string): string =>
    `curl -s -u ${shellQuoted(`admin:${password}`)} -H 'Content-Type: application/json' ${gateway}${path} -d ${shellQuoted(body)}`;
  const json = 'application/yang-data+json';
  const device = 'restconf/data/tailf-ncs:devices/device';
  return `
The gateway and a demo orchestrator in place of Cisco NSO are running. In a browser: ${gateway}/console
${movedPort ? `Another program uses port ${usualPort}, so the gateway has another port: ${gateway}\n` : ''}
  gateway       ${gateway}  user admin, password ${password}
                ${' '.repeat(gateway.length)}  user lea, password ${passwords.approver}  (approves changes)
  orchestrator  ${orchestrator}  user ${orchestratorUser}, password ${passwords.orchestrator}  (adapter instance "Local NSO")

Set GATEWAY_ADMIN_PASSWORD to choose the password of admin; a generated one stays the same (${passwordsFile}).
${keptData ? `The gateway has kept the data of earlier demos in ${folder}/: automations, audit log. Delete ${folder}/demo* to start empty.` : `The gateway keeps its data in ${folder}/ for the next demo.`}
The data of the orchestrator is in memory, and the same at each start.

A query:
${curl('/orchestrator_manager/restQuery/Local%20NSO', JSON.stringify({ params: { path: `${device}?limit=2&fields=name;address;description`, accept: 'application/yang-data+json' } }))}

An action:
${curl('/orchestrator_manager/restAction/Local%20NSO', JSON.stringify({ params: { path: `${device}=ce0/check-sync`, accept: json }, body: {} }))}

A REST call:
${curl('/tools/restCall', JSON.stringify({ uri: `${orchestrator}/demo/echo`, verb: 'POST', body: { id: 1 }, responseHeaders: false }))}

${automationWords(options)}

Ctrl-C stops both.
`;
}

/** How to run an automation in another terminal and watch it. */
function automationWords({ gateway, passwords, movedPort, invocation, problems }: Invitation): string {
  const login = `GATEWAY_USER=admin GATEWAY_PASSWORD=${shellWord(passwords.admin)}`;
  const address = movedPort ? `GATEWAY_URL=${gateway} ` : '';
  const faults = problems.map((problem) => `\nAn automation of the demo was not stored: ${visible(problem)}`);
  const lea = `${address}GATEWAY_USER=lea GATEWAY_PASSWORD=${shellWord(passwords.approver)} ${invocation} approvals`;
  return `An automation, in another terminal in this folder; it brings up a VPN:
${address}${login} ${invocation} run 'Bring up a VPN' --follow${faults.join('')}

A change that waits until lea has approved it. She types, in a third terminal:
${address}${login} ${invocation} run 'Rename a device' --follow
${lea} list`;
}
