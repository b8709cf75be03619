import { createHash } from 'node:crypto';
import { uuidVersion8 } from '#base/uuid.ts';

/** Whether a run can have this id. Some texts are none that every store takes. */
export function isRunId(text: string): boolean {
  return /^[\w.:-]{1,1000}$/u.test(text);
}

/** The id of the run that a request with an Idempotency-Key starts: the same for each repetition of the request. */
export function runIdOfKey(request: { readonly caller: string; readonly automation: string; readonly key: string }): string {
  const { caller, automation, key } = request;
  const digest = createHash('sha256')
    .update(JSON.stringify(['run', caller, automation, key]))
    .digest();
  return uuidVersion8(digest.subarray(0, 16));
}
