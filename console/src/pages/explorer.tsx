import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { OperationName } from '#client/gateway.ts';
import { gatewayAddress, hrefOf, place } from '../address.ts';
import { type EarlierCall, earlierCalls, keepCall } from '../explorer-history.ts';
import { useLoad } from '../load.ts';
import { useSending } from '../parts/action.tsx';
import { Area, Field, Input, Select, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { Snippets } from '../parts/reply.tsx';
import { type ReadReply, readReply } from '../reading.ts';
import { gateway, may } from '../session.ts';
import type { SnippetCall } from '../snippets.ts';
import { EarlierCalls } from './earlier-calls.tsx';
import { useQuestion } from './question.tsx';
import { PreviewReply, ReplyViews } from './reply-views.tsx';

type Kind = 'restQuery' | 'restAction' | 'restRequest' | 'preview' | 'restCall';

const kinds: readonly (readonly [Kind, string])[] = [
  ['restQuery', 'Query'],
  ['restAction', 'Action'],
  ['restRequest', 'Request'],
  ['preview', 'Preview'],
  ['restCall', 'REST call'],
];

/** Calls to orchestrators and other upstreams, by hand. */
export function Explorer(): JSX.Element {
  const { query } = place.value;
  const offered = kinds.filter(([name]) => may(name));
  const missing = kinds.filter(([name]) => !may(name));
  const kind = offered.find(([name]) => name === query.get('kind'))?.[0] ?? offered[0]?.[0] ?? 'restQuery';
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
      <CallForm key={query.toString()} kind={kind} />
      {missing.map(([name, title]) => (
        <NeededRight key={name} of={name} to={`send: ${title}`} />
      ))}
    </>
  );
}

function CallForm({ kind }: { readonly kind: Kind }): JSX.Element {
  const [reply, setReply] = useState<ReadReply | undefined>(undefined);
  const [made, setMade] = useState<SnippetCall | undefined>(undefined);
  const [sent, setSent] = useState<EarlierCall | undefined>(undefined);
  const question = useQuestion();
  const { isBusy, error, submit } = useSending(async (form) => {
    const call = callOf(kind, form);
    const earlier = earlierOf(kind, form);
    setMade(snippetOf(kind, call));
    if (isChange(earlier) && !(await question.ask(`${earlier.method} ${earlier.path}`, earlier.adapter))) return;
    setReply(undefined);
    keepCall('history', earlier);
    setSent(earlier);
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
      {question.dialog}
      {error !== undefined && <Failure error={error} />}
      {reply !== undefined && kind === 'preview' && <PreviewReply text={reply.text} />}
      {reply !== undefined && <ReplyViews of={reply} />}
      {made !== undefined && <Snippets of={made} />}
      <EarlierCalls sent={sent} />
    </>
  );
}

const changes: ReadonlySet<Kind> = new Set(['restAction', 'restRequest', 'restCall']);

/** What the form has, as the browser keeps it. */
function earlierOf(kind: Kind, form: HTMLFormElement): EarlierCall {
  const get = (name: string): string => textOf(form, name).trim();
  const at = new Date().toISOString();
  if (kind === 'restCall') return { kind, adapter: '', method: get('verb'), path: get('uri'), accept: '', at };
  const method = hasMethod(kind) ? get('method') : (fixedMethods[kind] ?? '');
  return { kind, adapter: get('adapter'), method, path: get('path'), accept: get('accept'), at };
}

const fixedMethods: Readonly<Record<string, string>> = { restQuery: 'GET', restAction: 'POST' };

/** Whether the call may change something: then the console asks first. */
function isChange({ kind, method }: EarlierCall): boolean {
  return kind !== 'preview' && method !== 'GET';
}

function OrchestratorFields({ kind }: { readonly kind: Kind }): JSX.Element {
  const { query } = place.value;
  const adapters = useLoad(
    async (signal) => (may('listAdapters') ? (await gateway.listAdapters({ signal })).value.list : []),
    [],
  );
  const names = (adapters.value ?? []).map(({ name }) => [name, name] as const);
  return (
    <>
      {names.length === 0 && !adapters.isLoading ? (
        <Input label="Adapter" name="adapter" required value={query.get('adapter') ?? ''} />
      ) : (
        <Select label="Adapter" name="adapter" value={query.get('adapter') ?? ''} options={names} />
      )}
      {hasMethod(kind) && <Method name="method" value={query.get('method') ?? 'GET'} />}
      <Path />
      <Input label="Accept" name="accept" required value={query.get('accept') ?? 'application/yang-data+json'} />
      {kind !== 'restQuery' && <Input label="Content-Type" name="contentType" hint="Empty: that of the adapter’s kind." />}
    </>
  );
}

/** The path, with those that this browser knows. */
function Path(): JSX.Element {
  const { query } = place.value;
  const list = useId();
  const known = [...new Set(earlierCalls('history').map(({ path }) => path))];
  return (
    <Field label="Path" hint="As the orchestrator knows it; it is sent as it is.">
      {(ids) => (
        <>
          <input
            {...ids}
            name="path"
            required
            list={list}
            spellcheck={false}
            autocomplete="off"
            defaultValue={query.get('path') ?? ''}
            placeholder="restconf/data/tailf-ncs:devices/device?fields=name"
          />
          <datalist id={list}>
            {known.map((path) => (
              <option key={path} value={path} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

function RestCallFields(): JSX.Element {
  const { query } = place.value;
  return (
    <>
      <Method name="verb" value={query.get('method') ?? 'GET'} />
      <Input label="URI" name="uri" required value={query.get('path') ?? ''} placeholder="https://api.example.net/items" />
      <Area label="Headers, one a line" name="headers" rows={3} hint="Such as: Accept: application/json" />
    </>
  );
}

function Method({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, method] as const);
  return <Select label="Method" name={name} value={value} options={methods} />;
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
