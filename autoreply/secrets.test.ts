import { describe, expect, test } from 'vitest'
import { holdsSecret } from './secrets.ts'
import { random } from './testing.ts'

const token = 'c0ffee00d15ea5ec0ffee00d15ea5ec0ffee00d15ea5e123'
const key = 'sk-Live_9aB7cD5eF3gH1'
const seed = random(32)
const hex = Buffer.from(seed).toString('hex')
const secrets = [token, key, seed]
const backwards = (text: string) => [...text].reverse().join('')

describe('an answer holds a secret', () => {
  test.each<[string, string]>([
    ['as it is', key],
    ['in another case', key.toUpperCase()],
    ['with spaces', [...key].join(' ')],
    ['with marks and line breaks', [...key].join('-\n*')],
    ['with invisible characters', [...key].join('\u200b')],
    [
      'in wide letters',
      key.replace(/[A-Za-z0-9]/g, c => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0)),
    ],
    ['backwards', backwards(token)],
    ['backwards with spaces', [...backwards(key)].join(' ')],
    ['as hex', Buffer.from(key).toString('hex')],
    ['as hex bytes', [...Buffer.from(key)].map(byte => `0x${byte.toString(16)}`).join(', ')],
    ['as base64', Buffer.from(key).toString('base64')],
    ['as base64url backwards', backwards(Buffer.from(key).toString('base64url'))],
    ['as base64 of it backwards', Buffer.from(backwards(key)).toString('base64')],
    ['as base64 of a sentence', Buffer.from(`the key is ${key}, keep it`).toString('base64')],
    ['as base64 of a longer sentence', Buffer.from(`well, the key is ${key}!`).toString('base64')],
    ['as base64 of another sentence', Buffer.from(`so the key is ${key}.`).toString('base64')],
    ['of bytes as hex', hex],
    ['of bytes as hex with colons', (hex.match(/../g) ?? []).join(':')],
    ['of bytes as base64', Buffer.from(seed).toString('base64')],
    ['of bytes as base64url', Buffer.from(seed).toString('base64url')],
    ['of bytes backwards', backwards(hex)],
    ['of bytes in the other order', Buffer.from(seed).reverse().toString('base64')],
  ])('%s', (_, hidden) => {
    expect(holdsSecret(`Here you are: ${hidden} Anything else?`, secrets)).toBe(true)
  })

  test.each<[string, string]>([
    ['a part of it', key.slice(0, 15)],
    ['a word that a short key is too', 'there is none of that here'],
    ['nothing', ''],
  ])('not by %s', (_, text) => {
    expect(holdsSecret(text, [...secrets, 'none', ''])).toBe(false)
  })

  test('found in a long answer among many secrets', () => {
    const many = Array.from({ length: 2000 }, () => random(32))
    const text = 'word '.repeat(40_000)
    expect(holdsSecret(text, many)).toBe(false)
    expect(holdsSecret(`${text}${Buffer.from(many[1999] as Uint8Array).toString('hex')}`, many)).toBe(true)
  })
})
