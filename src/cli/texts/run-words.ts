import type { RunError, RunTask } from '#client/gateway.ts';

/** `outcome-unknown (504): The POST left …`. Not yet without control characters. */
export function errorText({ type, status, title, detail }: RunError): string {
  const kind = /[^/:#]+$/u.exec(type)?.[0] ?? type;
  const words = detail ?? title;
  return `${kind} (${status})${words === undefined ? '' : `: ${words}`}`;
}

/** Whether people have to decide what happened to the call of the task. */
export function isUndecided({ status, error }: Pick<RunTask, 'error' | 'status'>): boolean {
  return status === 'suspended' && error?.type === 'urn:orchestration-gateway:errors:outcome-unknown';
}

/**
 * The names of the tasks on the way to the one with this reference, such as `prepareDevices/checkSync` for
 * `/do/0/prepareDevices/do/0/checkSync`.
 */
export function taskPath(reference: string): string {
  const names = [...reference.matchAll(/\/\d+\/([^/]+)/gu)].map(([, name = '']) =>
    name.replaceAll('~1', '/').replaceAll('~0', '~'),
  );
  return names.length === 0 ? reference : names.join('/');
}

/** `checkSync[3]`: of the turn 3 of a loop, and its attempt where it is not the first. */
export function turnText({
  iteration,
  attempt,
}: {
  readonly iteration?: number | undefined;
  readonly attempt?: number | undefined;
}): string {
  const turn = iteration === undefined ? '' : `[${iteration}]`;
  return attempt === undefined || attempt === 1 ? turn : `${turn} (attempt ${attempt})`;
}

/** Milliseconds between two times; undefined where one is missing. */
export function between(begin: string | undefined, end: string | undefined): number | undefined {
  return begin === undefined || end === undefined ? undefined : Date.parse(end) - Date.parse(begin);
}
