import { requireEntries } from '../model/config-edit.ts';
import { notFound } from '../model/orchestrator-error.ts';
import { contentOf } from '../wire/document.ts';
import type { ActionCall, ActionHandler, ActionOutput } from './action-call.ts';
import { deviceActions } from './device-actions.ts';
import { rollbackActions } from './rollback-actions.ts';
import { serviceActions } from './service-actions.ts';

const handlers: ReadonlyMap<string, ActionHandler> = new Map([...deviceActions, ...serviceActions, ...rollbackActions]);

/** Invokes the action that `target` names. The entry above it must exist. */
export function invokeAction(call: Omit<ActionCall, 'build'>): ActionOutput {
  const { orchestrator, target, action } = call;
  requireEntries(orchestrator.datastore.root, target.steps);
  const handler = handlers.get([...target.steps.map(({ schema }) => schema.name), action.name].join('/'));
  if (handler === undefined) throw notFound();
  return handler({ ...call, build: contentOf(action.module) });
}
