import { expect } from 'chai';
import { catalogue, type EventName } from './events/catalogue.js';
import { defaultFeedNames, feedEventNames, isFeedEventName, typesOfNames } from './feed.js';

const names = Object.keys(catalogue) as EventName[];
const hidden = [
  ...['AliasOverrideGranted', 'AliasOverrideRevoked', 'CallsMetered', 'QrRendered'],
  ...['MaintenanceSwitched', 'FeatureSwitched', 'ProjectionWorkRequested', 'CodesCaseChosen'],
];

describe('schemas: events of the feed', () => {
  it('are all but the events of reserved aliases, usage and switches', () => {
    const shown = names.filter((name) => !hidden.includes(name));
    expect(feedEventNames).to.have.members(shown);
    expect(names.filter(isFeedEventName)).to.have.members(shown);
  });

  it('exclude visits by default', () => {
    expect([...defaultFeedNames, 'LinkVisited']).to.have.members([...feedEventNames]);
    expect(defaultFeedNames).not.to.include('LinkVisited');
  });

  it('have names without versions', () => {
    const others = ['LinkCreated.v4', 'linklog.LinkCreated.v4', 'linkcreated', ' LinkCreated'];
    for (const name of [...others, 'constructor', '__proto__', '']) {
      expect(isFeedEventName(name), name).to.equal(false);
    }
  });

  it('have the current version in their type; unknown and hidden names have no type', () => {
    const unknown = ['LinkFrozen', 'AliasOverrideGranted', 'QrRendered', 'toString', ''];
    expect([
      ...typesOfNames([...unknown, 'LinkCreated', 'LinkVisited', 'LinkCreated']),
    ]).to.deep.equal(['linklog.LinkCreated.v4', 'linklog.LinkVisited.v4']);
  });
});
