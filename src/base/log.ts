import { LineWriter } from './line-writer.ts';
import { visible } from './text/visible.ts';

/**
 * The closed list of fields of a log line. Undefined fields are left out. Any other field does not compile, so that no dump of an object
 * can leak a secret.
 */
export interface LogFields {
  /** The `X-Request-Id` of the request; every line about a request has it. */
  readonly requestId?: string | undefined;
  /** The trace id of the request or run (W3C Trace Context), the same as in spans and at the upstream. */
  readonly traceId?: string | undefined;
  /** The name of the caller; empty before authentication. For a failed login only a configured name. */
  readonly principal?: string | undefined;
  /** The OIDC issuer of the caller's token; in a line `a token was refused` the issuer that the token names, known or not. */
  readonly issuer?: string | undefined;
  /** The subject of the caller's token at its issuer; in a line `a token was refused` only if the signature is verified. */
  readonly subject?: string | undefined;
  /** The caller's address; behind `server.trustedProxies` the address in their `X-Forwarded-For`. */
  readonly sourceAddress?: string | undefined;
  /** The HTTP method of the request; in `attempt` lines that of the call. */
  readonly method?: string | undefined;
  /** The pattern of the route, never the path of the request. */
  readonly route?: string | undefined;
  /** The HTTP status of the reply, also if the reply then broke off; absent if the caller left before the reply. */
  readonly status?: number | undefined;
  /** The `code` of the error ([errors.md](errors.md)), if any; `caller-left` in an `attempt` line. */
  readonly code?: string | undefined;
  /**
   * Why the request failed or was refused: the `detail` of its reply, without texts of an orchestrator and names from a body. Of an
   * orchestrator's error it has the status and the error tag.
   */
  readonly detail?: string | undefined;
  /** If a `restCall` failed: scheme, host and port of its `uri`. */
  readonly destination?: string | undefined;
  /**
   * If another call failed: the orchestrator's path. If the request never became a call, its own path, once its caller is known.
   * Values of the query are masked.
   */
  readonly path?: string | undefined;
  /**
   * If the request failed: `request` (nothing was sent), `dns`, `connect`, `tls`, `firstByte`, `idle`, `total` (the step or the time
   * limit), `reply` (the call left).
   */
  readonly phase?: string | undefined;
  /**
   * Milliseconds with two decimals: from the head of the request to the end of its reply, or the time of an attempt. Of a run: from
   * its creation to its end.
   */
  readonly durationMs?: number | undefined;
  /** The adapter instance of the call. */
  readonly adapter?: string | undefined;
  /** The HTTP status of the upstream, also where its reply then broke off or took too long. */
  readonly upstreamStatus?: number | undefined;
  /** The class of an unexpected error, without its message, which may quote data. */
  readonly errorName?: string | undefined;
  /** The stack of an unexpected error. */
  readonly stack?: string | undefined;
  /** The id of a run. */
  readonly run?: string | undefined;
  /** Of a run: the id of its workflow, `namespace.name`. */
  readonly workflow?: string | undefined;
  /** Of a run: `_id` of its automation; absent if none was run. Of a skipped due time: `_id` of the automation. */
  readonly automation?: string | undefined;
  /** The due time that was skipped. */
  readonly due?: string | undefined;
  /** An address or host. */
  readonly address?: string | undefined;
  /** A file, with its line. */
  readonly file?: string | undefined;
  /** The reason, as text. */
  readonly reason?: string | undefined;
  /** A signed checkpoint of the audit log, as JSON text, if there is no `audit.checkpointFile`; written at every level. */
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
