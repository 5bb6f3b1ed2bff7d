import { expect } from 'chai';
import { z } from 'zod';
import { invitationCreated, personAdded, personChanged } from '../testing/events.js';
import { publicDataOf, secretFieldsOf } from './redact.js';

const id = 'usr_6hQz1mV0bT8kXw2RfL4d';

describe('schemas: secrets of events', () => {
  it('are secret also if they are optional or nullable', () => {
    const secret = z.string().meta({ secret: true });
    const data = z.strictObject({
      ...{ secret, optional: secret.optional(), exact: secret.exactOptional() },
      ...{ nullable: secret.nullable(), both: secret.nullable().exactOptional() },
      ...{ shown: z.string(), maybe: z.string().optional() },
    });
    expect(secretFieldsOf(data)).to.have.members([
      ...['secret', 'optional', 'exact', 'nullable', 'both'],
    ]);
  });

  it('are names and e-mail addresses of people, and their identity', () => {
    const role = { role: 'editor', source: 'invitation' };
    const issuer = 'https://id.example.com';
    expect(publicDataOf(personAdded(id))).to.deep.equal({ issuer, ...role });
    const change = { role: 'editor', source: 'operator', name: 'María', email: 'm@example.com' };
    expect(publicDataOf(personChanged(id, 2, change as never))).to.deep.equal({
      ...{ role: 'editor', source: 'operator' },
    });
    expect(publicDataOf(personChanged(id, 2, { name: 'María', email: null }))).to.deep.equal({});
  });

  it('are the token and the address of an invitation', () => {
    const { role, expiresAt } = invitationCreated('i1').data;
    const data = publicDataOf(invitationCreated('i1', { email: 'm@example.com' }));
    expect(data).to.deep.equal({ role, expiresAt });
  });
});
