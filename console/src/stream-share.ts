import { useEffect, useState } from 'preact/hooks';
import { randomKey } from './random-key.ts';

/** Event streams of one browser at the same time. It shares six connections of HTTP/1.1 among its windows, and calls need some of them. */
const streams = 4;

/** A window came into sight, or it went. */
interface Note {
  readonly window: string;
  readonly isHere: boolean;
}

/**
 * Whether this window may have an event stream: those that came into sight last may. Each window tells the others when it comes and goes, and
 * counts those that came after it. A window that crashed tells nothing, so older ones may count it until they come into sight again.
 */
export function useStreamShare(isVisible: boolean): boolean {
  const [newer, setNewer] = useState(0);
  useEffect(() => {
    if (!isVisible) return undefined;
    const window = randomKey();
    const known = new Set<string>();
    const channel = new BroadcastChannel('orchestration-gateway-streams');
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel stays within its origin, and takes none
    const tell = (isHere: boolean): void => channel.postMessage({ window, isHere } satisfies Note);
    const leave = (): void => tell(false);
    channel.addEventListener('message', ({ data: note }: MessageEvent<Note>) => {
      if (note.isHere) known.add(note.window);
      else known.delete(note.window);
      setNewer(known.size);
    });
    addEventListener('pagehide', leave);
    tell(true);
    return () => {
      removeEventListener('pagehide', leave);
      leave();
      channel.close();
      setNewer(0);
    };
  }, [isVisible]);
  return newer < streams;
}
