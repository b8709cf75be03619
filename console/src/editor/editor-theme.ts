import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The colours of the console: its variables reach into the shadow root. */
export const editorTheme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--panel)', fontSize: '13px', maxHeight: 'min(70vh, 48rem)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5', overflow: 'auto', minHeight: '18rem' },
  '.cm-content': { caretColor: 'var(--text)', padding: '6px 0' },
  '.cm-gutters': { color: 'var(--soft)', backgroundColor: 'var(--ground)', border: 'none', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'var(--row)' },
  '.cm-activeLineGutter': { color: 'var(--text)', backgroundColor: 'var(--row)' },
  '.cm-content ::selection, .cm-line::selection': { color: 'var(--on-accent)', backgroundColor: 'var(--accent)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    outline: '1px solid var(--control)',
    backgroundColor: 'transparent',
  },
  '.cm-selectionMatch': { backgroundColor: 'transparent', outline: '1px dotted var(--control)' },
  '.cm-unseen': { color: 'var(--bad)' },
  '.cm-foldPlaceholder': { color: 'var(--text)', backgroundColor: 'var(--row)', border: '1px solid var(--control)' },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--panel)',
    border: '1px solid var(--control)',
    borderRadius: 'var(--radius)',
    maxWidth: 'min(36rem, 90vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '16rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { color: 'var(--on-accent)', backgroundColor: 'var(--accent)' },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: '0.85' },
  '.cm-diagnostic': { padding: '4px 8px' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)' },
  '.cm-lint-marker': { width: '0.9em', height: '0.9em' },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--ground)' },
  '.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-textfield, .cm-button': {
    color: 'var(--text)',
    backgroundColor: 'var(--panel)',
    backgroundImage: 'none',
    border: '1px solid var(--control)',
  },
});

export const highlighting = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--link)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--warn)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--soft)' },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: 'var(--soft)' },
  { tag: tags.invalid, color: 'var(--bad)' },
]);
