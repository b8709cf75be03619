/** Counts the users of a thing, so that a replaced one can be closed after its last user. */
interface Usage {
  /** Adds a user. The result removes it, and must be called once. */
  begin(): () => void;
  /** Resolves once there are no users. The caller must make sure that no new one begins. */
  ended(): Promise<void>;
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
    ended() {
      if (users === 0) return Promise.resolve();
      waiting ??= Promise.withResolvers();
      return waiting.promise;
    },
  };
}
