import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '../../config/config.js';
import { projectFile } from '../../platform/files/project-file.js';

/** The verdict on a history. */
export interface Verdict {
  /** 0: linearizable, 1: not, or not decided in time. */
  readonly exitCode: number | null;
  /** A table, and for a violation the file with its picture. */
  readonly report: string;
}

export interface Checker {
  /** Adds lines to the history; those of a key follow each other. */
  write(text: string): void;
  /** Ends the history. */
  end(): void;
  /** Resolves at the end of the history, or at its first violation. */
  readonly verdict: Promise<Verdict>;
}

/** Builds `checker.go` in the folder. @returns the file of the program */
export const buildChecker = async (folder: string): Promise<string> => {
  const program = path.join(folder, 'checker');
  const cwd = projectFile('ops', 'test', 'linearizability');
  const env = { ...inheritedEnvironment() };
  await promisify(execFile)('go', ['build', '-buildvcs=false', '-o', program, '.'], { cwd, env });
  return program;
};

/** Starts the checker, which writes the picture of a violation into the folder. */
export const startChecker = (program: string, folder: string): Checker => {
  const child = spawn(program, [folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  // EPIPE: it has found a violation.
  child.stdin.on('error', () => undefined);
  let report = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (report += text));
  return {
    write: (text) => void child.stdin.write(text),
    end: () => child.stdin.end(),
    verdict: once(child, 'close').then(([exitCode]) => ({
      exitCode: exitCode as number | null,
      report,
    })),
  };
};
