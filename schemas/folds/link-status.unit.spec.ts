import { expect } from 'chai';
import { statusAt, statusOf, noRestraints, type Restraints } from './link-status.js';

describe('schemas: status of a link', () => {
  it('is the first restraint in the order deleted, blocked, disabled, expired', () => {
    const everyRestraint: Restraints = {
      deleted: true,
      blocked: true,
      disabled: true,
      expired: 'time',
    };
    expect(statusOf(everyRestraint)).to.equal('deleted');
    expect(statusOf({ ...everyRestraint, deleted: false })).to.equal('blocked');
    expect(statusOf({ ...everyRestraint, deleted: false, blocked: false })).to.equal('disabled');
    expect(statusOf({ ...noRestraints, expired: 'clicks' })).to.equal('expired');
    expect(statusOf(noRestraints)).to.equal('active');
  });

  it('is expired from the millisecond of its end on, unless another restraint takes precedence', () => {
    expect(statusAt('active', null, 100, 99)).to.equal('active');
    expect(statusAt('active', null, 100, 100)).to.equal('expired');
    expect(statusAt('active', null, null, 100)).to.equal('active');
    expect(statusAt('disabled', null, 100, 100)).to.equal('disabled');
  });

  it('is scheduled until the millisecond of its start, unless another restraint takes precedence', () => {
    expect(statusAt('active', 100, null, 99)).to.equal('scheduled');
    expect(statusAt('active', 100, 200, 99)).to.equal('scheduled');
    expect(statusAt('active', 100, null, 100)).to.equal('active');
    expect(statusAt('active', 100, 50, 60)).to.equal('expired');
    for (const status of ['deleted', 'blocked', 'disabled', 'expired'] as const) {
      expect(statusAt(status, 100, null, 99)).to.equal(status);
    }
  });
});
