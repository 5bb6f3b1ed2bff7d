import { expect } from 'chai';
import { checkInOrder, type SafetyCheck, type SafetyVerdict } from './safety-check.js';

describe('command API: safety checks in order', () => {
  const knows = (verdicts: Readonly<Record<string, SafetyVerdict>>) => {
    const asked: (readonly string[])[] = [];
    const check: SafetyCheck = {
      check: (urls) => {
        asked.push(urls);
        return Promise.resolve(urls.map((url) => verdicts[url] ?? 'safe'));
      },
    };
    return { asked, check };
  };

  it('ask the next about what is safe so far, and keep the order', async () => {
    const first = knows({ b: 'unsafe', d: 'unknown' });
    const second = knows({ a: 'unsafe', b: 'safe', c: 'unknown' });
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

  it('ask nobody when nothing is left to ask', async () => {
    const first = knows({ a: 'unsafe' });
    const second = knows({});
    const check = checkInOrder([first.check, second.check]);
    expect(await check.check(['a'])).to.deep.equal(['unsafe']);
    expect(await check.check([])).to.deep.equal([]);
    expect(second.asked).to.deep.equal([]);
  });

  it('take a missing verdict for unknown', async () => {
    const silent: SafetyCheck = { check: () => Promise.resolve([]) };
    expect(await checkInOrder([silent]).check(['a'])).to.deep.equal(['unknown']);
  });
});
