import { expect } from 'chai';
import { countKind, flagKind, limitKind } from './values.js';

describe('imports: values of cells', () => {
  it('are true or false in the languages of spreadsheets, in any case and form', () => {
    const words: readonly (readonly [isTrue: boolean | null, words: string])[] = [
      [true, 'true TRUE 1 1.0 1,00 Yes y T on X ＴＲＵＥ WAHR Ja VRAI oui VERDADERO Sí SI\u0301'],
      [true, 'VERO sì VERDADEIRO WAAR PRAWDA tak SANT DOĞRU doğru Evet ИСТИНА да PRAVDA IGAZ'],
      [true, 'ADEVĂRAT SANN SAND TOSI ІСТИНА ΑΛΗΘΗΣ'],
      [false, 'false FALSE 0 0.0 No n f OFF FALSCH Nein FAUX non FALSO não NA\u0303O ONWAAR nee'],
      [false, 'FAŁSZ nie FALSKT nej YANLIŞ yanlış HAYIR hayır ЛОЖЬ нет NEPRAVDA HAMIS FALS'],
      [false, 'USANN EPÄTOSI ΨΕΥΔΗΣ'],
      [null, '2 -1 10 1.5 truee a - null 1.0.0 wahr!'],
    ];
    for (const [value, list] of words) {
      for (const word of list.split(' ')) {
        expect([word, flagKind.read(word)]).to.deep.equal([word, value]);
      }
    }
  });

  it('are whole numbers with decimals of zeros and groups of three', () => {
    const numbers: readonly (readonly [number: number | null, ...texts: string[]])[] = [
      [0, '0'],
      [12, '12', '12.0', '12,00'],
      [1_000, '1.000'],
      [1_234, '1,234', '1.234', '1 234', '1\u202f234', '1\u00a0234,00', "1'234"],
      [1_234_567, '1.234.567'],
      [999_999_999_999_999, '9'.repeat(15)],
      [null, '12,34', '1.5', '1,2345', '1,234.567', '1234,567', '-1', '+1', '1e3', ''],
      [null, '9'.repeat(16)],
    ];
    for (const [number, ...texts] of numbers) {
      for (const text of texts) expect([text, countKind.read(text)]).to.deep.equal([text, number]);
    }
    expect(['1', '1,000,000,000'].map(limitKind.read)).to.deep.equal([1, 1e9]);
    expect(['0', '1,000,000,001', '1.5'].map(limitKind.read)).to.deep.equal([null, null, null]);
  });
});
