import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type OperationName, operations } from '#client/gateway.ts';
import type { ApiParameter, PlacedOperation } from '../openapi.ts';
import { useSending } from '../parts/action.tsx';
import { Area, Input, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { Reply } from '../parts/reply.tsx';
import { type ReadReply, readReply } from '../reading.ts';
import { gateway, may } from '../session.ts';

interface TryItProps {
  readonly placed: PlacedOperation;
  readonly parameters: readonly ApiParameter[];
}

/** A form that makes the call with the session of the caller. */
export function TryIt({ placed: { method, operation }, parameters }: TryItProps): JSX.Element | null {
  const [reply, setReply] = useState<ReadReply | undefined>(undefined);
  const name = nameOf(operation.operationId);
  const given = parameters.filter((parameter) => parameter.in !== 'header');
  const { isBusy, error, submit } = useSending(async (form) => {
    if (name === undefined) return;
    setReply(undefined);
    const body = textOf(form, 'request-body');
    const options = {
      path: valuesOf(form, given, 'path'),
      query: valuesOf(form, given, 'query'),
      ...(body === '' ? {} : { rawBody: body }),
    };
    setReply(await readReply(() => gateway.open(name, options)));
  });
  if (name === undefined || !may(name) || operations[name].path.endsWith('events')) return null;
  const [body] = Object.values(operation.requestBody?.content ?? {});
  return (
    <details class="panel">
      <summary>Try it</summary>
      <form aria-label="Try it" onSubmit={submit}>
        {given.map((parameter) => (
          <Input
            key={parameter.name}
            label={`${parameter.name} (${parameter.in})`}
            name={`${parameter.in}:${parameter.name}`}
            required={parameter.required}
            value={parameter.in === 'path' ? String(parameter.example ?? '') : ''}
          />
        ))}
        {body !== undefined && (
          <Area label="Request body" name="request-body" value={JSON.stringify(body.example ?? {}, undefined, 2)} rows={8} />
        )}
        <p class="note">{method === 'GET' ? 'It only reads.' : 'It is a real call: it may change something.'}</p>
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Sending…' : `Send ${method}`}
        </button>
      </form>
      {error !== undefined && <Failure error={error} />}
      {reply !== undefined && <Reply of={reply} />}
    </details>
  );
}

function nameOf(operationId: string): OperationName | undefined {
  return Object.hasOwn(operations, operationId) ? (operationId as OperationName) : undefined;
}

function valuesOf(
  form: HTMLFormElement,
  parameters: readonly ApiParameter[],
  where: 'path' | 'query',
): Readonly<Record<string, string>> {
  const values = parameters
    .filter((parameter) => parameter.in === where)
    .map(({ name }) => [name, textOf(form, `${where}:${name}`)] as const)
    .filter(([, value]) => value !== '');
  return Object.fromEntries(values);
}
