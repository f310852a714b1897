/**
 * Signed requests (hub API §5.1): the signature first, then the time. Nothing about a signer's clock is told or changed
 * before the signature has verified.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { isAid } from '../../protocol/identity/aid.ts'
import { keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { requestDigest, signedText } from '../../protocol/wire3/signed-request.ts'
import type { Acceptance, SignerClocks } from '../core/clocks.ts'
import type { Peer } from '../core/federation/peers.ts'
import { Refusal } from '../core/refusal.ts'
import type { Verifier } from '../core/verifier.ts'
import { header } from '../http/headers.ts'

const SIGNATURE_BYTES = 64
const DECIMAL = /^(0|[1-9][0-9]{0,15})$/

export type SignedHeaders = { aid: string; tsMs: number; seq: number; signature: Uint8Array }
export type RequestLine = { method: string; path: string; body: Uint8Array; action: string }

/** The four headers of a signed request. */
export function readSignedHeaders(given: IncomingHttpHeaders): SignedHeaders {
  const aid = header(given, headers.aid) ?? ''
  const ts = header(given, headers.ts) ?? ''
  const seq = header(given, headers.seq) ?? ''
  if (!isAid(aid)) throw unauthorized(`${headers.aid} must be an AID`)
  if (!DECIMAL.test(ts)) throw unauthorized(`${headers.ts} must be a Unix time in milliseconds`)
  if (!DECIMAL.test(seq)) throw unauthorized(`${headers.seq} must be a number`)
  return {
    aid,
    tsMs: Number(ts),
    seq: Number(seq),
    signature: readSignature(header(given, headers.signature)),
  }
}

function readSignature(text: string | undefined): Uint8Array {
  try {
    const signature = fromBase64url(text ?? '')
    if (signature.length === SIGNATURE_BYTES) return signature
  } catch {
    // Not base64url: the same as none.
  }
  throw unauthorized(`${headers.signature} must be a signature`)
}

export class Authenticator {
  readonly #hub: string
  readonly #clocks: SignerClocks
  readonly #now: () => number
  readonly #verifier: Verifier

  constructor(options: { hub: string; clocks: SignerClocks; now: () => number; verifier: Verifier }) {
    this.#hub = options.hub
    this.#clocks = options.clocks
    this.#now = options.now
    this.#verifier = options.verifier
  }

  /** Accepts a signed request under a key state, once; throws the refusal otherwise. Returns as `SignerClocks.accept`. */
  async verify(
    given: SignedHeaders,
    line: RequestLine,
    log: VerifiedKel,
    acceptance?: Acceptance,
  ): Promise<number | undefined> {
    const digest = requestDigest(line.method, line.path, line.body)
    return await this.verifyDigest(given, line.action, log, digest, acceptance)
  }

  /** The same where the digest of the request was taken as it came. */
  async verifyDigest(
    given: SignedHeaders,
    action: string,
    log: VerifiedKel,
    digest: Uint8Array,
    acceptance?: Acceptance,
  ): Promise<number | undefined> {
    if (log.aid !== given.aid) throw unauthorized('the signer is not the agent')
    const text = signedText({ action, aid: given.aid, hub: this.#hub, ts: given.tsMs }, digest)
    const key = given.seq > log.seq ? undefined : keyAt(log, given.seq)
    if (key === undefined) throw keyNotHeld(ofAgent)
    if (!(await this.#verifier.verify(key, text, given.signature)))
      throw unauthorized('it does not cover this request')
    if (given.seq < log.seq) throw new Refusal('keyRetired')
    return await this.#clocks.accept(given, this.#now(), acceptance)
  }
}

const ofAgent = 'send the log to /register with a new key set, or to /agents/kel:push, then sign again'
const ofHub = 'show it at GET /hub/identity, then sign again'

const keyNotHeld = (step: string) => unauthorized('this hub does not hold that key event yet', step)

/** A hub shows its history at an address of its own, where this one has looked. */
export function requireKeyOfHub({ seq }: SignedHeaders, { log }: Peer): void {
  if (seq > log.seq) throw keyNotHeld(ofHub)
}

export function unauthorized(why: string, step?: string): Refusal {
  return new Refusal('signatureInvalid', { why, ...present({ step }) })
}
