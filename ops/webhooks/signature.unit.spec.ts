import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { newSecret, signatureHeaders } from './signature.js';

describe('webhooks: the signature', () => {
  const message = { id: 'msg_1', timestamp: new Date(), body: '{"title":"ü"}' };
  const secret = newSecret();

  it('has 256-bit secrets in the form of Standard Webhooks', () => {
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(newSecret()).not.to.equal(secret);
  });

  it('is the one of the example of the specification', () => {
    const headers = signatureHeaders({
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: new Date(1_614_265_330_999),
      body: '{"test": 2432232314}',
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    });
    expect(headers).to.deep.equal({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('verifies with each of two secrets, and with no other', () => {
    const secrets = [secret, newSecret()];
    const headers = signatureHeaders({ ...message, secrets });
    for (const valid of secrets) {
      expect(new Webhook(valid).verify(message.body, headers)).to.deep.equal({ title: 'ü' });
    }
    expect(() => new Webhook(newSecret()).verify(message.body, headers)).to.throw();
  });
});
