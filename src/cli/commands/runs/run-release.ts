import { answeringCommand } from '../../gateway-command.ts';

export const runRelease = answeringCommand({
  name: 'runs release',
  summary: 'let runs go on that were under way when the store lost commits',
  description: [
    'Let the runs go on that a loss of the store suspended (store-loss), and print how many they are.',
    'Look at the upstreams first: of each run, people decide about the first call without an outcome.',
  ],
  options: { reason: { value: 'TEXT', default: '', meaning: 'why they may go on; on record', isRequired: true } },
  async answer({ gateway, given }) {
    const { value } = await gateway.releaseRuns({ body: { reason: given.option('reason') } });
    return { value, lines: [String(value.released)] };
  },
});
