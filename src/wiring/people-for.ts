import type { Automation } from '#automations/automation.ts';
import { type AutomationPeople, type PeopleOfRun, peopleOfRun } from '#automations/automation-people.ts';
import type { FormCatalogue } from '#forms/form-catalogue.ts';

/** The people of an automation, and the writer of its form, as a run needs them. Rejects with `store-unavailable`. */
export async function peopleFor(
  { automation, people }: { readonly automation: Automation; readonly people: AutomationPeople },
  forms: Pick<FormCatalogue, 'find'>,
): Promise<PeopleOfRun> {
  const formId = automation.data?.formId;
  const form = formId === undefined ? undefined : await forms.find(formId);
  return peopleOfRun(people, { automation, formWriter: form?.writer });
}
