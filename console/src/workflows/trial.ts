import { GatewayError } from '#client/gateway.ts';
import { change } from '../change.ts';
import { gateway } from '../session.ts';
import { mediaTypeOf, nextTrial, withVersion } from './version-text.ts';

/** All versions of a workflow, the newest first; empty where the caller may not list workflows. */
export async function versionsOf(wanted: string, signal?: AbortSignal): Promise<readonly string[]> {
  const query = { contains: wanted, limit: 1000 };
  for await (const { id, versions } of gateway.each.listWorkflows({ query, ...(signal === undefined ? {} : { signal }) }))
    if (id === wanted) return versions;
  return [];
}

const attempts = 20;

/** Stores the text as a version for development: another person may take the number first. */
export async function storeTrial(text: string, id: string, written: string): Promise<string> {
  const [base, first] = nextTrial(await versionsOf(id), written);
  for (let number = first; number < first + attempts; number += 1) {
    const version = `${base}-dev.${number}`;
    const rawBody = withVersion(text, version);
    if (rawBody === undefined || !(await hasVersion(rawBody, version)))
      throw new Error('The console does not find document.version in the text. Write it on a line of its own.');
    try {
      await change('createWorkflow', { rawBody, contentType: mediaTypeOf(rawBody) });
      return version;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'workflow-exists') throw error;
    }
  }
  throw new Error(`The versions ${base}-dev.${first} to ${base}-dev.${first + attempts - 1} are taken.`);
}

/** Whether the gateway reads the version that the console wrote. */
async function hasVersion(rawBody: string, version: string): Promise<boolean> {
  const { document } = (await gateway.checkWorkflow({ rawBody, contentType: mediaTypeOf(rawBody) })).value;
  return (document as { readonly document?: { readonly version?: unknown } } | undefined)?.document?.version === version;
}
