/** Cosignatures of witnesses of transparency logs, as a node goes by those whose keys its user named. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { type LogWitness, startLogWitness } from '../../hub/testing/log-witness.ts'
import { grant } from '../../hub/testing/payments.ts'
import { CheckpointOffers } from '../../hub/witness/offer.ts'
import { checkpointText, supplyOrigin } from '../../protocol/proof/checkpoint.ts'
import { parseVerifierKey } from '../../protocol/proof/cosignature.ts'
import { type Lab, never, openLab } from './world.ts'

let lab: Lab
let alice: Node
let witness: LogWitness
let offers: CheckpointOffers
beforeAll(async () => {
  lab = await openLab()
  alice = await lab.member('alice')
  const { checkpoints, context } = lab.hub.running.hub
  witness = await startLogWitness(supplyOrigin(lab.hub.aid), context.identity.kel.publicKey)
  const cosigner = parseVerifierKey(witness.verifierKey)
  offers = new CheckpointOffers(checkpoints, [{ url: witness.url, cosigner }], context)
})
beforeEach(async () => {
  lab.hub.clock.advance(1000)
  await grant(lab.hub, alice.aid, 1)
})
afterAll(async () => {
  await offers.stop()
  await witness.close()
  await lab.close()
})

const audit = (more: object = {}) => alice.handlers.auditHub(more, never)
const home = () => {
  const { home } = alice.ctx.hub
  if (home === undefined) throw new Error('no hub')
  return home
}
async function showing<T>(note: string, work: () => Promise<T>): Promise<T> {
  const { credits } = home()
  const honest = credits.checkpoint.bind(credits)
  credits.checkpoint = async () => note
  return await work().finally(() => {
    credits.checkpoint = honest
  })
}

describe('an audit', () => {
  test('goes by nobody who was not named, and by a key that is one', async () => {
    await audit()
    await offers.turn()
    expect(await audit()).not.toHaveProperty('cosigned')
    await expect(audit({ cosigner: 'witness.example' })).rejects.toMatchObject({ code: 'bad_request' })
    await expect(audit({ forget_cosigner: 'x' })).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('tells which tree a named witness cosigned, also once the chain has gone on', async () => {
    await offers.turn()
    const records = lab.hub.running.hub.checkpoints.size
    const cosigned = [{ name: witness.name, records, at: expect.any(Number) }]
    expect(await audit({ cosigner: witness.verifierKey })).toMatchObject({ verified: true, cosigned })
    for (let more = 0; more < 5; more++) await grant(lab.hub, alice.aid, 1)
    lab.hub.clock.advance(86_400_000)
    await lab.hub.running.hub.books.turn()
    for (let n = 0; n < 2; n++) expect(await audit()).toMatchObject({ verified: true, cosigned })
    await grant(lab.hub, alice.aid, 1)
    expect(await audit()).toMatchObject({ verified: true, cosigned })
  })

  test('goes by a named witness that signs seldom, and says of whom the hub shows nothing', async () => {
    const { checkpoints, context } = lab.hub.running.hub
    const [slow, mute] = await Promise.all(
      ['slow.example', 'mute.example'].map(name =>
        startLogWitness(supplyOrigin(lab.hub.aid), context.identity.kel.publicKey, name),
      ),
    )
    if (slow === undefined || mute === undefined) throw new Error('no witnesses')
    const cosigner = parseVerifierKey(slow.verifierKey)
    const seldom = new CheckpointOffers(checkpoints, [{ url: slow.url, cosigner }], context)
    await seldom.turn()
    const records = checkpoints.size
    await grant(lab.hub, alice.aid, 1)
    await offers.turn()
    await audit({ cosigner: slow.verifierKey })
    expect(await audit({ cosigner: mute.verifierKey })).toMatchObject({
      verified: true,
      cosigned: [
        { name: witness.name, records: records + 1 },
        { name: slow.name, records },
      ],
      uncosigned: [mute.name],
    })
    for (const { name } of [slow, mute]) await audit({ forget_cosigner: name })
    await seldom.stop()
    await Promise.all([slow.close(), mute.close()])
  })

  const forged = (size: number, fill: number): string => {
    const text = checkpointText(supplyOrigin(lab.hub.aid), { size, root: Buffer.alloc(32, fill) })
    return `${text}\n${witness.cosign(text)}`
  }

  test.each([
    ['another tree of a size that there is', () => forged(3, 7), /cosigned another tree of 3 records/],
    ['a tree larger than the chain', () => forged(99_999, 7), /of 99999 records, and it is missing/],
    ['the log of another hub', () => 'svc-supply/x\n3\nAAAA\n\n', /cannot be read/],
  ])('of a hub that shows %s ends payments until a person says so', async (_, note, why) => {
    const report = await showing(note(), () => audit())
    expect([report.verified, report.fault]).toEqual([false, expect.stringMatching(why)])
    expect(await audit({ accept: true })).toMatchObject({ verified: true })
  })

  test('passes over a line that no named witness signed', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const text = checkpointText(supplyOrigin(lab.hub.aid), { size: 3, root: Buffer.alloc(32, 7) })
    const line = sign(null, Buffer.from(text), privateKey).toString('base64')
    const report = await showing(`${text}\n— ${witness.name} ${line}\n`, () => audit())
    expect(report).toMatchObject({ verified: true })
    expect(report).not.toHaveProperty('cosigned')
  })

  test('goes by a witness no more once it is forgotten', async () => {
    expect(await audit({ forget_cosigner: witness.name })).not.toHaveProperty('cosigned')
  })
})
