import { expect } from 'chai';
import { statusAt, statusOf, unrestrained, type Restraints } from './link-status.js';

describe('schemas: status of a link', () => {
  it('is the first restraint in the order deleted, blocked, disabled, expired', () => {
    const all: Restraints = { deleted: true, blocked: true, disabled: true, expired: 'time' };
    expect(statusOf(all)).to.equal('deleted');
    expect(statusOf({ ...all, deleted: false })).to.equal('blocked');
    expect(statusOf({ ...all, deleted: false, blocked: false })).to.equal('disabled');
    expect(statusOf({ ...unrestrained, expired: 'clicks' })).to.equal('expired');
    expect(statusOf(unrestrained)).to.equal('active');
  });

  it('is expired from the millisecond of its end on, unless another one hides that', () => {
    expect(statusAt('active', 100, 99)).to.equal('active');
    expect(statusAt('active', 100, 100)).to.equal('expired');
    expect(statusAt('active', Infinity, 100)).to.equal('active');
    expect(statusAt('disabled', 100, 100)).to.equal('disabled');
  });
});
