import { at, overrideGranted, overrideRevoked } from '../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../testing/decisions.js';
import { aliasOverrideDecider } from './command.js';

const { accepts, ignores } = specify('admin', aliasOverrideDecider);
const to = (account: string | null) => ({ type: 'SetAliasOverride', account }) as const;
const metadata = metadataOfEvent();
const granted = [overrideGranted('admin', 1, 'acme')];
const revoked = [...granted, overrideRevoked('admin', 2)];

describe('command API: override of a reserved alias', () => {
  it('is granted to one account, replaced, revoked and granted again', () => {
    accepts([], to('acme'), overrideGranted('admin', 1, 'acme', metadata));
    accepts(granted, to('other'), overrideGranted('admin', 2, 'other', metadata));
    accepts(granted, to(null), overrideRevoked('admin', 2, metadata));
    accepts(revoked, to('acme'), overrideGranted('admin', 3, 'acme', metadata));
  });

  it('writes no event if nothing changes', () => {
    ignores([], to(null));
    ignores(granted, to('acme'));
    ignores(revoked, to(null));
  });

  it('is never earlier than the last event', () => {
    const late = { time: at(99) };
    const history = [overrideGranted('admin', 1, 'acme', late)];
    accepts(history, to(null), overrideRevoked('admin', 2, { ...metadata, ...late }));
  });
});
