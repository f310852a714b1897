/** What an agent of wire 1 signs, from docs/objects.md alone. */
import { randomBytes } from 'node:crypto'
import {
  aidBytes,
  base64,
  base64url,
  cbor,
  cid,
  cidText,
  hash,
  labelledSignature,
  publicKey,
  sha256,
  signed,
  signedObject,
  utf8,
} from './bytes.ts'

const GENESIS = cid(utf8('svc-ael-genesis/v1'))
const MINUTE_MS = 60_000

/** A key history of one event, with the keys to it (§4). */
export class Identity {
  readonly seed: Buffer = randomBytes(32)
  readonly aid: string
  /** The whole history, as a request carries it. */
  readonly kel: string
  readonly headDigest: Buffer
  #lastMs = 0

  constructor() {
    const next = cbor([1, publicKey(randomBytes(32))])
    const body = cbor({
      ...{ 1: 1, 2: 0, 4: 0, 6: Date.now() - 1000, 7: [[1, publicKey(this.seed)]] },
      ...{ 8: [hash('svc-kel-next/v1', next)], 9: [], 10: [] },
    })
    this.aid = base64url(Buffer.concat([Buffer.from([1]), hash('svc-aid/v1', body)]))
    this.headDigest = hash('svc-kel-id/v1', body)
    this.kel = base64(cbor([[body, [[0, labelledSignature('svc-kel/v1', this.seed, body)]], []]]))
  }

  get bytes(): Buffer {
    return aidBytes(this.aid)
  }

  /** The members of a challenge; times rise, as the board wants them. */
  challenge(action: string) {
    this.#lastMs = Math.max(Date.now(), this.#lastMs + 1)
    const text = utf8(`svc-relay/${action}/${this.aid}/${this.#lastMs}`)
    return { aid: this.aid, ts: this.#lastMs, key_state_seq: 0, sig: base64(signed(this.seed, text)) }
  }
}

/** An open message with words (§22), of kind 2. */
export function words(from: Identity, to: string, text: string, interaction: Buffer, number: number): string {
  const payload = cbor({ 1: utf8(JSON.stringify({ attachments: [], text })) })
  const body = cbor({
    ...{ 1: 1, 2: from.bytes, 3: 0, 4: aidBytes(to), 5: randomBytes(16), 6: Date.now(), 7: 2 },
    ...{ 8: interaction, 9: number, 10: 0, 11: payload, 13: from.headDigest, 15: [] },
  })
  return base64(cbor([body, labelledSignature('svc-open/v1', from.seed, sha256(body)), []]))
}

/** A payment of whole credits (§18), as x402 carries it. */
export function payment(
  from: Identity,
  { payTo, amount, hub, reference }: { payTo: string; amount: number; hub: string; reference?: string },
) {
  const now = Date.now()
  const network = `hub:${hub}`
  const body = cbor({
    ...{ 1: 1, 2: from.bytes, 3: 0, 4: aidBytes(payTo), 5: amount, 6: network, 7: randomBytes(16) },
    ...{ 8: now - MINUTE_MS, 9: now + 10 * MINUTE_MS },
    10: reference === undefined ? undefined : hash('svc-redeem/v1', utf8(reference)),
  })
  const accepted = { scheme: 'svc-credit', network, amount: String(amount), asset: 'credit', payTo }
  const authorization = base64(signedObject('svc-pay/v1', from.seed, body))
  return {
    transaction: cidText(cid(body)),
    paymentPayload: { x402Version: 2, accepted, payload: { authorization } },
  }
}

/** A card that sells one capability (§21, §24). */
export function card(of: Identity, offer: { capability: string; amount: number; redeemAt: string }): string {
  const plain = sorted({
    name: 'Counter',
    description: 'Counts words.',
    version: '1',
    supportedInterfaces: [{ url: offer.redeemAt, protocolBinding: 'x402-redeem', protocolVersion: '2' }],
    capabilities: {
      extensions: [
        {
          uri: 'svc.pricing',
          params: { prices: [{ capability: offer.capability, amount: offer.amount }] },
        },
        { uri: 'svc.card', params: { subject_did: `did:svc:${of.aid}`, seq: 1 } },
      ],
    },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: offer.capability, name: 'Count', description: 'Counts words.', tags: ['text'] }],
  }) as object
  const header = base64url(utf8(JSON.stringify({ alg: 'EdDSA', kid: `${of.aid}#0`, typ: 'JOSE' })))
  const text = `${header}.${base64url(utf8(JSON.stringify(plain)))}`
  const signature = base64url(signed(of.seed, utf8(text)))
  return JSON.stringify({ ...plain, signatures: [{ protected: header, signature }] })
}

