import { expect } from 'chai';
import { feedEventNames } from '../../schemas/feed.js';
import { changeTypes } from '../../schemas/http/operators.js';
import {
  changeNames,
  eventNames,
  formatEventType,
  formatPeriod,
  formatStart,
  formatValue,
} from './format.js';
import { formatChange, formatShare } from './locale.js';

describe('formats of the console', () => {
  it('names the values of breakdowns', () => {
    expect(formatValue('countries', 'DE')).to.equal('Germany');
    expect(formatValue('languages', 'ar')).to.equal('Arabic');
    expect(formatValue('devices', 'mobile')).to.equal('Mobile');
    expect(formatValue('triggers', 'qr')).to.equal('QR code');
    expect(formatValue('referrers', null)).to.equal('Direct or unknown');
    expect(formatValue('browsers', null)).to.equal('Unknown');
    expect(formatValue('referrers', '(other)')).to.equal('All others');
  });

  it('returns values that are not codes unchanged', () => {
    expect(formatValue('countries', '<script>')).to.equal('<script>');
    expect(formatValue('devices', 'constructor')).to.equal('constructor');
  });

  it('formats intervals in their local time, in any zone of the browser', () => {
    expect(formatStart('2026-11-22T00:00:00+05:45', 'day')).to.equal('Nov 22');
    expect(formatStart('2026-11-22T13:00:00-11:00', 'hour')).to.equal('Nov 22, 01:00 PM');
    expect(formatStart('2026-11-01T00:00:00+00:00', 'month')).to.equal('Nov 2026');
  });

  it('formats periods with their last day, or their end within a day', () => {
    const plain = (text: string) => text.replaceAll(/\s/g, ' ');
    expect(plain(formatPeriod('2026-11-01', '2026-11-25'))).to.equal('Nov 1 – 24, 2026');
    expect(plain(formatPeriod('2026-02-28', '2026-03-01'))).to.equal('Feb 28, 2026');
    expect(plain(formatPeriod('2026-11-23', '2026-11-23T14:15'))).to.equal(
      'Nov 23, 2026, 12:00 AM – 2:15 PM',
    );
  });

  it('names event types, with or without a version', () => {
    expect(formatEventType('linklog.LinkCreated.v4')).to.equal('Link created');
    expect(formatEventType('WebhookDisabled')).to.equal('Webhook disabled');
    expect(formatEventType('ApiKeyRotated')).to.equal('API key rotated');
    expect(formatEventType('other')).to.equal('other');
  });

  it('computes shares and changes, including those of 0', () => {
    expect(formatShare(1, 8)).to.equal('12.5%');
    expect(formatShare(0, 0)).to.equal('0%');
    expect(formatChange(15, 10)).to.equal('+50%');
    expect(formatChange(5, 10)).to.equal('-50%');
    expect(formatChange(5, 0)).to.equal(null);
  });

  it('offers the event names of the feed, and of the changes that operators list', () => {
    expect(eventNames).to.deep.equal(feedEventNames);
    expect(changeNames).to.have.members(changeTypes);
  });
});
