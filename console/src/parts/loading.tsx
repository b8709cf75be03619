import type { ComponentChildren, JSX } from 'preact';
import { GatewayError } from '#client/gateway.ts';
import type { Loaded } from '../load.ts';
import { seenText } from '../texts.ts';

interface LoadingProps<Value> {
  readonly of: Loaded<Value>;
  readonly children: (value: Value) => ComponentChildren;
}

/** What a page shows while it asks, when it may not, when it fails, and when it has the value. */
export function Loading<Value>({ of, children }: LoadingProps<Value>): JSX.Element {
  const { value, error, isLoading, again } = of;
  if (value !== undefined) {
    return (
      <>
        {error !== undefined && <Failure error={error} again={again} />}
        {children(value)}
      </>
    );
  }
  if (error !== undefined) return <Failure error={error} again={again} />;
  return (
    <p class="loading" aria-busy={isLoading} role="status">
      Loading…
    </p>
  );
}

interface FailureProps {
  readonly error: unknown;
  readonly again?: () => void;
}

/** The gateway's own words about an error, and what to do. */
export function Failure({ error, again }: FailureProps): JSX.Element {
  const isForbidden = error instanceof GatewayError && error.status === 403;
  const problem = error instanceof GatewayError ? error.problem : undefined;
  return (
    <div class={isForbidden ? 'failure forbidden' : 'failure'} role="alert">
      <p>
        <strong>{seenText(titleOf(error))}</strong>
      </p>
      <p>{seenText(error instanceof Error ? error.message : String(error))}</p>
      {problem?.errors !== undefined && problem.errors.length > 0 && (
        <ul>
          {problem.errors.map(({ pointer, detail, line, column }) => (
            <li key={`${pointer}${detail}`}>
              <code>{line === undefined ? seenText(pointer || '/') : `${line}:${column ?? 1}`}</code> {seenText(detail)}
            </li>
          ))}
        </ul>
      )}
      {problem?.upstream?.body !== undefined && <pre class="text">{seenText(problem.upstream.body.slice(0, 4_000))}</pre>}
      {problem !== undefined && (
        <p class="note">
          <code>{problem.code}</code> · request <code>{seenText(problem.requestId)}</code>
        </p>
      )}
      {again !== undefined && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

function titleOf(error: unknown): string {
  if (!(error instanceof GatewayError)) return 'The console failed';
  if (error.code === 'no-reply') return 'The gateway does not answer';
  if (error.code === 'no-gateway') return 'The reply is not from a gateway';
  return error.problem?.title ?? 'The gateway refused the request';
}