/** Members in the order of RFC 8785. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([key, held]) => [key, sorted(held)]))
}

/** A review and all that proves its task (§11, §23). */
export function review(reviewer: Identity, provider: Identity, rating: number) {
  const [request, deliverable] = [
    utf8(JSON.stringify({ attachments: [], task: 'add numbers' })),
    utf8(JSON.stringify({ attachments: [], text: 'they are 5' })),
  ]
  const now = Date.now()
  const receipt = cbor({
    ...{ 1: 1, 2: randomBytes(16), 3: provider.bytes, 4: 0, 5: randomBytes(32), 6: cid(request) },
    ...{ 7: cid(deliverable), 8: now - 2000, 9: now - 1000, 10: 'UNVERIFIED', 12: [0, GENESIS] },
    13: [
      [1, []],
      [1, []],
    ],
    14: randomBytes(32),
  })
  const counter = cbor({ 1: reviewer.bytes, 2: 0, 3: 0, 4: GENESIS, 5: sha256(receipt) })
  const body = cbor({
    ...{ 1: 1, 2: hash('svc-receipt-id/v1', receipt), 3: rating, 4: 'done well', 5: now },
    ...{ 6: reviewer.bytes, 7: 0 },
  })
  const shared = cbor([
    receipt,
    labelledSignature('svc-receipt-p/v1', provider.seed, receipt),
    [counter, labelledSignature('svc-receipt-r/v1', reviewer.seed, counter)],
  ])
  return {
    receipt: base64(shared),
    review: base64(signedObject('svc-open-review/v1', reviewer.seed, body)),
    request_doc: base64(request),
    deliverable: base64(deliverable),
  }
}

/** What a witness says of the head of a hub's chain (§19). */
export function statement(by: Identity, seen: { chain: string; seq: number; id: Buffer }): string {
  const body = cbor({ 1: 1, 2: seen.chain, 3: seen.seq, 4: seen.id, 5: Date.now(), 6: by.bytes, 7: 0 })
  return base64(signedObject('svc-wit/v1', by.seed, body))
}

/** A settlement receipt of a hub (§18) about a payment to an agent of another. */
export function settlement(
  hub: Identity,
  { payer, payee, at }: { payer: string; payee: string; at: string },
  seed: Uint8Array = hub.seed,
): string {
  const body = cbor({
    ...{ 1: 1, 2: cid(randomBytes(32)), 3: 0, 4: aidBytes(payer), 5: aidBytes(payee), 6: 7 },
    ...{ 7: `hub:${hub.aid}`, 8: Date.now(), 9: hub.bytes, 10: 0, 11: [0, GENESIS], 12: aidBytes(at) },
  })
  return base64(signedObject('svc-settle/v1', seed, body))
}

/** A record with which a hub hands mail on (§25). */
export function forward(origin: Identity, dest: string, text: string) {
  const record = {
    ...{ v: 1, origin_hub_aid: origin.aid, dest_aid: dest, from_aid: 'somebody', kind: 'message' },
    ...{ interaction_id: 'i', payload: base64(utf8(text)), payload_cid: cidText(cid(utf8(text))), hop: 1 },
    ...{ seen_hubs: [origin.aid], ts: Date.now(), key_state_seq: 0 },
  }
  const listed = cbor([
    ...[record.v, origin.aid, dest, record.from_aid, record.kind, record.interaction_id],
    ...[record.payload_cid, record.hop, record.seen_hubs, record.ts, record.key_state_seq],
  ])
  return { ...record, sig: base64(labelledSignature('svc-open-fwd/v1', origin.seed, listed)) }
}
