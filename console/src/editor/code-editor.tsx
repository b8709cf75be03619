import { autocompletion, type CompletionContext, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, isolateHistory } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import {
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { WorkflowProblem } from '#client/gateway.ts';
import { seenText } from '../texts.ts';
import type { Completion } from './completions.ts';
import { editorTheme, highlighting } from './editor-theme.ts';

export interface Problem extends WorkflowProblem {
  readonly severity: 'error' | 'warning';
}

export interface CodeEditorProps {
  readonly label: string;
  /** At first; afterwards the editor has its own text. */
  readonly text: string;
  readonly problems: readonly Problem[];
  readonly onInput: (text: string) => void;
  readonly complete: (text: string, cursor: number) => Completion | undefined;
  /** Gets what the page may do with the editor. */
  readonly control: (editor: EditorControl) => void;
}

export interface EditorControl {
  /** Puts the cursor there, and shows it. Both begin at 1. */
  readonly show: (line: number, column: number) => void;
  /** Puts another text in place of all, as one step that can be undone. */
  readonly write: (text: string) => void;
}

/**
 * An editor in a shadow root: there CodeMirror has its styles in `adoptedStyleSheets`, which the Content-Security-Policy allows. Tab leaves
 * it, as any field; Ctrl+] and Ctrl+[ indent.
 */
export function CodeEditor(props: CodeEditorProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const made = createView(element, latest);
    view.current = made;
    latest.current.control({ show: (line, column) => show(made, line, column), write: (text) => write(made, text) });
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const made = view.current;
    if (made !== undefined) made.dispatch(setDiagnostics(made.state, diagnosticsOf(made.state, props.problems)));
  }, [props.problems]);
  return <div class="code-editor" ref={host} />;
}

function createView(host: HTMLElement, latest: { readonly current: CodeEditorProps }): EditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const { text, label } = latest.current;
  const language = new Compartment();
  const listener = EditorView.updateListener.of(({ docChanged, state, view }) => {
    if (!docChanged) return;
    const changed = state.doc.toString();
    latest.current.onInput(changed);
    const wanted = languageOf(changed);
    if (language.get(state) !== wanted) view.dispatch({ effects: language.reconfigure(wanted) });
  });
  const complete = ({ state, pos, explicit }: CompletionContext) => {
    const found = latest.current.complete(state.doc.toString(), pos);
    if (found === undefined || (!explicit && found.from === pos && !isWanted(state, pos))) return null;
    const options = found.options.map(({ apply, ...shown }) => ({ ...shown, apply: taking(apply, found.isQuoted) }));
    return { from: found.from, options, validFor: /^[$\w./:-]*$/u };
  };
  const state = EditorState.create({
    doc: text,
    extensions: [
      language.of(languageOf(text)),
      autocompletion({ override: [complete], icons: false }),
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
      listener,
      common,
    ],
  });
  return new EditorView({ state, parent: root, root });
}

/** Writes the text. The editor may have put the closing quote already. */
function taking(apply: string, isQuoted: boolean) {
  return (view: EditorView, _completion: unknown, from: number, to: number): void => {
    const end = isQuoted && view.state.sliceDoc(to, to + 1) === '"' ? to + 1 : to;
    view.dispatch({
      changes: { from, to: end, insert: apply },
      selection: { anchor: from + apply.length },
      userEvent: 'input.complete',
    });
  };
}

/** Without a typed word the list opens by itself behind `: ` and at the begin of a member alone. */
function isWanted(state: EditorState, cursor: number): boolean {
  const { from, text } = state.doc.lineAt(cursor);
  return /(?::\s|^\s+|-\s+)$/u.test(text.slice(0, cursor - from));
}

const [asYaml, asJson] = [yaml(), json()];

function languageOf(text: string): Extension {
  return text.trimStart().startsWith('{') ? asJson : asYaml;
}

/** Characters that show nothing, or that turn the direction of a text, as `texts.ts` names them. */
const unseen =
  /\u00a0|\u00ad|\u034f|\u061c|[\u115f\u1160\u1680]|\u17b4|\u17b5|[\u180b-\u180f]|[\u2000-\u200f]|[\u2028-\u202f]|[\u205f-\u206f]|\u2800|\u3000|\u3164|[\ufe00-\ufe0f]|\ufeff|\uffa0|[\ufff9-\ufffb]/gu;

function renderUnseen(code: number): HTMLElement {
  const sign = document.createElement('span');
  sign.textContent = seenText(String.fromCodePoint(code));
  sign.className = 'cm-unseen';
  return sign;
}

const common: Extension = [
  lineNumbers(),
  foldGutter(),
  lintGutter(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  highlightSpecialChars({ addSpecialChars: unseen, render: renderUnseen }),
  highlightSelectionMatches(),
  history(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  EditorView.lineWrapping,
  EditorState.tabSize.of(2),
  syntaxHighlighting(highlighting),
  editorTheme,
  keymap.of([...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...defaultKeymap]),
];

function diagnosticsOf(state: EditorState, problems: readonly Problem[]): Diagnostic[] {
  return problems.map(({ line, column, detail, severity }) => {
    const { from, to } = placeOf(state, line, column);
    const word = /^[^\s:,{}[\]]+/u.exec(state.sliceDoc(from, to))?.[0] ?? '';
    return { from, to: Math.min(to, from + Math.max(1, word.length)), severity, message: seenText(detail) };
  });
}

/** From that column to the end of the line. The text may have changed since the gateway looked at it. */
function placeOf({ doc }: EditorState, line: number, column: number): { readonly from: number; readonly to: number } {
  const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines));
  return { from: Math.min(from + Math.max(0, column - 1), to), to };
}

function show(view: EditorView, line: number, column: number): void {
  const { from } = placeOf(view.state, line, column);
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
  view.focus();
}

function write(view: EditorView, text: string): void {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, annotations: isolateHistory.of('full') });
  view.focus();
}
