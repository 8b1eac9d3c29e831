import { LastText } from '../../../src/tools/mcp/last-text';
import { SecretMask } from '../../../src/tools/running/secret-mask';

test('no part of a secret remains, wherever the text is cut', () => {
  const secret = `sk-${'A1b2C3d4'.repeat(8)}`;
  for (let after = 0; after < 300; after++) {
    const text = new LastText(100, new SecretMask([secret]));
    text.add('y'.repeat(2_000));
    text.add(` ${secret.slice(0, 20)}`);
    text.add(`${secret.slice(20)} ${'x'.repeat(after * 10)}`);
    expect(String(text)).not.toMatch(/[A-Z]\d[a-z]\d/);
  }
});

test('a secret of any length is removed', () => {
  const secret = JSON.stringify(Array.from({ length: 2_000 }, (_, at) => `${at}/"`));
  expect(new SecretMask([secret]).text(`a ${JSON.stringify(secret)} b`).replaceAll('[credential]', '').length).toBeLessThan(20);
});

test('the end of a short text stays as it is', () => {
  const text = new LastText(100, new SecretMask(['secret-1']));
  text.add('first line\nwith secret-1');
  expect(String(text)).toBe('first line\nwith [credential]');
});
