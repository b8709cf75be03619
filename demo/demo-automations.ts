import { readFile } from 'node:fs/promises';

/** An automation that the demo brings along, with its workflow. */
export interface DemoAutomation {
  readonly name: string;
  /** The workflow document, in YAML. */
  readonly workflow: string;
  /** Documents that it runs, which are stored before it. */
  readonly inner: readonly string[];
  /** `data` of the automation. */
  readonly data: {
    readonly description: string;
    readonly workflowId: string;
    readonly cron?: string;
    readonly input?: Readonly<Record<string, unknown>>;
  };
}

type Listed = Omit<DemoAutomation, 'inner' | 'workflow'> & { readonly file: string; readonly innerFiles?: readonly string[] };

const automations: readonly Listed[] = [
  {
    name: 'Bring up a VPN',
    file: 'bring-up-vpn.yaml',
    data: {
      description: 'Synchronises the devices of a VPN where they need it, and creates the VPN.',
      workflowId: 'demo.bring-up-vpn',
      // ce22 is out of sync when the demo starts.
      input: { vpn: 'acme', devices: ['ce6', 'ce22', 'pe2'] },
    },
  },
  {
    name: 'Nightly check-sync',
    file: 'nightly-check-sync.yaml',
    innerFiles: ['check-sync-of-devices.yaml'],
    data: {
      description: 'Runs check-sync on all devices, ten in a call, and reports those that are not in sync.',
      workflowId: 'demo.nightly-check-sync',
      cron: '0 2 * * *',
    },
  },
  {
    name: 'Rename a device',
    file: 'rename-device.yaml',
    data: {
      description: 'Changes the host name of a device, once a person has approved the change.',
      workflowId: 'demo.rename-device',
      input: { device: 'ce0', hostname: 'oslo-edge-1' },
    },
  },
];

/** The automations of the demo, with the documents of the folder `workflows/`. */
export async function readDemoAutomations(): Promise<readonly DemoAutomation[]> {
  return await Promise.all(
    automations.map(async ({ file, innerFiles = [], ...automation }) => ({
      ...automation,
      workflow: await documentIn(file),
      inner: await Promise.all(innerFiles.map(documentIn)),
    })),
  );
}

function documentIn(file: string): Promise<string> {
  return readFile(new URL(`workflows/${file}`, import.meta.url), 'utf8');
}
