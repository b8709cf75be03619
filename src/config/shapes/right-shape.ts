import { entrances, rightMethods } from '#access/rights/access-options.ts';
import {
  isOperation,
  isRelayOperation,
  isWorkflowOperation,
  type Operation,
  operationNames,
  relayOperations,
} from '#access/rights/operations.ts';
import { didYouMean, joinWords, quote } from '#yaml/wording.ts';
import { itemsIn, itemsOf, memberOf, type Place, report, scalarOf, warn } from './place.ts';
import { choice, label, type Parsed, pathGlobs, plainText, text } from './scalar-shapes.ts';
import { type Check, defaulted, mapping, uniqueList } from './shape.ts';

/** `adaptersMeaning`: for `restCall`. */
export const callLists = (adaptersMeaning: string) => ({
  adapters: defaulted(
    uniqueList(label({ type: 'adapter instance', example: 'Local NSO' })),
    '[]',
    `Adapter instances. Empty: any. ${adaptersMeaning}`,
  ),
  paths: defaulted(
    pathGlobs,
    '[]',
    'Globs of the paths, as in `allowPaths`. For `restCall` they match the path of the `uri`. Empty: any path.',
  ),
  methods: defaulted(
    uniqueList(choice(...rightMethods)),
    '[]',
    'Methods at the upstream: `restQuery` is GET, `restAction` is POST. Empty: any.',
  ),
});

const operation = text({
  type: 'operationId',
  example: 'restQuery',
  parse: (value): Parsed<Operation> =>
    isOperation(value)
      ? { value }
      : { fault: `${quote(value)} is no operationId of /openapi.json${didYouMean(value, operationNames)}` },
});

/** As URLs write both. */
const destination = text({
  type: 'host or origin',
  example: 'tickets.example.net',
  parse: (value): Parsed<string> => {
    const isOrigin = value.includes('://');
    const url = URL.parse(isOrigin ? value : `http://${value}`);
    const isWhole = url !== null && /^https?:$/u.test(url.protocol) && url.href === `${url.origin}/` && !/[/?#]$/u.test(value);
    if (isWhole && isOrigin) return { value: url.origin };
    if (isWhole && url.port === '' && !/:\d*$/u.test(value)) return { value: url.hostname };
    return { fault: `${quote(value)} is no host and no origin; write tickets.example.net, or https://tickets.example.net:8443` };
  },
});

export const workflowGlobs = uniqueList(
  plainText({
    type: 'workflow glob',
    example: '"noc.*"',
    refuse: (value) =>
      /^[A-Za-z0-9.*-]{1,256}$/u.test(value)
        ? undefined
        : 'is no glob of workflow ids: 1 to 256 letters, digits, ".", "-" and "*", which is any text',
  }),
);

const limitsOfCalls = ['adapters', 'paths', 'methods', 'destinations'] as const;

const limitsWhatItNames: Check = (place) => {
  const written = itemsIn(place, 'routes').map(scalarOf);
  const named = written.filter((name): name is Operation => typeof name === 'string' && isOperation(name));
  if (named.length < written.length) return;
  const routes: readonly Operation[] = named.length === 0 ? relayOperations : named;
  const relayed = routes.filter(isRelayOperation);
  if (relayed.length === 0) noCallToLimit(place);
  else destinationsLimit(place, relayed);
  workflowsLimit(place, routes);
};

function noCallToLimit(place: Place): void {
  for (const key of limitsOfCalls) {
    const limit = memberOf(place, key);
    if (limit === undefined || itemsOf(limit).length === 0) continue;
    report(limit, `limits relayed calls alone; remove it, or name one of ${joinWords(relayOperations)} in routes`);
  }
}

function destinationsLimit(place: Place, relayed: readonly Operation[]): void {
  if (itemsIn(place, 'destinations').length === 0) return;
  if (!relayed.includes('restCall') || itemsIn(place, 'adapters').length > 0)
    warn(place, 'allows no relayed call: restCall alone has a destination, and it has no adapter instance');
}

function workflowsLimit(place: Place, routes: readonly Operation[]): void {
  const workflows = memberOf(place, 'workflows');
  const others = routes.filter((route) => !isWorkflowOperation(route));
  if (workflows === undefined || itemsOf(workflows).length === 0 || others.length === 0) return;
  const them = others.length === 1 ? 'it' : 'them';
  const detail = `cannot limit ${joinWords(others)}, which ${others.length === 1 ? 'has' : 'have'} no workflow`;
  report(workflows, `${detail}; put ${them} into another right`);
}

export const right = mapping(
  {
    routes: defaulted(
      uniqueList(operation),
      '[]',
      'Operations, by their operationId in `/openapi.json`. Empty: restCall, restAction, restQuery and restRequest.',
    ),
    ...callLists('A right with adapter instances never allows `restCall`.'),
    destinations: defaulted(
      uniqueList(destination),
      '[]',
      'Hosts and origins that `restCall` may reach. Empty: any. A right with destinations allows no call to an adapter instance.',
    ),
    workflows: defaulted(
      workflowGlobs,
      '[]',
      'Globs of workflow ids. The right covers these workflows, the automations that name them and their runs. Empty: any.',
    ),
    via: defaulted(
      uniqueList(choice(...entrances)),
      '[]',
      'Entrances at which the right counts: HTTP requests, calls of runs, or MCP. Empty: any.',
    ),
  },
  limitsWhatItNames,
);
