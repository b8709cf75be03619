import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { OperationName } from '#client/gateway.ts';
import { gatewayAddress, hrefOf, place } from '../address.ts';
import { useLoad } from '../load.ts';
import { useSending } from '../parts/action.tsx';
import { Area, Input, Select, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { Reply, Snippets } from '../parts/reply.tsx';
import { type ReadReply, readReply } from '../reading.ts';
import { gateway, may } from '../session.ts';
import type { SnippetCall } from '../snippets.ts';

type Kind = 'restQuery' | 'restAction' | 'restRequest' | 'preview' | 'restCall';

const kinds: readonly (readonly [Kind, string])[] = [
  ['restQuery', 'Query'],
  ['restAction', 'Action'],
  ['restRequest', 'Request'],
  ['preview', 'Preview'],
  ['restCall', 'REST call'],
];

/** Calls to orchestrators and other far sides, by hand. */
export function Explorer(): JSX.Element {
  const offered = kinds.filter(([name]) => may(name));
  const asked = place.value.query.get('kind');
  const kind = offered.find(([name]) => name === asked)?.[0] ?? offered[0]?.[0] ?? 'restQuery';
  return (
    <>
      <nav class="tabs" aria-label="Kinds of calls">
        <ul>
          {offered.map(([name, title]) => (
            <li key={name}>
              <a href={hrefOf(['explorer'], { kind: name })} aria-current={name === kind ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <CallForm key={kind} kind={kind} />
    </>
  );
}

const changes: ReadonlySet<Kind> = new Set(['restAction', 'restRequest', 'restCall']);

function CallForm({ kind }: { readonly kind: Kind }): JSX.Element {
  const [reply, setReply] = useState<ReadReply | undefined>(undefined);
  const [made, setMade] = useState<SnippetCall | undefined>(undefined);
  const { isBusy, error, submit } = useSending(async (form) => {
    const call = callOf(kind, form);
    setReply(undefined);
    setMade(snippetOf(kind, call));
    setReply(await readReply(() => gateway.open(kind, call)));
  });
  return (
    <>
      <form aria-label="Call" class="panel" onSubmit={submit}>
        {kind === 'restCall' ? <RestCallFields /> : <OrchestratorFields kind={kind} />}
        {kind !== 'restQuery' && (
          <Area
            label="Body, a JSON object"
            name="body"
            rows={6}
            value={kind === 'restAction' ? '{}' : ''}
            hint="It is sent as it is: numbers keep their digits."
          />
        )}
        {changes.has(kind) && (
          <div class="filters">
            <Input label="Idempotency-Key" name="idempotencyKey" hint="A repetition with the same key is done once." />
            <Input label="Approval" name="approval" hint="The id of a granted approval of exactly this call." />
          </div>
        )}
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Sending…' : 'Send'}
        </button>
      </form>
      {error !== undefined && <Failure error={error} />}
      {reply !== undefined && <Reply of={reply} />}
      {made !== undefined && <Snippets of={made} />}
    </>
  );
}

function OrchestratorFields({ kind }: { readonly kind: Kind }): JSX.Element {
  const adapters = useLoad(
    async (signal) => (may('listAdapters') ? (await gateway.listAdapters({ signal })).value.list : []),
    [],
  );
  const names = (adapters.value ?? []).map(({ name }) => [name, name] as const);
  return (
    <>
      {names.length === 0 && !adapters.isLoading ? (
        <Input label="Adapter" name="adapter" required />
      ) : (
        <Select label="Adapter" name="adapter" options={names} />
      )}
      {hasMethod(kind) && <Method name="method" />}
      <Input
        label="Path"
        name="path"
        required
        hint="As the orchestrator knows it; it is sent as it is."
        placeholder="restconf/data/tailf-ncs:devices/device?fields=name"
      />
      <Input label="Accept" name="accept" required value="application/yang-data+json" />
      {kind !== 'restQuery' && <Input label="Content-Type" name="contentType" hint="Empty: that of the adapter’s kind." />}
    </>
  );
}

function RestCallFields(): JSX.Element {
  return (
    <>
      <Method name="verb" />
      <Input label="URI" name="uri" required placeholder="https://api.example.net/items" />
      <Area label="Headers, one a line" name="headers" rows={3} hint="Such as: Accept: application/json" />
    </>
  );
}

function Method({ name }: { readonly name: string }): JSX.Element {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, method] as const);
  return <Select label="Method" name={name} options={methods} />;
}

interface MadeCall {
  readonly path: Readonly<Record<string, string>>;
  readonly rawBody: string;
  readonly idempotencyKey?: string;
  readonly approval?: string;
}

function hasMethod(kind: Kind): boolean {
  return kind === 'restRequest' || kind === 'preview';
}

/** The call that the form says. Its body is put together as text, so that its numbers keep their digits. */
function callOf(kind: Kind, form: HTMLFormElement): MadeCall {
  const get = (name: string): string => textOf(form, name).trim();
  const body = get('body');
  const head =
    kind === 'restCall'
      ? JSON.stringify({ uri: get('uri'), verb: get('verb'), headers: headersIn(get('headers')), responseHeaders: true })
      : JSON.stringify({ params: paramsOf(kind, get) });
  return {
    path: kind === 'restCall' ? {} : { adapterId: get('adapter') },
    rawBody: body === '' ? head : `${head.slice(0, -1)},"body":${body}}`,
    ...(get('idempotencyKey') === '' ? {} : { idempotencyKey: get('idempotencyKey') }),
    ...(get('approval') === '' ? {} : { approval: get('approval') }),
  };
}

function paramsOf(kind: Kind, get: (name: string) => string): Readonly<Record<string, string>> {
  return {
    ...(hasMethod(kind) ? { method: get('method') } : {}),
    path: get('path'),
    accept: get('accept'),
    ...(get('contentType') === '' ? {} : { contentType: get('contentType') }),
  };
}

function headersIn(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').flatMap((line) => {
    const [, name, value] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/u.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(lines);
}

function snippetOf(kind: OperationName & Kind, { path, rawBody, idempotencyKey, approval }: MadeCall): SnippetCall {
  const route =
    kind === 'restCall' ? 'tools/restCall' : `orchestrator_manager/${kind}/${encodeURIComponent(path['adapterId'] ?? '')}`;
  const options = [
    ...(kind === 'restCall' ? [] : [`path: ${JSON.stringify(path)}`]),
    `rawBody: ${JSON.stringify(rawBody)}`,
    ...(idempotencyKey === undefined ? [] : [`idempotencyKey: ${JSON.stringify(idempotencyKey)}`]),
    ...(approval === undefined ? [] : [`approval: ${JSON.stringify(approval)}`]),
  ];
  return {
    method: 'POST',
    url: new URL(route, gatewayAddress).href,
    headers: {
      'Content-Type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
      ...(approval === undefined ? {} : { Approval: approval }),
    },
    body: rawBody,
    operation: kind,
    options: `{ ${options.join(', ')} }`,
  };
}
