import { type AutomationData, GatewayError } from '#client/gateway.ts';
import { type FlatSchema, flatSchema } from '../schema-form.ts';
import { gateway } from '../session.ts';

/** The schema of the input: the form of the automation, or that of its workflow. Undefined where there is none that a form can show. */
export async function schemaOf(
  { formId, workflowId, workflowVersion: version }: Pick<AutomationData, 'formId' | 'workflowId' | 'workflowVersion'>,
  signal: AbortSignal,
): Promise<FlatSchema | undefined> {
  try {
    if (formId !== undefined) return flatSchema((await gateway.readForm({ path: { id: formId }, signal })).value);
    if (workflowId === undefined) return undefined;
    const named = { path: { id: workflowId }, ...(version !== undefined && { query: { version } }) };
    const { value } = await gateway.readWorkflow({ ...named, headers: { Accept: 'application/json' }, signal });
    const { input } = value as { readonly input?: { readonly schema?: { readonly document?: unknown } } };
    // A workflow without a schema takes any input.
    return flatSchema(input?.schema?.document);
  } catch (error) {
    // The input can still be typed as JSON.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}
