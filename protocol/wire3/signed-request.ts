/**
 * Signed requests of wire 3 (hub API §5.1). The signed text names action, signer, hub, time and request, so that a
 * signature is useless on another route, at another hub and for another body.
 */
import { sha256, sign } from '#crypto'
import { concat, toBase64url, utf8 } from '../encoding/bytes.ts'
import { headers } from './headers.ts'

const ZERO = new Uint8Array(1)

/** What a signature is made over, objects §16; `aid` and `hub` are AIDs as text. */
export type SignedRequest = {
  action: string
  aid: string
  hub: string
  /** Unix ms; must rise with every request of the signer. */
  ts: number
  method: string
  /** Path with query, as sent. */
  path: string
  body: Uint8Array
}

/** What the digest of a request covers before its body: method ‖ 00 ‖ path with query ‖ 00. */
export function requestPrefix(method: string, path: string): Uint8Array {
  return concat(utf8(method), ZERO, utf8(path), ZERO)
}

/** SHA-256 of {@link requestPrefix} and the body. */
export function requestDigest(method: string, path: string, body: Uint8Array): Uint8Array {
  return sha256(concat(requestPrefix(method, path), body))
}

/** `svc-relay/v2/<action>/<aid>/<hub_aid>/<ts>/<digest>` as bytes. */
export function signedText(
  request: Omit<SignedRequest, 'method' | 'path' | 'body'>,
  digest: Uint8Array,
): Uint8Array {
  const { action, aid, hub, ts } = request
  return utf8(`svc-relay/v2/${action}/${aid}/${hub}/${ts}/${toBase64url(digest)}`)
}

/** The four headers of a signed request. */
export function signRequest(
  request: SignedRequest,
  signer: { seed: Uint8Array; seq: number },
): Record<string, string> {
  const text = signedText(request, requestDigest(request.method, request.path, request.body))
  return {
    [headers.aid]: request.aid,
    [headers.ts]: String(request.ts),
    [headers.seq]: String(signer.seq),
    [headers.signature]: toBase64url(sign(signer.seed, text)),
  }
}
