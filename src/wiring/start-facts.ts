import type { Automation } from '#automations/automation.ts';
import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { type AutomationPeople, peopleOfRun } from '#automations/automation-people.ts';
import { everyVersion } from '#database/row-version.ts';
import type { FormCatalogue } from '#forms/form-catalogue.ts';
import { passwordFieldsOf } from '#forms/form-document.ts';
import type { FoundAutomation, RunCatalogueNeeds } from '#runs/catalogue/run-requests.ts';

/** What a run takes from an automation and its form when it begins. Rejects with `store-unavailable`. */
export async function startFactsOf(
  {
    automation,
    people,
    lowest = everyVersion,
  }: { readonly automation: Automation; readonly people: AutomationPeople; readonly lowest?: number | undefined },
  forms: Pick<FormCatalogue, 'find'>,
): Promise<Pick<FoundAutomation, 'people' | 'passwordFields' | 'lowest'>> {
  const formId = automation.data?.formId;
  const form = formId === undefined ? undefined : await forms.find(formId);
  return {
    people: peopleOfRun(people, { automation, formWriter: form?.writer }),
    passwordFields: form === undefined ? [] : passwordFieldsOf(form.text),
    lowest: Math.max(lowest, form?.lowest ?? everyVersion),
  };
}

/** The automation that a run is started of. Undefined: there is none with this id. */
async function findStarted(
  automations: Pick<AutomationCatalogue, 'find'>,
  forms: Pick<FormCatalogue, 'find'>,
  id: string,
): Promise<FoundAutomation | undefined> {
  const found = await automations.find(id);
  const input = found?.automation.data?.input;
  return found && { automation: found.automation, input: input && JSON.stringify(input), ...(await startFactsOf(found, forms)) };
}

/** How runs find automations. */
export function findingAutomations(
  automations: Pick<AutomationCatalogue, 'find' | 'idNamed'>,
  forms: Pick<FormCatalogue, 'find'>,
): Pick<RunCatalogueNeeds, 'automation' | 'automationNamed'> {
  return {
    automation: (id) => findStarted(automations, forms, id),
    automationNamed: (name) => automations.idNamed(name),
  };
}
