import { expect } from 'chai';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { confirm, type Terminal } from './confirmation.js';
import { CliError } from './errors.js';
import { rejection } from '../../test/support/waiting.js';

describe('CLI: confirmation', () => {
  const effect = 'The link spring is deleted permanently';

  const terminal = (typed: string, isTTY = { input: true, output: true }) => {
    const input = Object.assign(new PassThrough(), { isTTY: isTTY.input });
    const output = Object.assign(new PassThrough(), { isTTY: isTTY.output });
    input.end(typed);
    return { input, output } satisfies Terminal;
  };

  it('names the effect, and accepts the word', async () => {
    for (const [word, typed] of [
      [undefined, 'yes\n'],
      [undefined, ' yes \nmore\n'],
      ['maintenance', 'maintenance'],
    ] as const) {
      const used = terminal(typed);
      await confirm(false, { effect, ...(word !== undefined && { word }) }, used);
      used.output.end();
      expect(await text(used.output)).to.equal(`${effect}.\nType ${word ?? 'yes'} to continue: `);
    }
  });

  it('refuses any other answer, and the end of the input', async () => {
    for (const typed of ['', '\n', 'y\n', 'no\nyes\n', 'YES\n']) {
      const error = await rejection(confirm(false, { effect }, terminal(typed)));
      expect(error).to.be.instanceOf(CliError).and.to.include({
        code: 'REFUSED',
        message: 'yes was not typed; nothing was changed',
      });
    }
  });

  it('needs --yes unless both stdin and stderr are terminals', async () => {
    for (const isTTY of [
      { input: false, output: true },
      { input: true, output: false },
    ]) {
      const used = terminal('yes\n', isTTY);
      const error = await rejection(confirm(false, { effect }, used));
      const message = `${effect}; without a terminal, this needs --yes`;
      expect(error).to.be.instanceOf(CliError).and.to.include({ code: 'USAGE', message });
    }
  });

  it('asks nothing with --yes', async () => {
    const used = terminal('', { input: false, output: false });
    await confirm(true, { effect }, used);
    used.output.end();
    expect(await text(used.output)).to.equal('');
  });
});
