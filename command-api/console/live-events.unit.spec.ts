import { expect } from 'chai';
import { describeEvent, linkOf, newestOf, pauseAfter, type LiveEvent } from './live-events.js';

const event = (id: number, more: Partial<LiveEvent> = {}): LiveEvent => ({
  ...{ id: String(id), type: 'linklog.LinkVisited.v4', subject: 'spring', data: {} },
  time: new Date(id * 1_000).toISOString(),
  ...more,
});

const idsOf = (events: readonly LiveEvent[]): string => events.map(({ id }) => id).join();

describe('events of the live view', () => {
  it('are the newest 10, the newest first', () => {
    const received = Array.from({ length: 9 }, (_, index) => event(index + 3));
    expect(idsOf(newestOf([event(2), event(1)], received))).to.equal('11,10,9,8,7,6,5,4,3,2');
    expect(idsOf(newestOf([event(5)], [event(6), event(4)]))).to.equal('6,5,4');
  });

  it('are shown once, if they are received again', () => {
    expect(idsOf(newestOf([event(2), event(1)], [event(2), event(3), event(3)]))).to.equal('3,2,1');
  });

  it('name what is known of a visit, and other changes', () => {
    const data = {
      ...{ bot: false, country: 'DE', browser: 'Chrome', device: 'mobile' },
      ...{ referrer: 'news.example', trigger: 'qr', target: 'phones/a', os: null },
    };
    expect(describeEvent(event(1, { data }))).to.equal(
      'Germany, Chrome, Mobile, from news.example, QR code, rule phones/a',
    );
    expect(describeEvent(event(1, { data: { bot: true, country: null } }))).to.equal('Bot');
    expect(describeEvent(event(1))).to.equal('Visit');
    expect(describeEvent(event(1, { type: 'linklog.LinkEdited.v3' }))).to.equal('Link edited');
  });

  it('name the link of their subject', () => {
    expect(linkOf(event(1))).to.deep.equal({ shortCode: 'spring', domain: null });
    const subject = 'go.example.com/spring';
    expect(linkOf(event(1, { subject }))).to.deep.equal({
      ...{ shortCode: 'spring', domain: 'go.example.com' },
    });
  });
});

describe('pauses between connections', () => {
  it('double up to a minute, and are never shorter than the server requests', () => {
    expect([0, 1, 2, 9, 2_000].map((failures) => pauseAfter(failures, 2_000))).to.deep.equal([
      ...[2_000, 4_000, 8_000, 60_000, 60_000],
    ]);
    expect(pauseAfter(3, 90_000)).to.equal(90_000);
  });
});
