import { signal } from '@preact/signals';
import { type Gateway, GatewayError, type Operation, type OperationName, operations } from '#client/gateway.ts';
import { gateway, noticeEndOf } from './session.ts';

/** An API call that the console made to change something. */
interface MadeCall {
  readonly method: string;
  readonly path: string;
  /** The body as JSON, or empty. */
  readonly body: string;
  /** `201`, or the code of an error. */
  readonly result: string;
  readonly failed: boolean;
}

/** The last change, which the console shows. */
export const lastChange = signal<MadeCall | undefined>(undefined);

type Options<Name extends OperationName> = Parameters<Gateway[Name]>[0];

/** Calls an operation that changes something, and shows the call. Rejects as the client does. */
export async function change<Name extends OperationName>(
  name: Name,
  options: NonNullable<Options<Name>>,
): Promise<Awaited<ReturnType<Gateway[Name]>>> {
  const shown = shownCall(operations[name], options);
  const method = gateway[name] as (given: unknown) => Promise<{ readonly status: number }>;
  try {
    const reply = await method(options);
    lastChange.value = { ...shown, result: String(reply.status), failed: false };
    return reply as Awaited<ReturnType<Gateway[Name]>>;
  } catch (error) {
    noticeEndOf(error);
    lastChange.value = { ...shown, result: error instanceof GatewayError ? error.code : 'failed', failed: true };
    throw error;
  }
}

interface ShownOptions {
  readonly path?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

function shownCall({ method, path }: Operation, options: ShownOptions): Pick<MadeCall, 'method' | 'path' | 'body'> {
  const filled = path.replaceAll(/\{(\w+)\}/gu, (_whole, name: string) => encodeURIComponent(options.path?.[name] ?? ''));
  const body = options.rawBody ?? (options.body === undefined ? '' : JSON.stringify(options.body));
  return { method, path: filled, body: typeof body === 'string' ? body : '' };
}
