import { describe, expect, test } from 'vitest'
import { holdsSecret } from './secrets.ts'
import { random } from './testing.ts'

const token = 'c0ffee00d15ea5ec0ffee00d15ea5ec0ffee00d15ea5e123'
const key = 'sk-Live_9aB7cD5eF3gH1'
const seed = random(32)
const hex = Buffer.from(seed).toString('hex')
const phrase = 'k3mzq 0wj7e 9d2vh xr5tn 4cbya 68pgu sfk3m zq0wj 7e9d2 vhxr5 tn4cb'
const secrets = [token, key, seed, phrase]
const hexOf = (character: string) => character.charCodeAt(0).toString(16)
/** A listing as the tools print it: an offset, the bytes in groups, and them as characters. */
function listing(bytes: Uint8Array, group: RegExp, line: (at: number, hex: string, text: string) => string) {
  const lines = Array.from({ length: Math.ceil(bytes.length / 16) }, (_, i) => {
    const part = Buffer.from(bytes.subarray(i * 16, i * 16 + 16))
    const text = part.toString('latin1').replaceAll(/[^ -~]/g, '.')
    return line(i * 16, part.toString('hex').replaceAll(group, '$& ').trim(), text)
  })
  return `\n${lines.join('\n')}\n`
}
const offset = (at: number, digits: number) => at.toString(16).padStart(digits, '0')
const xxd = (bytes: Uint8Array) =>
  listing(bytes, /..../g, (at, hex, text) => `${offset(at, 8)}: ${hex.padEnd(39)}  ${text}`)
const canonical = (bytes: Uint8Array) =>
  listing(bytes, /../g, (at, hex, text) => {
    const halves = `${hex.slice(0, 23)}  ${hex.slice(24)}`
    return `${offset(at, 8)}  ${halves.padEnd(48)}  |${text}|`
  })
const words = (bytes: Uint8Array) =>
  listing(Buffer.from(bytes).swap16(), /..../g, (at, hex) => `${offset(at, 7)} ${hex}`)
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
    ['a hex token as base64 of its bytes', Buffer.from(token, 'hex').toString('base64')],
    [
      'a hex token as base64url of its bytes backwards',
      backwards(Buffer.from(token, 'hex').toString('base64url')),
    ],
    ['a hex token as decimal bytes', [...Buffer.from(token, 'hex')].join(', ')],
    ['in letters of another script', key.replaceAll('e', 'е').replaceAll('c', 'с').replaceAll('a', 'а')],
    ['in Greek letters', key.replaceAll('k', 'κ').replaceAll('v', 'ν')],
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
    ['with accents', [...key].join('\u0301')],
    ['in letters that carry accents', key.normalize('NFKD').replace(/[a-z]/gi, '$&\u0301').normalize('NFC')],
    ['between tags', [...key].join('</b><b>')],
    ['as numbered lines', [...token].map((c, i) => `${i + 1}. ${c}`).join('\n')],
    ['with some characters escaped', token.replaceAll('0', '\\u0030')],
    ['with every character escaped', [...key].map(c => `\\u00${hexOf(c)}`).join('')],
    ['with escapes in braces', [...key].map(c => `\\u{${hexOf(c)}}`).join('')],
    ['as escapes of a page', [...key].map(c => `&#${c.charCodeAt(0)};`).join('')],
    ['as escapes of a page in hex', [...key].map(c => `&#x${hexOf(c)};`).join('')],
    ['as escapes of an address', [...key].map(c => `%${hexOf(c)}`).join('')],
    ['as decimal bytes', `[${[...Buffer.from(key)].join(', ')}]`],
    ['of bytes as decimal bytes', [...seed].join(' ')],
    ['as a listing by xxd', xxd(Buffer.from(token))],
    ['of bytes as a listing by xxd', xxd(seed)],
    ['as a listing by hexdump -C', canonical(Buffer.from(token))],
    ['of bytes as a listing by hexdump -C', canonical(seed)],
    ['of bytes in a longer listing', canonical(Buffer.concat([random(7), seed, random(9)]))],
    ['as a listing by hexdump', words(Buffer.from(token))],
    ['of bytes as a listing by hexdump', words(seed)],
    ['of words with dots', phrase.replaceAll(' ', ' . ')],
    ['of words in capitals backwards', backwards(phrase.toUpperCase())],
    ['of words as hex', Buffer.from(phrase).toString('hex')],
    ['of words with dots as base64', Buffer.from(phrase.replaceAll(' ', '.')).toString('base64')],
    ['of words in capitals as base64', Buffer.from(phrase.toUpperCase()).toString('base64')],
    ['of words in one as base64', Buffer.from(phrase.replaceAll(' ', '')).toString('base64')],
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
