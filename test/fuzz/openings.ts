/** Whole envelopes, mutated and fed in pieces: what opens is what was sealed, all else is refused. */
import { expect, test } from 'vitest'
import { SIGNATURE_BYTES } from '../../protocol/crypto/signed.ts'
import { fromHex, Malformed, toHex } from '../../protocol/encoding/bytes.ts'
import { decodeAccess } from '../../protocol/mail/access.ts'
import { parseEnvelopeHead } from '../../protocol/mail/envelope.ts'
import { NotOpened, openEnvelope } from '../../protocol/mail/open.ts'
import { fixture } from '../../protocol/testing/agents.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { type Draw, drawFrom, mutate } from './mutate.ts'

type Sealed = Record<'recipient' | 'kid' | 'encryptionSeed' | 'senderKey' | 'messageDigest' | 'bytes', string>

const envelopes = fixture<{ valid: Sealed[] }>('seal/envelopes.json').valid
const PIECE_MAX = 3000

function* pieces(bytes: Uint8Array, draw: Draw): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + draw(PIECE_MAX)
    yield bytes.slice(at, end)
    at = end
  }
}

/** The digest of the message that came out, or undefined when the bytes were refused. */
async function open(sealed: Sealed, bytes: Uint8Array, draw: Draw): Promise<string | undefined> {
  try {
    const opened = await openEnvelope({
      source: pieces(bytes, draw),
      recipient: sealed.recipient,
      seedOf: kid => (toHex(kid) === sealed.kid ? fromHex(sealed.encryptionSeed) : undefined),
      senderKey: () => fromHex(sealed.senderKey),
    })
    for await (const _ of opened.parts());
    return toHex(opened.messageDigest)
  } catch (error) {
    if (error instanceof Malformed || error instanceof NotOpened) return undefined
    throw error
  }
}

/** The proof of a capability's use is the hub's to check; the rest of the envelope does not cover it. */
function withoutProof(bytes: Uint8Array, real: Uint8Array): Uint8Array {
  const parsed = parseEnvelopeHead(real)
  if (parsed === 'more' || bytes.length !== real.length || decodeAccess(parsed.head.access).kind === 0)
    return bytes
  const { access } = parsed.head
  const end = Buffer.from(real).indexOf(access) + access.length
  const blanked = bytes.slice()
  blanked.fill(0, end - SIGNATURE_BYTES, end)
  return blanked
}

/** Opens an envelope in pieces as it is, and mutated; returns what is wrong. */
async function fuzzOpening(seed: number): Promise<string | undefined> {
  const draw = drawFrom(seed)
  const sealed = envelopes[draw(envelopes.length)] as Sealed
  const real = fromHex(sealed.bytes)
  const bytes = draw(8) === 0 ? real : mutate([real], draw)
  const opened = await open(sealed, bytes, draw)
  const same = Buffer.compare(withoutProof(bytes, real), withoutProof(real, real)) === 0
  if (same && opened !== sealed.messageDigest) return `seed ${seed}: the sealed envelope did not open`
  if (!same && opened !== undefined) return `seed ${seed}: an altered envelope opened`
  return undefined
}

/** The test of so many envelopes. */
export function testOpenings(cases: number): void {
  const first = seed
  test(`${cases} envelopes (from ${first}), fed in pieces: whole ones open, altered ones are refused`, async () => {
    for (let seed = first; seed < first + cases; seed++) expect(await fuzzOpening(seed)).toBeUndefined()
  })
}
