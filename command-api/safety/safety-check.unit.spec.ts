import { expect } from 'chai';
import { checkInOrder, type SafetyCheck, type SafetyVerdict } from './safety-check.js';

describe('command API: safety checks in order', () => {
  const checkWith = (verdicts: Readonly<Record<string, SafetyVerdict>>) => {
    const asked: (readonly string[])[] = [];
    const check: SafetyCheck = {
      check: (urls) => {
        asked.push(urls);
        return Promise.resolve(urls.map((url) => verdicts[url] ?? 'safe'));
      },
    };
    return { asked, check };
  };

  it('pass only safe URLs to the next check, and keep the order', async () => {
    const first = checkWith({ b: 'unsafe', d: 'unknown' });
    const second = checkWith({ a: 'unsafe', b: 'safe', c: 'unknown' });
    const verdicts = await checkInOrder([first.check, second.check]).check([
      'a',
      'b',
      'c',
      'd',
      'e',
    ]);
    expect(verdicts).to.deep.equal(['unsafe', 'unsafe', 'unknown', 'unknown', 'safe']);
    expect(second.asked).to.deep.equal([['a', 'c', 'e']]);
  });

  it('run no check without URLs', async () => {
    const first = checkWith({ a: 'unsafe' });
    const second = checkWith({});
    const check = checkInOrder([first.check, second.check]);
    expect(await check.check(['a'])).to.deep.equal(['unsafe']);
    expect(await check.check([])).to.deep.equal([]);
    expect(second.asked).to.deep.equal([]);
  });

  it('treat a missing verdict as unknown', async () => {
    const silent: SafetyCheck = { check: () => Promise.resolve([]) };
    expect(await checkInOrder([silent]).check(['a'])).to.deep.equal(['unknown']);
  });
});
