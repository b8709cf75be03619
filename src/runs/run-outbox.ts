import type { Workflow } from '#workflows/workflow.ts';
import type { Note } from './interpreter/notes.ts';
import type { RunState, TimelineCounts } from './interpreter/run-state.ts';
import { writeState } from './interpreter/state-text.ts';
import { hiddenWrite } from './run-placeholders.ts';
import type { NewEvent, NewRun, RunCommand, RunPerson, RunRelease, RunWrite } from './run-records.ts';
import { createTimeline } from './run-timeline.ts';
import type { RunSecrets } from './tasks/run-secrets.ts';

/** Gathers what belongs into the next write of a run. */
export interface RunOutbox {
  notes(notes: readonly Note[]): void;
  consumed(number: number): void;
  child(run: NewRun): void;
  command(run: string, command: RunCommand): void;
  message(event: NewEvent): void;
  person(person: RunPerson): void;
  /** Who joined the run since the last write: the store does not have them yet. */
  readonly people: readonly RunPerson[];
  /** Whether a write has something to say apart from the state. */
  readonly isEmpty: boolean;
  /** Everything that was gathered since the last call, with the state. */
  take(state: RunState, release: RunRelease | undefined): RunWrite;
}

export function createOutbox(
  { id, fence }: { readonly id: string; readonly fence: number },
  workflow: Pick<Workflow, 'id' | 'name' | 'namespace' | 'version'>,
  counted?: TimelineCounts,
  hide: RunSecrets['hide'] = (text) => text,
): RunOutbox {
  const timeline = createTimeline(id, workflow, counted);
  let gathered = emptyOutbox();
  let noted = false;
  return {
    notes(notes) {
      noted ||= notes.length > 0;
      timeline.add(notes);
    },
    consumed: (number) => void gathered.consumed.push(number),
    child: (run) => void gathered.children.push(run),
    command: (run, command) => void gathered.commands.push({ run, command }),
    message: (event) => void gathered.messages.push(event),
    person: (person) => void gathered.people.push(person),
    get people() {
      return gathered.people;
    },
    get isEmpty() {
      const { consumed, children, commands, messages, people } = gathered;
      return !noted && [consumed, children, commands, messages, people].every(({ length }) => length === 0);
    },
    take(state, release) {
      const { consumed, children, commands, messages, people } = gathered;
      const { tasks, events, counted: now, leftOut } = timeline.take(release !== undefined);
      gathered = emptyOutbox();
      noted = false;
      const { status, suspension, startedAt, endedAt, output, error } = state;
      const write = {
        run: id,
        fence,
        state: endedAt === undefined ? writeState({ ...state, counted: now }) : undefined,
        ...(leftOut && { notStored: { tasks: now.tasks, events: now.events } }),
        // What holds a call up outside of the run, such as people who have to approve it, is not in the state.
        status: status === 'running' && release !== undefined && release.wakeAt !== 0 ? 'waiting' : status,
        suspendedBy: suspension?.by,
        startedAt,
        endedAt,
        output: output?.text,
        error,
        tasks,
        events: [...events, ...messages],
        people,
        consumed,
        children,
        commands,
        release,
      };
      return hiddenWrite(write, hide);
    },
  };
}

function emptyOutbox() {
  return {
    consumed: [] as number[],
    children: [] as NewRun[],
    commands: [] as { readonly run: string; readonly command: RunCommand }[],
    messages: [] as NewEvent[],
    people: [] as RunPerson[],
  };
}
