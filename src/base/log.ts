import { LineWriter } from './line-writer.ts';
import { visible } from './visible.ts';

/**
 * The closed list of fields of a log line. Undefined fields are left out. Any other field does not compile, so that no dump of an object
 * can leak a secret.
 */
export interface LogFields {
  readonly requestId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly principal?: string | undefined;
  /** The OIDC issuer of a token. */
  readonly issuer?: string | undefined;
  /** The subject of a token at its issuer. */
  readonly subject?: string | undefined;
  readonly sourceAddress?: string | undefined;
  readonly method?: string | undefined;
  /** The route's pattern, never the URL itself. */
  readonly route?: string | undefined;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  /** Why a request failed: `GatewayError.logged`. */
  readonly detail?: string | undefined;
  /** `scheme://host:port` of a restCall that failed. */
  readonly destination?: string | undefined;
  /** The path of a call or request that failed, with the values of its query masked. */
  readonly path?: string | undefined;
  readonly phase?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly adapter?: string | undefined;
  readonly upstreamStatus?: number | undefined;
  /** The error's class. Its message is left out, because it may quote data. */
  readonly errorName?: string | undefined;
  /** The stack frames, without the message. */
  readonly stack?: string | undefined;
  /** The id of a run. */
  readonly run?: string | undefined;
  /** `namespace.name`. */
  readonly workflow?: string | undefined;
  /** `_id` of an automation. */
  readonly automation?: string | undefined;
  /** When an automation was due. ISO 8601. */
  readonly due?: string | undefined;
  readonly address?: string | undefined;
  readonly file?: string | undefined;
  readonly reason?: string | undefined;
  /** A signed checkpoint of the audit log, as JSON text. */
  readonly checkpoint?: string | undefined;
}

/** The message is a constant; data goes into the fields. `error` means that an operator must act now. */
export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** Written as `info` at every level: for records that must be kept, such as checkpoints of the audit log. */
  always(message: string, fields?: LogFields): void;
  /** `fields` is called only where the line is written, because calls of `debug` are on busy paths. */
  debug(message: string, fields?: () => LogFields): void;
}

/** For work whose caller reports the outcome. */
export const noLog: Log = { error() {}, warn() {}, info() {}, always() {}, debug() {} };

/** The least severe first. No line has the levels `trace` and `fatal`; they only set what is written. */
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

type Level = (typeof levels)[number];

/** The log that the process writes. Its level may change while the process runs. */
export interface ProcessLog extends Log {
  /** The least severe level that is written. */
  readonly level: Level;
  setLevel(level: Level): void;
  /** For the end of the process: writes all waiting lines before it returns. */
  end(): void;
}

/** Takes lines, each with its line break. */
interface LogDestination {
  write(line: string): unknown;
  /** Starts to write the lines that wait. */
  flush?(): void;
}

/** JSON lines to `destination` (default: standard error). Warnings and errors are flushed at once. */
export function createLog(options: { readonly level: Level; readonly destination?: LogDestination }): ProcessLog {
  const standardError = new LineWriter({ descriptor: 2, room: 8 * 1024 ** 2, lostLine });
  const destination = options.destination ?? standardError;
  let { level } = options;
  let threshold = levels.indexOf(level);
  const writes = (severity: Level): boolean => levels.indexOf(severity) >= threshold;
  const write = (severity: Level, message: string, fields: LogFields): void => {
    const members = visible(JSON.stringify(fields));
    const rest = members === '{}' ? '}' : `,${members.slice(1)}`;
    destination.write(`{"level":"${severity}","time":"${new Date().toISOString()}","msg":${JSON.stringify(message)}${rest}\n`);
  };
  const urgent =
    (severity: 'error' | 'warn') =>
    (message: string, fields: LogFields = {}): void => {
      if (writes(severity)) write(severity, message, fields);
      destination.flush?.();
    };
  return {
    error: urgent('error'),
    warn: urgent('warn'),
    info(message, fields = {}) {
      if (writes('info')) write('info', message, fields);
    },
    always: (message, fields = {}) => write('info', message, fields),
    debug(message, fields) {
      if (writes('debug')) write('debug', message, fields?.() ?? {});
    },
    get level() {
      return level;
    },
    setLevel(next) {
      level = next;
      threshold = levels.indexOf(next);
    },
    end: () => standardError.end(),
  };
}

/** In the format of every other line. */
function lostLine(count: number): string {
  const reason = count === 1 ? '1 line' : `${count} lines`;
  return `${JSON.stringify({ level: 'error', time: new Date().toISOString(), msg: 'lines of the log could not be written and are lost', reason })}\n`;
}

/** One line an event for a reader at a terminal: time, level, message, then the fields. */
export function readableLines(terminal: { write(text: string): unknown }): LogDestination {
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
