import type { InputHTMLAttributes } from 'preact';
import { texts } from '../../all-texts.js';
import { Input } from '../components/field.js';

/** A field for the name of an account. */
export const AccountInput = (props: InputHTMLAttributes & { readonly hint?: string }) => (
  <Input
    label={texts.common.account}
    name="account"
    // Browsers show it with the error of the pattern.
    title={texts.operators.accountFormat}
    pattern="[A-Za-z0-9._\-]{1,64}"
    {...props}
  />
);
