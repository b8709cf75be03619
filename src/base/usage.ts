/** Counts who uses a thing, so that what was replaced can be closed behind its last user. */
interface Usage {
  /** The thing is in use until the result is called, once. */
  begin(): () => void;
  /** Resolves once nobody uses it. Whoever asks sees to it that nobody begins any more. */
  over(): Promise<void>;
}

export function createUsage(): Usage {
  let users = 0;
  let waiting: PromiseWithResolvers<void> | undefined;
  const end = (): void => {
    users -= 1;
    if (users === 0) waiting?.resolve();
  };
  return {
    begin() {
      users += 1;
      return end;
    },
    over() {
      if (users === 0) return Promise.resolve();
      waiting ??= Promise.withResolvers();
      return waiting.promise;
    },
  };
}
