/** Loaded by a gateway before its own code: what it does once a minute or less often, it does four times a second. */
const setSystemInterval = setInterval;

globalThis.setInterval = ((work: () => void, interval = 0) =>
  setSystemInterval(work, interval >= 60_000 ? 250 : interval)) as typeof setInterval;
