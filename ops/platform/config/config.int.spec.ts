import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { ConfigError, readConfig } from './config.js';

describe('platform: PLANS_FILE', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'linklog-plans-'));
  });

  after(() => {
    rmSync(folder, { recursive: true });
  });

  const withFile = (content: string) => {
    const file = path.join(folder, 'plans.json');
    writeFileSync(file, content);
    return readConfig({ PLANS_FILE: file });
  };

  const others = {
    plans: {
      ...defaultPlanTable.plans,
      PRO: {
        requestsPerMinute: 10_000,
        monthlyCalls: null,
        monthlyLinks: null,
        monthlyQrCodes: 0,
      },
    },
    gates: { customAlias: 'FREE', passwordProtection: 'PRO' },
  };

  it('replaces the plans, null being no monthly limit', () => {
    expect(withFile(JSON.stringify(others)).plans).to.deep.equal(others);
  });

  const pro = (change: object) => ({
    ...others,
    plans: { ...others.plans, PRO: { ...others.plans.PRO, ...change } },
  });
  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ['no JSON', '{\n  "plans": nope\n}', /JSON/],
    ['empty', '', /JSON/],
    ['no object', '[]', /object/],
    ['without gates', JSON.stringify({ plans: others.plans }), /gates/],
    [
      'with a negative limit',
      JSON.stringify(pro({ monthlyLinks: -1 })),
      /plans\.PRO\.monthlyLinks/,
    ],
    ['without calls a minute', JSON.stringify(pro({ requestsPerMinute: 0 })), /requestsPerMinute/],
    ['with a plan that does not exist', JSON.stringify(pro({ yearly: 1 })), /yearly/],
    [
      'with a gate for no plan',
      JSON.stringify({ ...others, gates: { ...others.gates, customAlias: 'GOLD' } }),
      /gates\.customAlias/,
    ],
  ];
  for (const [what, content, about] of wrong) {
    it(`that is ${what} is refused in one line`, () => {
      expect(() => withFile(content))
        .to.throw(ConfigError, about)
        .with.property('message')
        .that.matches(/^PLANS_FILE[^\n]+$/)
        .and.does.not.include(': :');
    });
  }

  it('that is not there is refused, with its name', () => {
    const file = path.join(folder, 'missing.json');
    expect(() => readConfig({ PLANS_FILE: file })).to.throw(ConfigError, file);
  });
});
