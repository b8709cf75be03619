import type { JSX } from 'preact';
import { useCallback, useMemo, useRef, useState } from 'preact/hooks';
import { GatewayError, type WorkflowProblem } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { draftOf, keepDraft } from '../drafts.ts';
import type { EditorControl, Problem } from '../editor/code-editor.tsx';
import { completionsAt, type Known } from '../editor/completions.ts';
import { nameAt } from '../editor/document-place.ts';
import { useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { Status } from '../parts/status.tsx';
import { WorkflowGraph } from '../parts/workflow-graph.tsx';
import { gateway, may } from '../session.ts';
import { countText, seenText } from '../texts.ts';
import { type NewerVersion, readNewer, StoredMeanwhile } from './stored-meanwhile.tsx';
import { versionsOf } from './trial.ts';
import { TryIt } from './try.tsx';
import { useVerdict, type Verdict } from './verdict.ts';
import { mediaTypeOf, nextPatch, withVersion } from './version-text.ts';

interface EditProps {
  /** What the draft belongs to. */
  readonly page: string;
  /** As it is stored; of a new document empty. */
  readonly stored: string;
  /** `stored` as JSON, where it is known. */
  readonly document?: unknown;
  /** Stored versions never change. */
  readonly versions: readonly string[];
}

/** A document, judged and drawn while it is typed. What is typed stays a draft until it is stored or discarded. */
export function EditWorkflow({ page, stored, document, versions }: EditProps): JSX.Element {
  const [typed, setTyped] = useState(() => draftOf(page) ?? stored);
  const write = (text: string): void => {
    setTyped(text);
    keepDraft(page, text === stored ? undefined : text);
  };
  const { verdict, error } = useVerdict(typed);
  // A text that cannot be read for a moment leaves the last steps.
  const last = useRef(document);
  if (verdict?.document !== undefined) last.current = verdict.document;
  const control = useRef<EditorControl | undefined>(undefined);
  const problems = useMemo(() => problemsOf(verdict), [verdict]);
  const open = useTaskPlace(typed, control);
  const replace = (text: string): void => (control.current === undefined ? write(text) : control.current.write(text));
  const [newer, setNewer] = useState<NewerVersion | undefined>(undefined);
  const known = newer?.versions ?? versions;
  const isChanged = typed !== stored;
  return (
    <div class="halves editing-halves">
      <Panel
        title="Document"
        aside={
          <span class={isChanged ? 'unsaved' : 'soft'}>{isChanged ? 'Not stored yet: kept in this tab' : 'As it is stored'}</span>
        }
      >
        <Editor text={typed} problems={problems} write={write} document={last} control={control} />
        {error !== undefined && <Failure error={error} />}
        <Problems of={problems} isChecked={verdict !== undefined} show={(line, column) => control.current?.show(line, column)} />
        <StoredMeanwhile newer={newer} base={stored} mine={typed} write={replace} chosen={setNewer} />
        {isChanged && <NextVersion text={typed} document={last.current} versions={known} replace={replace} />}
        <div class="buttons">
          <Store page={page} text={typed} document={last.current} versions={known} found={setNewer} />
          {isChanged && stored !== '' && (
            <Action
              tone="danger"
              confirm="Discard what you typed? The document is again as it is stored."
              act={async () => replace(stored)}
            >
              Discard changes
            </Action>
          )}
        </div>
        {may('runAutomation') ? (
          <TryIt text={typed} document={last.current} />
        ) : (
          <NeededRight of="runAutomation" to="try this workflow" />
        )}
      </Panel>
      <Panel title="Graph">
        <WorkflowGraph document={last.current} onOpen={open} />
      </Panel>
    </div>
  );
}

/** Puts the cursor to a task of the graph. */
function useTaskPlace(text: string, control: { readonly current: EditorControl | undefined }): (reference: string) => void {
  const latest = useRef(text);
  latest.current = text;
  return useCallback((reference) => {
    const found = nameAt(latest.current, reference);
    if (found === undefined) return;
    const before = latest.current.slice(0, found).split('\n');
    control.current?.show(before.length, (before.at(-1)?.length ?? 0) + 1);
  }, []);
}

interface StoreProps extends Pick<EditProps, 'page' | 'versions'> {
  readonly text: string;
  readonly document: unknown;
  readonly found: (newer: NewerVersion) => void;
}

function Store({ page, text, document, versions, found }: StoreProps): JSX.Element {
  return (
    <Action
      tone="main"
      act={async () => {
        const newer = await newerThan(versions, document);
        if (newer !== undefined) return found(newer);
        try {
          const { value } = await change('createWorkflow', { rawBody: text, contentType: mediaTypeOf(text) });
          // Not what the person typed meanwhile.
          if (draftOf(page) === text) keepDraft(page, undefined);
          goTo(hrefOf(['workflows', value.id], { version: value.version, view: 'edit' }));
        } catch (error) {
          const taken = error instanceof GatewayError && error.code === 'workflow-exists' ? await takenBy(document) : undefined;
          if (taken === undefined) throw error;
          found(taken);
        }
      }}
    >
      Store this version
    </Action>
  );
}

/** The newest release, where another person stored it since this one began. */
async function newerThan(versions: readonly string[], document: unknown): Promise<NewerVersion | undefined> {
  const { id } = nameOf(document);
  if (!may('listWorkflows') || id === undefined || versions.length === 0) return undefined;
  const [newest] = (await versionsOf(id)).filter((version) => !version.includes('-'));
  return newest === undefined || versions.includes(newest) ? undefined : await readNewer(id, newest);
}

/** The version that the document names. */
async function takenBy(document: unknown): Promise<NewerVersion | undefined> {
  const { id, version } = nameOf(document);
  return id === undefined || version === undefined ? undefined : await readNewer(id, version);
}

interface EditorProps {
  readonly text: string;
  readonly problems: readonly Problem[];
  readonly write: (text: string) => void;
  readonly document: { readonly current: unknown };
  readonly control: { current: EditorControl | undefined };
}

function Editor({ text, problems, write, document, control }: EditorProps): JSX.Element {
  const known = useKnown(document);
  const program = useLoad(() => import('../editor/code-editor.tsx'), []);
  return (
    <>
      <Loading of={program}>
        {({ CodeEditor }) => (
          <CodeEditor
            label="Serverless Workflow DSL 1.0, in YAML or JSON"
            text={text}
            problems={problems}
            onInput={write}
            complete={(typed, cursor) => (known.current === undefined ? undefined : completionsAt(typed, cursor, known.current))}
            control={(editor) => {
              control.current = editor;
            }}
          />
        )}
      </Loading>
      <p class="hint">
        Ctrl+Space offers what can be written here. F8 goes to the next problem. Ctrl+F finds. Tab leaves the editor.
      </p>
    </>
  );
}

/** What the editor completes from. */
function useKnown(document: { readonly current: unknown }): { readonly current: Known | undefined } {
  const { value } = useLoad(async (signal) => {
    const [language, adapters] = await Promise.all([
      gateway.readWorkflowLanguage({ signal }),
      may('listAdapters') ? gateway.listAdapters({ signal }) : undefined,
    ]);
    return { language: language.value, adapters: adapters?.value.list ?? [] };
  }, []);
  const known = useRef<Known | undefined>(undefined);
  known.current = value && { ...value, document: document.current };
  return known;
}

function problemsOf(verdict: Verdict | undefined): readonly Problem[] {
  return [
    ...(verdict?.errors ?? []).map((problem) => ({ ...problem, severity: 'error' as const })),
    ...(verdict?.warnings ?? []).map((problem) => ({ ...problem, severity: 'warning' as const })),
  ];
}

interface ProblemsProps {
  readonly of: readonly Problem[];
  readonly isChecked: boolean;
  readonly show: (line: WorkflowProblem['line'], column: WorkflowProblem['column']) => void;
}

function Problems({ of, isChecked, show }: ProblemsProps): JSX.Element {
  const errors = of.filter(({ severity }) => severity === 'error').length;
  const found = of.length === 0 ? 'No problems.' : `${countText(errors, 'error')}, ${countText(of.length - errors, 'warning')}.`;
  return (
    <>
      <p role="status">{isChecked ? found : 'Checking…'}</p>
      <ul class="plain problems">
        {of.map(({ severity, line, column, detail }) => (
          <li key={`${line}:${column}${detail}`}>
            <Status of={severity === 'error' ? 'failed' : 'refused'} label={severity} />{' '}
            <button type="button" onClick={() => show(line, column)} aria-label={`${line}:${column}, go to this line and column`}>
              {line}:{column}
            </button>{' '}
            {seenText(detail)}
          </li>
        ))}
      </ul>
    </>
  );
}

interface NextVersionProps {
  readonly text: string;
  readonly document: unknown;
  readonly versions: readonly string[];
  readonly replace: (text: string) => void;
}

/** A stored version never changes: another text needs another version. */
function NextVersion({ text, document, versions, replace }: NextVersionProps): JSX.Element | null {
  const { version } = nameOf(document);
  if (version === undefined || !versions.includes(version)) return null;
  const [newest = version] = versions.filter((one) => !one.includes('-'));
  const next = nextPatch(newest);
  return (
    <p class="needed">
      Version {version} is stored, and never changes.{' '}
      <button type="button" onClick={() => replace(withVersion(text, next) ?? text)}>
        Make it {next}
      </button>
    </p>
  );
}

/** The name of a document as far as it has one. */
function nameOf(document: unknown): { readonly id: string | undefined; readonly version: string | undefined } {
  const { namespace, name, version } = (document as { readonly document?: Readonly<Record<string, unknown>> })?.document ?? {};
  const id = typeof namespace === 'string' && typeof name === 'string' ? `${namespace}.${name}` : undefined;
  return { id, version: typeof version === 'string' ? version : undefined };
}
