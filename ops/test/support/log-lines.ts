import { pino, type Logger } from 'pino';

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [detail: string]: unknown;
}

/** A logger that collects lines of level warn and above. */
export const collectLogLines = (): { readonly logger: Logger; readonly lines: LogLine[] } => {
  const lines: LogLine[] = [];
  const write = (line: string): void => {
    lines.push(JSON.parse(line) as LogLine);
  };
  return { logger: pino({ level: 'warn' }, { write }), lines };
};
