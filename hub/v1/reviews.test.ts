/** Reviews over wire 1: what proves them, who may give one, what is kept for peers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { type OpenReviewOptions, openReviewUpload } from '../testing/open-reviews.ts'
import { OpenAgent, Wire1Client } from '../testing/wire1.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
let hub: TestHub
let client: Wire1Client
let [alice, bob] = [] as unknown as [OpenAgent, OpenAgent]

beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
  ;[alice, bob] = [await client.registered(), await client.registered()]
})
afterAll(() => hub.close())

const give = (options: OpenReviewOptions = {}, more: Record<string, unknown> = {}) =>
  client.post('/reviews', { ...openReviewUpload(alice, bob, options), ...more })

describe('a review', () => {
  test('is accepted with receipt and documents, and its interaction is named', async () => {
    const interactionId = new Uint8Array(16).fill(7)
    const { status, json } = await give({ body: { interactionId } })
    expect([status, json]).toEqual([200, { interaction_id: toBase64url(interactionId), status: 'accepted' }])
  })

  test.each(['receipt', 'review', 'request_doc', 'deliverable'])('without %s is 400', async name => {
    expect((await give({}, { [name]: undefined })).status).toBe(400)
    expect((await give({}, { [name]: 'a-b_' })).status).toBe(400)
  })

  test.each(['request_doc', 'deliverable'])(
    'is refused where %s does not hash to the content id of the receipt',
    async name => {
      const { status, json } = await give({}, { [name]: toBase64(utf8('other bytes')) })
      expect([status, json['error']]).toEqual([400, expect.stringContaining('documents')])
    },
  )

  test('of the same task again is 400 for its reviewer, and 409 for another', async () => {
    const body = { interactionId: new Uint8Array(16).fill(9) }
    expect((await give({ body })).status).toBe(200)
    expect((await give({ body })).status).toBe(400)
    const carol = await client.registered()
    expect((await client.post('/reviews', openReviewUpload(carol, bob, { body }))).status).toBe(409)
  })

  test('comes from somebody registered here with open mail, of a provider that is known', async () => {
    const [stranger, gone] = [new OpenAgent(client), await client.registered()]
    const asked = async (by: OpenAgent, of: OpenAgent) =>
      (await client.post('/reviews', openReviewUpload(by, of))).status
    expect(await asked(stranger, bob)).toBe(401)
    expect(await asked(alice, stranger)).toBe(404)
    await client.post(`/agents/${gone.aid}/deregister`, gone.sign('profile'))
    expect([await asked(gone, bob), await asked(alice, gone)]).toEqual([401, 200])
  })

  test('is by the one who counter-signed, about another, with signatures that hold', async () => {
    const carol = await client.registered()
    const nowMs = hub.clock.now()
    const refused: [string, OpenReviewOptions][] = [
      ['counter-signed', { counterSigner: carol }],
      ['signatures', { review: { reviewerKelSeq: 1 } }],
      ['counter-signed', { review: { reviewer: carol.aid } }],
      ['another receipt', { review: { receiptDigest: new Uint8Array(32) } }],
      ['signatures', { providerSeed: alice.seed }],
      ['signatures', { body: { providerKelSeq: 1 } }],
      ['yet to come', { review: { ts: nowMs + 10 * MINUTE_MS } }],
      ['yet to come', { body: { end: nowMs + 10 * MINUTE_MS } }],
    ]
    for (const [why, options] of refused) {
      const { status, json } = await give(options)
      expect([status, json['error']]).toEqual([400, expect.stringContaining(why)])
    }
    expect((await client.post('/reviews', openReviewUpload(alice, alice))).json['error']).toContain('itself')
  })

  test('under a key that was rotated away counts for 30 days where the task ended before', async () => {
    const [reviewer, provider] = [await client.registered(), await client.registered()]
    const [before, late] = [openReviewUpload(reviewer, provider), openReviewUpload(reviewer, provider)]
    hub.clock.advance(MINUTE_MS)
    provider.rotate()
    await provider.register()
    expect((await client.post('/reviews', before)).status).toBe(200)
    hub.clock.advance(30 * DAY_MS)
    expect((await client.post('/reviews', late)).status).toBe(400)
    const [again, unsigned] = [openReviewUpload(reviewer, provider), openReviewUpload(reviewer, provider)]
    expect((await client.post('/reviews', again)).status).toBe(200)
    reviewer.rotate()
    await reviewer.register()
    expect((await client.post('/reviews', unsigned)).status).toBe(400)
  })
})

describe('peers', () => {
  test('read every review byte for byte with both key histories, on from a number', async () => {
    const first = openReviewUpload(alice, bob)
    const { json: before } = await client.get('/federation/reviews')
    const since = before['next'] as number
    for (const upload of [first, openReviewUpload(alice, bob)]) await client.post('/reviews', upload)
    const { json } = await client.get(`/federation/reviews?since=${since}`)
    const reviews = json['reviews'] as { fed_seq: number }[]
    expect(reviews).toHaveLength(2)
    expect(reviews[0]).toEqual({
      ...first,
      ...{ provider_kel: bob.kel, reviewer_kel: alice.kel, fed_seq: expect.any(Number) },
    })
    expect(json['next']).toBe(reviews[1]?.fed_seq)
    const rest = await client.get(`/federation/reviews?since=${reviews[0]?.fed_seq}`)
    expect(rest.json['reviews']).toEqual([reviews[1]])
    const none = await client.get(`/federation/reviews?since=${json['next']}`)
    expect(none.json).toEqual({ reviews: [], next: json['next'] })
  })

  test('are refused a number that is none', async () => {
    for (const since of ['-1', 'x', '1e3', '9007199254740993'])
      expect((await client.get(`/federation/reviews?since=${since}`)).status).toBe(400)
  })
})
