import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { RunTask } from '#client/gateway.ts';
import { oneAtATime } from './load.ts';
import { gateway, noticeEndOf } from './session.ts';

const pageSize = 1_000;
/** Tasks of a run that the page holds. */
const most = 20_000;

interface TaskPage {
  readonly list: readonly RunTask[];
  readonly next: string | undefined;
}

/** The tasks of a run as far as they are known. */
interface RunTasks {
  /** In the order of their begin; undefined until the first page is there. */
  readonly tasks: readonly RunTask[] | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  /** There are more than the page holds. */
  readonly isCut: boolean;
  /** Asks for what may have changed: pages whose tasks have all ended stay as they are. */
  readonly again: () => void;
}

type State = Omit<RunTasks, 'again'>;

/** The tasks of a run, page after page. They show as they come. */
export function useRunTasks(run: string): RunTasks {
  const [state, setState] = useState<State>({ tasks: undefined, error: undefined, isLoading: true, isCut: false });
  const asking = useRef<{ readonly ask: () => void } | undefined>(undefined);
  useEffect(() => {
    const leave = new AbortController();
    const pages: TaskPage[] = [];
    const ask = oneAtATime(async () => {
      try {
        await readPages(run, pages, leave.signal, (shown) => setState({ ...shown, error: undefined }));
      } catch (error) {
        if (leave.signal.aborted) return;
        noticeEndOf(error);
        setState((last) => ({ ...last, error, isLoading: false }));
      }
    }, leave.signal);
    asking.current = { ask };
    setState({ tasks: undefined, error: undefined, isLoading: true, isCut: false });
    ask();
    return () => leave.abort();
  }, [run]);
  const again = useCallback(() => asking.current?.ask(), []);
  return { ...state, again };
}

/** Reads the pages that are missing or may have changed into `pages`. */
async function readPages(
  run: string,
  pages: TaskPage[],
  signal: AbortSignal,
  show: (state: Omit<State, 'error'>) => void,
): Promise<void> {
  let cursor: string | undefined;
  let isLast = false;
  for (let at = 0; !isLast; at += 1) {
    const known = pages[at];
    const isKept = known !== undefined && isSettled(known);
    const page = isKept ? known : await readPage(run, cursor, signal);
    cursor = page.next;
    isLast = cursor === undefined || (at + 1) * pageSize >= most;
    pages.splice(at, isLast ? pages.length : 1, page);
    if (!isKept || isLast)
      show({ tasks: pages.flatMap(({ list }) => list), isLoading: !isLast, isCut: cursor !== undefined && isLast });
  }
}

async function readPage(id: string, cursor: string | undefined, signal: AbortSignal): Promise<TaskPage> {
  const query = { limit: pageSize, ...(cursor !== undefined && { cursor }) };
  const { list, cursor: next } = (await gateway.listRunTasks({ path: { id }, query, signal })).value;
  return { list, next };
}

function isSettled({ list, next }: TaskPage): boolean {
  return next !== undefined && list.every(({ status }) => status !== 'pending' && status !== 'running' && status !== 'suspended');
}
