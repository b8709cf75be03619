import { type DestinationStream, pino } from 'pino';
import { LineWriter } from './line-writer.ts';
import { visible } from './visible.ts';

/**
 * The closed list of fields a log line may carry; those that are undefined are left out. Anything else does not compile, so no dump can
 * leak a secret (hardening row 93).
 */
export interface LogFields {
  readonly requestId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly principal?: string | undefined;
  readonly sourceAddress?: string | undefined;
  readonly method?: string | undefined;
  /** The route's pattern, never the raw URL. */
  readonly route?: string | undefined;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly adapter?: string | undefined;
  readonly upstreamStatus?: number | undefined;
  /** The error's class and its stack frames; not its message, which may quote data. */
  readonly errorName?: string | undefined;
  readonly stack?: string | undefined;
  readonly address?: string | undefined;
  readonly file?: string | undefined;
  readonly reason?: string | undefined;
  /** A signed checkpoint of the audit log, as JSON text. */
  readonly checkpoint?: string | undefined;
}

/** Static message, fields beside it. `error` means that someone must act now. */
export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** As `info`, whatever the level: for what is kept and not only read. */
  always(message: string, fields?: LogFields): void;
  /** The fields are made where the line is written alone: it stands on paths that are taken often. */
  debug(message: string, fields?: () => LogFields): void;
}

/** For work whose outcome its caller tells. */
export const noLog: Log = { error() {}, warn() {}, info() {}, always() {}, debug() {} };

/** The log that the process writes, whose level may change while it runs. */
export interface ProcessLog extends Log {
  /** Least severe lines that are written: one of pino's, `fatal` to `trace`. */
  readonly level: string;
  /** Throws for any other level than pino's. */
  setLevel(level: string): void;
  /** The process ends: writes what is not written yet before it returns. */
  end(): void;
}

/** JSON lines to `destination` (default: standard error). */
export function createLog(options: { readonly level: string; readonly destination?: DestinationStream }): ProcessLog {
  const lines = options.destination === undefined ? new LineWriter({ descriptor: 2, room: 8 * 1024 ** 2, lostLine }) : undefined;
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: createTimestamp(),
    },
    lines ?? options.destination,
  );
  // One JSON.stringify a line takes a third of the time of pino’s own writer, which calls it for each name and each value.
  Object.assign(logger, {
    [pino.symbols.asJsonSym]: (fields: LogFields, message: string, level: number, time: string): string => {
      const members = visible(JSON.stringify(fields));
      const rest = members === '{}' ? members.slice(1) : `,${members.slice(1)}`;
      return `{"level":"${logger.levels.labels[level]}"${time},"msg":${JSON.stringify(message)}${rest}\n`;
    },
  });
  const unfiltered = logger.child({}, { level: 'info' });
  const urgent =
    (level: 'error' | 'warn') =>
    (message: string, fields: LogFields = {}): void => {
      logger[level](fields, message);
      logger.flush();
    };
  return {
    error: urgent('error'),
    warn: urgent('warn'),
    info: (message, fields = {}) => logger.info(fields, message),
    always: (message, fields = {}) => unfiltered.info(fields, message),
    debug(message, fields) {
      if (logger.isLevelEnabled('debug')) logger.debug(fields?.() ?? {}, message);
    },
    get level() {
      return logger.level;
    },
    setLevel(level) {
      logger.level = level;
    },
    end: () => lines?.end(),
  };
}

/** As any other line of the log. */
function lostLine(count: number): string {
  const reason = `${count} lines`;
  return `${JSON.stringify({ level: 'error', time: new Date().toISOString(), msg: 'lines of the log could not be written and are lost', reason })}\n`;
}

/** As pino's own isoTime, made once a millisecond. */
function createTimestamp(): () => string {
  let [at, text] = [0, ''];
  return () => {
    const now = Date.now();
    if (now !== at) [at, text] = [now, `,"time":"${new Date(now).toISOString()}"`];
    return text;
  };
}

/** For a person at a terminal: one line an event, time, level, message, then the fields. */
export function readableLines(terminal: { write(text: string): unknown }): DestinationStream {
  return {
    write(line) {
      const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const shown = Object.entries(fields).map(
        ([name, value]) => ` ${name}=${typeof value === 'string' ? JSON.stringify(value) : String(value)}`,
      );
      terminal.write(
        `${visible(`${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${String(msg)}${shown.join('')}`)}\n`,
      );
    },
  };
}
