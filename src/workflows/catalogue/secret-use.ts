import type { Principal } from '#access/principal.ts';
import { type SecretRule, type SecretRules, whyNotByWriter, whyNotForWorkflow } from '#access/rights/secret-rule.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { WorkflowLoader } from './workflow-loader.ts';
import { reachedWorkflows } from './workflow-pins.ts';
import type { WorkflowName, WorkflowStore, WorkflowVersion } from './workflow-store.ts';

export interface SecretUse {
  /** Predicates of the document. */
  problemsOf(person: Principal, document: { readonly id: string; readonly secrets: readonly string[] }): readonly string[];
  /** A sentence. Undefined: they may, or the document cannot be read any more. */
  whyNot(document: UsingDocument, people: readonly Principal[]): Promise<string | undefined>;
  /** False: no secret is configured. */
  readonly isAsked: () => boolean;
  /** Throws `workflow-invalid`. Everything that the workflow reaches counts. */
  refuseAuthor(person: Principal, workflow: WorkflowName): Promise<void>;
  /** The same rules over other documents. */
  over(store: Pick<WorkflowStore, 'find'>): SecretUse;
}

interface UsingDocument extends Pick<WorkflowVersion, 'id' | 'version' | 'digest'> {
  readonly secrets?: WorkflowVersion['secrets'] | undefined;
}

export function createSecretUse({
  rules,
  store,
  loader,
}: {
  readonly rules: SecretRules;
  readonly store: Pick<WorkflowStore, 'find'>;
  readonly loader: WorkflowLoader;
}): SecretUse {
  const ruleOf = (name: string): SecretRule | undefined => (Object.hasOwn(rules(), name) ? rules()[name] : undefined);
  const problemsOf: SecretUse['problemsOf'] = (person, { id, secrets }) =>
    secrets.flatMap((name) => {
      const rule = ruleOf(name);
      // Who is none of its writers does not learn whether it exists.
      const isKnown = rule !== undefined && whyNotByWriter(rule, person) === undefined;
      const reason = isKnown
        ? whyNotForWorkflow(rule, id)
        : `does not exist, or does not have ${person.username} among its writers`;
      return reason === undefined ? [] : [`uses the secret "${name}", which ${reason}`];
    });
  /** A secret that is not configured fails its task instead. */
  const reasonOf = (person: Principal, id: string, name: string): string | undefined => {
    const rule = ruleOf(name);
    return rule && (whyNotForWorkflow(rule, id) ?? whyNotByWriter(rule, person));
  };
  const whyNot: SecretUse['whyNot'] = async ({ id, version, digest, ...noted }, people) => {
    const secrets = noted.secrets ?? (await secretsOfStored({ id, version, digest }, loader));
    for (const person of people)
      for (const name of secrets) {
        const reason = reasonOf(person, id, name);
        if (reason !== undefined) return `${id} ${version} uses the secret "${name}", which ${reason}.`;
      }
    return undefined;
  };
  const isAsked = (): boolean => Object.keys(rules()).length > 0;
  return {
    problemsOf,
    whyNot,
    isAsked,
    over: (other) => createSecretUse({ rules, store: other, loader }),
    async refuseAuthor(person, workflow) {
      if (!isAsked()) return;
      for (const { pin, secrets } of (await reachedWorkflows(store, workflow)) ?? []) {
        const reason = await whyNot({ ...pin, secrets }, [person]);
        if (reason !== undefined)
          throw new GatewayError('workflow-invalid', `You may not be author of what runs this workflow: ${reason}`);
      }
    },
  };
}

/** For versions stored before the gateway noted them. An unreadable document uses none. */
async function secretsOfStored(document: UsingDocument, loader: WorkflowLoader): Promise<readonly string[]> {
  try {
    return (await loader.load(document))?.workflow.secrets ?? [];
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'workflow-invalid') return [];
    throw error;
  }
}
