import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Panel } from '../parts/basics.tsx';
import { TextDiff } from '../parts/text-diff.tsx';
import { gateway } from '../session.ts';
import { textOver } from './text-over.ts';
import { versionsOf } from './trial.ts';
import { nextPatch } from './version-text.ts';

/** A version that another person stored since this one began. */
export interface NewerVersion {
  readonly version: string;
  readonly text: string;
  /** All versions, the newest first. */
  readonly versions: readonly string[];
  /** The person has chosen what to do about it. */
  readonly isLeft?: boolean;
}

/** Undefined where there is no such version, or the caller may not read it. */
export async function readNewer(id: string, version: string): Promise<NewerVersion | undefined> {
  const options = { path: { id }, query: { version }, headers: { Accept: 'application/yaml' } };
  const [read, versions] = await Promise.all([gateway.readWorkflow(options).catch(() => undefined), versionsOf(id)]);
  return read && { version, text: read.text, versions };
}

interface StoredMeanwhileProps {
  readonly newer: NewerVersion | undefined;
  /** What this person began with. */
  readonly base: string;
  readonly mine: string;
  /** Puts a text into the editor. */
  readonly write: (text: string) => void;
  /** The person has chosen. */
  readonly chosen: (newer: NewerVersion) => void;
}

/** Another person stored a version meanwhile: what differs, and this person's changes over it. Nothing is stored by that. */
export function StoredMeanwhile({ newer, ...props }: StoredMeanwhileProps): JSX.Element | null {
  return newer === undefined || newer.isLeft === true ? null : <Choice newer={newer} {...props} />;
}

function Choice({ newer, base, mine, write, chosen }: StoredMeanwhileProps & { readonly newer: NewerVersion }): JSX.Element {
  const leave = (): void => chosen({ ...newer, isLeft: true });
  const { version, text: theirs, versions } = newer;
  const [newest = version] = versions.filter((one) => !one.includes('-'));
  const next = nextPatch(newest);
  const over = useMemo(() => textOver({ base, theirs, mine }, next), [base, theirs, mine, next]);
  return (
    <Panel title={`Version ${version} was stored meanwhile`}>
      <p role="status">Another person stored it after you had begun. Your text is not stored.</p>
      <TextDiff before={theirs} after={mine} label={`What differs between ${version} and your text`} />
      {over === undefined && (
        <p>Both of you changed the same lines, or began with different texts. Take from the difference what you want to keep.</p>
      )}
      <div class="buttons">
        {over !== undefined && (
          <button
            type="button"
            class="main"
            onClick={() => {
              leave();
              write(over);
            }}
          >
            Put mine over it, as {next}
          </button>
        )}
        <button type="button" onClick={leave}>
          Keep my text alone
        </button>
      </div>
    </Panel>
  );
}
