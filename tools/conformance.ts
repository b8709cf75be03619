/**
 * Runs the conformance kit of the Serverless Workflow DSL against a running gateway.
 *
 *   npm run conformance -- DIRECTORY      the folder `ctk` of github.com/serverlessworkflow/specification
 *
 * An upstream on loopback answers for the hosts that the kit calls. Exits with 1 where a scenario fails.
 */

import { type Gateway, startGateway } from '../test/support/gateway/start-gateway.ts';
import type { Owner } from '../test/support/owner.ts';
import { until } from '../test/support/until.ts';
import { problemOf, type RunResult } from './conformance/expectations.ts';
import { readScenarios, type Scenario } from './conformance/kit.ts';
import { redirected, startPetStore } from './conformance/pet-store.ts';

const [directory] = process.argv.slice(2);
if (directory === undefined) {
  console.error('Name the folder of the conformance kit: npm run conformance -- DIRECTORY');
  process.exit(2);
}
const scenarios = await readScenarios(directory);
await using closing = new AsyncDisposableStack();
const owner: Owner = {
  after(close) {
    closing.defer(async () => close());
  },
};
const far = await startPetStore(owner);
const gateway = await startGateway(owner, { config: { outbound: { allow: [far.authority] } } });
let failed = 0;
for (const [index, scenario] of scenarios.entries()) {
  const problems = await problemsOf(scenario, index);
  if (problems.length > 0) failed += 1;
  console.log(`${problems.length === 0 ? '✔' : '✖'} ${scenario.name}`);
  for (const problem of problems) console.log(`    ${problem}`);
}
console.log(`\n${scenarios.length - failed} of ${scenarios.length} scenarios passed`);
if (failed > 0) process.exitCode = 1;

async function problemsOf(scenario: Scenario, index: number): Promise<readonly string[]> {
  const run = await resultOf(scenario, index);
  if (typeof run === 'string') return [run];
  return scenario.expectations.flatMap((expectation) => {
    const problem = problemOf(run, expectation);
    return problem === undefined ? [] : [`${expectation.text} ${problem}`];
  });
}

/** What came of the run of the scenario's workflow, or why it could not be run. */
async function resultOf({ definition, input }: Scenario, index: number): Promise<RunResult | string> {
  const stored = await post(gateway, '/automation_catalog/workflows', redirected(definition, far), 'application/yaml');
  if (stored.status !== 201) return `the workflow was refused: ${stored.text}`;
  const { id, version } = stored.json() as { readonly id: string; readonly version: string };
  const automation = JSON.stringify({ name: `Scenario ${index}`, data: { workflowId: id } });
  const created = await post(gateway, '/automation_catalog/automations', automation);
  if (created.status !== 201) return `the automation was refused: ${created.text}`;
  const { _id } = created.json() as { readonly _id: string };
  const started = await post(gateway, `/automation_catalog/automations/${_id}/run`, JSON.stringify({ input }));
  if (started.status !== 201) return `the run was refused: ${started.text}`;
  const { id: run } = started.json() as { readonly id: string };
  let result: Omit<RunResult, 'tasks'> = { status: 'pending' };
  await until('the run ends', async () => {
    const reply = await gateway.send({ role: 'admin', target: `/runs/${run}` });
    result = reply.json() as typeof result;
    return ['completed', 'faulted', 'cancelled', 'suspended'].includes(result.status);
  });
  const tasks = await gateway.send({ role: 'admin', target: `/runs/${run}/tasks?limit=100` });
  // Scenarios of the kit share names and versions of workflows.
  for (const target of [`automations/${_id}`, `workflows/${id}`, `workflows/${id}?version=${version}&tombstone=true`])
    await gateway.send({ role: 'admin', method: 'DELETE', target: `/automation_catalog/${target}` });
  return { ...result, tasks: (tasks.json() as { readonly list: RunResult['tasks'] }).list };
}

function post(to: Gateway, target: string, body: string, type = 'application/json') {
  return to.send({ role: 'admin', method: 'POST', target, headers: { 'Content-Type': type }, body });
}
