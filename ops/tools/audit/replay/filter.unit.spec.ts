import { expect } from 'chai';
import { topicOf } from '../../../../schemas/events/codec.js';
import { topicNames, topics } from '../../../../schemas/events/topics.js';
import { at, blocked, created, keyCreated, visited } from '../../../../schemas/testing/events.js';
import { matcherOf, topicsOf, type EventFilter } from './filter.js';

const events = [
  created('spring', {}, { time: at(0), account: 'acme', actor: 'key-1', correlationId: 'r-1' }),
  blocked('spring', 2, { time: at(1), account: 'acme', actor: 'alice', correlationId: 'r-2' }),
  created('autumn', {}, { time: at(2), account: 'shop', actor: 'key-2', correlationId: 'r-2' }),
  visited('spring', null, { time: at(3), account: 'acme' }),
  keyCreated('spring', {}, { time: at(4), actor: 'alice' }),
];

describe('audit: filter of a replay', () => {
  const cases: readonly (readonly [EventFilter, readonly number[]])[] = [
    [{}, [0, 1, 2, 3, 4]],
    [{ since: at(1).toISOString() }, [1, 2, 3, 4]],
    [{ until: at(1).toISOString() }, [0]],
    [{ since: at(1).toISOString(), until: at(3).toISOString() }, [1, 2]],
    [{ types: ['LinkCreated'] }, [0, 2]],
    [{ types: ['LinkBlocked', 'ApiKeyCreated'] }, [1, 4]],
    [{ topics: [topics.visits.name] }, [3]],
    [{ subject: 'spring' }, [0, 1, 3]],
    [{ account: 'acme' }, [0, 1, 3, 4]],
    [{ actor: 'alice' }, [1, 4]],
    [{ request: 'r-2' }, [1, 2]],
    [{ request: 'r-2', actor: 'alice', subject: 'spring' }, [1]],
    [{ subject: 'spring', types: ['LinkVisited', 'ApiKeyCreated'] }, [3]],
    [{ subject: 'Spring' }, []],
  ];
  for (const [filter, expected] of cases) {
    it(`selects ${expected.length} of 5 events: ${JSON.stringify(filter)}`, () => {
      const matches = matcherOf(filter);
      const selected = topicsOf(filter);
      const matching = events.filter(
        (event) => selected.includes(topicOf(event)) && matches(event),
      );
      expect(matching).to.deep.equal(expected.map((index) => events[index]));
    });
  }

  it('selects the topics that may have matching events', () => {
    expect(topicsOf({})).to.deep.equal(topicNames);
    expect(topicsOf({ subject: 'x' })).to.deep.equal([topics.links.name, topics.visits.name]);
    expect(topicsOf({ subject: 'x', types: ['LinkVisited'] })).to.deep.equal([topics.visits.name]);
    expect(topicsOf({ subject: 'x', types: ['ApiKeyCreated'] })).to.be.empty;
    expect(topicsOf({ topics: [topics.links.name], types: ['LinkVisited'] })).to.be.empty;
  });
});
