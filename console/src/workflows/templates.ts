/** A document to begin with. */
interface Template {
  readonly name: string;
  readonly title: string;
  readonly words: string;
  /** The text of `do` and what goes with it. */
  readonly body: string;
}

export const templates: readonly Template[] = [
  {
    name: 'empty',
    title: 'One step',
    words: 'The smallest workflow: it gives back its input.',
    body: `do:
  - first:
      set: '\${ . }'
`,
  },
  {
    name: 'query',
    title: 'Read from an orchestrator',
    words: 'Asks NSO for its devices, and gives back their names.',
    body: `do:
  - listDevices:
      call: orchestratorQuery
      with:
        adapter: Local NSO
        params:
          path: restconf/data/tailf-ncs:devices/device?fields=name
          accept: application/yang-data+json
      output: { as: '[.["tailf-ncs:device"][].name]' }
`,
  },
  {
    name: 'each',
    title: 'Check each device',
    words: 'Runs check-sync for each device of the input, and stops at the first that is not in sync.',
    body: `input:
  schema:
    document:
      type: object
      required: [devices]
      properties:
        devices: { type: array, items: { type: string }, title: Devices }
do:
  - eachDevice:
      for: { each: device, in: .devices }
      do:
        - checkSync:
            call: orchestratorAction
            with:
              adapter: Local NSO
              params:
                path: \${ "restconf/data/tailf-ncs:devices/device=\\($device | @uri)/check-sync" }
                accept: application/yang-data+json
              repeatable: true
            output: { as: '.["tailf-ncs:output"]' }
        - stopIfNotInSync:
            if: .result != "in-sync"
            raise:
              error:
                type: https://example.net/errors/not-in-sync
                status: 409
                detail: '\${ "\\($device): \\(.info // .result)" }'
`,
  },
  {
    name: 'change',
    title: 'Change with an approval',
    words: 'Asks people first, then changes the configuration, and says what it did where that fails.',
    body: `input:
  schema:
    document:
      type: object
      required: [device, hostname]
      properties:
        device: { type: string, title: Device }
        hostname: { type: string, title: New hostname }
do:
  - ask:
      call: approval
      with:
        message: '\${ "May \\(.device) be called \\(.hostname)?" }'
        approvers: { groups: [noc-leads] }
      output: { as: $input }
  - change:
      try:
        - rename:
            call: orchestratorRequest
            with:
              adapter: Local NSO
              params:
                method: PATCH
                path: \${ "restconf/data/tailf-ncs:devices/device=\\(.device | @uri)/config" }
                accept: application/yang-data+json
              body: { 'tailf-ncs:config': { 'tailf-ned-cisco-ios:hostname': '\${ .hostname }' } }
      catch:
        errors: { with: { type: urn:orchestration-gateway:errors:outcome-unknown } }
        as: fault
        do:
          - tell:
              raise:
                error:
                  type: https://example.net/errors/look-at-the-device
                  status: 500
                  detail: '\${ "It is unknown whether the hostname changed: \\($fault.detail)" }'
`,
  },
];

/** The whole document. The names are checked when it is. */
export function documentFrom(
  { body }: Template,
  { namespace, name, title }: Readonly<Record<'namespace' | 'name' | 'title', string>>,
): string {
  const words = title === '' ? '' : `  title: ${JSON.stringify(title)}\n`;
  return `document:\n  dsl: '1.0.3'\n  namespace: ${JSON.stringify(namespace)}\n  name: ${JSON.stringify(name)}\n  version: '1.0.0'\n${words}${body}`;
}
