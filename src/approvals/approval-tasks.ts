import { uuidVersion7 } from '#base/text/uuid.ts';
import type { ApprovalItem, ApprovalTask } from '#calls/approval-check.ts';
import type { ApprovalTasks, AskedQuestion, AskingRun } from '#runs/tasks/approval-task.ts';
import type { Approval } from './approval.ts';
import { approvalOver } from './approval-refusals.ts';
import { hasRoom, type RoomNeeds, tooMany } from './approval-room.ts';
import { newUse } from './approval-row.ts';
import { type StandingNeeds, standingOf } from './approval-standing.ts';
import type { ApprovalStore } from './approval-store.ts';
import { placeOfUse, taskSubject } from './approval-subject.ts';

interface TaskNeeds extends StandingNeeds, RoomNeeds {
  readonly store: ApprovalStore;
}

/** What tasks of runs ask of approvals. */
export function createApprovalTasks(needs: TaskNeeds): ApprovalTasks {
  const { store } = needs;
  return {
    async ask(question) {
      const subject = taskSubject(question.task);
      const known = (await store.ofSubject(subject)).find(({ isVoid }) => !isVoid);
      const approval = known ?? (await ask(question, subject, needs));
      return await answerOf(approval, question, needs);
    },
    async isUnused(task) {
      const [newest] = await store.ofSubject(taskSubject(task));
      if (newest !== undefined) return newest.status !== 'used';
      return task.item !== undefined && (await isUnusedOfBatch(task, task.item, store));
    },
    async withdraw(task) {
      await store.expire({ subject: taskSubject(task) });
    },
  };
}

/** It has waited for an approval of its batch, and made no call with it. */
async function isUnusedOfBatch(task: ApprovalTask, item: ApprovalItem, store: ApprovalStore): Promise<boolean> {
  const approvals = await store.waitedFor(task);
  const place = placeOfUse(task, item);
  for (const approval of approvals) if (await store.isItemUsed({ approval, item: item.index, place })) return false;
  return approvals.length > 0;
}

async function ask(
  { task, principal, involved = [], message, terms, expires, notBefore = 0 }: AskedQuestion & AskingRun,
  subject: string,
  needs: TaskNeeds,
): Promise<Approval> {
  const { store, clock } = needs;
  if (!(await hasRoom(principal, Buffer.byteLength(message), needs))) throw tooMany(needs);
  const now = clock.now();
  const { approval } = await store.create({
    id: uuidVersion7(now),
    subject,
    facts: {
      principal,
      call: undefined,
      message,
      reason: undefined,
      task,
      fingerprint: undefined,
      rules: [{ name: task.reference, ...terms }],
      involved,
    },
    body: undefined,
    expiresAt: Math.max(now, notBefore) + expires,
  });
  return approval;
}

/** The task itself uses the approval: it goes on. A gateway that died after that finds it used by the same task. */
async function answerOf(
  approval: Approval,
  question: AskedQuestion & AskingRun,
  needs: TaskNeeds,
): ReturnType<ApprovalTasks['ask']> {
  const { store } = needs;
  const now = await standingOf(approval, question, needs);
  if (now === undefined) {
    await store.expire({ ids: [approval.id] });
    return await answerOf(await ask(question, approval.subject, needs), question, needs);
  }
  await store.withdraw(now.approval, now.losses);
  const { id, status, decisions } = now.approval;
  if (status === 'waiting') return { kind: 'waiting' };
  if (status === 'granted') {
    if (!(await store.use({ id, use: newUse(), isUnrecorded: true })))
      return await answerOf((await store.readFacts(id)) ?? approval, question, needs);
    await store.announce([id]);
  } else if (status !== 'used') {
    const { code, message } = approvalOver(now.approval);
    return { kind: 'refused', code, detail: message };
  }
  const grants = decisions.map(({ principal, at, reason }) => ({
    principal: principal.username,
    at: new Date(at).toISOString(),
    reason,
  }));
  return { kind: 'granted', id, grants };
}
