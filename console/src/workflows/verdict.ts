import { useEffect, useState } from 'preact/hooks';
import { GatewayError, type WorkflowProblem } from '#client/gateway.ts';
import { gateway, noticeEndOf } from '../session.ts';
import { mediaTypeOf } from './version-text.ts';

/** What the gateway says of a document. */
export interface Verdict {
  readonly errors: readonly WorkflowProblem[];
  readonly warnings: readonly WorkflowProblem[];
  /** As JSON, where the text can be read. */
  readonly document?: unknown;
}

/** Milliseconds after the last key until the gateway checks the document. */
const pause = 400;

interface Judged {
  readonly verdict: Verdict | undefined;
  readonly error: unknown;
}

/** Asks a moment after the text changed. */
export function useVerdict(text: string): Judged {
  const [state, setState] = useState<Judged>({ verdict: undefined, error: undefined });
  useEffect(() => {
    const leave = new AbortController();
    const timer = setTimeout(() => {
      gateway.checkWorkflow({ rawBody: text, contentType: mediaTypeOf(text), signal: leave.signal }).then(
        ({ value }) => setState({ verdict: value, error: undefined }),
        (error: unknown) => {
          if (leave.signal.aborted) return;
          noticeEndOf(error);
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
