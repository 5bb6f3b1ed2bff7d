import { expect } from 'chai';
import type { RunningCommand } from '../../test/support/process.js';
import { eventually } from '../../test/support/waiting.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog events tail, on a running service', () => {
  const { bench, service, startLinklog, createKey } = onService();
  const running = new Set<RunningCommand>();

  const tail = (args: readonly string[], env = service.env): RunningCommand => {
    const command = startLinklog(['events', 'tail', ...args], '', env);
    running.add(command);
    return command;
  };

  afterEach('end commands that a failed test left', async () => {
    for (const { child, ended } of running) {
      child.kill('SIGKILL');
      await ended;
    }
    running.clear();
  });

  const shorten = async (key: string): Promise<string> => (await bench.link(key)).shortCode;

  const linesOf = ({ stdout }: RunningCommand): readonly string[] =>
    stdout().split('\n').slice(0, -1);

  const waitForLines = (command: RunningCommand, count: number): Promise<void> =>
    eventually(`the command prints ${count} lines`, () => linesOf(command).length >= count);

  /** Waits for the end of a command. Returns the cursor that it prints. */
  const cursorOf = async ({ ended }: RunningCommand): Promise<string> => {
    const { exitCode, stderr } = await ended;
    expect(exitCode, stderr).to.equal(0);
    const [, cursor] = /^linklog: continue with --after (\S+)\n$/.exec(stderr) ?? [];
    expect(cursor, stderr).to.be.a('string');
    return cursor ?? '';
  };

  const end = (command: RunningCommand, signal: NodeJS.Signals): Promise<string> => {
    command.child.kill(signal);
    return cursorOf(command);
  };

  const subjectsOf = (command: RunningCommand): readonly unknown[] =>
    linesOf(command).map((line) => (JSON.parse(line) as { readonly subject: string }).subject);

  it('prints a line for each event, and the cursor to continue at', async () => {
    const key = await createKey('PRO', '--account', 'cli-lines');
    const code = await shorten(key.key);
    const command = tail(['--account', 'cli-lines', '--after', 'start']);
    await waitForLines(command, 2);
    const cursor = await end(command, 'SIGINT');
    // Their subjects are in two partitions, so any of them can be first.
    const [ofKey, ofLink, ...more] = linesOf(command).toSorted((a, b) =>
      (a.split(/\s+/)[1] ?? '').localeCompare(b.split(/\s+/)[1] ?? ''),
    );
    expect(more).to.deep.equal([]);
    expect(ofKey).to.match(
      new RegExp(`^\\S+Z {2}ApiKeyCreated {4}${key.id} {2}operator {2}name=a key `),
    );
    expect(ofLink).to.match(
      new RegExp(`^\\S+Z {2}LinkCreated {6}${code} {2}${key.id} {2}url=https://example.com/`),
    );

    const next = await shorten(key.key);
    const continued = tail(['--account', 'cli-lines', '--after', cursor, '--json']);
    await waitForLines(continued, 1);
    expect(await end(continued, 'SIGTERM')).to.not.equal(cursor);
    expect(subjectsOf(continued)).to.deep.equal([next]);
    expect(JSON.parse(linesOf(continued)[0] ?? '')).to.include({
      ...{ specversion: '1.0', account: 'cli-lines', actor: key.id },
    });
  });

  it('prints only events of the types, from now on', async () => {
    const key = await createKey('PRO', '--account', 'cli-types');
    const code = await shorten(key.key);
    const command = tail(['--account', 'cli-types', '--types', 'linkvisited,LinkDeleted']);
    await eventually('the command prints a visit', async () => {
      await bench.visit(code);
      return linesOf(command).length > 0;
    });
    await end(command, 'SIGINT');
    for (const line of linesOf(command)) {
      expect(line).to.match(new RegExp(`^\\S+Z {2}LinkVisited {6}${code} {2}\\S+ {2}`));
    }
  });
});
