import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { GatewayError, type WorkflowProblem } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { Action } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Field } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { Steps } from '../parts/steps.tsx';
import { gateway } from '../session.ts';
import { type Step, stepsIn } from '../steps.ts';
import { countText } from '../texts.ts';

interface Verdict {
  readonly errors: readonly WorkflowProblem[];
  readonly warnings: readonly WorkflowProblem[];
  /** As JSON, where the text can be read. */
  readonly document?: unknown;
}

/** Milliseconds after the last key until the gateway checks the document. */
const pause = 400;

interface EditorProps {
  readonly text: string;
  /** The steps of `text`, where they are known. */
  readonly first: readonly Step[];
}

/** A document of a workflow, judged and drawn while it is typed. Storing it keeps it as a version that never changes. */
export function WorkflowEditor({ text, first }: EditorProps): JSX.Element {
  const [typed, setTyped] = useState(text);
  const { verdict, error } = useVerdict(typed);
  // A text that cannot be read for a moment leaves the last steps.
  const steps = useRef(first);
  if (verdict?.document !== undefined) steps.current = stepsIn(verdict.document);
  const area = useRef<HTMLTextAreaElement>(null);
  return (
    <div class="halves">
      <Panel title="Document">
        <Field label="Serverless Workflow DSL 1.0, in YAML or JSON">
          {(ids) => (
            <textarea
              {...ids}
              ref={area}
              class="code editor"
              rows={24}
              spellcheck={false}
              defaultValue={text}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          )}
        </Field>
        {error !== undefined && <Failure error={error} />}
        <Problems verdict={verdict} goTo={(problem) => select(area.current, problem)} />
        <div class="buttons">
          <Action
            tone="main"
            act={async () => {
              const { value } = await change('createWorkflow', { rawBody: typed, contentType: mediaTypeOf(typed) });
              goTo(hrefOf(['workflows', value.id], { version: value.version }));
            }}
          >
            Store this version
          </Action>
        </div>
      </Panel>
      <Panel title="Steps">
        <Steps of={steps.current} />
      </Panel>
    </div>
  );
}

function mediaTypeOf(text: string): string {
  return text.trimStart().startsWith('{') ? 'application/json' : 'application/yaml';
}

function useVerdict(text: string): { readonly verdict: Verdict | undefined; readonly error: unknown } {
  const [state, setState] = useState<{ readonly verdict: Verdict | undefined; readonly error: unknown }>({
    verdict: undefined,
    error: undefined,
  });
  useEffect(() => {
    const leave = new AbortController();
    const timer = setTimeout(() => {
      gateway.checkWorkflow({ rawBody: text, contentType: mediaTypeOf(text), signal: leave.signal }).then(
        ({ value }) => setState({ verdict: value, error: undefined }),
        (error: unknown) => {
          if (!leave.signal.aborted)
            setState({ verdict: problemsIn(error), error: problemsIn(error) === undefined ? error : undefined });
        },
      );
    }, pause);
    return () => {
      clearTimeout(timer);
      leave.abort();
    };
  }, [text]);
  return state;
}

/** A text that is no JSON at all is refused before it is judged; its places are those of the whole request. */
function problemsIn(error: unknown): Verdict | undefined {
  if (!(error instanceof GatewayError) || error.code !== 'workflow-invalid') return undefined;
  const errors = (error.problem?.errors ?? []).map((problem) => ({ line: 1, column: 1, ...problem }));
  return { errors, warnings: [] };
}

interface ProblemsProps {
  readonly verdict: Verdict | undefined;
  readonly goTo: (problem: WorkflowProblem) => void;
}

function Problems({ verdict, goTo }: ProblemsProps): JSX.Element {
  if (verdict === undefined) return <p role="status">Checking…</p>;
  const rows = [
    ...verdict.errors.map((problem) => ({ ...problem, kind: 'failed', label: 'error' })),
    ...verdict.warnings.map((problem) => ({ ...problem, kind: 'refused', label: 'warning' })),
  ];
  return (
    <>
      <p role="status">
        {rows.length === 0
          ? 'No problems.'
          : `${countText(verdict.errors.length, 'error')}, ${countText(verdict.warnings.length, 'warning')}.`}
      </p>
      <ul class="plain problems">
        {rows.map(({ kind, label, ...problem }) => (
          <li key={`${problem.line}:${problem.column}${problem.detail}`}>
            <Status of={kind} label={label} />{' '}
            <button
              type="button"
              onClick={() => goTo(problem)}
              aria-label={`Go to line ${problem.line}, column ${problem.column}`}
            >
              {problem.line}:{problem.column}
            </button>{' '}
            {problem.detail}
          </li>
        ))}
      </ul>
    </>
  );
}

function select(area: HTMLTextAreaElement | null, { line, column }: WorkflowProblem): void {
  if (area === null) return;
  const lines = area.value.split('\n');
  const begin = lines.slice(0, line - 1).reduce((length, one) => length + one.length + 1, 0) + column - 1;
  const end = Math.max(begin + 1, lines.slice(0, line).reduce((length, one) => length + one.length + 1, 0) - 1);
  area.focus();
  area.setSelectionRange(begin, end);
  area.scrollTop = Math.max(0, (line - 8) * 18);
}
