import { describe, expect, test } from 'vitest'
import { verify } from '#crypto'
import { matchPath } from '../contract/route.ts'
import { fromBase64url, fromHex, fromUtf8, toBase64url, utf8 } from '../encoding/bytes.ts'
import { fixture } from '../testing/agents.ts'
import { type Wire3RouteName, wire3Routes } from './routes.ts'
import { requestDigest, signedText, signRequest } from './signed-request.ts'

type Request = {
  route: string
  action: string
  method: string
  path: string
  body: string
  ts: number
  digest: string
  text: string
  headers: Record<string, string>
}
type Signer = { aid: string; hub: string }
const vectors = fixture<
  Signer & {
    seq: number
    seed: string
    publicKey: string
    requests: [Request, ...Request[]]
    withQuery: { method: string; path: string; body: string; digest: string }
    altered: (Partial<Request & Signer> & { reason: string })[]
  }
>('signed/requests.json')
const { aid, hub, seq } = vectors
const key = fromHex(vectors.publicKey)

function textOf({ action, ts, method, path, body, ...signer }: Request & Signer): Uint8Array {
  const digest = requestDigest(method, path, utf8(body))
  return signedText({ action, aid: signer.aid, hub: signer.hub, ts }, digest)
}
const signatureOf = (request: Request) => fromBase64url(request.headers['X-Svc-Sig'] ?? '')

describe('a signed request', () => {
  test.each(vectors.requests)('of action $action signs this very text', request => {
    const { action, ts, method, path } = request
    const body = utf8(request.body)
    expect(toBase64url(requestDigest(method, path, body))).toBe(request.digest)
    expect(fromUtf8(textOf({ ...request, aid, hub }))).toBe(request.text)
    expect(request.text).toBe(`svc-relay/v2/${action}/${aid}/${hub}/${ts}/${request.digest}`)
    const given = { action, aid, hub, ts, method, path, body }
    expect(signRequest(given, { seed: fromHex(vectors.seed), seq })).toEqual(request.headers)
    expect(verify(key, utf8(request.text), signatureOf(request))).toBe(true)
  })

  test('every signed route has an action of its own, and a vector', () => {
    const rows = Object.values(wire3Routes).filter(row => row.auth === 'signed')
    const actions = rows.map(row => ('action' in row ? row.action : undefined))
    expect(new Set(actions).size).toBe(actions.length)
    const recorded = vectors.requests.map(({ action }) => action)
    expect(new Set(recorded)).toEqual(new Set(actions))
    for (const { route, action, method, path } of vectors.requests) {
      const row = wire3Routes[route as Wire3RouteName]
      expect(row).toMatchObject({ action, method })
      expect(matchPath(row.path, path.split('?')[0] as string), path).toBeDefined()
    }
  })

  test('the digest covers method, path with query and body', () => {
    const { method, path, body, digest } = vectors.withQuery
    expect(toBase64url(requestDigest(method, path, utf8(body)))).toBe(digest)
  })

  test.each(vectors.altered)('does not hold for $reason', ({ reason: _, ...difference }) => {
    const [request] = vectors.requests
    const altered = textOf({ ...request, aid, hub, ...difference })
    expect(verify(key, altered, signatureOf(request))).toBe(false)
  })

  test('of one action holds for no other', () => {
    for (const signed of vectors.requests)
      for (const { action } of vectors.requests)
        expect(verify(key, textOf({ ...signed, aid, hub, action }), signatureOf(signed))).toBe(
          action === signed.action,
        )
  })
})
