/** The part of the error guide that is about workflows and runs. */
export const runErrorGuide = {
  'workflow-invalid': {
    meaning: 'The document is no YAML or JSON, or a part of it is wrong, or the gateway does not support it. Nothing was stored.',
    remedy: '`errors` lists every problem with its pointer, line and column. `check-workflow` finds the same ones in a file.',
  },
  'workflow-not-found': {
    meaning:
      'The gateway has no workflow with this id, or not in this version. With 409: an automation that is to run names none, or one that does not exist.',
    remedy: 'Compare the id, `namespace.name`, with the listing of workflows; ids are case-sensitive.',
  },
  'run-not-found': {
    meaning: 'There is no run with this id, or the caller may not see its automation.',
    remedy: 'Read the ids with `GET /runs`.',
  },
  'task-not-found': {
    meaning: 'The run has no task with this id, or its timeline left the task out (`notStored`).',
    remedy: 'Read the ids with `GET /runs/:id/tasks`.',
  },
  'workflow-exists': {
    meaning:
      'The gateway has, or had before a deletion, this version of the workflow with other content. A version never changes. Nothing was stored.',
    remedy: 'Give the document another `version`, and send it again. For a deleted version an admin can remove the tombstone.',
  },
  'workflow-in-use': {
    meaning:
      'An automation names the workflow in `data.workflowId`, another stored workflow runs the version, or a run that has not ended uses it.',
    remedy: '`detail` says which. Change or delete what names it, or wait for the end of the run; then delete the workflow.',
  },
  'version-superseded': {
    meaning:
      'The run took a version of the workflow that a new run would not take, or its bytes have changed. The newer one may ask for more approvals. No run was started.',
    remedy: 'Run the automation. Somebody who may write the workflow can repeat the run as it was.',
  },
  'delegation-lost': {
    meaning:
      'Somebody who answers for the calls of the run is gone or may not make them now. This is who stored the workflow, or an author of the automation. Nothing was started. For a call of a run the audit log has this code, and the run is suspended.',
    remedy:
      '`detail` names the person. Give the role back, or let somebody who may write the workflow take it; then start again, or resume the run.',
  },
  'newer-version-needed': {
    meaning:
      'A newer version of the gateway wrote what the request is about, with a feature that this gateway does not understand. Reading works; nothing was changed.',
    remedy: 'Send the request to a gateway of the version that `detail` names. The operator finishes the upgrade, or repeats it.',
  },
  'run-has-parent': {
    meaning:
      'A task of another run began this run. What comes before the task, such as an approval, belongs to it. No run was started.',
    remedy: 'Repeat the outermost run: `parent` leads to it.',
  },
  'run-conflict': {
    meaning:
      'The run has ended, is not suspended, or has no such call to decide about. Or its automation does not exist any more, or names another workflow.',
    remedy: 'Read the run with `GET /runs/:id`, and send what its state allows.',
  },
} as const;
