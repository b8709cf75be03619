import type { Automation } from '#client/gateway.ts';
import { indentedJson, inputText, memberNames, memberText } from '../texts.ts';
import { type AutomationState, partsOf, withInput } from './states.ts';

/** A part that one of two people changed. Undefined where a state does not have it. */
interface ChangedPart {
  readonly part: string;
  readonly before: string | undefined;
  readonly theirs: string | undefined;
  readonly mine: string | undefined;
}

/** Three states of an automation, as JSON texts: the one that both people began with, and what each of them made of it. */
interface Versions {
  readonly base: string;
  readonly theirs: string;
  readonly mine: string;
}

/** The newer state with the changes of this person over it. What only the other person changed stays; nothing of either gets lost unseen. */
export function putOver({ base, theirs, mine }: Versions): string {
  const [before, young, own] = [base, theirs, mine].map((text) => JSON.parse(text) as Automation) as [
    Automation,
    Automation,
    Automation,
  ];
  const chosen = <Part>(of: (automation: Automation) => Part): Part => (isSame(of(before), of(own)) ? of(young) : of(own));
  const { name } = chosen(({ name }) => ({ name }));
  const { gbac: _groups, ...kept } = young.data ?? {};
  const data = {
    ...kept,
    ...chosen(({ data }) => ({ description: data?.description })),
    ...chosen(({ data }) => ({ workflowId: data?.workflowId, workflowVersion: data?.workflowVersion })),
    ...chosen(({ data }) => ({ formId: data?.formId })),
    ...groupsOf(
      chosen(({ data }) => data?.gbac?.read ?? []),
      chosen(({ data }) => data?.gbac?.write ?? []),
    ),
  };
  const { cron, timeZone, nextRunAt, repeatInterval } = chosen((automation) => ({
    cron: automation.data?.cron,
    timeZone: automation.data?.timeZone,
    nextRunAt: automation.nextRunAt,
    repeatInterval: automation.repeatInterval,
  }));
  const merged = { ...young, name, nextRunAt, repeatInterval, data: { ...data, cron, timeZone } };
  // Without the members that no state has.
  return withInput(JSON.parse(JSON.stringify(merged)) as Automation, inputOver({ base, theirs, mine }));
}

function groupsOf(read: readonly string[], write: readonly string[]): { readonly gbac?: object } {
  return read.length + write.length === 0 ? {} : { gbac: { read, write } };
}

/** An empty value says the same as none. */
function isSame(one: unknown, other: unknown): boolean {
  const text = (value: unknown): string => JSON.stringify(value, (_name, part: unknown) => (part === '' ? undefined : part));
  return text(one) === text(other);
}

/** Member by member, each with its digits. */
function inputOver({ base, theirs, mine }: Versions): string {
  const [before, young, own] = [inputText(base), inputText(theirs), inputText(mine)];
  const names = [...new Set([...memberNames(young), ...memberNames(own)])];
  const members = names.flatMap((name) => {
    const [old, other, typed] = [memberText(before, name), memberText(young, name), memberText(own, name)];
    const value = indentedJson(old ?? '') === indentedJson(typed ?? '') ? other : typed;
    return value === undefined ? [] : [`${JSON.stringify(name)}:${value}`];
  });
  return `{${members.join(',')}}`;
}

/** The parts that one of both changed, in the order of the form. */
export function changedParts({ base, theirs, mine }: Versions): readonly ChangedPart[] {
  const [before, young, own] = [base, theirs, withTimes(base, mine)].map((text) => partsOf(stateOf(text)));
  const names = new Set([base, theirs, mine].flatMap((text) => [...partsOf(stateOf(text)).keys()]));
  return [...names]
    .map((part) => ({ part, before: before?.get(part), theirs: young?.get(part), mine: own?.get(part) }))
    .filter((one) => one.before !== one.theirs || one.before !== one.mine);
}

/** A form does not say from when a repetition counts: it stays, where the form leaves the schedule alone. */
function withTimes(base: string, mine: string): string {
  const [before, own] = [JSON.parse(base) as Automation, JSON.parse(mine) as Automation];
  const { scheduleFrom } = before.data ?? {};
  const isKept = before.repeatInterval === own.repeatInterval && before.nextRunAt === own.nextRunAt;
  if (scheduleFrom === undefined || !isKept) return mine;
  return withInput({ ...own, data: { ...own.data, scheduleFrom } }, inputText(mine));
}

function stateOf(text: string): AutomationState {
  return { text, document: JSON.parse(text) as Automation };
}
