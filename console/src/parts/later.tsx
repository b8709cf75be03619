import type { JSX } from 'preact';
import { useLoad } from '../load.ts';
import { Loading } from './loading.tsx';

interface LaterProps {
  /** The name of the part; with another name another program is loaded. */
  readonly name: string;
  readonly load: () => Promise<() => JSX.Element>;
}

/** A part whose program the browser loads when it is first needed. */
export function Later({ name, load }: LaterProps): JSX.Element {
  const loaded = useLoad(load, [name]);
  return <Loading of={loaded}>{(Part) => <Part />}</Loading>;
}
