import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import { uuidVersion7 } from '#base/uuid.ts';
import type { ApprovalTask } from '#calls/approval-gate.ts';
import type { ApprovalTasks, AskedQuestion } from '#runs/tasks/approval-task.ts';
import { type Approval, statusAt } from './approval.ts';
import { approvalOver } from './approval-refusals.ts';
import { newUse } from './approval-row.ts';
import type { ApprovalStore } from './approval-store.ts';
import { taskSubject } from './approval-subject.ts';

/** What tasks of runs ask of approvals. */
export function createApprovalTasks({ store, clock }: { readonly store: ApprovalStore; readonly clock: Clock }): ApprovalTasks {
  return {
    async ask(question) {
      const subject = taskSubject(question.task);
      const [known] = await store.ofSubject(subject);
      const approval = known ?? (await asked(question, subject, { store, clock }));
      return await answerOf(approval, question.task, { store, clock });
    },
    async isUnused(task) {
      const [newest] = await store.ofSubject(taskSubject(task));
      return newest !== undefined && newest.status !== 'used';
    },
    async withdraw(task) {
      await store.expire({ subject: taskSubject(task) });
    },
  };
}

async function asked(
  { task, principal, message, terms, expires }: AskedQuestion & { readonly principal: Principal },
  subject: string,
  { store, clock }: { readonly store: ApprovalStore; readonly clock: Clock },
): Promise<Approval> {
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
      decisions: [],
    },
    body: undefined,
    expiresAt: now + expires,
  });
  return approval;
}

/** The task itself uses the approval: it goes on. A gateway that died after that finds it used by the same task. */
async function answerOf(
  approval: Approval,
  task: ApprovalTask,
  { store, clock }: { readonly store: ApprovalStore; readonly clock: Clock },
): ReturnType<ApprovalTasks['ask']> {
  const status = statusAt(approval, clock.now());
  if (status === 'waiting') return { kind: 'waiting' };
  const { id } = approval;
  if (status === 'granted') {
    if (!(await store.use(id, newUse(`run ${task.run}`))))
      return await answerOf((await store.readFacts(id)) ?? approval, task, { store, clock });
    await store.announce([id]);
  } else if (status !== 'used') {
    const { code, message } = approvalOver({ ...approval, status });
    return { kind: 'refused', code, detail: message };
  }
  const grants = approval.decisions.map(({ principal, at, reason }) => ({
    principal: principal.username,
    at: new Date(at).toISOString(),
    reason,
  }));
  return { kind: 'granted', id, grants };
}
