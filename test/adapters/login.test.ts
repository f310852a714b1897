/** What the camera adapter answers who asks who is there; the vectors are those of RFC 7616 and RFC 7617. */
import { expect, test } from 'vitest'

type Login = { username: string; password: string; scheme?: string | undefined }
type Request = { method: string; uri: string; cnonce?: string }
// an adapter is a program of its own, in plain JavaScript
const program = new URL('../../adapters/camera/login.mjs', import.meta.url).href
const { authorizationFor } = (await import(program)) as {
  authorizationFor(asked: string | null, login: Login, request: Request): string | undefined
}

const login = { username: 'Mufasa', password: 'Circle of Life' }
const cnonce = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ'
const request = { method: 'GET', uri: '/dir/index.html', cnonce }
const nonce = '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v'
const asked = (algorithm: string, qop = 'auth, auth-int') =>
  `Digest realm="http-auth@example.org", qop="${qop}", algorithm=${algorithm}, nonce="${nonce}", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
const responseOf = (header: string | undefined) => /response="(\w+)"/.exec(header ?? '')?.[1]

test.each([
  ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
  ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
])('Digest with %s', (algorithm, response) => {
  expect(responseOf(authorizationFor(asked(algorithm), login, request))).toBe(response)
})

test('of several the strongest is answered, whatever stands first', () => {
  const all = `Basic realm="x", ${asked('MD5')}, ${asked('SHA-256')}`
  expect(authorizationFor(all, login, request)).toContain('algorithm=SHA-256')
  expect(authorizationFor(`Basic realm="x", ${asked('MD5')}`, login, request)).toMatch(/^Digest /)
})

test('Basic where nothing else is asked for, with a password that has colons', () => {
  const given = { username: 'Aladdin', password: 'open: sesame' }
  const answer = authorizationFor('Basic realm="WallyWorld"', given, request)
  expect(Buffer.from(answer?.slice('Basic '.length) ?? '', 'base64').toString()).toBe('Aladdin:open: sesame')
})

test.each([
  ['no header', null, undefined],
  ['another scheme', 'Negotiate', undefined],
  ['a hash that is not spoken', asked('SHA-512-256'), undefined],
  ['the body to be signed', asked('MD5', 'auth-int'), undefined],
  ['Basic where only Digest is allowed', 'Basic realm="x"', 'digest'],
  ['Digest where only Basic is allowed', asked('MD5'), 'basic'],
])('nothing is answered to %s', (_, header, scheme) => {
  expect(authorizationFor(header, { ...login, scheme }, request)).toBeUndefined()
})

test('a name with quotes stays one value', () => {
  const answer = authorizationFor(asked('MD5'), { username: 'a"b\\c', password: '' }, request)
  expect(answer).toContain('username="a\\"b\\\\c"')
})
