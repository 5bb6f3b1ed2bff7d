import { expect } from 'chai';
import { folderFixture } from '../../test/support/fixtures.js';
import type { RunningCommand } from '../../test/support/process.js';
import { startTcpProxy } from '../../test/support/tcp-proxy.js';
import { eventually } from '../../test/support/waiting.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog events tail, on a running service', () => {
  const { bench, service, startLinklog, createKey } = onService();
  const emptyDir = folderFixture();
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
    const [first, second, ...more] = linesOf(command);
    expect(more).to.deep.equal([]);
    expect(first).to.match(
      new RegExp(`^\\S+Z {2}ApiKeyCreated {4}${key.id} {2}operator {2}name=a key `),
    );
    expect(second).to.match(
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

  it('continues after a lost connection, without a loss or a repeat', async () => {
    const proxy = await startTcpProxy(bench.product.admin);
    try {
      const key = await createKey('PRO', '--account', 'cli-lost');
      const env = {
        DATA_DIR: emptyDir.path,
        ADMIN_PORT: new URL(proxy.url).port,
        ADMIN_TOKEN: bench.product.adminToken,
      };
      const command = tail(['--account', 'cli-lost', '--after', 'start', '--json'], env);
      await waitForLines(command, 1);
      proxy.pause();
      proxy.cut();
      const codes = [await shorten(key.key), await shorten(key.key)];
      proxy.resume();
      await waitForLines(command, 3);
      command.child.kill('SIGINT');
      const { exitCode, stderr } = await command.ended;
      expect(exitCode).to.equal(0);
      expect(stderr).to.match(
        /^linklog: the connection to \S+ failed: [^\n]+; trying again\nlinklog: continue with --after \S+\n$/,
      );
      expect(subjectsOf(command)).to.deep.equal([key.id, ...codes]);
    } finally {
      await proxy.close();
    }
  });

  it('ends successfully when the reader of its output exits, as head does', async () => {
    const key = await createKey('PRO', '--account', 'cli-head');
    const command = tail(['--account', 'cli-head', '--after', 'start', '--json']);
    await waitForLines(command, 1);
    command.child.stdout?.destroy();
    await shorten(key.key);
    // The event that could not be written follows the cursor.
    const cursor = await cursorOf(command);
    const continued = tail(['--account', 'cli-head', '--after', cursor, '--json']);
    await waitForLines(continued, 1);
    await end(continued, 'SIGINT');
  });
});
