/** What a camera is told that asks who is there: Digest (RFC 7616) where it is spoken, else Basic (RFC 7617). */
import { createHash, randomBytes } from 'node:crypto'

/** Strongest first. */
const HASHES = new Map([
  ['SHA-256', 'sha256'],
  ['MD5', 'md5'],
])
const CHALLENGE = /(?:^|,)\s*(?=(?:Basic|Digest)\s)/i
const PARAMETER = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g

/**
 * The `Authorization` for one request after a 401, undefined where the camera asks for nothing of this.
 * `scheme`: `digest` or `basic`, where only that is answered.
 */
export function authorizationFor(asked, { username, password, scheme }, request) {
  const challenges = (asked ?? '').split(CHALLENGE).map(challengeOf)
  const isWanted = name => scheme === undefined || scheme === name
  if (isWanted('digest'))
    for (const [algorithm, hash] of HASHES) {
      const found = challenges.find(
        one => one.scheme === 'digest' && one.algorithm === algorithm && one.isSpoken,
      )
      if (found !== undefined)
        return digest(found.parameters, { username, password, algorithm, hash }, request)
    }
  const isBasic = challenges.some(one => one.scheme === 'basic')
  if (!isBasic || !isWanted('basic')) return undefined
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function challengeOf(text) {
  const scheme = /^\s*(\w+)/.exec(text)?.[1]?.toLowerCase()
  const parameters = new Map(
    [...text.matchAll(PARAMETER)].map(([, name, quoted, bare]) => [
      name.toLowerCase(),
      quoted === undefined ? bare : quoted.replace(/\\(.)/g, '$1'),
    ]),
  )
  const qop = parameters.get('qop')
  const isSpoken =
    parameters.has('realm') &&
    parameters.has('nonce') &&
    (qop === undefined || /(?:^|[\s,])auth(?:$|[\s,])/.test(qop))
  return { scheme, parameters, isSpoken, algorithm: (parameters.get('algorithm') ?? 'MD5').toUpperCase() }
}

function digest(parameters, { username, password, algorithm, hash }, { method, uri, cnonce = drawn() }) {
  const digestOf = (...parts) => createHash(hash).update(parts.join(':')).digest('hex')
  const [realm, nonce, opaque] = ['realm', 'nonce', 'opaque'].map(name => parameters.get(name))
  const [user, what] = [digestOf(username, realm, password), digestOf(method, uri)]
  // before RFC 2617 there was no `qop`
  const isCounted = parameters.has('qop')
  const response = isCounted
    ? digestOf(user, nonce, '00000001', cnonce, 'auth', what)
    : digestOf(user, nonce, what)
  return `Digest ${[
    ...[
      `username=${quoted(username)}`,
      `realm=${quoted(realm)}`,
      `nonce=${quoted(nonce)}`,
      `uri=${quoted(uri)}`,
    ],
    ...(parameters.has('algorithm') ? [`algorithm=${algorithm}`] : []),
    ...(isCounted ? ['qop=auth', 'nc=00000001', `cnonce=${quoted(cnonce)}`] : []),
    `response="${response}"`,
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
  ].join(', ')}`
}

const drawn = () => randomBytes(16).toString('base64url')
const quoted = text => `"${text.replace(/["\\]/g, '\\$&')}"`
