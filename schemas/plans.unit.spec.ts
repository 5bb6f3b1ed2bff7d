import { expect } from 'chai';
import { defaultPlanTable, planHas, planNames, planTable } from './plans.js';

describe('schemas: plans', () => {
  it('are those of the specification by default', () => {
    const rows = planNames.map((name) => {
      const plan = defaultPlanTable.plans[name];
      const { requestsPerMinute, monthlyCalls, monthlyLinks, monthlyQrCodes } = plan;
      return [name, requestsPerMinute, monthlyCalls, monthlyLinks, monthlyQrCodes];
    });
    expect(rows).to.deep.equal([
      ['FREE', 60, 2_000, 35, 35],
      ['HOBBY', 300, 25_000, 350, 350],
      ['INDIE', 1_000, 150_000, 1_800, 1_800],
      ['PRO', 5_000, 500_000, 3_000, 3_000],
    ]);
    expect(planTable.parse(defaultPlanTable)).to.deep.equal(defaultPlanTable);
  });

  it('include a feature from its lowest plan upwards', () => {
    const having = (feature: 'customAlias' | 'passwordProtection') =>
      planNames.filter((plan) => planHas(defaultPlanTable, plan, feature));
    expect(having('customAlias')).to.deep.equal(['HOBBY', 'INDIE', 'PRO']);
    expect(having('passwordProtection')).to.deep.equal(['INDIE', 'PRO']);
  });

  const { plans, gates } = defaultPlanTable;
  const free = (change: Record<string, unknown>) => ({
    plans: { ...plans, FREE: { ...plans.FREE, ...change } },
    gates,
  });

  it('may have no monthly limit, or a quota of 0', () => {
    for (const quota of [null, 0]) {
      const table = free({ monthlyCalls: quota, monthlyLinks: quota, monthlyQrCodes: quota });
      expect(planTable.parse(table)).to.deep.equal(table);
    }
  });

  const refused: readonly (readonly [string, unknown])[] = [
    ['no requests a minute', free({ requestsPerMinute: 0 })],
    ['no limit of requests a minute', free({ requestsPerMinute: null })],
    ['half a call', free({ monthlyCalls: 0.5 })],
    ['fewer than no links', free({ monthlyLinks: -1 })],
    ['a limit as text', free({ monthlyLinks: '35' })],
    ['a limit left out', free({ monthlyQrCodes: undefined })],
    ['a limit misspelt', free({ monthlyLink: 35 })],
    ['a plan left out', { plans: { ...plans, PRO: undefined }, gates }],
    ['a plan too many', { plans: { ...plans, GOLD: plans.PRO }, gates }],
    ['a gate left out', { plans, gates: { customAlias: 'FREE' } }],
    ['a gate to no plan', { plans, gates: { ...gates, customAlias: 'GOLD' } }],
    ['a gate too many', { plans, gates: { ...gates, qr: 'FREE' } }],
    ['no table', null],
  ];
  for (const [what, table] of refused) {
    it(`are refused with ${what}`, () => {
      expect(planTable.safeParse(table).success).to.be.false;
    });
  }
});
