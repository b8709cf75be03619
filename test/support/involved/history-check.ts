import assert from 'node:assert/strict';
import type { SeenApproval } from '../approvals/approval-caller.ts';
import type { Hands, ModelRun } from './hand-model.ts';
import type { HistoryStage } from './history-stage.ts';

/** Compares a run, and the approvals that it waits for, with the model. Notes the ids of the approvals. */
export async function compareRun({ send }: HistoryStage, run: ModelRun): Promise<void> {
  const { id } = run.given;
  const reply = await send('ada', 'GET', `/runs/${id}`);
  assert.equal(reply.status, 200, reply.text);
  const seen = reply.json() as { readonly status: string; readonly involved: SeenApproval['involved'] };
  assert.match(seen.status, statusOf(run), id);
  assert.deepEqual(seenText(seen.involved), handsText(run.involved()), id);
  const waiting = run.approvals.filter(({ status }) => status === 'waiting');
  const page = (await send('ada', 'GET', `/approvals?run=${id}&status=waiting`)).json() as {
    readonly list: readonly SeenApproval[];
  };
  assert.equal(page.list.length, waiting.length, `${id} waits for people`);
  for (const approval of waiting) {
    const found = page.list.find(({ call }) => (call === undefined) === (approval.kind === 'ask'));
    assert.ok(found);
    approval.id = found.id;
    const whole = (await send('ada', 'GET', `/approvals/${found.id}`)).json() as SeenApproval;
    assert.deepEqual(seenText(whole.involved), handsText(run.involved()), `${id}, its approval`);
    assert.equal(whole.principal, run.given.principal);
  }
}

export function isUnsure(run: ModelRun): boolean {
  return !run.hasEnded && run.step(0)?.kind === 'unsure';
}

export function statusOf(run: ModelRun): RegExp {
  if (run.hasEnded) return /^(?:completed|faulted|cancelled)$/u;
  return isUnsure(run) ? /^suspended$/u : /^waiting$/u;
}

export function handsText(hands: Hands): readonly string[] {
  return [...hands].map(([person, theirs]) => `${person}: ${[...theirs].toSorted().join(' ')}`).toSorted();
}

function seenText(involved: SeenApproval['involved']): readonly string[] {
  return involved.map(({ principal, as }) => `${principal}: ${as.toSorted().join(' ')}`).toSorted();
}
