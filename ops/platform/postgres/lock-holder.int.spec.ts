import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../test/support/waiting.js';
import { databaseFixture } from '../../test/support/fixtures.js';

const lock = 4_711;
const file = fileURLToPath(new URL('testing/lock-process.js', import.meta.url));

describe('platform: work that one process does at a time', () => {
  const database = databaseFixture('lock');
  const children: ChildProcess[] = [];

  const start = (): { readonly child: ChildProcess; readonly said: () => string } => {
    let text = '';
    const child = spawn(process.execPath, [file, database.url, String(lock)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    children.push(child);
    return { child, said: () => text };
  };
  after(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  it('is taken over from a killed and from a suspended process', async () => {
    const first = start();
    await eventually('the first one has it', () => first.said() === 'begins\n');
    const second = start();
    const third = start();
    const takers = (): number => [second, third].filter(({ said }) => said() === 'begins\n').length;
    first.child.kill('SIGKILL');
    await eventually('another one has it', () => takers() === 1);
    const [holder, waiter] = second.said() === '' ? [third, second] : [second, third];
    holder.child.kill('SIGSTOP');
    await eventually('the last one has it', () => waiter.said() === 'begins\n');
    holder.child.kill('SIGCONT');
    await eventually('the stopped one knows', () => holder.said() === 'begins\nends\n');
    expect(waiter.said()).to.equal('begins\n');
  });
});
