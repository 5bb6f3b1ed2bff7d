import { expect } from 'chai';
import { restorableMs } from '../../schemas/folds/link-status.js';
import {
  changeOfEnd,
  changeOfStart,
  maxOf,
  readEnd,
  restorableUntil,
  suggestedEnd,
  units,
  type Unit,
} from './link-end.js';
import { toLocalTime } from './rules-form.js';

const time = '2030-01-02T03:04:05.000Z';

describe('the time until which a deleted link can be restored', () => {
  it('is 30 days after its last change, and null once it is over', () => {
    const ago = (ms: number) => ({ updatedAt: new Date(Date.now() - ms).toISOString() });
    const dayMs = 86_400_000;
    const link = ago(29 * dayMs);
    expect(Date.parse(restorableUntil(link) ?? '') - Date.parse(link.updatedAt)).to.equal(
      30 * dayMs,
    );
    expect(restorableUntil(ago(restorableMs))).to.equal(null);
  });
});

describe('the end of a link in a form', () => {
  it('is never, a listed period, any period, or a time', () => {
    expect(readEnd({})).to.deep.equal({ expiresAt: null });
    expect(readEnd({ ends: '3600' })).to.deep.equal({ expiresIn: 3_600 });
    const period = (endsIn: string, endsUnit: Unit) =>
      readEnd({ ends: 'period', endsIn, endsUnit });
    expect(period('30', 'days')).to.deep.equal({ expiresIn: 2_592_000 });
    expect(period('1.5', 'minutes')).to.deep.equal({ expiresIn: 90 });
    const expected = { expiresAt: '2030-01-02T03:04:00.000Z' };
    expect(readEnd({ ends: 'time', endsAt: toLocalTime(time) })).to.deep.equal(expected);
  });

  it('is suggested as the end of a day, so that a date can be chosen without a time', () => {
    const end = new Date(Date.now() + 2_592_000_000);
    end.setHours(23, 59, 0, 0);
    const expiresAt = end.toISOString();
    expect(readEnd({ ends: 'time', endsAt: suggestedEnd() })).to.deep.equal({ expiresAt });
  });

  it('is within the limits of the API', () => {
    for (const unit of Object.keys(units) as Unit[]) {
      expect(maxOf(unit) * units[unit]).to.be.within(60, 315_360_000);
      expect((maxOf(unit) + 1) * units[unit]).to.be.greaterThan(315_360_000);
    }
  });

  it('is only a change if it differs by a minute or more', () => {
    expect(changeOfEnd({ ends: 'time', endsAt: toLocalTime(time) }, time)).to.deep.equal({});
    expect(changeOfEnd({ ends: '' }, time)).to.deep.equal({ expiresAt: null });
    expect(changeOfEnd({ ends: '' }, null)).to.deep.equal({});
    expect(changeOfEnd({ ends: '60' }, time)).to.deep.equal({ expiresIn: 60 });
    expect(changeOfStart(toLocalTime(time), time)).to.deep.equal({});
    expect(changeOfStart(undefined, time)).to.deep.equal({ startsAt: null });
    expect(changeOfStart(undefined, null)).to.deep.equal({});
    expect(changeOfStart(toLocalTime(time), null)).to.deep.equal({
      startsAt: '2030-01-02T03:04:00.000Z',
    });
  });
});
